"""Bitwise ops and shifts on scalars."""

from __future__ import annotations

from relax_mlir.dialects.dtypes import DType
from relax_mlir.mlir import arith
from relax_mlir.scalars.arithmetic import Scalar, ScalarRule, const


def _in_range(dtype: DType, count: Scalar) -> Scalar:
    """True if a shift count is in 0..bits-1; compared unsigned, so that a negative count is too large."""
    return arith.cmpi(arith.CmpIPredicate.ult, count, const(dtype, dtype.bits))


def _left_shift(dtype: DType, x: Scalar, count: Scalar) -> Scalar:
    defined = _in_range(dtype, count)
    zero = const(dtype, 0)
    return arith.select(defined, arith.shli(x, arith.select(defined, count, zero)), zero)


def _right_shift(dtype: DType, x: Scalar, count: Scalar) -> Scalar:
    defined = _in_range(dtype, count)
    if dtype.kind == "int":
        return arith.shrsi(x, arith.select(defined, count, const(dtype, dtype.bits - 1)))
    zero = const(dtype, 0)
    return arith.select(defined, arith.shrui(x, arith.select(defined, count, zero)), zero)


BITWISE_RULES: dict[str, ScalarRule] = {
    "bitwise_and": lambda dtype, a, b: arith.andi(a, b),
    "bitwise_or": lambda dtype, a, b: arith.ori(a, b),
    "bitwise_xor": lambda dtype, a, b: arith.xori(a, b),
    "left_shift": _left_shift,
    "right_shift": _right_shift,
}
"""The scalar computation of each op, on two integers."""
