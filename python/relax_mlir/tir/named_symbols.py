"""Symbols by their names in TVM's `tir`: ``n = tir.var("n")``."""

from __future__ import annotations

from relax_mlir import symbolic
from relax_mlir.error import DTypeError, expect

DTYPES = ("int64", "int32")
"""What a symbol may be declared as; all are integers of 64 bits."""


def var(name: str, dtype: str = "int64") -> symbolic.Expr:
    """The symbol `name`, a size from zero on: ``Tensor([var("n"), 4])``. It is `relax_mlir.te.var`.

    Raises `DTypeError` for anything but an integer.
    """
    expect("tir.var: 'name'", name, str, "a string")
    if dtype not in DTYPES:
        raise DTypeError(f"tir.var: symbol '{name}' of dtype {dtype!r}: a symbol is an int64")
    return symbolic.symbol(name)


Var = var
