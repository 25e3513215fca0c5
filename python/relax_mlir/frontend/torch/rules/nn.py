"""Activations, normalisations and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from relax_mlir import op as R
from relax_mlir import symbolic, topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.registry import OpCall, Operand, constant, rule
from relax_mlir.frontend.torch.torch_types import Argument, FakeTensor
from relax_mlir.ir_queries import defining_op
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
    left, right = (R.strided_slice(x, [axis], [start], [end]) for start, end in ((0, half), (half, half + half)))
    return R.multiply(left, R.sigmoid(right))


# Normalisations.

IN_TRAINING = "batch norm in training mode; export the module after module.eval()"


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
def instance_norm(call: OpCall, x: Value, weight: Value | None, bias: Value | None, *rest: Argument) -> Value:
    mean, variance, use_input_stats, _, eps, *_ = rest
    if not use_input_stats:
        return _normalized(call, x, weight, bias, mean, variance, eps)
    channels = [call.shape[1]]
    gamma, beta = _parameter(call, weight, channels, 1), _parameter(call, bias, channels, 0)
    axes = list(range(2, call.rank))
    return R.nn.instance_norm(x, gamma, beta, 1, axes, eps, bias is not None, weight is not None)


@rule("batch_norm.default")
def batch_norm(call: OpCall, x: Value, *rest: Argument) -> Value:
    weight, bias, mean, variance, training, _, eps, *_ = rest
    if training:
        raise call.unsupported(IN_TRAINING)
    return _normalized(call, x, weight, bias, mean, variance, eps)


@rule("_native_batch_norm_legit_no_training.default")
def native_batch_norm(call: OpCall, x: Value, *rest: Argument) -> list[Value | None]:
    weight, bias, mean, variance, _, eps = rest
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
        raise call.unsupported(IN_TRAINING)
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

    return norm_of(R.abs(call.tensor(x)), order, axes_of(call, axes), keepdim)


def norm_of(value: Value, order: float, axes: list[int] | None, keepdim: bool = False) -> Value:
    """Return the norm of an order of values that are not negative."""
    dtype = str(value.dtype)
    if order == 2:
        return R.sqrt(R.sum(R.square(value), axes, keepdim))
    if order == 1:
        return R.sum(value, axes, keepdim)
    if order == float("inf"):
        return R.max(value, axes, keepdim)
    if order == float("-inf"):
        return R.min(value, axes, keepdim)
    if order == 0:
        return R.sum(R.astype(R.not_equal(value, constant(0, dtype)), dtype), axes, keepdim)
    total = R.sum(R.power(value, constant(order, dtype)), axes, keepdim)
    return R.power(total, constant(1 / order, dtype))


# Attention as one op.


@rule("scaled_dot_product_attention.default")
def attention(
    call: OpCall,
    query: Value,
    key: Value,
    value: Value,
    mask: Value | None = None,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    scale: Argument = None,
    enable_gqa: bool = False,
) -> Value:
    """Emit attention; torch's layout is (batch, heads, sequence, size), Relax's (batch, sequence, heads, size).

    A query that sees no key gives zeros in torch, and NaN in `relax.nn.attention`.
    """
    if dropout > 0:
        raise call.unsupported("attention with dropout of training; export the module after module.eval()")
    if scale is not None and not isinstance(scale, int | float):
        raise call.unsupported("attention whose scale is computed")
    shapes = [call.importer.shape(call.argument(i).shape) for i in range(3)]
    lead = call.shape[:-2]
    parts = [
        _four(v, _spread(shape, lead, grouped=enable_gqa)) for v, shape in zip((query, key, value), shapes, strict=True)
    ]
    keys, values = map(_unrepeated, parts[1:])
    if keys is not None and values is not None and keys.shape[1] == values.shape[1]:
        parts[1:] = [keys, values]
    scores = [*_lead(lead), shapes[0][-2], shapes[1][-2]]
    bias = None
    unseen = None
    if mask is not None:
        bias, unseen = _bias(call, mask, scores)
    q, k, v = (R.permute_dims(part, [0, 2, 1, 3]) for part in parts)
    found = R.nn.attention(q, k, v, bias, None if scale is None else float(scale), "TopLeft" if causal else None)
    if unseen is not None:
        found = R.where(R.permute_dims(unseen, [0, 2, 1, 3]), constant(0, call.dtype), found)
    return R.reshape(R.permute_dims(found, [0, 2, 1, 3]), call.shape)


@rule("_scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention(
    call: OpCall,
    query: Value,
    key: Value,
    value: Value,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    attn_mask: Value | None = None,
    scale: Argument = None,
) -> list[Value | None]:
    """Emit torch's form of attention below autograd; the second result is for gradients."""
    if any(user.args[1] == 1 and user.users for user in call.node.users):
        raise call.unsupported("the logarithms of sums of attention, which are for gradients")
    found = attention(call, query, key, value, attn_mask, dropout, causal, scale=scale)
    return [found, None]


def _lead(lead: list[Dim]) -> list[Dim]:
    """Combine the dimensions before the matrices into two: batch and heads."""
    if len(lead) >= 2:
        return [symbolic.product(lead[:-1]), lead[-1]]
    return [*lead, *[1] * (2 - len(lead))]


def _spread(shape: list[Dim], lead: list[Dim], *, grouped: bool) -> tuple[list[Dim], list[Dim]]:
    """Return the shape to which a tensor is broadcast, and that shape with four dimensions."""
    own = list(lead)
    if grouped and own:
        own[-1] = shape[-3]
    return [*own, *shape[-2:]], [*_lead(own), *shape[-2:]]


def _four(value: Value, shapes: tuple[list[Dim], list[Dim]]) -> Value:
    whole, four = shapes
    info = value.struct_info
    known = getattr(info, "shape", None)
    if known is None or len(known) != len(whole) or any(a != b for a, b in zip(known, whole, strict=True)):
        value = R.broadcast_to(value, whole)
    return value if len(whole) == 4 else R.reshape(value, four)


def _unrepeated(value: Value) -> Value | None:
    """Return keys or values before their heads are repeated for grouped queries; None if they are not repeated.

    The pattern is ``(b, g, 1, t, d)`` broadcast to ``(b, g, n, t, d)`` and reshaped to ``(b, g * n, t, d)``.
    """
    op = defining_op(value.ssa)
    whole = defining_op(op.operands[0]) if op is not None and op.name == "relax.reshape" else None
    if whole is None or whole.name != "relax.broadcast_to":
        return None
    shapes = [Value(v).tensor_info.known_shape for v in (whole.operands[0], whole.results[0])]
    given, repeated, found = (*shapes, value.tensor_info.known_shape)
    if given is None or repeated is None or found is None or (len(given), len(found)) != (5, 4):
        return None
    groups, count = repeated[1:3]
    same = all(symbolic.prove_equal(given[axis], repeated[axis]) for axis in (0, 1, 3, 4))
    if not same or given[2] != 1 or not isinstance(groups, int) or not isinstance(count, int):
        return None
    wanted = (repeated[0], groups * count, *repeated[3:])
    if not all(map(symbolic.prove_equal, found, wanted)):
        return None
    return R.reshape(Value(whole.operands[0]), [repeated[0], groups, *repeated[3:]])


def _mask_of(call: OpCall) -> FakeTensor:
    """Return torch's metadata of the mask, a positional or keyword argument."""
    node = call.node.kwargs.get("attn_mask")
    return call.argument(3) if node is None else node.meta["val"]


def _bias(call: OpCall, mask: Value, scores: list[Dim]) -> tuple[Value, Value]:
    """Return the bias of the scores, and a mask of queries that see no key, (batch, heads, queries, 1)."""
    own = call.importer.shape(_mask_of(call).shape)
    if len(call.shape) == 3:
        four = [own[0], 1, *own[1:]] if len(own) == 3 else [*[1] * (4 - len(own)), *own]
    elif len(own) <= 4:
        four = [*[1] * (4 - len(own)), *own]
    else:
        mask = R.broadcast_to(mask, [*call.shape[:-2], *scores[2:]])
        four = scores
    if four != own:
        mask = R.reshape(mask, four)
    if mask.dtype == "bool":
        seen = call.te(topi.any, mask, axis=3, keepdims=True)
        zero, least = constant(0, call.dtype), constant(-math.inf, call.dtype)
        return R.where(mask, zero, least), R.logical_not(seen)
    bias = mask if mask.dtype == call.dtype else R.astype(mask, call.dtype)
    best = R.max(bias, [3], True)
    return bias, R.equal(best, constant(-math.inf, call.dtype))


@rule("_transformer_encoder_layer_fwd.default")
def encoder_layer(
    call: OpCall,
    x: Value,
    size: int,
    heads: int,
    qkv_weight: Value,
    qkv_bias: Value,
    projection_weight: Value,
    projection_bias: Value,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    *rest: Argument,
) -> Value:
    """Emit `torch.nn.TransformerEncoderLayer` where torch runs it as one op: in evaluation mode without gradients."""
    scale1, shift1, scale2, shift2, weight1, bias1, weight2, bias2, *masks = rest
    if any(mask is not None for mask in masks):
        raise call.unsupported("an encoder layer with a mask as one op; torch.backends.mha.set_fastpath_enabled(False)")

    def norm(data: Value, scale: Value, shift: Value) -> Value:
        return R.nn.layer_norm(data, scale, shift, [-1], eps)

    def attend(data: Value) -> Value:
        batch, length, _ = call.shape
        whole = R.add(R.matmul(data, R.permute_dims(qkv_weight)), qkv_bias)
        parts = (R.strided_slice(whole, [2], [i * size], [(i + 1) * size], [1]) for i in range(3))
        query, key, value = (R.reshape(part, [batch, length, heads, size // heads]) for part in parts)
        found = R.reshape(R.nn.attention(query, key, value), [batch, length, size])
        return R.add(R.matmul(found, R.permute_dims(projection_weight)), projection_bias)

    def feed_forward(data: Value) -> Value:
        inner = R.add(R.matmul(data, R.permute_dims(weight1)), bias1)
        active = R.nn.gelu(inner) if use_gelu else R.nn.relu(inner)
        return R.add(R.matmul(active, R.permute_dims(weight2)), bias2)

    if norm_first:
        x = R.add(x, attend(norm(x, scale1, shift1)))
        return R.add(x, feed_forward(norm(x, scale2, shift2)))
    x = norm(R.add(x, attend(x)), scale1, shift1)
    return norm(R.add(x, feed_forward(x)), scale2, shift2)
