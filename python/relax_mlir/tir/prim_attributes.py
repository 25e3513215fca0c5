"""``T.func_attr({...})``: the attributes of a prim func, stored unchanged."""

from __future__ import annotations

import ast
from typing import Any

from relax_mlir.dialects.attributes import PRIM_ATTRS
from relax_mlir.error import RelaxError
from relax_mlir.mlir import func
from relax_mlir.script.function_attributes import NAME, attribute
from relax_mlir.script.source import Problem

SELF_EVIDENT = ("tir.noalias", "tirx.noalias", "T.noalias", "s_tir", "tir.is_scheduled", "tirx.is_scheduled")
"""Attributes of TVM that hold for every prim func here, or have no effect."""


def read_attributes(call: ast.Call) -> dict[str, Any]:
    """The attributes in ``T.func_attr(...)``. Raises `Problem`."""
    if len(call.args) != 1 or not isinstance(call.args[0], ast.Dict) or call.keywords:
        raise Problem(call, "T.func_attr takes a dictionary of names and values")
    found: dict[str, Any] = {}
    for key, value in zip(call.args[0].keys, call.args[0].values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise Problem(key or call, "the attributes of a prim func have strings as names")
        try:
            literal = ast.literal_eval(value)
        except ValueError:
            message = f"attribute '{key.value}' of a prim func is a literal, not `{ast.unparse(value)[:40]}`"
            raise Problem(value, message, "UnsupportedError") from None
        if key.value in SELF_EVIDENT:
            continue
        if key.value == NAME and not (isinstance(literal, str) and literal):
            raise Problem(
                value, f"'{NAME}' is the name by which the prim func is called from outside", "ArgumentError"
            )
        found[key.value] = literal
    return found


def set_attributes(node: ast.AST, function: func.FuncOp, given: dict[str, Any]) -> None:
    """Store attributes on a prim func. Raises `Problem`."""
    if not given:
        return
    try:
        function.attributes[PRIM_ATTRS] = attribute("func_attr", given)
    except RelaxError as error:
        raise Problem.of(node, error) from None
