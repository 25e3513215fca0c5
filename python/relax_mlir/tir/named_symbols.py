"""Symbols under their names in TVM's `tir`: ``n = tir.var("n")``."""

from __future__ import annotations

from relax_mlir import symbolic
from relax_mlir.error import DTypeError, expect

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
