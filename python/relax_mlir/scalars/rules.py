"""Scalar rules of ops: unary, binary, bitwise, comparisons, and the fused multiply-add."""

from __future__ import annotations

import math as pymath
from collections.abc import Callable

from relax_mlir.dialects.dtypes import DType
from relax_mlir.mlir import arith, ir, math, scf
from relax_mlir.scalars import arithmetic
from relax_mlir.scalars.arithmetic import (
    Relation,
    Scalar,
    ScalarRule,
    compare,
    const,
    is_true,
    widened,
    widened_test,
)


def plain(function: Callable[[Scalar], Scalar]) -> ScalarRule:
    """The rule of a function that does not depend on the dtype."""
    return widened(lambda dtype, x: function(x))


def _abs(dtype: DType, x: Scalar) -> Scalar:
    if dtype.is_float:
        return math.absf(x)
    if dtype.kind == "uint":
        return x
    return arith.maxsi(x, arith.subi(const(dtype, 0), x))


def _bitwise_not(dtype: DType, x: Scalar) -> Scalar:
    return arith.xori(x, const(dtype, -1))


def _isfinite(dtype: DType, x: Scalar) -> Scalar:
    return arithmetic.compare(dtype, "lt", math.absf(x), const(dtype, float("inf")))


def _isinf(dtype: DType, x: Scalar) -> Scalar:
    return arithmetic.compare(dtype, "eq", math.absf(x), const(dtype, float("inf")))


def _isnan(dtype: DType, x: Scalar) -> Scalar:
    return arithmetic.is_nan(x)


def _logical_not(dtype: DType, x: Scalar) -> Scalar:
    return arithmetic.negate(arithmetic.is_true(dtype, x))


def _negative(dtype: DType, x: Scalar) -> Scalar:
    return arith.negf(x) if dtype.is_float else arith.subi(const(dtype, 0), x)


def _sigmoid(dtype: DType, x: Scalar) -> Scalar:
    """1 / (1 + e^-x), or e^x / (1 + e^x) for negative x, where e^-x could overflow before the result is 0."""
    one = const(dtype, 1)
    e = math.exp(arith.negf(math.absf(x)))
    negative = arithmetic.compare(dtype, "lt", x, const(dtype, 0))
    return arith.divf(arith.select(negative, e, one), arith.addf(one, e))


def _sign(dtype: DType, x: Scalar) -> Scalar:
    zero, one = const(dtype, 0), const(dtype, 1)
    positive = arithmetic.compare(dtype, "gt", x, zero)
    if dtype.kind == "uint":
        return arith.select(positive, one, zero)
    negative = arithmetic.compare(dtype, "lt", x, zero)
    sign = arith.select(positive, one, arith.select(negative, const(dtype, -1), zero))
    return arith.select(arithmetic.is_nan(x), x, sign) if dtype.is_float else sign


def _square(dtype: DType, x: Scalar) -> Scalar:
    return arithmetic.multiply(dtype, x, x)


UNARY_RULES: dict[str, ScalarRule] = {
    "abs": widened(_abs),
    "acos": plain(math.acos),
    "acosh": plain(math.acosh),
    "asin": plain(math.asin),
    "asinh": plain(math.asinh),
    "atan": plain(math.atan),
    "atanh": plain(math.atanh),
    "bitwise_not": _bitwise_not,
    "cos": plain(math.cos),
    "cosh": plain(math.cosh),
    "erf": plain(math.erf),
    "exp": plain(math.exp),
    "expm1": plain(math.expm1),
    "log": plain(math.log),
    "log10": plain(math.log10),
    "log1p": plain(math.log1p),
    "log2": plain(math.log2),
    "logical_not": widened_test(_logical_not),
    "negative": widened(_negative),
    "rsqrt": plain(math.rsqrt),
    "sigmoid": widened(_sigmoid),
    "sign": widened(_sign),
    "sin": plain(math.sin),
    "sinh": plain(math.sinh),
    "sqrt": plain(math.sqrt),
    "square": widened(_square),
    "tan": plain(math.tan),
    "tanh": plain(math.tanh),
}
"""The scalar computation of each op, on one operand."""

ROUNDING: dict[str, Callable[[Scalar], Scalar]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "round": math.roundeven,
    "trunc": math.trunc,
}

FLOAT_TESTS: dict[str, tuple[ScalarRule, bool]] = {
    "isfinite": (_isfinite, True),
    "isinf": (_isinf, False),
    "isnan": (_isnan, False),
}
"""Tests on floats, with their constant result for integers and bool."""


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


RELATIONS: dict[str, Relation] = {
    "equal": "eq",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
}


def _comparison(relation: Relation) -> ScalarRule:
    return widened_test(lambda dtype, a, b: compare(dtype, relation, a, b))


def _logical(combine: Callable[[Scalar, Scalar], Scalar]) -> ScalarRule:
    def rule(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
        return combine(is_true(dtype, a), is_true(dtype, b))

    return widened_test(rule)


COMPARISON_RULES: dict[str, ScalarRule] = {
    **{name: _comparison(relation) for name, relation in RELATIONS.items()},
    "logical_and": _logical(arith.andi),
    "logical_or": _logical(arith.ori),
    "logical_xor": _logical(arith.xori),
}
"""The scalar computation of each op, on two operands."""
