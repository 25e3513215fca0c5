"""Binary arithmetic with torch's dtype promotion."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.error import DTypeError
from relax_mlir.frontend.torch.op_call import OpCall, Operand, constant, integer_info
from relax_mlir.frontend.torch.registry import rule

Binary = Callable[[Value, Value], Value]


def computed(call: OpCall, function: Callable[..., Value], *operands: Operand) -> Value:
    """Apply `function` to operands of the result's dtype.

    Python floats next to 16-bit floats are not rounded to 16 bits: the op is computed in float32 and rounded once, as
    in torch.
    """
    dtype = call.dtype
    if dtype in ("float16", "bfloat16") and any(
        isinstance(o, float) and not o.is_integer() for o in operands
    ):
        return R.astype(function(*(call.tensor(o, "float32") for o in operands)), dtype)
    return function(*(call.tensor(operand, wraps=True) for operand in operands))


def _with_alpha(function: Binary, alpha: Operand) -> Callable[..., Value]:
    """Return ``function(x, alpha * y)``; `alpha` is a third operand unless it is 1."""
    return function if alpha == 1 else lambda x, y, factor: function(x, R.multiply(y, factor))


def _sum(call: OpCall, function: Binary, x: Operand, other: Operand, alpha: Operand) -> Value:
    more = () if alpha == 1 else (alpha if call.is_float else call.tensor(alpha),)
    return computed(call, _with_alpha(function, alpha), x, other, *more)


@rule("add.Tensor", "add.Scalar")
def add(call: OpCall, x: Operand, other: Operand, scalar_alpha: Operand = 1, *, alpha: Operand = 1) -> Value:
    return _sum(call, R.add, x, other, alpha if alpha != 1 else scalar_alpha)


@rule("sub.Tensor", "sub.Scalar")
def sub(call: OpCall, x: Operand, other: Operand, scalar_alpha: Operand = 1, *, alpha: Operand = 1) -> Value:
    return _sum(call, R.subtract, x, other, alpha if alpha != 1 else scalar_alpha)


@rule("rsub.Tensor", "rsub.Scalar")
def rsub(call: OpCall, x: Operand, other: Operand, scalar_alpha: Operand = 1, *, alpha: Operand = 1) -> Value:
    return _sum(call, R.subtract, other, x, alpha if alpha != 1 else scalar_alpha)


@rule("mul")
def mul(call: OpCall, x: Operand, other: Operand) -> Value:
    return computed(call, R.logical_and if call.dtype == "bool" else R.multiply, x, other)


@rule("div.Tensor", "div.Scalar", "true_divide.Tensor")
def div(call: OpCall, x: Operand, other: Operand) -> Value:
    return computed(call, R.divide, x, other)


@rule("div.Tensor_mode", "div.Scalar_mode")
def div_mode(call: OpCall, x: Operand, other: Operand, *, rounding_mode: str | None) -> Value:
    left, right = call.tensor(x, wraps=True), _divisor(call, other)
    if rounding_mode is None:
        return R.divide(left, right)
    if rounding_mode == "floor":
        return R.floor_divide(left, right)
    return R.trunc(R.divide(left, right)) if call.is_float else _truncated(left, right)


def _divisor(call: OpCall, other: Operand) -> Value:
    """Return the divisor of integers. A number that is zero in their dtype is an error, as in eager torch."""
    info = integer_info(call.dtype)
    if info is not None and isinstance(other, int) and other % (info.max - info.min + 1) == 0:
        raise DTypeError(
            f"a division by {other}, which is 0 as {call.dtype}; eager PyTorch raises ZeroDivisionError"
        )
    return call.tensor(other, wraps=True)


def _truncated(left: Value, right: Value) -> Value:
    """Return the quotient of integers, rounded towards zero."""
    quotient = R.floor_divide(left, right)
    remainder = R.subtract(left, R.multiply(quotient, right))
    zero = R.const(0, str(left.dtype))
    down = R.logical_and(R.not_equal(remainder, zero), R.less(quotient, zero))
    return R.add(quotient, R.astype(down, str(left.dtype)))


@rule("floor_divide")
def floor_divide(call: OpCall, x: Operand, other: Operand) -> Value:
    return R.floor_divide(call.tensor(x, wraps=True), _divisor(call, other))


@rule("remainder")
def remainder(call: OpCall, x: Operand, other: Operand) -> Value:
    return R.floor_mod(call.tensor(x, wraps=True), _divisor(call, other))


@rule("fmod")
def fmod(call: OpCall, x: Operand, other: Operand) -> Value:
    """Return the remainder with the sign of `x`."""
    left, right = call.tensor(x, wraps=True), _divisor(call, other)
    if not call.is_float:
        return call.te(topi.trunc_mod, left, right)
    found = R.floor_mod(R.abs(left), R.abs(right))
    return R.where(R.less(left, constant(0, call.dtype)), R.negative(found), found)


@rule("maximum", "max.other")
def maximum(call: OpCall, x: Operand, other: Operand) -> Value:
    return R.maximum(call.tensor(x), call.tensor(other))


@rule("minimum", "min.other")
def minimum(call: OpCall, x: Operand, other: Operand) -> Value:
    return R.minimum(call.tensor(x), call.tensor(other))


@rule("fmax.default", "fmin.default", "prims::fmax.default", "prims::fmin.default")
def fmax(call: OpCall, x: Operand, other: Operand) -> Value:
    """Return the maximum or minimum of two elements, NaN only if both are."""
    left, right = call.tensor(x), call.tensor(other)
    found = (R.maximum if ".fmax." in str(call.node.target) else R.minimum)(left, right)
    if not call.is_float:
        return found
    return R.where(R.isnan(left), right, R.where(R.isnan(right), left, found))


@rule("hypot.default", "prims::hypot.default")
def hypot(call: OpCall, x: Operand, other: Operand) -> Value:
    """Return ``sqrt(x*x + y*y)`` without intermediate overflow."""
    left, right = R.abs(call.tensor(x)), R.abs(call.tensor(other))
    long, short = R.maximum(left, right), R.minimum(left, right)
    one, zero, infinite = (constant(number, call.dtype) for number in (1, 0, float("inf")))
    ratio = R.divide(short, R.where(R.equal(long, zero), one, long))
    found = R.multiply(long, R.sqrt(R.add(one, R.square(ratio))))
    at_infinity = R.logical_or(R.equal(left, infinite), R.equal(right, infinite))
    return R.where(at_infinity, infinite, found)


@rule("atan2")
def atan2(call: OpCall, x: Operand, other: Operand) -> Value:
    return R.atan2(call.tensor(x), call.tensor(other))


@rule("logaddexp")
def logaddexp(call: OpCall, x: Operand, other: Operand) -> Value:
    return R.log_add_exp(call.tensor(x), call.tensor(other))


@rule("pow")
def power(call: OpCall, x: Operand, exponent: Operand) -> Value:
    if isinstance(exponent, int | float) and not isinstance(exponent, bool):
        base = call.tensor(x)
        if exponent == 2:
            return R.square(base)
        if exponent == 1:
            return base
        if exponent == 0.5 and call.is_float:
            return R.sqrt(base)  # NaN for -inf, as in torch
    if not call.is_float and isinstance(exponent, int) and exponent < 0:
        raise DTypeError(
            f"integers to the power {exponent}; eager PyTorch refuses negative powers of integers"
        )
    return computed(call, R.power, x, exponent if call.is_float else call.tensor(exponent))


@rule("lerp.Scalar", "lerp.Tensor")
def lerp(call: OpCall, x: Operand, end: Operand, weight: Operand) -> Value:
    if not call.is_float:
        raise call.unsupported("lerp of integers")
    start, stop, share = (call.tensor(item) for item in (x, end, weight))
    one, half = (constant(number, call.dtype) for number in (1, 0.5))
    span = R.subtract(stop, start)
    near = R.add(start, R.multiply(share, span))
    far = R.subtract(stop, R.multiply(span, R.subtract(one, share)))
    return R.where(R.less(R.abs(share), half), near, far)


@rule("addcmul")
def addcmul(call: OpCall, x: Operand, first: Operand, second: Operand, *, value: Operand = 1) -> Value:
    product = R.multiply(call.tensor(first), call.tensor(second))
    scaled = product if value == 1 else R.multiply(product, call.tensor(value))
    return R.add(call.tensor(x), scaled)


@rule("addcdiv")
def addcdiv(call: OpCall, x: Operand, first: Operand, second: Operand, *, value: Operand = 1) -> Value:
    quotient = R.divide(call.tensor(first), call.tensor(second))
    scaled = quotient if value == 1 else R.multiply(quotient, call.tensor(value))
    return R.add(call.tensor(x), scaled)
