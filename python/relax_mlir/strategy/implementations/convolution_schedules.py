"""Convolutions of groups of channels: sums in registers, of several channels or rows at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.window_schedules import (
    SPATIAL,
    WINDOW_PLEVEL,
    against_dtype,
    against_layout,
    copied_inputs,
    lanes_of,
    sum_in_registers,
    sums_of,
    tile_space,
    wide_dtype,
)
from relax_mlir.strategy.knobs import get_config
from relax_mlir.strategy.op_strategy import OpStrategy
from relax_mlir.target import Target
from relax_mlir.te import ComputeOp, Schedule, Tensor

CHANNELS = (8, 4, 16, 2, 12, 6, 10, 14, 7, 5, 3, 9, 11, 13, 15, 1)
"""How many channels of the result are computed at once, the best first; they divide those of a group."""


def convolution(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo, target: Target) -> OpStrategy:
    """The implementations of a convolution in 1 to 3 dimensions."""
    assert isinstance(out_type, TensorInfo)
    strategy, weight = OpStrategy(), inputs[1]
    if attrs.groups == 1:
        return strategy  # a product of matrices: `lowering.kernels.windows.window_product`
    unless = _against(attrs, weight, out_type)
    if not unless and weight.shape[1] == 1 and weight.shape[0] == attrs.groups:
        unless = "a kernel for each channel"
    strategy.add_implementation(_computed, _by_channels, "grouped direct", WINDOW_PLEVEL, unless)
    return strategy


def _against(attrs: Attrs, weight: Tensor, out_type: TensorInfo) -> str:
    """Why none of the implementations can be taken; "" if they can."""
    spatial = SPATIAL[len(attrs.strides)]
    wanted = {"data_layout": f"NC{spatial}", "kernel_layout": f"OI{spatial}", "out_layout": f"NC{spatial}"}
    unless = against_layout(attrs, wanted) or against_dtype(str(out_type.dtype))
    if unless:
        return unless
    if not all(isinstance(size, int) and size > 0 for size in weight.shape):
        return f"needs kernels of known size, got {weight}"
    return ""


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
    if not isinstance(channels, int):
        return list(CHANNELS[:4])
    per_group = channels // groups
    fitting = [number for number in CHANNELS if per_group % number == 0]
    few = [number for number in fitting if number <= 3]
    return [number for number in fitting if number not in few] + few
