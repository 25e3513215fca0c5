"""Pieces of the syntax of blocks and loops that statements and blocks have in common."""

from __future__ import annotations

import ast
from typing import Any

from relax_mlir.dialects.attributes import DTYPE
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.location import located_at
from relax_mlir.mlir import ir
from relax_mlir.script.source import Problem


def keep_sign(memory: ir.Value, dtype: DType) -> None:
    """Note that an allocation holds unsigned integers."""
    if dtype.kind == "uint":
        memory.owner.attributes[DTYPE] = ir.StringAttr.get(dtype.name)


AXES = {"spatial": False, "S": False, "reduce": True, "R": True, "opaque": False, "scan": False}
"""The kinds of axes, and whether they reduce."""


def remapped(call: ast.Call) -> tuple[str, list[ast.expr]]:
    """Kinds and bindings of ``T.axis.remap("SR", [i, k])``."""
    kinds = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if (
        len(call.args) != 2
        or not isinstance(kinds, str)
        or not isinstance(call.args[1], ast.List | ast.Tuple)
    ):
        raise Problem(call, 'write T.axis.remap("SR", [i, k])', "ArgumentError")
    if set(kinds) - set("SR"):
        raise Problem(call.args[0], f"the kinds of axes are S and R, not {kinds!r}", "ArgumentError")
    return kinds, list(call.args[1].elts)


def placed(node: ast.expr, at: ast.expr) -> ast.expr:
    """`node`, which was read from a string, at the place of the string."""
    if node is not at:
        for part in ast.walk(node):
            ast.copy_location(part, at)
    return node


class Located:
    """Ops made inside have a location in the script."""

    def __init__(self, filename: str, line: int, column: int) -> None:
        self._place = located_at(filename, line, column)
        self._location = ir.Location.file(filename, line, column)

    def __enter__(self) -> None:
        self._place.__enter__()
        self._location.__enter__()

    def __exit__(self, *error: Any) -> None:  # noqa: ANN401 - what a context manager gets
        self._location.__exit__(*error)
        self._place.__exit__(*error)
