"""Attention as one op."""

from __future__ import annotations

import math

from relax_mlir import op as R
from relax_mlir import symbolic, topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.registry import OpCall, constant, rule
from relax_mlir.frontend.torch.torch_types import Argument, FakeTensor
from relax_mlir.ir_queries import defining_op
from relax_mlir.symbolic import Dim


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
        _four(v, _spread(shape, lead, grouped=enable_gqa))
        for v, shape in zip((query, key, value), shapes, strict=True)
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
    found = R.nn.attention(
        q, k, v, bias, None if scale is None else float(scale), "TopLeft" if causal else None
    )
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
        raise call.unsupported(
            "an encoder layer with a mask as one op; torch.backends.mha.set_fastpath_enabled(False)"
        )

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
