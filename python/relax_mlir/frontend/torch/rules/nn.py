"""Activations and normalisations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.registry import OpCall, Operand, constant, rule
from relax_mlir.frontend.torch.torch_types import Argument
from relax_mlir.symbolic import Dim

# Activations.


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
    if call.name == "prelu" and x.ndim is not None and x.ndim > 1:
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
    if call.name == "log_sigmoid":
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


# Normalisations.


def _parameter(call: OpCall, value: Value | None, shape: Sequence[Dim], number: float) -> Value:
    """Return a scale or shift; a constant tensor of `number` if the module has none."""
    if value is not None:
        return call.tensor(value)
    if all(isinstance(dim, int) for dim in shape):
        return R.const(np.full([int(str(dim)) for dim in shape], number), call.dtype)
    return R.full(shape, constant(number, call.dtype), call.dtype)


@rule("layer_norm.default")
def layer_norm(
    call: OpCall,
    x: Value,
    shape: Sequence[Dim],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    *rest: object,
) -> Value:
    gamma, beta = _parameter(call, weight, shape, 1), _parameter(call, bias, shape, 0)
    axes = list(range(-len(shape), 0))
    return R.nn.layer_norm(x, gamma, beta, axes, eps, bias is not None, weight is not None)


@rule("native_layer_norm.default")
def native_layer_norm(
    call: OpCall, x: Value, shape: Sequence[Dim], weight: Value | None, bias: Value | None, eps: float
) -> list[Value | None]:
    """Return the normalised data, and mean and reciprocal deviation if they are used."""
    found: list[Value | None] = [layer_norm(call, x, shape, weight, bias, eps), None, None]
    if _is_used(call, 1) or _is_used(call, 2):
        axes = list(range(-len(shape), 0))
        found[1] = R.mean(x, axes, True)
        found[2] = R.rsqrt(R.add(R.variance(x, axes, True), constant(eps, call.dtype)))
    return found


@rule("rms_norm.default")
def rms_norm(
    call: OpCall, x: Value, shape: Sequence[Dim], weight: Value | None = None, eps: float | None = None
) -> Value:
    import torch

    least = float(torch.finfo(call.result.dtype).eps) if eps is None else eps
    return R.nn.rms_norm(x, _parameter(call, weight, shape, 1), list(range(-len(shape), 0)), least)


@rule("group_norm.default")
def group_norm(
    call: OpCall,
    x: Value,
    groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    *rest: object,
) -> Value:
    channels = [call.shape[1]]
    gamma, beta = _parameter(call, weight, channels, 1), _parameter(call, bias, channels, 0)
    axes = list(range(2, call.rank))
    return R.nn.group_norm(x, gamma, beta, groups, 1, axes, eps, bias is not None, weight is not None)


@rule("native_group_norm.default")
def native_group_norm(
    call: OpCall,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    batch: Dim,
    channels: Dim,
    size: Dim,
    groups: int,
    eps: float,
) -> list[Value | None]:
    if _is_used(call, 1) or _is_used(call, 2):
        raise call.unsupported("the mean and deviation of a group norm as results of their own")
    return [group_norm(call, x, groups, weight, bias, eps), None, None]


@rule("instance_norm.default")
def instance_norm(
    call: OpCall,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    variance: Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    *rest: object,
) -> Value:
    if not use_input_stats:
        return _normalized(call, x, weight, bias, mean, variance, eps)
    channels = [call.shape[1]]
    gamma, beta = _parameter(call, weight, channels, 1), _parameter(call, bias, channels, 0)
    axes = list(range(2, call.rank))
    return R.nn.instance_norm(x, gamma, beta, 1, axes, eps, bias is not None, weight is not None)


@rule("batch_norm.default")
def batch_norm(
    call: OpCall,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    variance: Value | None,
    training: bool,
    momentum: float,
    eps: float,
    *rest: object,
) -> Value:
    if training:
        raise call.unsupported("batch norm in training mode; export the module after module.eval()")
    return _normalized(call, x, weight, bias, mean, variance, eps)


@rule("_native_batch_norm_legit_no_training.default")
def native_batch_norm(
    call: OpCall,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value,
    variance: Value,
    momentum: float,
    eps: float,
) -> list[Value | None]:
    return [_normalized(call, x, weight, bias, mean, variance, eps), None, None]


@rule("_native_batch_norm_legit.no_stats", "_native_batch_norm_legit.default", "native_batch_norm.default")
def batch_statistics(
    call: OpCall, x: Value, weight: Value | None, bias: Value | None, *rest: Argument
) -> list[Value | None]:
    """Normalise a batch by its own statistics."""
    *running, training, _, eps = rest
    if not training and running:
        return [_normalized(call, x, weight, bias, running[0], running[1], eps), None, None]
    if running or _is_used(call, 1) or _is_used(call, 2):
        raise call.unsupported("batch norm in training mode; export the module after module.eval()")
    axes = [0, *range(2, call.rank)]
    return [_normalized(call, x, weight, bias, R.mean(x, axes), R.variance(x, axes), eps), None, None]


def _normalized(
    call: OpCall,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    variance: Value | None,
    eps: float,
) -> Value:
    """Return ``(x - mean) / sqrt(variance + eps) * weight + bias`` as one multiplication and addition per element."""
    if mean is None or variance is None:
        raise call.unsupported("batch norm without running statistics")
    dtype = str(mean.dtype)
    scale = R.rsqrt(R.add(variance, constant(eps, dtype)))
    if weight is not None:
        scale = R.multiply(scale, weight if weight.dtype == dtype else R.astype(weight, dtype))
    shift = R.negative(R.multiply(mean, scale))
    if bias is not None:
        shift = R.add(shift, bias if bias.dtype == dtype else R.astype(bias, dtype))
    wide = [call.shape[1], *[1] * (call.rank - 2)]
    data = x if x.dtype == dtype else R.astype(x, dtype)
    found = R.add(R.multiply(data, R.reshape(scale, wide)), R.reshape(shift, wide))
    return call.tensor(found)


def _is_used(call: OpCall, index: int) -> bool:
    """True if result `index` of the op is used."""
    return any(user.args[1] == index for user in call.node.users if len(user.args) > 1 and user.users)


@rule("linalg_vector_norm.default")
def vector_norm(
    call: OpCall,
    x: Value,
    order: float = 2,
    axes: Sequence[int] | None = None,
    keepdim: bool = False,
    **rest: Argument,
) -> Value:
    from relax_mlir.frontend.torch.rules.reduce import axes_of

    value = R.abs(call.tensor(x))
    over = axes_of(call, axes)
    if order == 2:
        return R.sqrt(R.sum(R.square(value), over, keepdim))
    if order == 1:
        return R.sum(value, over, keepdim)
    if order == float("inf"):
        return R.max(value, over, keepdim)
    if order == float("-inf"):
        return R.min(value, over, keepdim)
    if order == 0:
        return R.sum(R.astype(R.not_equal(value, constant(0, call.dtype)), call.dtype), over, keepdim)
    total = R.sum(R.power(value, constant(order, call.dtype)), over, keepdim)
    return R.power(total, constant(1 / order, call.dtype))
