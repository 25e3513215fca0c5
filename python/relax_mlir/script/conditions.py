"""Conditions of a script: comparisons and chains of them, ``and``, ``or``, ``not``, and the ``i1`` of an ``if``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from relax_mlir import symbolic
from relax_mlir.dialects import integers
from relax_mlir.dialects.control import flag_of
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.mlir import ir
from relax_mlir.script.source import Problem

if TYPE_CHECKING:
    from relax_mlir.script.expressions import Expressions

COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("less", operator.lt),
    ast.LtE: ("less_equal", operator.le),
    ast.Gt: ("greater", operator.gt),
    ast.GtE: ("greater_equal", operator.ge),
    ast.Eq: ("equal", operator.eq),
    ast.NotEq: ("not_equal", operator.ne),
}


def flag(expressions: Expressions, node: ast.expr) -> ir.Value | bool:
    """Return the ``i1`` condition of a conditional or a loop; a bool if it is known at parse time."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        left, right = expressions.evaluate(node.left), expressions.evaluate(node.comparators[0])
        if _are_integers(left, right):
            name = COMPARISONS[type(node.ops[0])][0]
            known: ir.Value | bool = expressions.apply(node, integers.comparison, name, left, right)
            return known
        found = _compared(expressions, node, node.ops[0], left, right)
    else:
        found = expressions.evaluate(node)
    if isinstance(found, bool):
        return found
    value = expressions.relax_value(node, found)
    info = value.struct_info
    if not isinstance(info, Tensor) or info.shape != () or str(info.dtype) != "bool":
        hint = f"; compare it, as in `{ast.unparse(node)} != 0`" if integers.is_integer(value) else ""
        raise Problem(
            node, f"the condition is {info}, expected a bool tensor of rank 0{hint}", "ArgumentError"
        )
    flag: ir.Value | bool = expressions.apply(node, flag_of, "if", value)
    return flag


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
        return expressions.apply(node, integers.compare, name, left, right)
    if not isinstance(left, Value) and not isinstance(right, Value):
        return expressions.apply(node, compare, left, right)
    return expressions.apply(node, expressions.calls.op(name), left, right)


def _are_integers(left: Any, right: Any) -> bool:  # noqa: ANN401 - what `evaluate` gave
    """True if a side of a comparison is a symbolic expression or an integer value."""
    return any(isinstance(item, symbolic.Expr) or integers.is_integer(item) for item in (left, right))


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
