"""Grouped convolutions, with register accumulators for several channels or rows at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir import te, topi
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.strategy.knobs import Config, get_config
from relax_mlir.lowering.strategy.op_strategy import OpStrategy
from relax_mlir.target import Target
from relax_mlir.te import ComputeOp, IterVar, Schedule, Tensor

# Grouped convolutions, with register accumulators for several channels or rows at a time.

PLEVEL = 20
"""The priority of implementations that were measured to be faster than generated kernels where they hold."""
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""The letters of spatial dimensions in layouts."""
DTYPES = ("float32", "float64", "float16", "bfloat16")
"""The supported dtypes; 16-bit floats are accumulated in float32."""
CHANNELS = (8, 4, 16, 2, 12, 6, 10, 14, 7, 5, 3, 9, 11, 13, 15, 1)
"""Channels per tile, in order of preference; they divide the number of channels of a group."""


def convolution(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo, target: Target) -> OpStrategy:
    """The implementations of a convolution in 1 to 3 dimensions."""
    assert isinstance(out_type, TensorInfo)
    strategy, weight = OpStrategy(), inputs[1]
    if attrs.groups == 1:
        return strategy  # lowered as a matmul: `lowering.kernels.windows.window_gemm`
    unless = _against(attrs, weight, out_type)
    if not unless and weight.shape[1] == 1 and weight.shape[0] == attrs.groups:
        unless = "a kernel for each channel"
    strategy.add_implementation(_computed, _by_channels, "grouped direct", PLEVEL, unless)
    return strategy


def _against(attrs: Attrs, weight: Tensor, out_type: TensorInfo) -> str:
    """The reason why no implementation supports the call; "" if one does."""
    spatial = SPATIAL[len(attrs.strides)]
    wanted = {"data_layout": f"NC{spatial}", "kernel_layout": f"OI{spatial}", "out_layout": f"NC{spatial}"}
    unless = _against_layout(attrs, wanted) or _against_dtype(str(out_type.dtype))
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
        _wide_dtype(dtype),
        counts=(out_type.known_shape or ())[2:],
    )
    return sums if sums.dtype == dtype else sums.astype(dtype)


def _by_channels(attrs: Attrs, outs: Sequence[Tensor], target: Target) -> Schedule:
    """Compute several channels at a time along a row, so that each loaded element serves all of them."""
    (out,) = outs
    config = get_config()
    s, sums = _sums_of(out)
    assert isinstance(out.op, ComputeOp) and isinstance(sums.op, ComputeOp)
    batch, channel = out.op.axis[:2]
    config.define_split("channels", channel, candidates=[[n] for n in _tiles(attrs.groups, out)])
    channels, tile = config["channels"].apply(s, out, channel)
    outer, inner = _tile_space(config, s, out, _lanes_of(sums, target), rows=(1, 2, 4))
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
    _sum_in_registers(s, sums, out, outer[-1], taps)
    _copied_inputs(s, sums)
    return s


def _tiles(groups: int, out: Tensor) -> list[int]:
    """The possible numbers of channels per tile; the channels of a group read the same data."""
    channels = out.shape[1]
    if not isinstance(channels, int):
        return list(CHANNELS[:4])
    per_group = channels // groups
    fitting = [number for number in CHANNELS if per_group % number == 0]
    few = [number for number in fitting if number <= 3]
    return [number for number in fitting if number not in few] + few


def _against_dtype(dtype: str) -> str:
    """The reason why a result dtype is not supported; "" if it is."""
    return "" if dtype in DTYPES else f"needs a result of floats, got {dtype}"


def _against_layout(attrs: Attrs, layouts: dict[str, str]) -> str:
    """The reason why the layouts are not supported; "" if they are."""
    for name, wanted in layouts.items():
        if attrs[name] != wanted:
            return f"needs {name} {wanted}, got {attrs[name]}"
    return ""


def _wide_dtype(dtype: str) -> str:
    """The accumulator dtype: float32 for 16-bit floats."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def _lanes_of(tensor: Tensor, target: Target) -> int:
    """The number of elements of a tensor that fill a vector register."""
    return target.lanes(dtypes.dtype(tensor.dtype).bits)


def _sums_of(out: Tensor) -> tuple[Schedule, Tensor]:
    """A schedule of `out`, and the tensor of its accumulators, which are kept in registers.

    The tensor is the input of `out` that reduces, or a local copy of `out` if `out` itself reduces.
    """
    s, op = te.create_schedule(out.op), out.op
    assert isinstance(op, ComputeOp)
    if op.reduce_axis:
        return s, s.cache_write(out, "local")
    (sums,) = [
        t for t in op.input_tensors if isinstance(t.op, ComputeOp) and t.op.reduce_axis and t.ndim == out.ndim
    ]
    s[sums].set_scope("local")
    return s, sums


def _copied_inputs(s: Schedule, sums: Tensor) -> None:
    """Schedule the computed inputs of the accumulators, such as zero-padded data, as copies made beforehand."""
    for tensor in sums.op.input_tensors:
        if not isinstance(tensor.op, ComputeOp):
            continue
        for below in tensor.op.input_tensors:
            if isinstance(below.op, ComputeOp):
                s[below].compute_inline()
        first, second, *_, last = tensor.op.axis
        s[tensor].vectorize(last)
        s[tensor].parallel(s[tensor].fuse(first, second))


def _tile_space(
    config: Config, s: Schedule, out: Tensor, lanes: int, rows: Sequence[int]
) -> tuple[list[IterVar], list[IterVar]]:
    """Split the last two spatial axes of `out` by knobs: the loops outside of a tile, and the loops of a tile."""
    assert isinstance(out.op, ComputeOp)
    *outer, width = out.op.axis[2:]
    inner: list[IterVar] = []
    if outer:
        config.define_split("rows", outer[-1], candidates=[[n] for n in rows])
        row_outer, row_inner = config["rows"].apply(s, out, outer.pop())
        outer.append(row_outer)
        inner.append(row_inner)
    widths = dict.fromkeys([lanes, 2 * lanes, max(lanes // 2, 1)])
    config.define_split("width", width, candidates=[[n] for n in widths])
    width_outer, width_inner = config["width"].apply(s, out, width)
    return [*outer, width_outer], [*inner, width_inner]


def _sum_in_registers(
    s: Schedule, sums: Tensor, out: Tensor, place: IterVar, taps: Sequence[IterVar]
) -> None:
    """Compute the accumulators at a loop of `out`: reduction axes outermost, the last axis vectorised."""
    assert isinstance(sums.op, ComputeOp)
    s[sums].compute_at(s[out], place)
    *others, last = sums.op.axis
    s[sums].reorder(*sums.op.reduce_axis, *others, last)
    s[sums].vectorize(last)
    for axis in (*others, *taps):
        s[sums].unroll(axis)
