"""Convolutions without a copy of each window: sums in registers, of several channels or rows at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir import symbolic, topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.window_schedules import (
    SPATIAL,
    WINDOW_PLEVEL,
    against_dtype,
    against_layout,
    by_rows,
    copied_inputs,
    lanes_of,
    sum_in_registers,
    sums_of,
    tile_space,
    wide_dtype,
)
from relax_mlir.strategy.knobs import get_config
from relax_mlir.strategy.op_strategy import OpStrategy, SpecializedCondition
from relax_mlir.symbolic import Condition
from relax_mlir.target import Target
from relax_mlir.te import ComputeOp, Schedule, Tensor

SHARE = 13
"""So many sixteenths of the lanes are to be used."""
FEW_CHANNELS, FEW_SHARE = 32, 9
"""So many where a result has no more channels than these."""
WIDE_VECTOR = 64
"""Bytes of the vectors that make up for a copy of the data with zeros around it where nothing else is gained."""
CHANNELS = (8, 4, 16, 2, 12, 6, 10, 14, 7, 5, 3, 9, 11, 13, 15, 1)
"""How many channels of the result are computed at once, the best first; they divide those of a group."""


def convolution(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo, target: Target) -> OpStrategy:
    """The implementations of a convolution in 1 to 3 dimensions."""
    assert isinstance(out_type, TensorInfo)
    strategy, weight, groups = OpStrategy(), inputs[1], attrs.groups
    unless = _against(attrs, weight, out_type)
    if groups > 1:
        alone = weight.shape[1] == 1 and weight.shape[0] == groups
        if alone and not unless and len(attrs.strides) == 1 and target.vector_bytes < WIDE_VECTOR:
            unless = "one dimension: rows have no elements in common"
        name, schedule = ("depthwise", _by_rows) if alone else ("grouped direct", _by_channels)
        strategy.add_implementation(_computed, schedule, name, WINDOW_PLEVEL, unless)
        return strategy
    if not unless and all(size == 1 for size in weight.shape[2:]):
        unless = "windows of one element: a matrix product"
    with SpecializedCondition([] if unless else [_fills_vectors(target, out_type)]):
        strategy.add_implementation(_computed, _by_channels, "direct", WINDOW_PLEVEL, unless)
    return strategy


def _against(attrs: Attrs, weight: Tensor, out_type: TensorInfo) -> str:
    """Why none of the implementations can be taken; "" if they can."""
    spatial = SPATIAL[len(attrs.strides)]
    wanted = {"data_layout": f"NC{spatial}", "kernel_layout": f"OI{spatial}", "out_layout": f"NC{spatial}"}
    unless = against_layout(attrs, wanted) or against_dtype(str(out_type.dtype))
    if unless:
        return unless
    constant = weight.shape if attrs.groups > 1 else weight.shape[2:]
    if not all(isinstance(size, int) and size > 0 for size in constant):
        return f"needs kernels of known size, got {weight}"
    return ""


def _fills_vectors(target: Target, out_type: TensorInfo) -> Condition | bool:
    """Whether rows of the result fill the vectors that they are cut into well enough.

    Otherwise a product of matrices is faster, for which windows are copied: the more so, the more channels use a copy.
    """
    assert out_type.dtype is not None
    _, channels, *_, width = out_type.known_shape or ()
    lanes = target.lanes(max(out_type.dtype.bits, 32))
    share = FEW_SHARE if isinstance(channels, int) and channels <= FEW_CHANNELS else SHARE
    vectors = symbolic.ceildiv(width, lanes)
    if isinstance(width, int) and isinstance(vectors, int):
        return share * lanes * vectors <= 16 * width
    text = f"rows of {width} fill {share}/16 of vectors of {lanes}"
    return Condition("<=", share * lanes * vectors, 16 * width, text)


def _computed(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    assert isinstance(out_type, TensorInfo)
    dtype = str(out_type.dtype)
    data, weight = inputs
    sums = topi.nn.conv(
        data,
        weight,
        attrs.strides,
        attrs.padding,
        attrs.dilation,
        attrs.groups,
        wide_dtype(dtype),
        counts=(out_type.known_shape or ())[2:],
    )
    return sums if sums.dtype == dtype else sums.astype(dtype)


def _by_channels(attrs: Attrs, outs: Sequence[Tensor], target: Target) -> Schedule:
    """Some channels at a time, along a row: what is read of the data is used for all of them."""
    (out,) = outs
    config = get_config()
    s, sums = sums_of(out)
    assert isinstance(out.op, ComputeOp) and isinstance(sums.op, ComputeOp)
    batch, channel = out.op.axis[:2]
    config.define_split("channels", channel, candidates=[[n] for n in _tiles(attrs.groups, out)])
    channels, tile = config["channels"].apply(s, out, channel)
    outer, inner = tile_space(config, s, out, lanes_of(sums, target), rows=(1, 2, 4))
    s[out].reorder(batch, channels, *outer, tile, *inner)
    jobs = s[out].fuse(batch, channels)
    config.define_knob("jobs", ["rows", "channels"])
    if config["jobs"].val == "rows" and len(outer) > 1:
        for axis in outer[:-1]:
            jobs = s[out].fuse(jobs, axis)
    s[out].parallel(jobs)
    for axis in (tile, *inner[:-1]):
        s[out].unroll(axis)
    s[out].vectorize(inner[-1])
    small = math.prod(tap.dom.extent for tap in sums.op.reduce_axis[1:]) <= 9
    config.define_knob("unrolled", ["window", "row"] if small else ["row", "window"])
    taps = sums.op.reduce_axis[1:] if config["unrolled"].val == "window" else sums.op.reduce_axis[-1:]
    sum_in_registers(s, sums, out, outer[-1], taps)
    copied_inputs(s, sums)
    return s


def _tiles(groups: int, out: Tensor) -> list[int]:
    """How many channels may be computed at once: those of a group see the same data."""
    channels = out.shape[1]
    if groups == 1 or not isinstance(channels, int):
        return list(CHANNELS[:4])
    per_group = channels // groups
    fitting = [number for number in CHANNELS if per_group % number == 0]
    few = [number for number in fitting if number <= 3]
    return [number for number in fitting if number not in few] + few


def _by_rows(attrs: Attrs, outs: Sequence[Tensor], target: Target) -> Schedule:
    return by_rows(outs[0], target, rows=(4, 2, 1, 8))
