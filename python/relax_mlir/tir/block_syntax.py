"""Syntax that statements and blocks share."""

from __future__ import annotations

import ast
from typing import Any

from relax_mlir.dialects.attributes import DTYPE
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.location import located_at
from relax_mlir.mlir import ir
from relax_mlir.script.source import Problem


def keep_sign(memory: ir.Value, dtype: DType) -> None:
    """Mark an allocation of unsigned integers."""
    if dtype.kind == "uint":
        memory.owner.attributes[DTYPE] = ir.StringAttr.get(dtype.name)


AXES = {"spatial": False, "S": False, "reduce": True, "R": True, "opaque": False, "scan": False}
"""Axis kind → true for reduction axes."""


def remapped(call: ast.Call) -> tuple[str, list[ast.expr]]:
    """The kinds and bindings of ``T.axis.remap("SR", [i, k])``."""
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
    """`node`, which was parsed from a string, with the source location of the string."""
    if node is not at:
        for part in ast.walk(node):
            ast.copy_location(part, at)
    return node


class Located:
    """Give ops that are created in the block a location in the script."""

    def __init__(self, filename: str, line: int, column: int) -> None:
        self._place = located_at(filename, line, column)
        self._location = ir.Location.file(filename, line, column)

    def __enter__(self) -> None:
        self._place.__enter__()
        self._location.__enter__()

    def __exit__(self, *error: Any) -> None:  # noqa: ANN401 - arguments of a context manager
        self._location.__exit__(*error)
        self._place.__exit__(*error)
