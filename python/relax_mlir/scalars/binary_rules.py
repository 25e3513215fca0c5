"""Binary arithmetic, and the fused multiply-add, on scalars."""

from __future__ import annotations

import math as pymath

from relax_mlir.dialects.dtypes import DType
from relax_mlir.mlir import arith, ir, math, scf
from relax_mlir.scalars import arithmetic
from relax_mlir.scalars.arithmetic import Scalar, ScalarRule, compare, const, widened


def _atan2(dtype: DType, y: Scalar, x: Scalar) -> Scalar:
    return math.atan2(y, x)


def _divide(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    return arith.divf(a, b)


def safe_divisor(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    """`b`, or 1 where the division would trap: for zero, and for the minimum of a signed dtype by -1."""
    traps = compare(dtype, "eq", b, const(dtype, 0))
    if dtype.kind == "int":
        least = compare(dtype, "eq", a, const(dtype, arithmetic.bounds(dtype)[0]))
        minus_one = compare(dtype, "eq", b, const(dtype, -1))
        traps = arith.ori(traps, arith.andi(least, minus_one))
    return arith.select(traps, const(dtype, 1), b)


def _int_floor_mod(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    """The remainder with the sign of the divisor; 0 for a division by zero, because the safe divisor is 1."""
    divisor = safe_divisor(dtype, a, b)
    if dtype.kind == "uint":
        return arith.remui(a, divisor)
    remainder = arith.remsi(a, divisor)
    return arith.select(_wrong_sign(dtype, remainder, divisor), arith.addi(remainder, divisor), remainder)


def _wrong_sign(dtype: DType, remainder: Scalar, divisor: Scalar) -> Scalar:
    """True if a remainder is not zero and its sign differs from the divisor's."""
    zero = const(dtype, 0)
    signs_differ = compare(dtype, "lt", arith.xori(remainder, divisor), zero)
    return arith.andi(compare(dtype, "ne", remainder, zero), signs_differ)


def _int_floor_divide(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    divisor = safe_divisor(dtype, a, b)
    zero = const(dtype, 0)
    if dtype.kind == "uint":
        quotient = arith.divui(a, divisor)
    else:
        quotient = arith.divsi(a, divisor)
        inexact = _wrong_sign(dtype, arith.remsi(a, divisor), divisor)
        quotient = arith.select(inexact, arith.subi(quotient, const(dtype, 1)), quotient)
    return arith.select(compare(dtype, "eq", b, zero), zero, quotient)


def _float_floor_mod(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    """C's fmod, adjusted to the sign of the divisor, also for a zero result (NumPy's npy_remainder)."""
    remainder = arith.remf(a, b)
    zero = const(dtype, 0)
    negative_remainder = compare(dtype, "lt", remainder, zero)
    signs_differ = arith.xori(negative_remainder, compare(dtype, "lt", b, zero))
    moved = arith.select(signs_differ, arith.addf(remainder, b), remainder)
    is_zero = compare(dtype, "eq", remainder, zero)
    signed = arith.select(is_zero, math.copysign(zero, b), moved)
    by_zero = compare(dtype, "eq", b, zero)
    return arith.select(by_zero, remainder, signed)


def _float_floor_divide(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    """NumPy's npy_floor_divide: exact even where ``floor(a / b)`` rounds to the wrong integer."""
    zero, one = const(dtype, 0), const(dtype, 1)
    plain = arith.divf(a, b)
    remainder = arith.remf(a, b)
    quotient = arith.divf(arith.subf(a, remainder), b)
    negative_remainder = compare(dtype, "lt", remainder, zero)
    signs_differ = arith.xori(negative_remainder, compare(dtype, "lt", b, zero))
    lower = arith.andi(compare(dtype, "ne", remainder, zero), signs_differ)
    quotient = arith.select(lower, arith.subf(quotient, one), quotient)
    floored = math.floor(quotient)
    too_low = compare(dtype, "gt", arith.subf(quotient, floored), const(dtype, 0.5))
    floored = arith.select(too_low, arith.addf(floored, one), floored)
    is_zero = compare(dtype, "eq", quotient, zero)
    result = arith.select(is_zero, math.copysign(zero, plain), floored)
    by_zero = compare(dtype, "eq", b, zero)
    return arith.select(by_zero, plain, result)


def _floor_divide(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    return _float_floor_divide(dtype, a, b) if dtype.is_float else _int_floor_divide(dtype, a, b)


def _floor_mod(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    return _float_floor_mod(dtype, a, b) if dtype.is_float else _int_floor_mod(dtype, a, b)


def _log_add_exp(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    """``max + log1p(exp(-|a - b|))``; for equal operands, possibly infinite, ``a + log 2``."""
    apart = math.log1p(math.exp(arith.negf(math.absf(arith.subf(a, b)))))
    sum_ = arith.addf(arith.maximumf(a, b), apart)
    doubled = arith.addf(a, const(dtype, pymath.log(2)))
    return arith.select(compare(dtype, "eq", a, b), doubled, sum_)


def _power(dtype: DType, base: Scalar, exponent: Scalar) -> Scalar:
    return math.powf(base, exponent) if dtype.is_float else _int_power(dtype, base, exponent)


def _int_power(dtype: DType, base: Scalar, exponent: Scalar) -> Scalar:
    """Power by repeated squaring, until no bit of the exponent is left."""
    zero, one = const(dtype, 0), const(dtype, 1)
    storage = dtype.storage_type()
    loop = scf.WhileOp([storage] * 3, [base, exponent, one])
    before = loop.before.blocks.append(*[storage] * 3)
    with ir.InsertionPoint(before):
        more = arith.cmpi(arith.CmpIPredicate.ne, before.arguments[1], zero)
        scf.condition(more, list(before.arguments))
    after = loop.after.blocks.append(*[storage] * 3)
    with ir.InsertionPoint(after):
        factor, left, product = after.arguments
        is_odd = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(left, one), zero)
        multiplied = arith.select(is_odd, arith.muli(product, factor), product)
        scf.yield_([arith.muli(factor, factor), arith.shrui(left, one), multiplied])
    power = loop.results[2]
    if dtype.kind == "uint":
        return power
    return arith.select(compare(dtype, "lt", exponent, zero), _reciprocal_power(dtype, base, exponent), power)


def _reciprocal_power(dtype: DType, base: Scalar, exponent: Scalar) -> Scalar:
    """``base ** exponent`` for a negative exponent, truncated: zero unless the base is 1 or -1."""
    zero, one, minus_one = const(dtype, 0), const(dtype, 1), const(dtype, -1)
    is_odd = compare(dtype, "ne", arith.andi(exponent, one), zero)
    alternating = arith.select(is_odd, minus_one, one)
    of_minus_one = arith.select(compare(dtype, "eq", base, minus_one), alternating, zero)
    return arith.select(compare(dtype, "eq", base, one), one, of_minus_one)


def _fma(dtype: DType, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    return math.fma(a, b, c) if dtype.is_float else arith.addi(arith.muli(a, b), c)


BINARY_RULES: dict[str, ScalarRule] = {
    "add": widened(arithmetic.add),
    "atan2": widened(_atan2),
    "divide": widened(_divide),
    "ewise_fma": widened(_fma),
    "floor_divide": widened(_floor_divide),
    "floor_mod": widened(_floor_mod),
    "log_add_exp": widened(_log_add_exp),
    "maximum": widened(arithmetic.maximum),
    "minimum": widened(arithmetic.minimum),
    "mod": widened(_floor_mod),
    "multiply": widened(arithmetic.multiply),
    "power": widened(_power),
    "subtract": widened(arithmetic.subtract),
}
"""The scalar computation of each op, on operands of one dtype."""
