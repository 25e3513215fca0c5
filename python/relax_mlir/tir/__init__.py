"""Prim funcs written as ``@T.prim_func``: parsed from source, lowered to loops on memrefs or to linalg, and printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relax_mlir.symbolic import ceildiv, floordiv, floormod
from relax_mlir.tir.named_symbols import Var, var

if TYPE_CHECKING:
    from relax_mlir.tir.schedule import Schedule, TensorIntrin

__all__ = ["Schedule", "TensorIntrin", "Var", "ceildiv", "floordiv", "floormod", "var"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any name of the package
    # Imported lazily: schedules use tensor expressions, which parse prim funcs with this package.
    if name in ("Schedule", "TensorIntrin"):
        from relax_mlir.tir import schedule

        return getattr(schedule, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
