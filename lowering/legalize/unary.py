"""Legalisation of the unary ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.dialects.dtypes import DType
from relax_mlir.lowering.legalize import scalars
from relax_mlir.lowering.legalize.elementwise import dtype_of, elementwise_prim, register
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, legalization
from relax_mlir.lowering.legalize.scalars import Scalar, ScalarRule, const, widened, widened_test
from relax_mlir.mlir import arith, math


def _math(function: Callable[[Scalar], Scalar]) -> ScalarRule:
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
    return scalars.compare(dtype, "lt", math.absf(x), const(dtype, float("inf")))


def _isinf(dtype: DType, x: Scalar) -> Scalar:
    return scalars.compare(dtype, "eq", math.absf(x), const(dtype, float("inf")))


def _isnan(dtype: DType, x: Scalar) -> Scalar:
    return scalars.is_nan(x)


def _logical_not(dtype: DType, x: Scalar) -> Scalar:
    return scalars.negate(scalars.is_true(dtype, x))


def _negative(dtype: DType, x: Scalar) -> Scalar:
    return arith.negf(x) if dtype.is_float else arith.subi(const(dtype, 0), x)


def _sigmoid(dtype: DType, x: Scalar) -> Scalar:
    """1 / (1 + e^-x), or e^x / (1 + e^x) for negative x, where e^-x would overflow while the result is not 0 yet."""
    one = const(dtype, 1)
    e = math.exp(arith.negf(math.absf(x)))
    negative = scalars.compare(dtype, "lt", x, const(dtype, 0))
    return arith.divf(arith.select(negative, e, one), arith.addf(one, e))


def _sign(dtype: DType, x: Scalar) -> Scalar:
    zero, one = const(dtype, 0), const(dtype, 1)
    positive = scalars.compare(dtype, "gt", x, zero)
    if dtype.kind == "uint":
        return arith.select(positive, one, zero)
    negative = scalars.compare(dtype, "lt", x, zero)
    sign = arith.select(positive, one, arith.select(negative, const(dtype, -1), zero))
    return arith.select(scalars.is_nan(x), x, sign) if dtype.is_float else sign


def _square(dtype: DType, x: Scalar) -> Scalar:
    return scalars.multiply(dtype, x, x)


SCALAR_RULES: dict[str, ScalarRule] = {
    "abs": widened(_abs),
    "acos": _math(math.acos),
    "acosh": _math(math.acosh),
    "asin": _math(math.asin),
    "asinh": _math(math.asinh),
    "atan": _math(math.atan),
    "atanh": _math(math.atanh),
    "bitwise_not": _bitwise_not,
    "cos": _math(math.cos),
    "cosh": _math(math.cosh),
    "erf": _math(math.erf),
    "exp": _math(math.exp),
    "log": _math(math.log),
    "logical_not": widened_test(_logical_not),
    "negative": widened(_negative),
    "rsqrt": _math(math.rsqrt),
    "sigmoid": widened(_sigmoid),
    "sign": widened(_sign),
    "sin": _math(math.sin),
    "sinh": _math(math.sinh),
    "sqrt": _math(math.sqrt),
    "square": widened(_square),
    "tan": _math(math.tan),
    "tanh": _math(math.tanh),
}
"""What each op computes on one scalar."""

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
"""Tests of floats, with their answer for integers and bool."""

register(SCALAR_RULES)


@legalization(*(f"relax.{name}" for name in ROUNDING))
def legalize_rounding(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Integers are rounded already."""
    dtype = dtype_of(op.operands[0])
    if not dtype.is_float:
        return op.operands
    rule = _math(ROUNDING[op.args.op])
    return elementwise_prim(lz, op, lambda x: rule(dtype, x))


@legalization(*(f"relax.{name}" for name in FLOAT_TESTS))
def legalize_float_test(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Integers and bool are finite."""
    dtype = dtype_of(op.operands[0])
    test, answer = FLOAT_TESTS[op.args.op]
    if not dtype.is_float:
        result = op.results[0].dtype
        assert result is not None
        return elementwise_prim(lz, op, lambda x: const(result, answer))
    rule = widened_test(test)
    return elementwise_prim(lz, op, lambda x: rule(dtype, x))
