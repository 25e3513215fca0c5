"""Prim funcs written as ``@T.prim_func``: parsed from source, lowered to loops on memrefs or to linalg, and printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relax_mlir import symbolic
from relax_mlir.error import DTypeError, expect
from relax_mlir.symbolic import ceildiv, floordiv, floormod

if TYPE_CHECKING:
    from relax_mlir.tir.schedule import Schedule, TensorIntrin

__all__ = ["Schedule", "TensorIntrin", "Var", "ceildiv", "floordiv", "floormod", "var"]

DTYPES = ("int64", "int32")
"""The dtypes that a symbol may be declared with; all symbols are 64-bit integers."""


def var(name: str, dtype: str = "int64") -> symbolic.Expr:
    """The symbol `name`, a non-negative size: ``Tensor([var("n"), 4])``. It is the same as `relax_mlir.te.var`.

    Raises `DTypeError` for a dtype that is not an integer.
    """
    expect("tir.var: 'name'", name, str, "a string")
    if dtype not in DTYPES:
        raise DTypeError(f"tir.var: symbol '{name}' of dtype {dtype!r}: a symbol is an int64")
    return symbolic.symbol(name)


Var = var


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any name of the package
    # Imported lazily: schedules use tensor expressions, which parse prim funcs with this package.
    if name in ("Schedule", "TensorIntrin"):
        from relax_mlir.tir import schedule

        return getattr(schedule, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
