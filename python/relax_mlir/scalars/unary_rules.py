"""Functions of one scalar."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.dialects.dtypes import DType
from relax_mlir.mlir import arith, math
from relax_mlir.scalars import arithmetic
from relax_mlir.scalars.arithmetic import Scalar, ScalarRule, const, widened, widened_test


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
