"""Expressions of a script, evaluated to Relax values or Python constants; conditions and subscripts."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeGuard, TypeVar

import numpy as np

from relax_mlir import symbolic
from relax_mlir.dialects import indexing, structure
from relax_mlir.dialects.constants import from_torch, is_torch
from relax_mlir.dialects.control import choose, flag_of
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.structure import constant, make_tuple, prim_value, shape_expr
from relax_mlir.dialects.types import Shape, Tensor
from relax_mlir.dialects.value import Dims, Value, as_value
from relax_mlir.error import RelaxError
from relax_mlir.mlir import ir
from relax_mlir.script.annotations import attribute_of, shape_attribute
from relax_mlir.script.calls import Calls, module_function
from relax_mlir.script.scope import Scope
from relax_mlir.script.source import Problem, Source
from relax_mlir.symbolic import Dim, Expr

COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("less", operator.lt),
    ast.LtE: ("less_equal", operator.le),
    ast.Gt: ("greater", operator.gt),
    ast.GtE: ("greater_equal", operator.ge),
    ast.Eq: ("equal", operator.eq),
    ast.NotEq: ("not_equal", operator.ne),
}


def branch_condition(expressions: Expressions, node: ast.expr) -> ir.Value | bool:
    """Return the ``i1`` condition of a conditional or a loop; a bool if it is known at parse time."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        left, right = expressions.evaluate(node.left), expressions.evaluate(node.comparators[0])
        if _are_integers(left, right):
            name = COMPARISONS[type(node.ops[0])][0]
            known: ir.Value | bool = expressions.apply(node, structure.comparison, name, left, right)
            return known
        found = _compared(expressions, node, node.ops[0], left, right)
    else:
        found = expressions.evaluate(node)
    if isinstance(found, bool):
        return found
    value = expressions.relax_value(node, found)
    info = value.struct_info
    if not isinstance(info, Tensor) or info.shape != () or str(info.dtype) != "bool":
        hint = f"; compare it, as in `{ast.unparse(node)} != 0`" if structure.is_integer(value) else ""
        raise Problem(node, f"the condition is {info}, expected a bool tensor of rank 0{hint}", "ArgumentError")
    result: ir.Value | bool = expressions.apply(node, flag_of, "if", value)
    return result


def comparison(expressions: Expressions, node: ast.Compare) -> Any:  # noqa: ANN401 - a value or a bool
    """``a < b``, and chains ``a < b < c`` of scalars."""
    left = expressions.evaluate(node.left)
    found: Any = None
    for kind, part in zip(node.ops, node.comparators, strict=True):
        right = expressions.evaluate(part)
        here = _compared(expressions, node, kind, left, right)
        found = here if found is None else _connected(expressions, node, "logical_and", found, here)
        left = right
    return found


def _compared(expressions: Expressions, node: ast.expr, kind: ast.cmpop, left: Any, right: Any) -> Any:  # noqa: ANN401
    if type(kind) not in COMPARISONS:
        raise Problem(node, "`in` and `is` have no meaning for tensors")
    name, compare = COMPARISONS[type(kind)]
    if _are_integers(left, right):
        return expressions.apply(node, structure.compare, name, left, right)
    if not isinstance(left, Value) and not isinstance(right, Value):
        return expressions.apply(node, compare, left, right)
    return expressions.apply(node, expressions.calls.op(name), left, right)


def _are_integers(left: Any, right: Any) -> bool:  # noqa: ANN401 - what `evaluate` gave
    """True if a side of a comparison is a symbolic expression or an integer value."""
    return any(isinstance(item, symbolic.Expr) or structure.is_integer(item) for item in (left, right))


def connection(expressions: Expressions, node: ast.BoolOp) -> Any:  # noqa: ANN401 - a value or a bool
    """``a and b``, ``a or b`` of scalars; both operands are evaluated."""
    name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
    found = expressions.evaluate(node.values[0])
    for part in node.values[1:]:
        found = _connected(expressions, node, name, found, expressions.evaluate(part))
    return found


def negation(expressions: Expressions, node: ast.UnaryOp) -> Any:  # noqa: ANN401 - a value or a bool
    """``not a`` of a scalar."""
    item = expressions.evaluate(node.operand)
    if isinstance(item, bool):
        return not item
    value = _scalar(expressions, node, "not", "logical_not", item)
    return expressions.apply(node, expressions.calls.op("logical_not"), value)


def _connected(expressions: Expressions, node: ast.expr, name: str, left: Any, right: Any) -> Any:  # noqa: ANN401
    absorbing = name == "logical_or"
    for one, other in ((left, right), (right, left)):
        if isinstance(one, bool):
            return one if one == absorbing else other
    word = name.removeprefix("logical_")
    operands = [_scalar(expressions, node, word, name, item) for item in (left, right)]
    return expressions.apply(node, expressions.calls.op(name), *operands)


def _scalar(expressions: Expressions, node: ast.expr, word: str, instead: str, item: Any) -> Value:  # noqa: ANN401
    value = expressions.relax_value(node, item)
    info = value.struct_info
    if isinstance(info, Tensor) and info.shape == () and str(info.dtype) == "bool":
        return value
    what = "chains of comparisons take" if isinstance(node, ast.Compare) else f"`{word}` takes"
    raise Problem(
        node,
        f"{what} bool tensors of rank 0, this is {info}; write R.{instead} for elements",
        "ArgumentError",
    )


def elements(expressions: Expressions, node: ast.Subscript, x: Value) -> Value:
    """Return the elements of tensor `x` at the index in `node` (see `relax_mlir.dialects.indexing`)."""
    written = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    parts = [_part(expressions, part) for part in written]
    taken = sum(part is not None and part is not ... for part in parts)
    if x.ndim is not None and taken > x.ndim:
        raise Problem(node.slice, f"{taken} indices for a tensor of rank {x.ndim}", "ShapeError")
    return expressions.apply(node, indexing.elements, x, parts)


def _part(expressions: Expressions, part: ast.expr) -> object:
    if isinstance(part, ast.Constant) and (part.value is None or part.value is ...):
        return part.value
    if not isinstance(part, ast.Slice):
        return _integer(expressions, part)
    step = 1 if part.step is None else expressions.evaluate(part.step)
    if not isinstance(step, int) or isinstance(step, bool) or step == 0:
        raise Problem(part, "the step of a slice is an int other than 0")
    lower, upper = (None if end is None else _integer(expressions, end) for end in (part.lower, part.upper))
    return slice(lower, upper, step)


def _integer(expressions: Expressions, part: ast.expr) -> Dim:
    found: Any = expressions.evaluate(part)
    if isinstance(found, int | Expr) and not isinstance(found, bool):
        return found
    if structure.is_integer(found):
        text = ast.unparse(part)
        raise Problem(part, f"`{text}` is known at run time only; R.match_shape({text}, (i,)) gives it a symbol")
    if isinstance(found, Value):
        raise Problem(part, "an index is an integer; R.take takes the elements that a tensor of indices says")
    raise Problem(part, f"`{ast.unparse(part)}` is no index: an integer, a slice, `...` or None")


P = ParamSpec("P")
T = TypeVar("T")

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: lambda x: x,
    ast.Invert: operator.invert,
}
NO_CONSTANTS = (
    "it has none: give them, parse(text, constants=script_constants(mod)), or keep the module with IRModule.save"
)
COMPREHENSION = "comprehensions are not unrolled: write the elements out, or a loop that carries a value"
INSTEAD: dict[type[ast.expr], str] = {
    ast.Lambda: "a function has a name: write `def f(x: R.Tensor(...)): …` inside the function",
    ast.JoinedStr: "strings with fields are not supported; write the string out",
    ast.ListComp: COMPREHENSION,
    ast.GeneratorExp: COMPREHENSION,
    ast.SetComp: COMPREHENSION,
    ast.DictComp: COMPREHENSION,
    ast.NamedExpr: "`:=` hides a binding: write `y = …` on a line of its own",
    ast.Await: "a script has no coroutines; the call runs where it stands",
    ast.Yield: "a script has no generators; return a tuple",
    ast.YieldFrom: "a script has no generators; return a tuple",
    ast.Set: "a script has no sets; write a tuple",
    ast.Slice: "a slice stands in the index of a tensor or a shape, x[1:3]",
    ast.Starred: "`*` stands before an argument of a call or an element of a tuple",
}


@dataclass
class Expressions:
    """Evaluates the expressions of one function."""

    source: Source
    scope: Scope
    calls: Calls

    def inner(self) -> Expressions:
        """Return an evaluator for a dataflow block."""
        return Expressions(self.source, self.scope.inner(), self.calls)

    def branch(self) -> Expressions:
        """Return an evaluator for a branch or a loop."""
        return Expressions(self.source, self.scope.branch(), self.calls)

    def value(self, node: ast.expr) -> Value:
        """Return the Relax value of an expression. Raises `Problem` or `Poisoned`."""
        return self.relax_value(node, self.evaluate(node))

    def relax_value(self, node: ast.AST, result: Any) -> Value:  # noqa: ANN401 - what `evaluate` returned
        """Convert the result of an expression to a Relax value: tuples become Relax tuples, arrays constants."""
        with self.at(node):
            try:
                if is_shape_value(result):
                    return shape_expr(result)
                if isinstance(result, tuple | list):
                    return make_tuple(*(self.relax_value(node, field) for field in result))
                if isinstance(result, Expr):
                    return prim_value(result)
                return as_value(result)
            except RelaxError as error:
                raise Problem.of(node, error) from None

    def at(self, node: ast.AST) -> Any:  # noqa: ANN401 - a context manager
        """Give ops emitted inside the context the location of `node`."""
        line, begin, _ = self.source.span(node)
        return located_at(self.source.filename, line, begin + 1)

    def evaluate(self, node: ast.expr) -> Any:  # noqa: ANN401 - a Relax value or any Python constant
        """Evaluate to a Relax value, a tuple or list of values, a symbolic expression or a Python constant."""
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            what = INSTEAD.get(type(node), f"the expression `{ast.unparse(node)[:40]}` is not part of the script")
            raise Problem(node, what, "UnsupportedError" if type(node) is ast.Lambda else "ScriptError")
        found = method(node)
        return from_torch(found) if is_torch(found) else found

    def apply(self, node: ast.AST, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function`, which may emit ops, on behalf of `node`; its errors become problems of `node`."""
        with self.at(node):
            try:
                return function(*args, **kwargs)
            except (RelaxError, TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
                raise Problem.of(node, error) from None

    def visit_Constant(self, node: ast.Constant) -> Any:  # noqa: ANN401
        return node.value

    def visit_Name(self, node: ast.Name) -> Any:  # noqa: ANN401
        return self.scope.lookup(node)

    def visit_Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.elements(node.elts))

    def visit_List(self, node: ast.List) -> list[Any]:
        return self.elements(node.elts)

    def elements(self, nodes: list[ast.expr]) -> list[Any]:
        """Evaluate elements in order; nested tuples of values become Relax tuples."""
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += self.starred(node)
                continue
            item = self.evaluate(node)
            found.append(self.relax_value(node, item) if has_values(item) else item)
        return found

    def starred(self, node: ast.Starred) -> list[Any]:
        """``*t`` for a tuple: its fields."""
        item = self.evaluate(node.value)
        return self.apply(node, list, item)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:  # noqa: ANN401
        if isinstance(node.op, ast.Not):
            return negation(self, node)
        item = self.evaluate(node.operand)
        if isinstance(node.op, ast.USub) and structure.is_integer(item):
            return self.apply(node, structure.arithmetic, "subtract", 0, item)
        return self.apply(node, UNARY[type(node.op)], item)

    def visit_BinOp(self, node: ast.BinOp) -> Any:  # noqa: ANN401
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        return self.binary(node, node.op, left, right)

    def binary(self, node: ast.AST, kind: ast.operator, left: Any, right: Any) -> Any:  # noqa: ANN401
        """``left + right`` and other binary operators."""
        if type(kind) not in BINARY:
            raise Problem(node, "shifts of tensors have no operator; write R.left_shift or R.right_shift")
        for one, other in ((left, right), (right, left)):
            if isinstance(one, float) and (isinstance(other, Expr) or structure.is_integer(other)):
                message = f"an integer and the float {one}: make a tensor of the integer, R.prim_to_tensor(…)"
                raise Problem(node, message, "DTypeError")
        return self.apply(node, BINARY[type(kind)], left, right)

    def visit_Compare(self, node: ast.Compare) -> Any:  # noqa: ANN401
        return comparison(self, node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:  # noqa: ANN401
        return connection(self, node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:  # noqa: ANN401
        flag = branch_condition(self, node.test)
        if isinstance(flag, bool):
            return self.evaluate(node.body if flag else node.orelse)

        def branch(part: ast.expr) -> Callable[[], Value]:
            return lambda: self.branch().value(part)

        return self.apply(node, choose, flag, branch(node.body), branch(node.orelse))

    def visit_Subscript(self, node: ast.Subscript) -> Any:  # noqa: ANN401
        callee = self.calls.callee(node)
        if callee is not None:
            return module_function(self.calls, self, node, callee)
        item = self.evaluate(node.value)
        if isinstance(item, Value) and isinstance(item.struct_info, Tensor):
            return elements(self, node, item)
        if isinstance(item, Value) and isinstance(item.struct_info, Shape):
            item = shape_attribute(node.value, item)
        if isinstance(item, tuple) and isinstance(node.slice, ast.Slice):
            return self.apply(node, operator.getitem, item, self.slice(node.slice))
        index = self.evaluate(node.slice)
        if isinstance(item, Value) and (not isinstance(index, int) or isinstance(index, bool)):
            raise Problem(node.slice, "the index of a tuple is an integer")
        if isinstance(item, Mapping) and index not in item:
            known = ", ".join(sorted(map(str, item))[:12])
            hint = f"it has {known}" if known else NO_CONSTANTS
            raise Problem(node, f"{ast.unparse(node.value)} has no entry {index!r}; {hint}")
        return self.apply(node, operator.getitem, item, index)

    def slice(self, node: ast.Slice) -> slice:
        """A slice of a tuple or of the dimensions of a shape; its bounds are literals."""
        return slice(*(part and self.evaluate(part) for part in (node.lower, node.upper, node.step)))

    def visit_Attribute(self, node: ast.Attribute) -> Any:  # noqa: ANN401
        callee = self.calls.callee(node)
        if callee is not None:
            return module_function(self.calls, self, node, callee)
        if self.scope.path(node) is not None:
            raise Problem(node, f"`{ast.unparse(node)}` is not a value; call it")
        item = self.evaluate(node.value)
        if isinstance(item, Value):
            return attribute_of(node, item)
        return self.apply(node, getattr, item, node.attr)

    def visit_Dict(self, node: ast.Dict) -> dict[Any, Any]:
        if any(key is None for key in node.keys):
            raise Problem(node, "** is not supported here")
        return {self.evaluate(k): self.evaluate(v) for k, v in zip(node.keys, node.values, strict=True) if k}

    def visit_Call(self, node: ast.Call) -> Any:  # noqa: ANN401
        return self.calls.call(self, node)


def has_values(item: Any) -> bool:  # noqa: ANN401 - what `evaluate` returned
    """True if a tuple or list holds Relax values, at any depth."""
    if not isinstance(item, tuple | list):
        return False
    return any(isinstance(field, Value | np.ndarray) or has_values(field) for field in item)


def is_shape(item: Any) -> TypeGuard[tuple[Dim, ...]]:  # noqa: ANN401 - what `evaluate` returned
    """True if a tuple is a shape, which may hold integers, symbols and symbolic expressions."""
    if not isinstance(item, tuple) or not item:
        return False
    return all(isinstance(entry, int | Expr) and not isinstance(entry, bool) for entry in item)


def is_shape_value(item: Any) -> TypeGuard[tuple[Dim, ...]]:  # noqa: ANN401 - what `evaluate` returned
    """True if a tuple counts as a shape value: ``x.shape``, or a shape with symbols."""
    return isinstance(item, Dims) or (is_shape(item) and any(isinstance(entry, Expr) for entry in item))


def bound(item: Any) -> Any:  # noqa: ANN401 - what `evaluate` returned
    """Return what a name is bound to. An array becomes one constant, where it is bound."""
    return constant(np.asarray(item)) if isinstance(item, np.ndarray | np.generic) else item
