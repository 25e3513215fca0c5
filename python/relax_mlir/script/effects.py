"""Calls with side effects or in-place writes in a script: assertions, printing, `call_tir_inplace`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.dialects.effects import assert_op
from relax_mlir.dialects.effects import print as print_values
from relax_mlir.dialects.inplace import inplace_call
from relax_mlir.dialects.types import Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.script.call_arguments import destinations, named_arguments
from relax_mlir.script.dimensions import read_dim
from relax_mlir.script.source import Problem
from relax_mlir.script.tir_calls import SPELLINGS, prim_arguments, prim_func, tir_variables

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
    from relax_mlir.script.expressions import Expressions

RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def inplace(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_tir_inplace(cls.prim, (x, y), [0], R.Tensor(...), tir_vars=[...])``."""
    parts = named_arguments(node, ("callee", "args", "inplace_indices", "out", "tir_vars"), 4, SPELLINGS)
    callee = prim_func(calls, expressions, "call_tir_inplace", parts["callee"])
    operands = _inplace_arguments(expressions, parts["args"])
    found = expressions.evaluate(parts["inplace_indices"])
    indices = [found] if isinstance(found, int) else found
    out = destinations(expressions, parts["out"])
    extra = tir_variables(expressions, parts.get("tir_vars"))
    return expressions.apply(node, inplace_call, callee, operands, indices, out, extra)


def _inplace_arguments(expressions: Expressions, node: ast.expr) -> Value:
    """Read the arguments of an in-place call. As in TVM, they are listed in the call, which shows what is written."""
    if isinstance(node, ast.Name) and _is_tuple(expressions.evaluate(node)):
        raise Problem(
            node,
            "call_tir_inplace takes its arguments in the call, so that it is seen which of them are written, "
            f"not as the tuple '{node.id}': write the values, (x, y), or (*{node.id},)",
        )
    if isinstance(node, ast.Tuple) and len(node.elts) == 1 and isinstance(node.elts[0], ast.Starred):
        given = expressions.evaluate(node.elts[0].value)
        if isinstance(given, Value) and _is_tuple(given):
            return given
    return prim_arguments(expressions, node)


def _is_tuple(given: object) -> bool:
    return (
        isinstance(given.struct_info, Tuple) if isinstance(given, Value) else isinstance(given, tuple | list)
    )


def assertion(calls: Calls, expressions: Expressions, node: ast.Call) -> None:
    """``R.assert_op(c, x, format="x is {}")``, ``R.assert_op(n % 4 == 0)``."""
    if not node.args:
        raise Problem(node, "assert_op takes a condition, then the values of the message")
    condition = _symbolic(expressions, node.args[0])
    if condition is None:
        condition = expressions.evaluate(node.args[0])
    values: list[Any] = []
    for item in node.args[1:]:
        found = expressions.evaluate(item)
        values += list(found) if isinstance(found, tuple | list) else [found]
    expressions.apply(node, assert_op, condition, *values, format=_format(expressions, node))


def assert_statement(calls: Calls, expressions: Expressions, node: ast.Assert) -> None:
    """``assert c, "message"``: `R.assert_op`."""
    message = node.msg
    if message is not None and not (isinstance(message, ast.Constant) and isinstance(message.value, str)):
        hint = 'the message of an assert is a string; R.assert_op(c, x, format="x is {}") shows values'
        raise Problem(message, hint)
    keywords = [] if message is None else [ast.keyword("format", message)]
    call = ast.Call(ast.Name("assert_op", ast.Load()), [node.test], keywords)
    assertion(calls, expressions, ast.fix_missing_locations(ast.copy_location(call, node)))


def _symbolic(expressions: Expressions, node: ast.expr) -> str | None:
    """Return a comparison of symbols and integers as text; None for another expression."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in RELATIONS:
        return None
    names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
    scope = expressions.scope
    if (
        not names
        or any(isinstance(scope.values.get(name), Value) for name in names)
        or not names & scope.symbols.keys()
    ):
        return None
    left, right = read_dim(node.left, scope), read_dim(node.comparators[0], scope)
    return f"{left} {RELATIONS[type(node.ops[0])]} {right}"


def printing(calls: Calls, expressions: Expressions, node: ast.Call) -> None:
    """``R.print(x, "text", format="…")``."""
    values = expressions.elements(list(node.args))
    values = [expressions.relax_value(node, v) if isinstance(v, np.ndarray) else v for v in values]
    expressions.apply(node, print_values, *values, format=_format(expressions, node))


def _format(expressions: Expressions, node: ast.Call) -> str:
    text = ""
    for keyword in node.keywords:
        if keyword.arg != "format":
            raise Problem(
                keyword,
                f"{ast.unparse(node.func)} takes no argument '{keyword.arg}'; the message is `format`",
            )
        text = expressions.evaluate(keyword.value)
    return text
