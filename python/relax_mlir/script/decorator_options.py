"""Decorator options: ``@R.function(private=True)``, ``@I.ir_module(s_tir=True)``."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from relax_mlir.error import UnknownNameError
from relax_mlir.script.source import Problem

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "ir_module": ("check_well_formed", "s_tir"),
    "function": ("private", "pure", "check_well_formed"),
    "prim_func": ("private", "check_well_formed", "s_tir"),
}
"""The options of each decorator.

`check_well_formed` and `s_tir` are accepted for TVM: modules are always verified, and every prim func is S-TIR.
"""


def options(node: ast.expr, kind: str) -> dict[str, bool]:
    """Return the options of the decorator `node`. Raises `Problem` for an unknown option or a value that is no bool."""
    if not isinstance(node, ast.Call):
        return {}
    if node.args:
        raise Problem(
            node, f"@{ast.unparse(node.func)} takes its options by name: {', '.join(OPTIONS[kind])}"
        )
    found: dict[str, bool] = {}
    for keyword in node.keywords:
        if keyword.arg not in OPTIONS[kind]:
            error = UnknownNameError(f"option of @{ast.unparse(node.func)}", str(keyword.arg), OPTIONS[kind])
            raise Problem(keyword, str(error), "ArgumentError")
        if not isinstance(keyword.value, ast.Constant) or not isinstance(keyword.value.value, bool):
            raise Problem(keyword, f"{keyword.arg} is True or False, written out", "ArgumentError")
        found[keyword.arg] = keyword.value.value
    return found
