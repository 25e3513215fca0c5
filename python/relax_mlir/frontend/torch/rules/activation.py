"""Activations."""

from __future__ import annotations

import math

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall, Operand, constant
from relax_mlir.frontend.torch.registry import rule


@rule("relu.default")
def relu(call: OpCall, x: Operand) -> Value:
    return R.nn.relu(call.tensor(x))


@rule("relu6.default")
def relu6(call: OpCall, x: Operand) -> Value:
    return R.clip(call.tensor(x), 0, 6)


@rule("gelu.default")
def gelu(call: OpCall, x: Value, *, approximate: str = "none") -> Value:
    return (R.nn.gelu_tanh if approximate == "tanh" else R.nn.gelu)(x)


@rule("silu.default")
def silu(call: OpCall, x: Value) -> Value:
    return R.nn.silu(x)


@rule("mish.default")
def mish(call: OpCall, x: Value) -> Value:
    return R.multiply(x, R.tanh(_softplus(x, 1.0, 20.0)))


@rule("threshold.default")
def threshold(call: OpCall, x: Value, bound: float, value: float) -> Value:
    return R.where(R.less_equal(x, constant(bound, call.dtype)), constant(value, call.dtype), x)


@rule("softplus.default")
def softplus(call: OpCall, x: Value, beta: float = 1, threshold: float = 20) -> Value:
    return _softplus(x, beta, threshold)


def _softplus(x: Value, beta: float, threshold: float) -> Value:
    """Return ``log(1 + exp(beta * x)) / beta``, or x where ``beta * x`` is above `threshold`."""
    dtype = str(x.dtype)
    scaled = x if beta == 1 else R.multiply(x, constant(beta, dtype))
    soft = R.log_add_exp(scaled, constant(0, dtype))
    if beta != 1:
        soft = R.divide(soft, constant(beta, dtype))
    return R.where(R.greater(scaled, constant(threshold, dtype)), x, soft)


@rule("elu.default")
def elu(call: OpCall, x: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Value:
    dtype = str(x.dtype)
    zero, one = constant(0, dtype), constant(1, dtype)
    inner = x if input_scale == 1 else R.multiply(x, constant(input_scale, dtype))
    below = R.multiply(R.subtract(R.exp(R.minimum(inner, zero)), one), constant(alpha * scale, dtype))
    above = x if scale == 1 else R.multiply(x, constant(scale, dtype))
    return R.where(R.greater(x, zero), above, below)


@rule("selu.default")
def selu(call: OpCall, x: Value) -> Value:
    return elu(call, x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@rule("celu.default")
def celu(call: OpCall, x: Value, alpha: float = 1) -> Value:
    return elu(call, x, alpha, 1, 1 / alpha)


@rule("leaky_relu.default")
def leaky_relu(call: OpCall, x: Value, slope: float = 0.01) -> Value:
    return R.where(R.greater(x, constant(0, call.dtype)), x, R.multiply(x, constant(slope, call.dtype)))


@rule("rrelu.default")
def rrelu(
    call: OpCall, x: Value, low: float = 1 / 8, high: float = 1 / 3, training: bool = False, *rest: object
) -> Value:
    if training:
        raise call.unsupported("random slopes of training; export the module after module.eval()")
    return leaky_relu(call, x, (low + high) / 2)


@rule("prelu.default", "_prelu_kernel.default")
def prelu(call: OpCall, x: Value, weight: Value) -> Value:
    slope = weight
    if "_kernel" not in str(call.node.target) and x.ndim is not None and x.ndim > 1:
        (count,) = call.importer.shape(call.argument(1).shape)
        slope = R.reshape(weight, [1, count, *[1] * (x.ndim - 2)])
    return R.where(R.greater(x, constant(0, call.dtype)), x, R.multiply(x, slope))


@rule("hardtanh.default")
def hardtanh(call: OpCall, x: Value, low: float = -1, high: float = 1) -> Value:
    return R.minimum(R.maximum(x, constant(low, call.dtype)), constant(high, call.dtype))


@rule("hardsigmoid.default")
def hardsigmoid(call: OpCall, x: Value) -> Value:
    return R.divide(R.clip(R.add(x, constant(3, call.dtype)), 0.0, 6.0), constant(6, call.dtype))


@rule("hardswish.default")
def hardswish(call: OpCall, x: Value) -> Value:
    return R.multiply(x, hardsigmoid(call, x))


@rule("log_sigmoid.default", "log_sigmoid_forward.default")
def log_sigmoid(call: OpCall, x: Value) -> Value | list[Value]:
    dtype = str(x.dtype)
    zero = constant(0, dtype)
    found = R.negative(R.log_add_exp(R.negative(x), zero))
    if "forward" not in str(call.node.target):
        return found
    return [found, R.zeros([0], dtype)]


@rule("softmax.int", "_softmax.default")
def softmax(call: OpCall, x: Value, axis: int, *rest: object) -> Value:
    if call.rank == 0:
        return R.add(R.subtract(call.tensor(x), call.tensor(x)), constant(1, call.dtype))
    return R.nn.softmax(call.tensor(x), axis)


@rule("_safe_softmax.default")
def safe_softmax(call: OpCall, x: Value, axis: int, *rest: object) -> Value:
    value = call.tensor(x)
    least = constant(-math.inf, call.dtype)
    masked = R.equal(call.te(topi.max, value, axis=axis, keepdims=True), least)
    return R.where(masked, constant(0, call.dtype), R.nn.softmax(value, axis))


@rule("log_softmax.int", "_log_softmax.default")
def log_softmax(call: OpCall, x: Value, axis: int, *rest: object) -> Value:
    if call.rank == 0:
        return R.subtract(call.tensor(x), call.tensor(x))
    return R.nn.log_softmax(call.tensor(x), axis)


@rule("glu.default")
def glu(call: OpCall, x: Value, axis: int = -1) -> Value:
    axis = call.axis(axis, call.rank)
    half = call.shape[axis]
    left, right = (
        R.strided_slice(x, [axis], [start], [end]) for start, end in ((0, half), (half, half + half))
    )
    return R.multiply(left, R.sigmoid(right))
