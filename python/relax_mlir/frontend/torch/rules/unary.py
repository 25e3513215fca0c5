"""Unary element-wise functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall, Operand, constant
from relax_mlir.frontend.torch.registry import rule

_FLOAT: dict[str, Callable[[Value], Value]] = {
    "acos": R.acos,
    "acosh": R.acosh,
    "asin": R.asin,
    "asinh": R.asinh,
    "atan": R.atan,
    "atanh": R.atanh,
    "cos": R.cos,
    "cosh": R.cosh,
    "erf": R.erf,
    "exp": R.exp,
    "log": R.log,
    "rsqrt": R.rsqrt,
    "sigmoid": R.sigmoid,
    "sin": R.sin,
    "sinh": R.sinh,
    "sqrt": R.sqrt,
    "tan": R.tan,
    "tanh": R.tanh,
}
"""Ops whose result is a float even for integers."""

_ROUNDING: dict[str, Callable[[Value], Value]] = {
    "ceil": R.ceil,
    "floor": R.floor,
    "round": R.round,
    "trunc": R.trunc,
}
"""Ops that return integers unchanged."""

_TENSOR_EXPRESSIONS = {"log2": topi.log2, "log10": topi.log10, "log1p": topi.log1p}


def _float(function: Callable[[Value], Value]) -> Callable[..., Value]:
    def compute(call: OpCall, x: Operand) -> Value:
        return function(call.tensor(x))

    return compute


def _rounding(function: Callable[[Value], Value]) -> Callable[..., Value]:
    def compute(call: OpCall, x: Operand) -> Value:
        value = call.tensor(x)
        return function(value) if call.is_float else value

    return compute


for _name, _function in _FLOAT.items():
    rule(f"{_name}.default")(_float(_function))
for _name, _function in _ROUNDING.items():
    rule(f"{_name}.default")(_rounding(_function))


@rule("log2.default", "log10.default", "log1p.default")
def logarithm(call: OpCall, x: Operand) -> Value:
    return call.te(_TENSOR_EXPRESSIONS[str(call.node.target).split(".")[1]], call.tensor(x))


@rule("round.decimals")
def round_decimals(call: OpCall, x: Operand, *, decimals: int = 0) -> Value:
    value = call.tensor(x)
    if not call.is_float:
        return value
    factor = constant(10.0 ** abs(decimals), call.dtype)
    if decimals < 0:
        return R.multiply(R.round(R.divide(value, factor)), factor)
    return R.divide(R.round(R.multiply(value, factor)), factor)


@rule("neg.default", "prims::neg.default")
def neg(call: OpCall, x: Operand) -> Value:
    return R.negative(call.tensor(x))


@rule("abs.default", "prims::abs.default")
def absolute(call: OpCall, x: Operand) -> Value:
    return R.abs(call.tensor(x))


@rule("sign.default", "sgn.default")
def sign(call: OpCall, x: Operand) -> Value:
    value = call.tensor(x)
    if call.dtype == "bool":
        return value
    found = R.sign(value)
    return R.where(R.isnan(value), constant(0, call.dtype), found) if call.is_float else found


@rule("square.default")
def square(call: OpCall, x: Operand) -> Value:
    return R.square(call.tensor(x))


@rule("reciprocal.default")
def reciprocal(call: OpCall, x: Operand) -> Value:
    return R.divide(constant(1, call.dtype), call.tensor(x))


@rule("exp2.default")
def exp2(call: OpCall, x: Operand) -> Value:
    return R.power(constant(2, call.dtype), call.tensor(x))


@rule("expm1.default")
def expm1(call: OpCall, x: Operand) -> Value:
    """Return ``exp(x) - 1``; near 0 as ``2 * sinh(x/2) * exp(x/2)``, which avoids cancellation."""
    value = call.tensor(x)
    half = R.multiply(value, constant(0.5, call.dtype))
    near = R.multiply(R.multiply(constant(2, call.dtype), R.sinh(half)), R.exp(half))
    far = R.subtract(R.exp(value), constant(1, call.dtype))
    found = R.where(R.less(R.abs(value), constant(1, call.dtype)), near, far)
    return R.where(R.equal(value, constant(0, call.dtype)), value, found)


@rule("frac.default")
def frac(call: OpCall, x: Operand) -> Value:
    value = call.tensor(x)
    return R.subtract(value, R.trunc(value))


@rule("deg2rad.default", "rad2deg.default")
def angle(call: OpCall, x: Operand) -> Value:
    factor = np.pi / 180 if "deg2rad" in str(call.node.target) else 180 / np.pi
    return R.multiply(call.tensor(x), constant(factor, call.dtype))


@rule("signbit.default")
def signbit(call: OpCall, x: Value) -> Value:
    return _has_sign(x)


@rule("copysign.Tensor", "copysign.Scalar")
def copysign(call: OpCall, x: Operand, sign_of: Operand) -> Value:
    size = R.abs(call.tensor(x))
    return R.where(_has_sign(call.tensor(sign_of)), R.negative(size), size)


def _has_sign(x: Value) -> Value:
    """Return a mask of negative elements, including -0.0."""
    dtype = str(x.dtype)
    zero = constant(0, dtype)
    if not dtype.startswith(("float", "bfloat")):
        return R.less(x, zero)
    return R.logical_or(R.less(x, zero), R.less(R.divide(constant(1, dtype), x), zero))
