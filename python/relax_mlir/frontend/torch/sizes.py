"""Inputs, outputs and symbols of exported programs, their sizes as dimensions, and the assumptions about them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Union

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.structure import tuple_get_item
from relax_mlir.dialects.types import Prim, StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError, UnsupportedError
from relax_mlir.frontend.torch.torch_types import (
    Argument,
    ExportedProgram,
    FakeTensor,
    Node,
    Size,
    SymPy,
    TreeSpec,
    dtype_name,
)
from relax_mlir.symbolic import Dim

# Convert sizes of PyTorch's graphs, which are SymPy expressions, to dimensions of this project.


_LARGEST_DENOMINATOR = 2**16
"""The maximum denominator of float factors that are treated as fractions; for powers of two, products are exact."""


class NoDimension(RelaxError):
    """An expression that has no symbolic dimension and is computed at run time."""


class Sizes:
    """The sizes of one exported program: its symbols have users' names, or are expressions of other symbols."""

    def __init__(self, meanings: Mapping[str, Dim] | None = None) -> None:
        self.meanings: dict[str, Dim] = dict(meanings or {})
        """The meaning of torch's symbols; others keep their names."""

    def dim(self, size: Size) -> Dim:
        """Convert a size to a dimension. Raises `NoDimension`."""
        if isinstance(size, int):
            return size
        return self.expression(size.node.expr if hasattr(size, "node") else size)

    def shape(self, sizes: Size) -> list[Dim]:
        """Convert all sizes of a tensor. Raises `NoDimension`."""
        return [self.dim(size) for size in sizes]

    def expression(self, expression: SymPy) -> Dim:
        """Convert a SymPy expression of integers. Raises `NoDimension`."""
        if isinstance(expression, int) or expression.is_Integer:
            return int(expression)
        if expression.is_Symbol:
            name = str(expression)
            return self.meanings[name] if name in self.meanings else symbolic.symbol(name)
        name = type(expression).__name__
        if name in ("Pow", "PowByNatural"):
            return self._power(*expression.args)
        if name in _ROUNDED:
            return self._rounded(name, expression.args[0])
        if name not in _FUNCTIONS:
            raise NoDimension(f"no dimension says '{expression}' ({name})")
        return _FUNCTIONS[name]([self.expression(part) for part in expression.args])

    def _power(self, base: SymPy, exponent: SymPy) -> Dim:
        if not exponent.is_Integer or not 0 <= int(exponent) <= 16:
            raise NoDimension(f"no dimension says '{base}**{exponent}'")
        factor = self.expression(base)
        return symbolic.product([factor] * int(exponent))

    def _rounded(self, name: str, inner: SymPy) -> Dim:
        above, below = self._fraction(inner)
        if name == "CeilToInt":
            return symbolic.ceildiv(above, below)
        if name == "TruncToInt":
            least, _ = symbolic.bounds(above)
            if least is None or least < 0:
                raise NoDimension(f"the sign of '{inner}' is not known")
        return symbolic.floordiv(above, below)

    def _fraction(self, expression: SymPy) -> tuple[Dim, int]:
        """Convert a float expression to a dimension and a divisor, if float arithmetic is exact or rounds the same."""
        name = type(expression).__name__
        if expression.is_number:
            value = Fraction(float(expression))
            if value.denominator > _LARGEST_DENOMINATOR:
                raise NoDimension(f"the factor {expression} is no short binary fraction")
            return value.numerator, value.denominator
        if name in ("ToFloat", "Identity"):
            return self._fraction(expression.args[0]) if name == "Identity" else self._whole(expression)
        if name in ("IntTrueDiv", "FloatTrueDiv"):
            (above, below), (factor, ratio) = map(self._fraction, expression.args)
            if not isinstance(factor, int) or factor <= 0 or (name == "FloatTrueDiv" and factor & (factor - 1)):
                raise NoDimension(f"no dimension says '{expression}'")
            return above * ratio, below * factor
        if name == "Mul":
            parts = [self._fraction(part) for part in expression.args]
            below = 1
            for _, divisor in parts:
                below *= divisor
            return symbolic.product([above for above, _ in parts]), below
        if name == "Add":
            parts = [self._fraction(part) for part in expression.args]
            below = max(divisor for _, divisor in parts)
            if any(below % divisor for _, divisor in parts):
                raise NoDimension(f"no dimension says '{expression}'")
            total: Dim = 0
            for above, divisor in parts:
                total = total + above * (below // divisor)
            return total, below
        return self.expression(expression), 1

    def _whole(self, expression: SymPy) -> tuple[Dim, int]:
        return self.expression(expression.args[0]), 1


def _sum(parts: list[Dim]) -> Dim:
    total: Dim = 0
    for part in parts:
        total = total + part
    return total


_ROUNDED = ("CeilToInt", "FloorToInt", "TruncToInt")

_FUNCTIONS: dict[str, Callable[[list[Dim]], Dim]] = {
    "Add": _sum,
    "Mul": symbolic.product,
    "FloorDiv": lambda parts: symbolic.floordiv(*parts),
    "CleanDiv": lambda parts: symbolic.floordiv(*parts),
    "Mod": lambda parts: symbolic.floormod(*parts),
    "PythonMod": lambda parts: symbolic.floormod(*parts),
    "ModularIndexing": lambda parts: symbolic.floormod(symbolic.floordiv(parts[0], parts[1]), parts[2]),
    "Max": lambda parts: symbolic.maximum(*parts),
    "Min": lambda parts: symbolic.minimum(*parts),
    "Identity": lambda parts: parts[0],
}
"""Functions of SymPy and torch, by class name."""


# PyTorch's assumptions about sizes at tracing time, as conditions that each call of the program checks.


_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True)
class Guard:
    """One comparison of sizes."""

    left: Dim
    relation: str
    right: Dim

    def substituted(self, sizes: Sizes) -> Guard:
        """Return the guard with symbols replaced by their meanings."""
        meanings = {name: dim for name, dim in sizes.meanings.items() if str(dim) != name}
        return Guard(symbolic.substitute(self.left, meanings), self.relation, symbolic.substitute(self.right, meanings))

    @property
    def difference(self) -> Dim:
        """The value that is at most 0 if a comparison with ``<=`` or ``>=`` holds."""
        return self.left - self.right if self.relation == "<=" else self.right - self.left

    @property
    def holds(self) -> bool:
        """True if the guard is proved."""
        left, right = self.left, self.right
        if self.relation == "==":
            return symbolic.prove_equal(left, right)
        if self.relation == "!=":
            return symbolic.prove_not_equal(left, right)
        if self.relation in ("<", ">"):
            low, high = (left, right) if self.relation == "<" else (right, left)
            return symbolic.prove_less_equal(low + 1, high)
        low, high = (left, right) if self.relation == "<=" else (right, left)
        return symbolic.prove_less_equal(low, high)

    @property
    def names(self) -> set[str]:
        """The symbols in the guard."""
        return {name for side in (self.left, self.right) for name in symbolic.symbols(side)}

    @property
    def is_of_tracing(self) -> bool:
        """True if the guard only states that sizes are two or more, which torch always assumes when it traces."""
        with symbolic.assuming(dict.fromkeys(self.names, (2, None))):
            return self.holds

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def emit(self) -> None:
        """Emit a check of the guard; its `CheckError` names the sizes."""
        names = sorted(self.names)
        shown = ", ".join(f"{name} = {{}}" for name in names)
        R.assert_op(
            str(self),
            *map(symbolic.symbol, names),
            format=f"the program was exported for {self}, but {shown}",
        )


class UnknownGuard(RelaxError):
    """A guard that is no comparison of sizes."""


def read_guards(texts: Sequence[str], shapes: Mapping[str, Any], sizes: Sizes) -> list[Guard]:
    """Parse the guards of a program; `shapes` maps torch's names of arguments' sizes to these.

    Raises:
        UnknownGuard: this importer cannot check a guard.
    """
    found: list[Guard] = []
    for text in texts:
        try:
            found += _conjunction(ast.parse(text, mode="eval").body, shapes, sizes)
        except (SyntaxError, NoDimension, _NoSize) as error:
            raise UnknownGuard(f"the program was exported for '{text}', which cannot be checked: {error}") from None
    return found


class _NoSize(Exception):
    """Part of a guard is no expression of sizes."""


def _conjunction(node: ast.expr, shapes: Mapping[str, Any], sizes: Sizes, negated: bool = False) -> list[Guard]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _conjunction(node.operand, shapes, sizes, not negated)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or if negated else ast.And):
        return [guard for part in node.values for guard in _conjunction(part, shapes, sizes, negated)]
    if not isinstance(node, ast.Compare) or (negated and len(node.ops) > 1):
        raise _NoSize(f"'{ast.unparse(node)}' is no comparison")
    sides = [_size(side, shapes, sizes) for side in (node.left, *node.comparators)]
    relations = [_RELATIONS.get(type(operator)) for operator in node.ops]
    guards = []
    for left, relation, right in zip(sides, relations, sides[1:], strict=False):
        if relation is None:
            raise _NoSize(f"'{ast.unparse(node)}' is no comparison of numbers")
        guards.append(Guard(left, _NEGATED[relation] if negated else relation, right))
    return guards


def _size(node: ast.expr, shapes: Mapping[str, Any], sizes: Sizes) -> Dim:
    text = ast.unparse(node)
    if text in shapes:
        return sizes.dim(shapes[text])
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_size(node.operand, shapes, sizes)
    if isinstance(node, ast.BinOp):
        return _arithmetic(node, _size(node.left, shapes, sizes), _size(node.right, shapes, sizes))
    if isinstance(node, ast.Call):
        return _called(node, [_size(item, shapes, sizes) for item in node.args])
    raise _NoSize(f"'{text}' is no size")


def _arithmetic(node: ast.BinOp, left: Dim, right: Dim) -> Dim:
    operator = type(node.op)
    if operator is ast.Add:
        return left + right
    if operator is ast.Sub:
        return left - right
    if operator is ast.Mult:
        return symbolic.product([left, right])
    if operator is ast.FloorDiv:
        return symbolic.floordiv(left, right)
    if operator is ast.Mod:
        return symbolic.floormod(left, right)
    if operator is ast.Pow and isinstance(right, int) and 0 <= right <= 16:
        return symbolic.product([left] * right)
    raise _NoSize(f"'{ast.unparse(node)}' is no integer")


def _called(node: ast.Call, args: list[Dim]) -> Dim:
    name = ast.unparse(node.func).rpartition(".")[2]
    if name in ("Max", "max", "sym_max"):
        return symbolic.maximum(*args)
    if name in ("Min", "min", "sym_min"):
        return symbolic.minimum(*args)
    if name in ("Mod", "PythonMod"):
        return symbolic.floormod(*args)
    if name in ("FloorDiv", "CleanDiv"):
        return symbolic.floordiv(*args)
    raise _NoSize(f"'{ast.unparse(node)}' is no size")


# Inputs and outputs of an exported program, with the names and the nesting of the original module.


_NUMBERED = re.compile(r"(\w+)_(\d+)")
"""Torch's name of an entry of ``*args``."""
_RESULTS = ("USER_OUTPUT", "BUFFER_MUTATION", "USER_INPUT_MUTATION")
_INPUTS = ("USER_INPUT", "PARAMETER", "BUFFER", "CONSTANT_TENSOR")


@dataclass(frozen=True)
class Leaf:
    """One argument of a call of the module, after flattening."""

    node: Node
    """The placeholder in torch's graph."""
    paths: tuple[str, ...]
    """Torch's names of the argument, as in its guards: ``L['past']['keys'][0]``; the last is that of strict export."""
    constant: bool
    """True for a number, string or None that was fixed at export; False for tensors and symbolic integers."""


Tree = Union[Leaf, tuple["Tree", ...]]  # noqa: UP007 - a forward reference has no operator |
"""A nested argument; all kinds of containers are represented as tuples."""


@dataclass(frozen=True)
class Parameter:
    """One argument of ``forward``, by its name."""

    name: str
    tree: Tree

    @property
    def leaves(self) -> Iterator[Leaf]:
        """All leaves in order, constants included."""
        waiting = [self.tree]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Leaf):
                yield item
            else:
                waiting += reversed(item)

    @property
    def values(self) -> Tree | None:
        """The tree without constants; None if nothing is left."""
        return _without_constants(self.tree)


def _without_constants(tree: Tree) -> Tree | None:
    if isinstance(tree, Leaf):
        return None if tree.constant else tree
    kept = tuple(found for item in tree if (found := _without_constants(item)) is not None)
    return kept if kept or not tree else None


@dataclass(frozen=True)
class ProgramSignature:
    """Inputs and outputs of an exported program."""

    parameters: tuple[Parameter, ...]
    weights: tuple[tuple[Any, str], ...]
    """Placeholders of parameters, buffers and constants, with their names in the module."""
    state: tuple[str, ...]
    """The buffers that the program changes, in the order of `changed`."""
    results: tuple[Any, ...]
    """The module's results: arguments of the output node, flattened."""
    out_spec: TreeSpec
    changed: tuple[tuple[str, str, Any], ...]
    """The graph's other results: ``"buffer"`` or ``"input"``, its name, and the node of its new value."""

    @property
    def leaves(self) -> Iterator[Leaf]:
        for parameter in self.parameters:
            yield from parameter.leaves


def read_signature(program: ExportedProgram) -> ProgramSignature:
    """Return the signature of an exported program. Raises `UnsupportedError` for unsupported inputs or outputs."""
    signature = program.graph_signature
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    inputs = []
    weights = []
    for spec in signature.input_specs:
        kind = spec.kind.name
        if kind not in _INPUTS:
            raise UnsupportedError(f"the exported program takes '{spec.arg.name}', a {kind}")
        if kind == "USER_INPUT":
            inputs.append((nodes.get(getattr(spec.arg, "name", None)), spec.arg))
        else:
            weights.append((nodes[spec.arg.name], spec.target))
    results, changed = _results(program)
    return ProgramSignature(
        tuple(_parameters(program, inputs)),
        tuple(weights),
        tuple(name for kind, name, _ in changed if kind == "buffer"),
        tuple(results),
        program.call_spec.out_spec,
        tuple(changed),
    )


def _results(program: ExportedProgram) -> tuple[list[Any], list[tuple[str, str, Any]]]:
    output = next(node for node in program.graph.nodes if node.op == "output")
    results: list[Any] = []
    changed: list[tuple[str, str, Any]] = []
    for spec, item in zip(program.graph_signature.output_specs, output.args[0], strict=True):
        kind = spec.kind.name
        if kind not in _RESULTS:
            raise UnsupportedError(
                f"the exported program has an output of kind {kind}; programs for inference are supported, "
                "export the module after module.eval(), outside of training"
            )
        if kind == "USER_OUTPUT":
            results.append(item)
        else:
            changed.append(("buffer" if kind == "BUFFER_MUTATION" else "input", spec.target, item))
    return results, changed


def _parameters(program: ExportedProgram, inputs: Sequence[tuple[Any, Any]]) -> Iterator[Parameter]:
    """Yield the arguments of ``forward`` with their leaves, in order."""
    import torch.utils._pytree as pytree

    args, kwargs = children(program.call_spec.in_spec)
    names = list(program.module_call_graph[0].signature.forward_arg_names or [])
    positional = children(args)
    keys = list(kwargs.context or [])
    names = names[: len(positional)]
    names += [f"arg{i}" for i in range(len(names), len(positional))]
    waiting = iter(enumerate(inputs))
    for name, spec in zip([*names, *keys], [*positional, *children(kwargs)], strict=True):
        whole = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
        paths = iter([pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(whole)[0]])

        def leaf(name: str = name, paths: Iterator[str] = paths) -> Leaf:
            number, (node, arg) = next(waiting)
            inner = next(paths)
            varied = _NUMBERED.fullmatch(name)
            names = [f"L['{name}']", *([f"L['{varied[1]}'][{varied[2]}]"] if varied else [])]
            known = (*(n + inner for n in names), f"L['flat_args'][{number}]")
            return Leaf(node, known, type(arg).__name__ == "ConstantArgument")

        yield Parameter(re.sub(r"\W", "_", str(name)), _tree(spec, leaf))


def _tree(spec: TreeSpec, leaf: Callable[[], Leaf]) -> Tree:
    return leaf() if spec.is_leaf() else tuple(_tree(child, leaf) for child in children(spec))


def children(spec: TreeSpec) -> list[Any]:
    found = spec.children() if callable(getattr(spec, "children", None)) else spec.children_specs
    return list(found)


def tree_info(tree: Tree, sizes: Sizes) -> StructInfo:
    """Return the struct info of a nested argument without constants."""
    if not isinstance(tree, Leaf):
        return Tuple([tree_info(item, sizes) for item in tree])
    value = tree.node.meta["val"]
    return tensor_info(value, sizes) if hasattr(value, "shape") else Prim("int64", value=sizes.dim(value))


def tensor_info(fake: FakeTensor, sizes: Sizes) -> Tensor:
    """Return the struct info of a torch tensor; sizes without a symbolic expression are unknown."""
    dims: list[Dim | None] = []
    for size in fake.shape:
        try:
            dims.append(sizes.dim(size))
        except NoDimension:
            dims.append(None)
    return Tensor(dims, dtype_name(fake.dtype))


def leaf_names(name: str, tree: Tree) -> Iterator[tuple[Any, str]]:
    """Yield the placeholders of a nested argument without constants, with the names of the parts: ``past[0][1]``."""
    if isinstance(tree, Leaf):
        yield tree.node, name
        return
    for index, item in enumerate(tree):
        yield from leaf_names(f"{name}[{index}]", item)


def unpacked(tree: Tree, value: Value) -> Iterator[tuple[Any, Value]]:
    """Yield the placeholders of a nested argument without constants, with their values."""
    if isinstance(tree, Leaf):
        yield tree.node, value
        return
    for index, item in enumerate(tree):
        yield from unpacked(item, tuple_get_item(value, index))


# Names and meanings of an exported program's symbols: from users' `Dim`s, and from equalities in guards.


TRACED = 2
"""Torch traces with sizes of two or more, regardless of the bounds of a `Dim`."""
_UNNAMED = re.compile(r"s\d+")
"""Torch's names of sizes."""
_ARGUMENT = re.compile(r"L\['(?P<name>\w+)'\]")
"""Torch's name of a whole argument."""
_WORD = re.compile(r"[A-Za-z_]\w*")


def named_sizes(program: ExportedProgram, signature: ProgramSignature, names: Mapping[str, str]) -> Sizes:
    """Return sizes whose symbols are named after `Dim`s. `names` overrides the names of torch's symbols."""
    chosen: dict[str, str] = {}
    for text, expression in _debug_names(program, signature):
        symbols = sorted(map(str, expression.free_symbols))
        words = list(dict.fromkeys(_WORD.findall(text)))
        if len(symbols) == len(words) == 1 and symbols[0] not in chosen and words[0] not in chosen.values():
            chosen[symbols[0]] = words[0]
    chosen.update(names)
    usable = {symbol: name for symbol, name in chosen.items() if symbolic.is_identifier(name)}
    return Sizes({symbol: symbolic.symbol(name) for symbol, name in usable.items()})


def _debug_names(program: ExportedProgram, signature: ProgramSignature) -> Iterator[tuple[str, Any]]:
    """Yield users' names of argument sizes (``batch``, ``4*height``), with torch's expressions of them."""
    for leaf in signature.leaves:
        value: FakeTensor = leaf.node.meta.get("val") if leaf.node is not None else None
        whole = _ARGUMENT.fullmatch(leaf.paths[0])
        if whole and type(value).__name__ == "SymInt":
            yield whole["name"], value.node.expr
        if not hasattr(value, "shape") or not hasattr(value, "fake_mode"):
            continue
        environment = value.fake_mode.shape_env
        known = getattr(environment, "source_name_to_debug_name", {}) if environment is not None else {}
        for axis, size in enumerate(value.shape):
            for path in leaf.paths:
                text = known.get(f"{path}.size()[{axis}]")
                if text is not None and not isinstance(size, int):
                    yield text, size.node.expr


def exact_symbols(signature: ProgramSignature, sizes: Sizes) -> set[str]:
    """Return the symbols of sizes for which torch did not assume two or more, so that its guards on them count."""
    found: set[str] = set()
    for leaf in signature.leaves:
        value: FakeTensor = leaf.node.meta.get("val") if leaf.node is not None else None
        environment = value.fake_mode.shape_env if hasattr(value, "fake_mode") else None
        for symbol in getattr(environment, "size_like", ()):
            found |= set(symbolic.symbols(sizes.expression(symbol)))
    return found


def eliminate(sizes: Sizes, guards: list[Guard], defined: set[str]) -> list[Guard]:
    """Eliminate symbols that an equality defines: replace ``total`` by ``past + length`` if both are equal.

    `defined` are the symbols that are a dimension of an argument. Return the remaining guards.
    """
    left: list[Guard] = []
    for guard in with_equalities(guards):
        guard = guard.substituted(sizes)
        found = _definition(guard, defined)
        if found is None:
            left.append(guard)
            continue
        name, meaning = found
        replacement = {name: meaning}
        defined.discard(name)
        for symbol, old in list(sizes.meanings.items()):
            sizes.meanings[symbol] = symbolic.substitute(old, replacement)
        sizes.meanings.setdefault(name, meaning)
    return [guard for guard in (item.substituted(sizes) for item in left) if not guard.holds]


def with_equalities(guards: Sequence[Guard]) -> list[Guard]:
    """Return `guards` with pairs ``a <= b`` and ``b <= a`` replaced by an equality."""
    differences = {guard.difference for guard in guards if guard.relation in ("<=", ">=")}
    found: list[Guard] = []
    for guard in guards:
        both = guard.relation in ("<=", ">=") and -guard.difference in differences
        found.append(Guard(guard.left, "==", guard.right) if both else guard)
    return found


def _definition(guard: Guard, defined: set[str]) -> tuple[str, Dim] | None:
    """Return the symbol that an equality defines, and its meaning in terms of symbols that arguments define."""
    if guard.relation != "==":
        return None
    difference = guard.left - guard.right
    if isinstance(difference, int):
        return None
    names = sorted(set(symbolic.symbols(difference)), key=lambda name: (not _UNNAMED.fullmatch(name), name))
    if not set(names) <= defined:
        return None
    for name in names:
        symbol = symbolic.symbol(name)
        for meaning in (symbol - difference, symbol + difference):
            if isinstance(meaning, int) or name not in symbolic.symbols(meaning):
                return name, meaning
    return None


def bounds_of(
    program: ExportedProgram, sizes: Sizes, defined: set[str]
) -> tuple[dict[str, tuple[int, int | None]], list[Guard]]:
    """Return bounds of the arguments' symbols, and guards for ranges of expressions.

    A size without a `Dim` may be 0 and 1: the lower bound `TRACED` that torch reports comes from its tracing.
    """
    unnamed = {name for name, meaning in sizes.meanings.items() if str(meaning) == name}
    unnamed |= {str(key) for key in program.range_constraints if str(key) not in sizes.meanings}
    bounds: dict[str, tuple[int, int | None]] = {}
    guards: list[Guard] = []
    for key, values in program.range_constraints.items():
        try:
            dim = sizes.expression(key)
        except (NoDimension, RelaxError):
            continue
        low = _number(values.lower)
        high = _number(values.upper)
        if low is None or low < 0 or (low <= TRACED and str(dim) in unnamed):
            low = 0
        if isinstance(dim, int):
            continue
        if str(dim) in defined:
            bounds[str(dim)] = (low, high)
        elif set(symbolic.symbols(dim)) <= defined:
            if low > 0:
                guards.append(Guard(dim, ">=", low))
            if high is not None:
                guards.append(Guard(dim, "<=", high))
    return bounds, guards


def _number(bound: Argument) -> int | None:
    text = str(bound)
    return None if "oo" in text else int(bound)
