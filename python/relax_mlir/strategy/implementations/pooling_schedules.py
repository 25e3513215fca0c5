"""Poolings by rows: several windows on vectors, of several rows at once."""

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
    by_rows,
    wide_dtype,
)
from relax_mlir.strategy.op_strategy import OpStrategy, SpecializedCondition
from relax_mlir.target import Target
from relax_mlir.te import Schedule, Tensor
from relax_mlir.topi.nn.pooling import mean_of_windows, pool_windows
from relax_mlir.topi.nn.windows import Window

MAX_UNROLLED = 64
"""Windows of more elements are left to loops."""
LEAST_WIDTH = 4
"""Rows of fewer windows leave too many lanes of vectors empty."""


def max_pool(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo, target: Target) -> OpStrategy:
    """The implementations of a max pooling in 1 to 3 dimensions."""
    return _strategy("max", attrs, out_type)


def avg_pool(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo, target: Target) -> OpStrategy:
    """The implementations of an average pooling in 1 to 3 dimensions."""
    return _strategy("avg", attrs, out_type)


def _strategy(kind: str, attrs: Attrs, out_type: StructInfo) -> OpStrategy:
    assert isinstance(out_type, TensorInfo)
    strategy, shape = OpStrategy(), out_type.known_shape or ()
    unless = _against(kind, attrs, out_type)

    def computed(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
        return _computed(kind, attrs, inputs[0], out_type)

    with SpecializedCondition([] if unless else [shape[-1] >= LEAST_WIDTH]):
        strategy.add_implementation(computed, _schedule, "rows of windows", WINDOW_PLEVEL, unless)
    return strategy


def _against(kind: str, attrs: Attrs, out_type: TensorInfo) -> str:
    """Why the implementation cannot be taken; "" if it can."""
    spatial = SPATIAL[len(attrs.strides)]
    unless = against_layout(attrs, {"layout": f"NC{spatial}", "out_layout": f"NC{spatial}"})
    unless = unless or against_dtype(str(out_type.dtype))
    elements = math.prod(attrs.pool_size)
    if unless or elements <= MAX_UNROLLED:
        return unless or _against_rows(kind, attrs)
    return f"windows of {elements} elements, more than {MAX_UNROLLED}"


def _against_rows(kind: str, attrs: Attrs) -> str:
    """Why rows at a time were measured to gain nothing; "" where they do."""
    if len(attrs.strides) == 1:
        return "one dimension: rows have no elements in common"
    overlap = any(size > stride for size, stride in zip(attrs.pool_size, attrs.strides, strict=True))
    if kind == "max" and not overlap and not any(attrs.padding):
        return "windows do not overlap: each element is read once"
    return ""


def _computed(kind: str, attrs: Attrs, data: Tensor, out_type: StructInfo) -> Tensor:
    assert isinstance(out_type, TensorInfo)
    rank, dtype = len(attrs.strides), str(out_type.dtype)
    sides = zip(attrs.padding[:rank], attrs.padding[rank:], strict=True)
    windows = [
        Window(size, stride, dilation, *side)
        for size, stride, dilation, side in zip(
            attrs.pool_size, attrs.strides, attrs.dilation, sides, strict=True
        )
    ]
    wide, ceil = wide_dtype(dtype), bool(attrs.ceil_mode)
    tensor = data if wide == dtype else data.astype(wide)
    pooled = pool_windows(tensor, windows, (out_type.known_shape or ())[2:], kind, ceil_mode=ceil)
    if kind == "max":
        return pooled if wide == dtype else topi.cast(pooled, dtype)
    include = bool(attrs.count_include_pad)
    return mean_of_windows(pooled, windows, data.shape[2:], ceil_mode=ceil, include=include, dtype=dtype)


def _schedule(attrs: Attrs, outs: Sequence[Tensor], target: Target) -> Schedule:
    return by_rows(outs[0], target, rows=(2, 4, 1, 8))
