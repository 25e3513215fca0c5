"""Normalisation over groups of channels: group norm and instance norm."""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axes, normalize_axis
from relax_mlir.dialects.dim_orders import Order, Reordered, moved_axes, moved_axis
from relax_mlir.dialects.nn import check_parameter, float_tensor
from relax_mlir.dialects.number_attributes import bool_attr, double_attr, int_attr, ints_attr
from relax_mlir.dialects.types import Tensor, dim_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import ext, ir


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
        raise ArgumentError(
            f"{args.op}: channel_axis {channel} is one of the axes {axes}; leave it out of them"
        )
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

    data: ext.Operand[Any]
    gamma: ext.Operand[Any]
    beta: ext.Operand[Any]
    num_groups: ir.IntegerAttr
    channel_axis: ir.IntegerAttr
    axes: ir.ArrayAttr
    epsilon: ir.FloatAttr
    center: ir.IntegerAttr
    scale: ir.IntegerAttr
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

    data: ext.Operand[Any]
    gamma: ext.Operand[Any]
    beta: ext.Operand[Any]
    channel_axis: ir.IntegerAttr
    axes: ir.ArrayAttr
    epsilon: ir.FloatAttr
    center: ir.IntegerAttr
    scale: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        if not args.ints_attr("axes"):
            raise ArgumentError(f"{args.op}: no axes given")
        return _channel_norm(args)

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return _reordered(args, order)


def group_norm(
    data: ValueLike,
    gamma: ValueLike,
    beta: ValueLike,
    num_groups: int,
    channel_axis: int,
    axes: int | Sequence[int],
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Value:
    """Normalisation over groups of channels and `axes` (see `GroupNormOp`)."""
    require_insertion_point("nn.group_norm")
    attributes = {
        "num_groups": int_attr(num_groups, "group_norm: 'num_groups'"),
        **_attributes(channel_axis, axes, epsilon, center, scale),
    }
    return create_one(GroupNormOp, [as_value(v) for v in (data, gamma, beta)], attributes)


def instance_norm(
    data: ValueLike,
    gamma: ValueLike,
    beta: ValueLike,
    channel_axis: int,
    axes: int | Sequence[int],
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Value:
    """Normalisation over `axes`, for each channel (see `InstanceNormOp`)."""
    require_insertion_point("nn.instance_norm")
    attributes = _attributes(channel_axis, axes, epsilon, center, scale)
    return create_one(InstanceNormOp, [as_value(v) for v in (data, gamma, beta)], attributes)


def _attributes(
    channel_axis: int, axes: int | Sequence[int], epsilon: float, center: bool, scale: bool
) -> dict[str, ir.Attribute]:
    return {
        "channel_axis": int_attr(channel_axis, "attributes: 'channel_axis'"),
        "axes": ints_attr(axes, "attributes: 'axes'"),
        "epsilon": double_attr(epsilon, "attributes: 'epsilon'"),
        "center": bool_attr(center, "attributes: 'center'"),
        "scale": bool_attr(scale, "attributes: 'scale'"),
    }
