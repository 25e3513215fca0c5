"""Raise prim funcs to tensor expressions: each loop nest that fills a buffer becomes a computation.

The input is the printed form: nests around one block, and loops without blocks that store elements, one in each
buffer. A reduction is a block with `T.init`, or a nest that stores a constant, before or in its first iteration, and
a nest that combines values with it.
"""

from __future__ import annotations

import ast
import itertools
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.location import name_of
from relax_mlir.dialects.prim_funcs import prim_params
from relax_mlir.error import RelaxError, UnsupportedError
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim, prove_equal
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import (
    BOOL,
    DATA_PARALLEL,
    REDUCTION,
    Binary,
    Call,
    Cast,
    Choice,
    Compare,
    Expr,
    IterVar,
    Limit,
    Load,
    Logical,
    Number,
    Range,
    ScalarVar,
    Size,
    Unary,
    as_expr,
    fold,
    index,
    post_order,
    substitute,
)
from relax_mlir.te.reductions import Combiner, Reduction
from relax_mlir.te.tensors import ComputeOp, Tensor, placeholder
from relax_mlir.tir.printer import print_prim

BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Pow: functions.power,
}
COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
RENAMED = {"max": "maximum", "min": "minimum", "Select": "select", "pow": "power"}
LIMITS = ("min_value", "max_value", "infinity")


@dataclass
class Elements:
    """Converts the expressions of one computation."""

    axes: Mapping[str, IterVar]
    tensors: Mapping[str, Tensor]
    symbols: set[str]
    scalars: dict[str, Expr] = field(default_factory=dict)
    current: dict[str, Expr] = field(default_factory=dict)
    """The current values of the elements being computed, by their text."""

    def expression(self, node: ast.expr) -> Expr:
        """Convert an expression; raises `UnsupportedError` if tensor expressions cannot represent it."""
        return as_expr(self.value(node))

    def value(self, node: ast.expr) -> Any:  # noqa: ANN401 - an expression or a number
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            return Number(node.value)
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.Subscript):
            return self.element(node)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            return BINARY[type(node.op)](self.expression(node.left), self.expression(node.right))
        if isinstance(node, ast.UnaryOp):
            operand = self.expression(node.operand)
            return (
                operand
                if isinstance(node.op, ast.UAdd)
                else -operand
                if isinstance(node.op, ast.USub)
                else ~operand
            )
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return COMPARISONS[type(node.ops[0])](
                self.expression(node.left), self.expression(node.comparators[0])
            )
        if isinstance(node, ast.BoolOp):
            join = functions.all if isinstance(node.op, ast.And) else functions.any
            return join(*map(self.expression, node.values))
        if isinstance(node, ast.IfExp):
            return functions.if_then_else(*map(self.expression, (node.test, node.body, node.orelse)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self.call(node, node.func.attr)
        raise UnsupportedError(f"tir.Schedule: `{ast.unparse(node)[:60]}` has no form in tensor expressions")

    def name(self, node: ast.Name) -> Expr:
        if node.id in self.axes:
            return self.axes[node.id]
        if node.id in self.scalars:
            return self.scalars[node.id]
        if node.id in self.symbols:
            return Size(symbolic.symbol(node.id))
        raise UnsupportedError(f"tir.Schedule: '{node.id}' is no axis, scalar or size")

    def element(self, node: ast.Subscript) -> Expr:
        name = ast.unparse(node.value)
        if ast.unparse(node) in self.current:
            return self.current[ast.unparse(node)]
        if name not in self.tensors:
            raise UnsupportedError(
                f"tir.Schedule: `{ast.unparse(node)[:60]}` reads '{name}' before it is filled, or to fill it"
            )
        places = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        return Load(self.tensors[name], [index(name, self.value(place)) for place in places])

    def call(self, node: ast.Call, name: str) -> Any:  # noqa: ANN401 - an expression
        if name in LIMITS:
            return Limit(name, dtypes.dtype(str(ast.literal_eval(node.args[0]))))
        if name == "cast":
            return self.expression(node.args[0]).astype(str(ast.literal_eval(node.args[1])))
        arguments = [self.expression(item) for item in node.args]
        if name == "bool" and arguments[0].kind == BOOL:
            return arguments[0]
        if name in dtypes.DTYPES and len(arguments) == 1:
            return arguments[0].astype(name)
        if name == "bitwise_not":
            return ~arguments[0]
        found = getattr(functions, RENAMED.get(name, name), None)
        if not callable(found) or name.startswith("_"):
            raise UnsupportedError(f"tir.Schedule: T.{name} has no form in tensor expressions")
        return found(*arguments)


OWN_KINDS = ("parallel", "vectorized")
"""The loop annotations that tensor expressions generate."""


class NoStagesError(Exception):
    """The prim func is not a sequence of computations."""


@dataclass
class Nest:
    """Perfectly nested loops that begin at 0, and their body."""

    axes: list[tuple[str, Dim]]
    body: list[ast.stmt]


def nest_of(node: ast.stmt) -> Nest:
    """The loops of a statement; raises NoStagesError for other loop annotations, or loops that do not begin at 0.

    The annotations of `te.create_prim_func`, parallel rows and vectorized elements, are ignored: a schedule adds
    its own.
    """
    axes: list[tuple[str, Dim]] = []
    kinds: list[str] = []
    body = [node]
    while len(body) == 1 and isinstance(body[0], ast.For):
        loop = body[0]
        call = loop.iter
        name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        function = function_name(call) if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or (name != "range" and function not in ("grid", *OWN_KINDS)):
            raise NoStagesError("a loop has a kind already, which a schedule has given it")
        kinds.append(function if function in OWN_KINDS else "")
        if name == "range" and len(call.args) != 1:
            raise NoStagesError("a loop does not begin at 0")
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        axes += [
            (target.id, dim_of(end))
            for target, end in zip(targets, call.args, strict=True)
            if isinstance(target, ast.Name)
        ]
        body = loop.body
    outer, inner = kinds[:-1], kinds[-1:]
    if any(outer[1:]) or outer[:1] == ["vectorized"] or inner == ["parallel"]:
        raise NoStagesError("a loop has a kind already, which a schedule has given it")
    return Nest(axes, body)


@dataclass
class EmptyReduction:
    """``if k <= 0:`` around nests that store the initial values of a reduction whose loops do not run."""

    sizes: list[Dim]
    values: dict[str, str]
    """The stored value of each buffer, as text."""
    refusal: str

    @classmethod
    def of(cls, node: ast.If) -> EmptyReduction:
        """Parse the condition; raises `NoStagesError` for another one."""
        refusal = f"`{ast.unparse(node)[:60]}` is a condition, which is no beginning of a reduction"
        tests = list(_alternatives(node.test))
        if node.orelse or not all(_is_empty(test) for test in tests):
            raise NoStagesError(refusal)
        values: dict[str, str] = {}
        for statement in node.body:
            nest = nest_of(statement)
            values.update(texts_of(nest.body))
        return cls([dim_of(test.left) for test in tests if isinstance(test, ast.Compare)], values, refusal)


def check_empty(
    found: EmptyReduction | None, reduced: Sequence[IterVar], begins: Sequence[ast.stmt], nest: Nest
) -> None:
    """Raise `NoStagesError` unless a reduction that stores its initial values in the first iteration also stores them
    when it is empty.
    """
    for axis in reduced:
        length = axis.dom.extent
        if symbolic.prove_less_equal(1, length):
            continue
        if found is None or not any(symbolic.prove_equal(length, size) for size in found.sizes):
            raise NoStagesError(f"elements stay what they are where the loop {axis.name} has no iterations")
    if found is not None and found.values != texts_of(begins):
        raise NoStagesError(found.refusal)


def is_first(node: ast.If, names: Sequence[str]) -> bool:
    """True if the condition holds exactly in the first iteration of the loops `names`."""
    tests = list(_joined(node.test))
    found = []
    for test in tests:
        if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq) or len(test.ops) > 1:
            return False
        if ast.unparse(test.comparators[0]) != "0":
            return False
        found.append(ast.unparse(test.left))
    return not node.orelse and sorted(found) == sorted(names)


def texts_of(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """The stored value of each buffer, with local scalars substituted."""
    scalars: dict[str, ast.expr] = {}
    found: dict[str, str] = {}
    for item in statements:
        if not isinstance(item, ast.Assign):
            raise NoStagesError(f"`{ast.unparse(item)[:60]}` stores no element")
        value = item.value
        while isinstance(value, ast.Name) and value.id in scalars:
            value = scalars[value.id]
        target = store_of(item)
        if target is not None:
            found[ast.unparse(target.value)] = ast.unparse(value)
        elif isinstance(item.targets[0], ast.Name):
            scalars[item.targets[0].id] = value
    return found


def store_of(node: ast.stmt) -> ast.Subscript | None:
    """The element that a statement stores."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return target if isinstance(target, ast.Subscript) else None


def read_first(node: ast.stmt) -> set[str]:
    """The buffers of which a nest reads an element before storing it."""
    stored: set[str] = set()
    read: set[str] = set()
    found: set[str] = set()
    for item in ordered(node):
        if isinstance(item, ast.Assign):
            read |= {ast.unparse(part) for part in ast.walk(item.value) if isinstance(part, ast.Subscript)}
            target = store_of(item)
            if target is not None and ast.unparse(target) in read and ast.unparse(target) not in stored:
                found.add(ast.unparse(target.value))
            if target is not None:
                stored.add(ast.unparse(target))
    return found


def ordered(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes in a node, itself first, in source order."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from ordered(child)


def dim_of(node: ast.expr) -> Dim:
    """A size in the script as a dimension."""
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
    try:
        return symbolic.parse(str(text).replace("T.max(", "max(").replace("T.min(", "min("))
    except RelaxError:
        raise NoStagesError(f"`{text}` is no expression of sizes") from None


def function_name(call: ast.Call) -> str:
    """``grid`` of ``T.grid(…)``."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def places_of(target: ast.Subscript) -> list[ast.expr]:
    """The indices of an element."""
    index = target.slice
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def _alternatives(test: ast.expr) -> Iterator[ast.expr]:
    yield from _operands(test, ast.Or, ast.BitOr)


def _joined(test: ast.expr) -> Iterator[ast.expr]:
    yield from _operands(test, ast.And, ast.BitAnd)


def _operands(test: ast.expr, logical: type[ast.boolop], bitwise: type[ast.operator]) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, logical):
        for value in test.values:
            yield from _operands(value, logical, bitwise)
    elif isinstance(test, ast.BinOp) and isinstance(test.op, bitwise):
        yield from _operands(test.left, logical, bitwise)
        yield from _operands(test.right, logical, bitwise)
    else:
        yield test


def _is_empty(test: ast.expr) -> bool:
    """``k <= 0``."""
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.LtE)
        and ast.unparse(test.comparators[0]) == "0"
    )


MAX_VALUES = 2
"""The maximum tuple size of a combiner for which the order is tested."""
COMPARISONS_BY_NAME: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


class NoCombiner(Exception):
    """The statements are not a reduction; the message has the reason."""


def reductions_of(
    name: str,
    so_far: Sequence[ScalarVar],
    results: Sequence[Expr],
    begun: Sequence[Expr],
    axes: Sequence[IterVar],
) -> list[Reduction]:
    """The reductions that compute `results` from the previous values `so_far` and elements.

    They are ordered unless the order is proved to be irrelevant.

    Raises:
        NoCombiner: more elements are combined than there are values.
    """
    sources = _sources(so_far, results)
    if len(sources) > len(so_far):
        shown = ", ".join(f"`{source!r}`" for source in sources)
        raise NoCombiner(f"{name} is combined with {len(sources)} elements at a time: {shown}")
    given = [*sources, *[Number(0).astype("int32")] * (len(so_far) - len(sources))]
    for order in itertools.permutations(given) if len(sources) == len(so_far) <= MAX_VALUES else ():
        made = _combiner(name, so_far, results, begun, order)
        if order_is_free(made):
            return _made(made, order, axes)
    combiner = _combiner(name, so_far, results, begun, given)
    return _made(replace(combiner, ordered=True), given, axes)


def _made(combiner: Combiner, sources: Sequence[Expr], axes: Sequence[IterVar]) -> list[Reduction]:
    return [Reduction(combiner, sources, axes, number) for number in range(len(sources))]


def _combiner(
    name: str,
    so_far: Sequence[ScalarVar],
    results: Sequence[Expr],
    begun: Sequence[Expr],
    sources: Sequence[Expr],
) -> Combiner:
    elements = [ScalarVar(f"y{number}", source.kind) for number, source in enumerate(sources)]
    known: dict[Any, Expr] = {}
    for source, element in zip(sources, elements, strict=True):
        known.setdefault(_key(source), element)
    values: dict[Expr, Any] = {
        item: known[key] for result in results for item in post_order(result) if (key := _key(item)) in known
    }
    found = [substitute(result, values) for result in results]
    return Combiner(name, tuple(so_far), tuple(elements), tuple(found), tuple(begun))


def _sources(so_far: Sequence[ScalarVar], results: Sequence[Expr]) -> list[Expr]:
    """The maximal subexpressions of elements and indices that do not use the previous values, each once."""
    own = set(map(id, so_far))
    combined: dict[int, bool] = {}
    varies: dict[int, bool] = {}
    found: dict[Any, Expr] = {}
    for item in post_order(*results):
        combined[id(item)] = id(item) in own or any(combined[id(child)] for child in item.children)
        varies[id(item)] = isinstance(item, Load | IterVar) or any(
            varies[id(child)] for child in item.children
        )
    waiting = list(results)
    while waiting:
        item = waiting.pop(0)
        if combined[id(item)]:
            waiting = [*item.children, *waiting]
        elif varies[id(item)]:
            found.setdefault(_key(item), item)
    return list(found.values())


def _key(root: Expr) -> Any:  # noqa: ANN401 - a tuple of tuples
    """A key that is equal for structurally equal expressions."""

    def key(item: Expr, parts: list[Any]) -> Any:  # noqa: ANN401 - a tuple
        if isinstance(item, IterVar | ScalarVar):
            return id(item)
        tensor = id(item.tensor) if isinstance(item, Load) else None
        names = [getattr(item, name, None) for name in ("operator", "function", "value")]
        size = str(getattr(item, "dim", ""))
        return (type(item).__name__, str(item.kind), tensor, size, *map(repr, names), *parts)

    return fold(root, key)


# -- the order


def order_is_free(combiner: Combiner) -> bool:
    """True if values may be combined in any order, and the initial values more than once.

    Tested for all values in {0, 1, 2}. This is a proof for combiners that only compare and select values at the same
    position of the tuples: the laws of commutativity, associativity and idempotence involve at most three different
    values. NaN is not covered.
    """
    if any(a.kind != b.kind for a, b in zip(combiner.lhs, combiner.rhs, strict=True)):
        return False
    values = list(itertools.product(range(3), repeat=len(combiner.lhs)))
    table: dict[tuple[Any, Any], tuple[int, ...]] = {}
    for a, b in itertools.product(values, values):
        made = _combined(combiner, a, b)
        if made is None:
            return False
        table[a, b] = made
    if any(table[a, a] != a or any(table[a, b] != table[b, a] for b in values) for a in values):
        return False
    return all(
        table[table[a, b], c] == table[a, table[b, c]] for a, b, c in itertools.product(values, repeat=3)
    )


def _combined(combiner: Combiner, a: Sequence[int], b: Sequence[int]) -> tuple[int, ...] | None:
    """The combination of two tuples; None if it uses more than comparisons and selections."""
    known: dict[int, Any] = {}
    for place, (left, right) in enumerate(zip(combiner.lhs, combiner.rhs, strict=True)):
        known[id(left)], known[id(right)] = (place, a[place]), (place, b[place])
    found = []
    for place, result in enumerate(combiner.result):
        value = fold(result, lambda item, parts: _value(item, parts, known))
        if value is None or value[0] != place:
            return None
        found.append(value[1])
    return tuple(found)


def _value(item: Expr, parts: list[Any], known: Mapping[int, Any]) -> Any:  # noqa: ANN401 - a position and a value
    """A value with its position in the tuples, or with "bool"; None if unknown."""
    if isinstance(item, ScalarVar):
        return known[id(item)]
    if isinstance(item, Number) and isinstance(item.value, bool):
        return "bool", item.value
    if isinstance(item, Cast) and item.kind == BOOL:
        return parts[0] if parts[0] is not None and parts[0][0] == "bool" else None
    if None in parts or not parts:
        return None
    kinds, values = [part[0] for part in parts], [part[1] for part in parts]
    if isinstance(item, Choice):
        same = kinds[0] == "bool" and kinds[1] == kinds[2]
        return (kinds[1], values[1] if values[0] else values[2]) if same else None
    if isinstance(item, Unary) and item.operator == "not":
        return ("bool", not values[0]) if kinds == ["bool"] else None
    if len(set(kinds)) != 1:
        return None
    if isinstance(item, Logical):
        joined = (values[0] and values[1]) if item.operator == "and" else (values[0] or values[1])
        return ("bool", joined) if kinds[0] == "bool" else None
    if isinstance(item, Compare):
        return "bool", COMPARISONS_BY_NAME[item.operator](*values)
    if isinstance(item, Call) and item.function in ("max", "min") and kinds[0] != "bool":
        return kinds[0], (max if item.function == "max" else min)(values)
    return None


COMBINERS = {"+": "sum", "*": "prod"}


@dataclass
class Lifted:
    """A prim func as tensor expressions."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    integers: tuple[str, ...]
    blocks: dict[str, Tensor]
    """The result of each block, by block name."""
    loops: dict[ComputeOp, list[IterVar]]
    """The loops of each computation, outermost first."""
    continued: bool = False
    """True if reductions combine with the existing values of the buffer."""


class _WrittenOut(ast.NodeTransformer):
    """Rewrite ``C[i] += x`` as ``C[i] = C[i] + x``."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        element = ast.parse(ast.unparse(node.target), mode="eval").body
        made = ast.Assign([node.target], ast.BinOp(element, node.op, node.value))
        return ast.fix_missing_locations(ast.copy_location(made, node))


@dataclass
class _Lifter:
    shapes: dict[str, tuple[tuple[Dim, ...], str]]
    titles: Mapping[ast.stmt, str]
    """The block name of each store."""
    tensors: dict[str, Tensor] = field(default_factory=dict)
    pending: dict[str, Expr] = field(default_factory=dict)
    """The stored values with which later nests combine values."""
    blocks: dict[str, Tensor] = field(default_factory=dict)
    loops: dict[ComputeOp, list[IterVar]] = field(default_factory=dict)
    """The loops of each computation, outermost first."""
    symbols: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    continues: bool = False
    """True if a reduction may combine with the existing values of the buffer."""
    continued: bool = False
    awaited: set[str] = field(default_factory=set)
    """The buffers with which nests combine values."""
    when_empty: EmptyReduction | None = None
    """The values stored for the following reduction in case it is empty."""

    def statement(self, node: ast.stmt) -> None:
        """Process a nest, an allocation, or the case of an empty reduction."""
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and isinstance(node.targets[0], ast.Name)
        ):
            if function_name(node.value) != "alloc_buffer":
                raise NoStagesError(f"`{ast.unparse(node)[:60]}` is no computation of a buffer")
            shape, dtype = node.value.args[:2]
            assert isinstance(shape, ast.Tuple)
            dims = tuple(dim_of(item) for item in shape.elts)
            self.shapes[node.targets[0].id] = (dims, str(ast.literal_eval(dtype)))
            return
        if isinstance(node, ast.If):
            if self.when_empty is not None:
                raise NoStagesError(self.when_empty.refusal)
            self.when_empty = EmptyReduction.of(node)
            return
        nest = nest_of(node)
        title, statements = "", nest.body
        axes = {name: name for name, _ in nest.axes}
        initial: list[ast.stmt] = []
        if len(statements) == 1 and isinstance(statements[0], ast.With):
            title, axes, initial, statements = self.block(statements[0])
        self.computation(nest, title, axes, initial, statements)

    def block(self, node: ast.With) -> tuple[str, dict[str, str], list[ast.stmt], list[ast.stmt]]:
        """The name of a block, the loops of its axes, the initialization of its reduction, and its statements."""
        call = node.items[0].context_expr
        assert isinstance(call, ast.Call)
        title = str(ast.literal_eval(call.args[0])) if call.args else ""
        axes: dict[str, str] = {}
        initial: list[ast.stmt] = []
        rest: list[ast.stmt] = []
        for statement in node.body:
            value = statement.value if isinstance(statement, ast.Assign) else None
            if isinstance(value, ast.Call) and function_name(value) == "remap":
                assert isinstance(statement, ast.Assign)
                (target,) = statement.targets
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                bindings = value.args[1]
                assert isinstance(bindings, ast.List)
                axes.update(
                    (ast.unparse(a), ast.unparse(b)) for a, b in zip(names, bindings.elts, strict=True)
                )
            elif isinstance(statement, ast.With):
                initial = statement.body
            else:
                rest.append(statement)
        return title, axes, initial, rest

    def computation(
        self,
        nest: Nest,
        title: str,
        axes: Mapping[str, str],
        initial: Sequence[ast.stmt],
        statements: Sequence[ast.stmt],
    ) -> None:
        """Add the computation of the buffers that a nest stores to."""
        stores = [item for item in statements if store_of(item) is not None]
        if not stores or store_of(statements[-1]) is None:
            raise NoStagesError(f"`{ast.unparse(statements[-1])[:60]}` stores no element")
        found = [target for item in stores if (target := store_of(item)) is not None]
        targets = {ast.unparse(target.value): target for target in found}
        own = self.axes_of(nest, axes, found)
        by_loop = {loop: axis for axis, loop in axes.items()}
        reduced = {
            by_loop[loop]: IterVar(loop, Range(0, extent), REDUCTION)
            for loop, extent in nest.axes
            if by_loop[loop] not in own
        }
        reader = Elements({**own, **reduced}, self.tensors, self.symbols)
        begun = self.beginning(nest, list(reduced.values()), statements, initial, reader)
        rest = [item for item in statements if not isinstance(item, ast.If)]
        filled = [name for name in targets if name in self.tensors]
        if filled:
            raise NoStagesError(f"'{filled[0]}' is filled twice")
        if reduced:
            body = self.combined(targets, rest, reader, list(reduced.values()), begun)
        else:
            body = self.stored(rest, reader)
            for name in [name for name in targets if name in self.awaited and name not in self.pending]:
                self.pending[name] = body.pop(name)
            if not body:
                return
        wanted = title or next((self.titles[item] for item in stores if item in self.titles), "")
        loops = [{**own, **reduced}[by_loop[loop]] for loop, _ in nest.axes]
        self.add(wanted, list(own.values()), body, loops)

    def axes_of(
        self, nest: Nest, axes: Mapping[str, str], targets: Sequence[ast.Subscript]
    ) -> dict[str, IterVar]:
        """The spatial axes, by their names in the indices of the stores."""
        extents = dict(nest.axes)
        found: list[str] | None = None
        for target in targets:
            name, places = ast.unparse(target.value), places_of(target)
            names = [place.id for place in places if isinstance(place, ast.Name) and place.id in axes]
            if len(names) != len(places) or len(set(names)) != len(names) or name not in self.shapes:
                raise NoStagesError(
                    f"`{ast.unparse(target)}` is stored at other places than the axes of its loops"
                )
            if found is not None and names != found:
                raise NoStagesError(
                    f"`{ast.unparse(target)}` is stored at another place than what is with it"
                )
            found = names
            for place, size in zip(names, self.shapes[name][0], strict=True):
                if not prove_equal(extents[axes[place]], size):
                    raise NoStagesError(
                        f"the loop {axes[place]} has another length than the dimension of '{name}' that it runs along"
                    )
        return {
            place: IterVar(axes[place], Range(0, extents[axes[place]]), DATA_PARALLEL)
            for place in found or ()
        }

    def beginning(
        self,
        nest: Nest,
        reduced: Sequence[IterVar],
        statements: Sequence[ast.stmt],
        initial: Sequence[ast.stmt],
        reader: Elements,
    ) -> dict[str, Expr]:
        """The initial values of a reduction by buffer name, if its own nest stores them."""
        waiting, self.when_empty = self.when_empty, None
        first = next((item for item in statements if isinstance(item, ast.If)), None)
        if first is None:
            if waiting is not None:
                raise NoStagesError(waiting.refusal)
            return self.stored(initial, reader)
        if any(isinstance(item, ast.If) and item is not first for item in statements) or not is_first(
            first, [axis.name for axis in reduced]
        ):
            raise NoStagesError(
                f"`{ast.unparse(first)[:60]}` is a condition, which is no beginning of a reduction"
            )
        before = statements[: statements.index(first)]
        if any(store_of(item) is not None for item in before):
            raise NoStagesError("elements are stored before a reduction begins")
        self.stored(before, reader)
        begun = self.stored(first.body, reader)
        check_empty(waiting, reduced, first.body, nest)
        return begun

    def stored(self, statements: Sequence[ast.stmt], reader: Elements) -> dict[str, Expr]:
        """The values that statements store, in order, by buffer name."""
        found: dict[str, Expr] = {}
        outer = dict(reader.current)
        for item in statements:
            target = store_of(item)
            if not isinstance(item, ast.Assign):
                raise NoStagesError(f"`{ast.unparse(item)[:60]}` stores no element")
            value = reader.expression(item.value)
            if target is None:
                if not isinstance(item.targets[0], ast.Name):
                    raise NoStagesError(f"`{ast.unparse(item)[:60]}` is no local scalar")
                reader.scalars[item.targets[0].id] = value
                continue
            name = ast.unparse(target.value)
            found[name] = _typed(value, self.shapes[name][1])
            reader.current[ast.unparse(target)] = found[name]
        reader.current = outer
        return found

    def combined(
        self,
        targets: Mapping[str, ast.Subscript],
        statements: Sequence[ast.stmt],
        reader: Elements,
        axes: list[IterVar],
        given: Mapping[str, Expr],
    ) -> dict[str, Expr]:
        """The reductions of a nest, by buffer name."""
        begun = {name: given[name] if name in given else self.begun(name) for name in targets}
        so_far = {name: ScalarVar(name, dtypes.dtype(self.shapes[name][1])) for name in targets}
        reader.current = {ast.unparse(target): so_far[name] for name, target in targets.items()}
        found = self.stored(statements, reader)
        reader.current = {}
        if len(found) == 1:
            ((name, value),) = found.items()
            made = self.named(name, value, so_far[name], axes, begun[name])
            if made is not None:
                return {name: made}
        starts = [value for value in begun.values() if value is not None]
        if len(starts) != len(begun):
            raise NoStagesError(f"nothing says what the reduction '{next(iter(targets))}' begins with")
        try:
            together = reductions_of(
                "_".join(found), list(so_far.values()), list(found.values()), starts, axes
            )
        except NoCombiner as problem:
            raise NoStagesError(str(problem)) from None
        return dict(zip(found, together, strict=True))

    def named(
        self, name: str, value: Expr, so_far: ScalarVar, axes: list[IterVar], begun: Expr | None
    ) -> Reduction | None:
        """``C[i] + x`` and similar combinations as a built-in reduction; None for others."""
        kind = COMBINERS.get(value.operator) if isinstance(value, Binary) else None
        if isinstance(value, Call) and value.function in ("max", "min"):
            kind = value.function
        sides = [side for side in value.children if side is not so_far]
        if kind is None or len(sides) != 1 or so_far in set(post_order(sides[0])):
            return None
        dtype = self.shapes[name][1]
        is_plain = begun is None or _is_identity(kind, begun, dtype)
        made: Reduction = getattr(reductions, kind)(
            _typed(sides[0], dtype), axis=axes, init=None if is_plain else begun
        )
        return made

    def begun(self, name: str) -> Expr | None:
        """The initial value of a reduction, stored by another nest; None: the existing value."""
        if name not in self.pending and self.continues:
            self.continued = True
            return None
        if name not in self.pending:
            raise NoStagesError(f"nothing says what the reduction '{name}' begins with")
        return self.pending.pop(name)

    def add(self, title: str, axes: list[IterVar], body: Mapping[str, Expr], loops: list[IterVar]) -> None:
        """Add the computation of some buffers."""
        first, *others = body
        wanted = title if title and not re.fullmatch(r"block\d*", title) else first
        op = ComputeOp(
            axes, list(body.values()), first if first in self.parameters and not others else wanted
        )
        self.loops[op] = loops
        for name, tensor in zip(body, op.outputs, strict=True):
            if others:
                tensor.name = name
            self.tensors[name] = tensor
        names = [wanted, *(name for name in body if others and name != wanted)]
        for name, tensor in zip(
            names, [op.outputs[0], *map(self.tensors.__getitem__, names[1:])], strict=True
        ):
            self.blocks[name if name not in self.blocks else f"{name}_{len(self.blocks)}"] = tensor


def lift(function: func.FuncOp, continues: bool = False) -> Lifted:
    """The tensor expressions of a prim func; `continues`: a reduction without an initial value uses the existing one.

    Raises:
        UnsupportedError: it is not a sequence of loop nests that fill buffers.
    """
    name = function.name.value
    lines, params = print_prim(function), prim_params(function)
    if lines is None or params is None:
        raise UnsupportedError(
            f"tir.Schedule: prim func '{name}' has no script form, which schedules are made of"
        )
    (parsed,) = ast.parse("\n".join(lines)).body
    tree = _WrittenOut().visit(parsed)
    assert isinstance(tree, ast.FunctionDef)
    shapes = {p.name: (tuple(p.shape), str(p.dtype)) for p in params if p.shape is not None}
    lifter = _Lifter(shapes, _titles(function, tree))
    lifter.parameters = {p.name for p in params}
    lifter.continues = continues
    written = {
        ast.unparse(node.value)
        for store in ast.walk(tree)
        if isinstance(store, ast.Assign)
        for node in store.targets
        if isinstance(node, ast.Subscript)
    }
    lifter.awaited = {name for statement in tree.body for name in read_first(statement)}
    buffers = [p for p in params if p.shape is not None]
    inputs = [p for p in buffers if p.name not in written]
    integers = tuple(p.name for p in params if p.shape is None)
    if [p.name for p in params] != [
        *(p.name for p in inputs),
        *(p.name for p in buffers if p.name in written),
        *integers,
    ]:
        raise UnsupportedError(
            f"tir.Schedule: prim func '{name}': its parameters are not inputs, then outputs, then integers"
        )
    for param in inputs:
        lifter.tensors[param.name] = placeholder(param.shape or (), str(param.dtype), param.name)
    lifter.symbols = {
        s for dims, _ in lifter.shapes.values() for dim in dims for s in symbolic.symbols(dim)
    } | set(integers)
    try:
        for statement in tree.body:
            lifter.statement(statement)
        if lifter.when_empty is not None:
            raise NoStagesError(lifter.when_empty.refusal)
        outputs = [lifter.tensors[p.name] for p in buffers if p.name in written]
    except (NoStagesError, KeyError) as problem:
        raise UnsupportedError(
            f"tir.Schedule: prim func '{name}' is no sequence of loop nests that fill buffers: {problem}"
        ) from None
    return Lifted(
        [lifter.tensors[p.name] for p in inputs],
        outputs,
        integers,
        lifter.blocks,
        lifter.loops,
        lifter.continued,
    )


def _titles(function: func.FuncOp, tree: ast.FunctionDef) -> dict[ast.stmt, str]:
    """The block name of each store in loops on memrefs."""
    stores = [node for node in ordered(tree) if isinstance(node, ast.Assign) and store_of(node) is not None]
    ops = ops_of(function.operation, "memref.store", order=ir.WalkOrder.PRE_ORDER)
    if len(ops) != len(stores):
        return {}
    return {
        node: name for node, op in zip(stores, ops, strict=True) if (name := name_of(op.location)) is not None
    }


def _typed(value: Expr, dtype: str) -> Expr:
    """A stored value, cast to the dtype of the buffer."""
    return value if value.dtype == dtype else value.astype(dtype)


def _is_identity(name: str, value: Expr, dtype: str) -> bool:
    """True if the initial value of a reduction is its identity."""
    number = value.children[0] if isinstance(value, Cast) else value
    if isinstance(number, Number) and name in ("sum", "prod"):
        return bool(number.value == (name == "prod"))
    return repr(value) == repr(reductions.identity(name, dtype))
