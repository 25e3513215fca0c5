"""Calls of registered functions in a script: `call_packed`, `call_pure_packed`, `call_dps_packed`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.calls import call_dps_packed, call_packed, call_pure_packed
from relax_mlir.dialects.infer_rules import has_rule
from relax_mlir.dialects.types import Object, StructInfo, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.script.annotations import read_annotation
from relax_mlir.script.call_arguments import (
    OUT,
    destinations,
    literal_text,
    named_arguments,
    packed_arguments,
    packed_elements,
)
from relax_mlir.script.source import Problem

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
    from relax_mlir.script.expressions import Expressions


def read_dps_packed(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_dps_packed("name", [x, 3], R.Tensor(...))``."""
    parts = named_arguments(node, ("func", "args", "out"), 2, OUT)
    return dps_packed(expressions, node, parts["func"], parts["args"], parts.get("out"))


def dps_packed(
    expressions: Expressions, node: ast.Call, func: ast.expr, given: ast.expr, results: ast.expr | None
) -> Value:
    """A call of the registered function `func` with its destinations."""
    name = function_name(expressions, func)
    args = packed_arguments(expressions, given)
    out = None if results is None else destinations(expressions, results)
    infos: Any = list(out.fields) if isinstance(out, Tuple) else out
    return expressions.apply(node, call_dps_packed, name, args, infos)


def read_packed(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_packed("name", x, 3, out=R.Tensor(...))``; without `out` its result is an opaque value."""
    name, args, out = _packed_call(expressions, node, "call_packed")
    if out is None and not has_rule(name):
        out = Object()
    found = expressions.apply(node, call_packed, name, *args, out=out)
    assert found is not None, "it has a result"
    return found


def packed_statement(expressions: Expressions, node: ast.Call) -> None:
    """`call_packed` as a statement: for its effect; what it returns is not used."""
    name, args, out = _packed_call(expressions, node, "call_packed")
    expressions.apply(node, call_packed, name, *args, out=out)


def read_pure_packed(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_pure_packed("name", x, 3, out=R.Tensor(None, "float32"))``."""
    name, args, out = _packed_call(expressions, node, "call_pure_packed")
    return expressions.apply(node, call_pure_packed, name, *args, out=out)


def annotated_call(expressions: Expressions, node: ast.Call, info: StructInfo, *, pure: bool) -> Value:
    """A call that is annotated to return `info`, which is `out` where nothing else says it.

    `pure`: it is a `call_pure_packed`, or a shape function in a dataflow block.
    """
    what, builder = ("call_pure_packed", call_pure_packed) if pure else ("call_packed", call_packed)
    name, args, out = _packed_call(expressions, node, what)
    if out is None and not has_rule(name):
        out = info
    found = expressions.apply(node, builder, name, *args, out=out)
    assert found is not None, "it has a result"
    return found


def function_name(expressions: Expressions, node: ast.expr) -> str:
    """The name of a registered function, a string; also ``R.ExternFunc("name")``."""
    if isinstance(node, ast.Call) and expressions.scope.path(node.func) == ("R", "ExternFunc"):
        return literal_text(named_arguments(node, ("name",), 1)["name"])
    return literal_text(node)


def _packed_call(
    expressions: Expressions, node: ast.Call, what: str
) -> tuple[str, list[Any], StructInfo | None]:
    """The function's name, the arguments and the result's info of a call of a packed function."""
    if not node.args:
        raise Problem(node, f"{what} takes the name of a registered function, then its arguments")
    name = function_name(expressions, node.args[0])
    out: StructInfo | None = None
    for keyword in node.keywords:
        if OUT.get(str(keyword.arg), keyword.arg) != "out":
            raise Problem(keyword, f"{what} takes no argument '{keyword.arg}'; `out` says what it returns")
        if out is not None:
            raise Problem(keyword, f"{what}: what it returns is given twice", "ArgumentError")
        out = _returned(expressions, keyword.value)
    args = packed_elements(expressions, node.args[1:])
    return name, args, out


def _returned(expressions: Expressions, node: ast.expr) -> StructInfo | None:
    """What a packed function returns: an annotation; of a list the one in it, or the tuple of several."""
    if not isinstance(node, ast.List | ast.Tuple):
        return read_annotation(node, expressions.scope)
    infos = [read_annotation(item, expressions.scope) for item in node.elts]
    if not infos:
        return None
    return infos[0] if len(infos) == 1 else Tuple(infos)
