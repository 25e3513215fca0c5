"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall, constant
from relax_mlir.frontend.torch.registry import rule
from relax_mlir.frontend.torch.torch_types import Argument
from relax_mlir.symbolic import Dim


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
