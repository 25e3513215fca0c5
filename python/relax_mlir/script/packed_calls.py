"""Calls of registered functions in a script: `call_packed`, `call_pure_packed`, `call_dps_packed`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.calls import call_dps_packed, call_packed, call_pure_packed
from relax_mlir.dialects.extern_func import ExternFunc, ExternFuncOp, extern_func, result_of
from relax_mlir.dialects.infer_rules import has_rule
from relax_mlir.dialects.types import Callable, Object, StructInfo, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import ir
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

EXTERN = (("R", "ExternFunc"), ("R", "extern_func"))
ALIASES = {"name": "global_symbol", "func": "global_symbol", "struct_info": "signature", "ty": "signature"}
"""Aliases of the parameters of ``R.ExternFunc``."""


def read_dps_packed(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_dps_packed("name", [x, 3], R.Tensor(...))``."""
    parts = named_arguments(node, ("func", "args", "out"), 2, OUT)
    return dps_packed(expressions, node, parts["func"], parts["args"], parts.get("out"))


def dps_packed(
    expressions: Expressions, node: ast.Call, func: ast.expr, given: ast.expr, results: ast.expr | None
) -> Value:
    """Emit a destination-passing call of the registered function `func`."""
    name = function_name(expressions, func)
    args = packed_arguments(expressions, given)
    out = None if results is None else destinations(expressions, results)
    infos: Any = list(out.fields) if isinstance(out, Tuple) else out
    return expressions.apply(node, call_dps_packed, name, args, infos)


def read_packed(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_packed("name", x, 3, out=R.Tensor(...))``.

    Without `out` or a shape rule, the result is an opaque object.
    """
    name, args, out = _packed_call(expressions, node, "call_packed")
    if out is None and not has_rule(name):
        out = Object()
    found = expressions.apply(node, call_packed, name, *args, out=out)
    assert found is not None, "it has a result"
    return found


def packed_statement(expressions: Expressions, node: ast.Call) -> None:
    """`call_packed` as a statement, for its side effects; the result is not used."""
    name, args, out = _packed_call(expressions, node, "call_packed")
    expressions.apply(node, call_packed, name, *args, out=out)


def read_pure_packed(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_pure_packed("name", x, 3, out=R.Tensor(None, "float32"))``."""
    name, args, out = _packed_call(expressions, node, "call_pure_packed")
    return expressions.apply(node, call_pure_packed, name, *args, out=out)


def annotated_call(expressions: Expressions, node: ast.Call, info: StructInfo, *, pure: bool) -> Value:
    """Emit a call annotated with `info`, which becomes `out` if neither `out` nor a shape rule is given.

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
    """Return the name of a registered function: a string, ``R.ExternFunc("name")``, or a name bound to one."""
    name = registered_name(expressions, node)
    return literal_text(node) if name is None else name


def registered_name(expressions: Expressions, node: ast.expr) -> str | None:
    """Return the result of `function_name`; None if the expression names no registered function."""
    if isinstance(node, ast.Call) and expressions.scope.path(node.func) in EXTERN:
        return literal_text(
            named_arguments(node, ("global_symbol", "signature"), 1, ALIASES)["global_symbol"]
        )
    if isinstance(node, ast.Name):
        return extern_name(expressions.scope.values.get(node.id))
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return literal_text(node) if is_text else None


def extern_name(value: object) -> str | None:
    """Return the name of the registered function that a value is known to be, else None."""
    if isinstance(value, ExternFunc):
        return value.global_symbol
    defining = defining_op(value.ssa) if isinstance(value, Value) else None
    if defining is None or defining.name != ExternFuncOp.OPERATION_NAME:
        return None
    return str(ir.StringAttr(defining.attributes["func"]).value)


def read_extern(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.ExternFunc("name", R.Callable((R.Tensor((n,)),), R.Tensor((n,))))``, a registered function as a value."""
    parts = named_arguments(node, ("global_symbol", "signature"), 1, ALIASES)
    name = literal_text(parts["global_symbol"])
    info = Callable()
    if "signature" in parts:
        given = read_annotation(parts["signature"], expressions.scope)
        if not isinstance(given, Callable):
            raise Problem(parts["signature"], f"the type of a function is R.Callable(...), not {given}")
        info = given
    return expressions.apply(node, extern_func, name, info)


def call_of_extern(expressions: Expressions, node: ast.Call, closure: Value, name: str) -> Value:
    """``f(x, 3)`` of a registered function."""
    if node.keywords:
        raise Problem(node.keywords[0], "function values take their arguments by position")
    args = packed_elements(expressions, node.args)
    info = closure.struct_info
    assert isinstance(info, Callable)
    out = expressions.apply(node, result_of, ExternFunc(name, info), args)
    if out is None and not has_rule(name):
        out = Object()
    builder = call_pure_packed if info.pure else call_packed
    found = expressions.apply(node, builder, name, *args, out=out)
    assert found is not None, "it has a result"
    return found


def _packed_call(
    expressions: Expressions, node: ast.Call, what: str
) -> tuple[str, list[Any], StructInfo | None]:
    """Return the function name, the arguments and the result's struct info of a packed call."""
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
    """Read the result annotation of a packed call. A list of one is that annotation, a longer list is a tuple."""
    if not isinstance(node, ast.List | ast.Tuple):
        return read_annotation(node, expressions.scope)
    infos = [read_annotation(item, expressions.scope) for item in node.elts]
    if not infos:
        return None
    return infos[0] if len(infos) == 1 else Tuple(infos)
