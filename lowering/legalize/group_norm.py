"""Legalisation of group norm and instance norm: one prim func each, which names a kernel that may replace it.

The body splits the channels of a group norm into two dimensions, groups and the channels of a group.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.base import normalize_axes, normalize_axis
from relax_mlir.lowering.legalize.nn import Rows, norm_attrs, normalized
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.lowering.legalize.window import Index, is_empty, sizes_of
from relax_mlir.mlir import arith, ir, tensor


@legalization("relax.nn_group_norm", "relax.nn_instance_norm")
def legalize_group_norm(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    name, args, rank = op.args.op, op.args, len(op.operands[0].shape)
    channel = normalize_axis(name, args.int_attr("channel_axis"), rank)
    axes = sorted(normalize_axes(name, args.ints_attr("axes"), rank))
    groups = args.int_attr("num_groups") if name == "nn_group_norm" else 0
    epsilon, center, scale = args.float_attr("epsilon"), args.bool_attr("center"), args.bool_attr("scale")
    data, gamma, beta = op.operands

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        if is_empty(prim.out_infos[0]):
            return list(prim.outs)
        if groups == 0:
            return normalized(Rows(prim, axes), prim.ins[1:], epsilon, scale, center, at=[channel])
        split = [axis + (axis > channel) for axis in axes]
        data, out = (_split(prim, value, channel, groups) for value in (prim.ins[0], prim.outs[0]))
        parameters = [_split(prim, value, 0, groups) for value in prim.ins[1:]]
        rows = Rows(prim, [channel + 1, *split], data, out)
        (result,) = normalized(rows, parameters, epsilon, scale, center, at=[channel, channel + 1])
        return [tensor.collapse_shape(prim.outs[0].type, result, _pairs(rank, channel))]

    i64 = ir.IntegerType.get_signless(64)
    return lz.prim(
        name.removeprefix("nn_"),
        [data, *([gamma] if scale else []), *([beta] if center else [])],
        op.results,
        body,
        key=(groups, channel, tuple(axes), epsilon, scale, center),
        kernel="group_norm",
        kernel_attrs={
            **norm_attrs(axes, epsilon),
            "channel_axis": ir.IntegerAttr.get(i64, channel),
            "num_groups": ir.IntegerAttr.get(i64, groups),
            "scale": ir.BoolAttr.get(scale),
            "center": ir.BoolAttr.get(center),
        },
    )


def _pairs(rank: int, axis: int) -> list[list[int]]:
    """For each dimension of a tensor, its dimensions after `axis` is split in two."""
    return [[place + (place > axis)] if place != axis else [axis, axis + 1] for place in range(rank)]


def _split(prim: PrimBody, value: ir.Value, axis: int, groups: int) -> ir.Value:
    """Split dimension `axis` of a tensor into `groups` parts."""
    sizes = sizes_of(prim, value)
    channels = sizes[axis]
    if isinstance(channels, int):
        part: int | Index = channels // groups
    else:
        part = arith.divui(channels, prim.index(groups))
    sizes[axis : axis + 1] = [groups, part]
    dynamic = ir.ShapedType.get_dynamic_size()
    static = [size if isinstance(size, int) else dynamic for size in sizes]
    source = ir.RankedTensorType(value.type)
    return tensor.expand_shape(
        ir.RankedTensorType.get(static, source.element_type),
        value,
        _pairs(source.rank, axis),
        [size for size in sizes if not isinstance(size, int)],
        static,
    )
