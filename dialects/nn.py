"""Neural network ops: activations, normalisations, dropout in inference mode, attention."""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, broadcast, normalize_axes, normalize_axis
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.fields import Bool, Float, Int, Ints, Operand
from relax_mlir.dialects.number_attributes import double_attr, text_attr
from relax_mlir.dialects.traits import (
    IsAttention,
    MultipliesMatrices,
    OpPatternKind,
    Order,
    Reordered,
    along_axis,
    moved_axes,
    moved_axis,
)
from relax_mlir.dialects.types import Tensor, Tuple, dim_text, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

CAUSAL_MASKS = ("TopLeft", "BottomRight")


def float_tensor(args: OpArgs, index: int = 0) -> Tensor:
    """Operand `index`, a tensor of a float dtype."""
    args.require_dtype(index, lambda d: d.is_float, "a float")
    return args.tensor(index)


class FloatUnaryOp(RelaxOp):
    """Base of the activations on floats: one operand, whose type is the result's."""

    op_pattern = OpPatternKind.ELEMWISE

    data: Operand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return float_tensor(args)


class NumberUnaryOp(FloatUnaryOp):
    """Base of the activations on numbers (not bool)."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.require_dtype(0, lambda d: d.kind != "bool", "a number")
        return args.tensor(0)


class ReluOp(NumberUnaryOp, name="nn_relu", traits=[ext.Pure]):
    """Elementwise ``max(x, 0)``; NaN stays NaN.

    Example: ``[-1.0, 0.0, 2.0]`` gives ``[0.0, 0.0, 2.0]``.
    """


class GeluOp(FloatUnaryOp, name="nn_gelu", traits=[ext.Pure]):
    """``x / 2 * (1 + erf(x / sqrt(2)))``: the Gaussian error linear unit.

    Example: ``1.0`` gives ``0.84134475``.
    """


class GeluTanhOp(FloatUnaryOp, name="nn_gelu_tanh", traits=[ext.Pure]):
    """``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``, the approximation of `GeluOp` by tanh.

    Example: ``1.0`` gives ``0.84119199``.
    """


class SiluOp(FloatUnaryOp, name="nn_silu", traits=[ext.Pure]):
    """``x / (1 + exp(-x))``: the sigmoid linear unit.

    Example: ``1.0`` gives ``0.73105858``.
    """


class RowOp(RelaxOp):
    """Base of softmax and log_softmax: one float operand and an axis of it."""

    data: Operand
    axis: Int = -1
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data = float_tensor(args)
        if data.shape is not None:
            normalize_axis(args.op, args.int_attr("axis"), len(data.shape))
        return data

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return along_axis(args.attrs, order)


class SoftmaxOp(RowOp, name="nn_softmax", traits=[ext.Pure]):
    """``exp(x - max(x)) / sum(exp(x - max(x)))`` along `axis`; a row with NaN or only -inf gives NaN.

    Example: ``[[0.0, 0.0]]`` along axis -1 gives ``[[0.5, 0.5]]``.
    """


class LogSoftmaxOp(RowOp, name="nn_log_softmax", traits=[ext.Pure]):
    """``x - max(x) - log(sum(exp(x - max(x))))`` along `axis`: the logarithm of softmax.

    Example: ``[[0.0, 0.0]]`` along axis -1 gives ``[[-0.6931472, -0.6931472]]``.
    """


def check_parameter(args: OpArgs, index: int, axes: Sequence[int]) -> None:
    """Raise an error unless parameter `index` of a normalisation has the dtype of the data and its shape at `axes`."""
    data, parameter = args.tensor(0), args.tensor(index)
    name = args.name_of(index)
    if data.dtype is not None and parameter.dtype is not None:
        promote(data.dtype, parameter.dtype, f"{args.op}: 'data' and '{name}'")
    if data.shape is None or parameter.shape is None:
        return
    expected = tuple(data.shape[axis] for axis in axes)
    given = parameter.shape
    if len(given) == len(expected) and all(map(_may_be_equal, given, expected)):
        return
    raise ShapeError(
        f"{args.op}: operand '{name}' has shape {shape_text(given)}, expected {shape_text(expected)}, "
        f"dimensions {list(axes)} of 'data', {shape_text(data.shape)}"
    )


def _may_be_equal(a: Dim | None, b: Dim | None) -> bool:
    return a is None or b is None or symbolic.prove_equal(a, b)


def normalized_axes(args: OpArgs) -> list[int]:
    """The axes of a normalisation as non-negative integers; [] if the rank is unknown."""
    shape = args.tensor(0).shape
    axes = args.ints_attr("axes")
    if not axes:
        raise ArgumentError(f"{args.op}: no axes given")
    return [] if shape is None else normalize_axes(args.op, axes, len(shape))


class LayerNormOp(RelaxOp, name="nn_layer_norm", traits=[ext.Pure]):
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta``, with mean and variance over `axes`.

    The variance is biased. `gamma` and `beta` have the shape of the data at `axes`, in their order; if `scale` or
    `center` is false, `gamma` or `beta` is ignored. 16-bit floats are computed in float32.

    Example: shapes ``(b, s, 384)``, ``(384,)``, ``(384,)`` with axes ``[-1]`` give ``(b, s, 384)``.
    """

    data: Operand
    gamma: Operand
    beta: Operand
    axes: Ints = -1
    epsilon: Float = 1e-05
    center: Bool = True
    scale: Bool = True
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, axes = float_tensor(args), normalized_axes(args)
        for flag in ("center", "scale"):
            args.bool_attr(flag)
        check_parameter(args, 1, axes)
        check_parameter(args, 2, axes)
        return data


class RmsNormOp(RelaxOp, name="nn_rms_norm", traits=[ext.Pure]):
    """``x / sqrt(mean(x * x) + epsilon) * weight``, with the mean over `axes`; `weight` has the shape at `axes`.

    16-bit floats are computed in float32.

    Example: shapes ``(b, s, 64)`` and ``(64,)`` with axes ``[-1]`` give ``(b, s, 64)``.
    """

    data: Operand
    weight: Operand
    axes: Ints = -1
    epsilon: Float = 1e-05
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, axes = float_tensor(args), normalized_axes(args)
        check_parameter(args, 1, axes)
        return data


class AttentionBase(RelaxOp):
    """Base of the attention ops; see `AttentionOp`."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        infos = [float_tensor(args, i) for i in range(len(args.infos))]
        known = [info.dtype for info in infos if info.dtype is not None]
        for dtype in known[1:]:
            promote(known[0], dtype, args.op)
        if not args.is_unit("scale"):
            args.float_attr("scale")
        if not args.is_unit("causal_mask") and args.str_attr("causal_mask") not in CAUSAL_MASKS:
            raise ArgumentError(
                f"{args.op}: causal_mask is {args.str_attr('causal_mask')!r}, expected one of {CAUSAL_MASKS}"
            )
        result_dtype = known[0] if known else None
        shapes = [attention_shape(args, i) for i in range(3)]
        if any(shape is None for shape in shapes):
            return Tensor((None,) * 4, result_dtype)
        query, key, value = (shape for shape in shapes if shape is not None)
        check_attention(args, query, key, value)
        if len(infos) > 3 and infos[3].shape is not None:
            _check_bias(args, infos[3].shape, (query[0], query[2], query[1], key[1]))
        return Tensor((*query[:3], value[3]), result_dtype)

    @classmethod
    def multiply_adds(cls, args: OpArgs) -> Dim | None:
        query, key, value = (args.tensor(i).known_shape for i in range(3))
        if query is None or key is None or value is None:
            return None
        return symbolic.product([*query[:3], key[1]]) * (query[3] + value[3])


def attention_shape(args: OpArgs, index: int) -> tuple[Dim | None, ...] | None:
    shape = args.tensor(index).shape
    if shape is not None and len(shape) != 4:
        raise ShapeError(
            f"{args.op}: operand '{args.name_of(index)}' has shape {shape_text(shape)}, "
            "expected (batch, sequence, heads, head size)"
        )
    return shape


def check_attention(
    args: OpArgs,
    query: tuple[Dim | None, ...],
    key: tuple[Dim | None, ...],
    value: tuple[Dim | None, ...],
) -> None:
    equal = (
        ("batch", "query", query[0], "key", key[0]),
        ("batch", "query", query[0], "value", value[0]),
        ("number of heads", "key", key[2], "value", value[2]),
        ("head size", "query", query[3], "key", key[3]),
        ("sequence length", "key", key[1], "value", value[1]),
    )
    for what, name1, dim1, name2, dim2 in equal:
        if not _may_be_equal(dim1, dim2):
            raise ShapeError(
                f"{args.op}: the {what} of '{name1}' is {dim_text(dim1)}, that of '{name2}' {dim_text(dim2)}, "
                "which is not provably equal"
            )
    if query[2] is not None and key[2] is not None and head_group(query[2], key[2]) is None:
        raise ShapeError(
            f"{args.op}: the number of heads of 'query' is {dim_text(query[2])}, that of 'key' "
            f"{dim_text(key[2])}; expected the same, or a multiple that is a known number"
        )


def head_group(query_heads: Dim, key_heads: Dim) -> int | None:
    """The number of query heads per head of key and value; None if it is not a known integer."""
    if symbolic.prove_equal(query_heads, key_heads):
        return 1
    if key_heads == 0:
        return None
    group = symbolic.floordiv(query_heads, key_heads)
    known = isinstance(group, int) and group > 0 and symbolic.prove_equal(group * key_heads, query_heads)
    return group if known and isinstance(group, int) else None


def _check_bias(args: OpArgs, bias: tuple[Dim | None, ...], scores: tuple[Dim | None, ...]) -> None:
    together = broadcast(args.op, bias, scores)
    assert together is not None
    if len(together) != 4 or not all(map(_may_be_equal, together, scores)):
        raise ShapeError(
            f"{args.op}: 'bias' of shape {shape_text(bias)} does not broadcast to the scores' shape "
            f"{shape_text(scores)} (batch, heads, queries, keys)"
        )


class AttentionOp(AttentionBase, name="nn_attention", traits=[ext.Pure, IsAttention, MultipliesMatrices]):
    """``softmax(query @ key^T * scale) @ value`` for each batch and head.

    `query` is ``(b, s, h, d)``, `key` ``(b, t, g, d)``, `value` ``(b, t, g, e)``, the result ``(b, s, h, e)``. h is g
    or a known multiple of it (grouped queries): query head i reads head ``i // (h / g)``. `scale` defaults to
    ``1 / sqrt(d)``. `causal_mask` ``"TopLeft"`` lets query i see keys up to i, ``"BottomRight"`` up to ``i + t - s``,
    and ``unit`` all. A query that sees no key gives NaN (zeros if t is 0). If the value of a masked key is NaN or
    infinite, it is unspecified whether that reaches the result. 16-bit floats are computed in float32 and rounded once.

    Example: shapes ``(b, s, 12, 32)`` three times give ``(b, s, 12, 32)``.
    """

    query: ext.Operand[Any]
    key: ext.Operand[Any]
    value: ext.Operand[Any]
    scale: ir.FloatAttr | ir.UnitAttr
    causal_mask: ir.StringAttr | ir.UnitAttr
    result: ext.Result[Any]


class AttentionBiasOp(AttentionBase, name="nn_attention_bias", traits=[ext.Pure, IsAttention, MultipliesMatrices]):
    """`AttentionOp` with a `bias` added to the scaled scores; it broadcasts to ``(b, h, s, t)``.

    Example: a mask of padded keys is a bias of shape ``(b, 1, 1, t)``, 0 or a large negative number.
    """

    query: ext.Operand[Any]
    key: ext.Operand[Any]
    value: ext.Operand[Any]
    bias: ext.Operand[Any]
    scale: ir.FloatAttr | ir.UnitAttr
    causal_mask: ir.StringAttr | ir.UnitAttr
    result: ext.Result[Any]


@exported("nn")
def attention(
    query: ValueLike,
    key: ValueLike,
    value: ValueLike,
    bias: ValueLike | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
) -> Value:
    """Multi-head attention on ``(batch, sequence, heads, head size)`` (see `AttentionOp`, `AttentionBiasOp`)."""
    require_insertion_point("nn.attention")
    unit = ir.UnitAttr.get()
    attributes = {
        "scale": unit if scale is None else double_attr(scale, "attention: 'scale'"),
        "causal_mask": unit if causal_mask is None else text_attr(causal_mask, "attention: 'causal_mask'"),
    }
    operands = [as_value(v) for v in (query, key, value)]
    if bias is None:
        return create_one(AttentionOp, operands, attributes)
    return create_one(AttentionBiasOp, [*operands, as_value(bias, operands[0].struct_info)], attributes)


@exported("nn")
def attention_bias(
    query: ValueLike,
    key: ValueLike,
    value: ValueLike,
    bias: ValueLike,
    scale: float | None = None,
    causal_mask: str | None = None,
) -> Value:
    """`attention` with a `bias` (see `AttentionBiasOp`)."""
    return attention(query, key, value, bias, scale, causal_mask)


class BatchNormOp(RelaxOp, name="nn_batch_norm", traits=[ext.Pure]):
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` for each channel along `axis`, and two moving averages.

    The result is a tuple of the normalised data, the moving mean and the moving variance. With `training`, the mean and
    the (biased) variance are those of all elements of a channel, and the moving averages become
    ``(1 - momentum) * moving + momentum * batch``. Otherwise the moving averages are used and returned unchanged. If
    `scale` or `center` is false, `gamma` or `beta` is ignored. 16-bit floats are computed in float32.

    Example: shapes ``(n, c, h, w)`` and four times ``(c,)`` with axis 1 give ``(n, c, h, w)``, ``(c,)`` and ``(c,)``.
    """

    data: Operand
    gamma: Operand
    beta: Operand
    moving_mean: Operand
    moving_var: Operand
    axis: Int
    epsilon: Float = 1e-05
    center: Bool = True
    scale: Bool = True
    momentum: Float = 0.1
    training: Bool = True
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data = float_tensor(args)
        for flag in ("center", "scale", "training"):
            args.bool_attr(flag)
        for number in ("epsilon", "momentum"):
            args.float_attr(number)
        axis = args.int_attr("axis")
        if data.shape is not None:
            axis = normalize_axis(args.op, axis, len(data.shape))
            for index in (1, 2, 3, 4):
                check_parameter(args, index, [axis])
        return Tuple([data, *(_average(args, index, data, axis) for index in (3, 4))])

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        attributes = {"axis": moved_axis(args.attrs["axis"], order)}
        return Reordered((0,), (order, None, None), attributes)


def _average(args: OpArgs, index: int, data: Tensor, axis: int) -> Tensor:
    """Struct info of a moving average: the dtype of the data, one element per channel."""
    given = args.tensor(index)
    shape = given.shape
    if shape is None:
        shape = (None,) if data.shape is None else (data.shape[axis],)
    return Tensor(shape, given.dtype or data.dtype)


def _channel_norm(args: OpArgs) -> Tensor:
    """The data of a channel norm, after checking that its parameters have the shape of the channels."""
    data = float_tensor(args)
    for flag in ("center", "scale"):
        args.bool_attr(flag)
    args.float_attr("epsilon")
    channel, axes = args.int_attr("channel_axis"), args.ints_attr("axes")
    if data.shape is None:
        return data
    rank = len(data.shape)
    channel = normalize_axis(args.op, channel, rank, "channel_axis")
    if channel in normalize_axes(args.op, axes, rank):
        raise ArgumentError(f"{args.op}: channel_axis {channel} is one of the axes {axes}; leave it out of them")
    check_parameter(args, 1, [channel])
    check_parameter(args, 2, [channel])
    return data


def _reordered(args: OpArgs, order: Order) -> Reordered:
    attributes: dict[str, ir.Attribute] = {
        "channel_axis": moved_axis(args.attrs["channel_axis"], order),
        "axes": moved_axes(args.attrs["axes"], order),
    }
    return Reordered((0,), (order,), attributes)


class GroupNormOp(RelaxOp, name="nn_group_norm", traits=[ext.Pure]):
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta``, with mean and variance per group.

    The channels along `channel_axis` are divided into `num_groups` groups of consecutive channels, of equal size. A
    group extends over its channels and `axes`, which do not contain `channel_axis`. The number of channels must be a
    known multiple of `num_groups`. The variance is biased. `gamma` and `beta` have one element per channel; if `scale`
    or `center` is false, `gamma` or `beta` is ignored. 16-bit floats are computed in float32.

    Example: shapes ``(n, 64, h, w)``, ``(64,)``, ``(64,)`` with 32 groups, channel_axis 1 and axes ``[2, 3]`` give
    ``(n, 64, h, w)``.
    """

    data: Operand
    gamma: Operand
    beta: Operand
    num_groups: Int
    channel_axis: Int
    axes: Ints
    epsilon: Float = 1e-5
    center: Bool = True
    scale: Bool = True
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        groups, data = args.int_attr("num_groups"), _channel_norm(args)
        if groups < 1:
            raise ArgumentError(f"{args.op}: num_groups is {groups}, expected at least 1")
        channels = None if data.shape is None else data.shape[args.int_attr("channel_axis")]
        if channels is not None and not symbolic.prove_divisible(channels, groups):
            raise ShapeError(
                f"{args.op}: operand 'data' has {dim_text(channels)} channels (channel_axis "
                f"{args.int_attr('channel_axis')}), which is not provably a multiple of num_groups, {groups}; "
                f"match_shape it to a number that is, or declare it as one, {groups}*c"
            )
        return data

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return _reordered(args, order)


class InstanceNormOp(RelaxOp, name="nn_instance_norm", traits=[ext.Pure]):
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta``, with mean and variance over `axes` for each channel.

    It is `GroupNormOp` with one group per channel. `axes` do not contain `channel_axis`; `gamma` and `beta` have one
    element per channel, and if `scale` or `center` is false, `gamma` or `beta` is ignored.

    Example: shapes ``(n, c, h, w)``, ``(c,)``, ``(c,)`` with channel_axis 1 and axes ``[2, 3]`` give
    ``(n, c, h, w)``.
    """

    data: Operand
    gamma: Operand
    beta: Operand
    channel_axis: Int
    axes: Ints
    epsilon: Float = 1e-5
    center: Bool = True
    scale: Bool = True
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        if not args.ints_attr("axes"):
            raise ArgumentError(f"{args.op}: no axes given")
        return _channel_norm(args)

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return _reordered(args, order)


class DropoutOp(RelaxOp, name="nn_dropout", traits=[ext.Pure]):
    """`data` unchanged, and a mask of ones: inference drops nothing. `rate`, from 0 to 1, is used only by training.

    Example: ``[1.5, 2.0]`` gives the tuple of ``[1.5, 2.0]`` and ``[1.0, 1.0]``.
    """

    data: Operand
    rate: Float = 0.5
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        rate = args.float_attr("rate")
        if not 0 <= rate <= 1:
            raise ArgumentError(f"{args.op}: rate is {rate}, expected a number from 0 to 1")
        data = float_tensor(args)
        return Tuple([data, data])


class AttentionVarLenOp(RelaxOp, name="nn_attention_var_len", traits=[ext.Pure]):
    """`AttentionOp` of each of several sequences, which are concatenated in a batch of one.

    `query` is ``(1, s, h, d)``, `key` ``(1, t, g, d)``, `value` ``(1, t, g, e)``, the result ``(1, s, h, e)``. The
    queries of sequence ``i`` are ``seqstart_q[i]`` to ``seqstart_q[i + 1]``, exclusive, and its keys ``seqstart_k[i]``
    to ``seqstart_k[i + 1]``; both are vectors of integers, clamped to the range. `scale` and `causal_mask` are those of
    `AttentionOp`, within each sequence. `max_seqlen_q` and `max_seqlen_k`, one integer each, are hints without effect
    on the result. A query that sees no key, or is in no sequence, gives 0. 16-bit floats are computed in float32.

    Example: lengths 2 and 3 are the starts ``[0, 2, 5]``; shapes ``(1, 5, 8, 32)`` three times give
    ``(1, 5, 8, 32)``.
    """

    query: ext.Operand[Any]
    key: ext.Operand[Any]
    value: ext.Operand[Any]
    seqstart_q: ext.Operand[Any]
    seqstart_k: ext.Operand[Any]
    max_seqlen_q: ext.Operand[Any]
    max_seqlen_k: ext.Operand[Any]
    scale: ir.FloatAttr | ir.UnitAttr
    causal_mask: ir.StringAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        known = [dtype for dtype in (float_tensor(args, i).dtype for i in range(3)) if dtype is not None]
        for other in known[1:]:
            promote(known[0], other, args.op)
        if not args.is_unit("scale"):
            args.float_attr("scale")
        if not args.is_unit("causal_mask") and args.str_attr("causal_mask") not in CAUSAL_MASKS:
            raise ArgumentError(
                f"{args.op}: causal_mask is {args.str_attr('causal_mask')!r}, expected one of {CAUSAL_MASKS}"
            )
        for index in range(3, 7):
            _check_integers(args, index, 1 if index < 5 else 0)
        first, second = ((args.tensor(i).shape or (None,))[0] for i in (3, 4))
        if first is not None and second is not None and not symbolic.prove_equal(first, second):
            raise ShapeError(
                f"{args.op}: operand 'seqstart_k' has {dim_text(second)} elements, expected those of 'seqstart_q', "
                f"{dim_text(first)}"
            )
        dtype = known[0] if known else None
        shapes = [attention_shape(args, i) for i in range(3)]
        if any(shape is None for shape in shapes):
            return Tensor((None,) * 4, dtype)
        query, key, value = (shape for shape in shapes if shape is not None)
        check_attention(args, query, key, value)
        if query[0] is not None and not symbolic.prove_equal(query[0], 1):
            raise ShapeError(f"{args.op}: the batch of 'query' is {dim_text(query[0])}, expected 1")
        return Tensor((*query[:3], value[3]), dtype)


def _check_integers(args: OpArgs, index: int, rank: int) -> None:
    args.require_dtype(index, lambda d: d.is_integer, "integers")
    given = args.tensor(index)
    if given.ndim is not None and given.ndim != rank:
        raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {given}, expected {rank} dimensions")
    if rank and given.shape and given.shape[0] == 0:
        raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {given}, expected a start and ends")


@exported("nn")
def attention_var_len(
    queries: ValueLike,
    keys: ValueLike,
    values: ValueLike,
    seqstart_q: ValueLike,
    max_seqlen_q: ValueLike,
    seqstart_k: ValueLike | None = None,
    max_seqlen_k: ValueLike | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
) -> Value:
    """Attention of concatenated sequences (see `AttentionVarLenOp`); `seqstart_k` defaults to `seqstart_q`."""
    what = "attention_var_len"
    require_insertion_point(f"nn.{what}")
    unit, integer = ir.UnitAttr.get(), Tensor((), "int32")
    attributes = {
        "scale": unit if scale is None else double_attr(scale, f"{what}: 'scale'"),
        "causal_mask": unit if causal_mask is None else text_attr(causal_mask, f"{what}: 'causal_mask'"),
    }
    starts, longest = as_value(seqstart_q), as_value(max_seqlen_q, integer)
    operands = [
        *(as_value(v) for v in (queries, keys, values)),
        starts,
        starts if seqstart_k is None else as_value(seqstart_k),
        longest,
        longest if max_seqlen_k is None else as_value(max_seqlen_k, integer),
    ]
    return create_one(AttentionVarLenOp, operands, attributes)
