"""Slices, whose bounds may be known at import, symbols, or tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.onnx.node import Node, normal_axis
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.frontend.onnx.rules.gather import size_value
from relax_mlir.symbolic import Dim, Expr

FAR = 2**62
"""Positions from here on denote the end, or the start if negative."""


@rule("Slice", until=9)
def _slice_by_attributes(node: Node) -> Value:
    starts, ends = node.required("starts"), node.required("ends")
    return _sliced(node, starts, ends, node.attr("axes") or list(range(len(starts))), [1] * len(starts))


@rule("Slice", since=10)
def _slice(node: Node) -> Value:
    count = _count(node)
    axes = node.integers(3) if node.has(3) else list(range(count))
    steps = (
        node.integers(4)
        if node.has(4) and node.known(4) is not None
        else None
        if node.has(4)
        else [1] * count
    )
    starts, ends = _places(node, 1), _places(node, 2)
    if steps is None or starts is None or ends is None:
        return _by_tensors(node, axes)
    return _sliced(node, starts, ends, axes, steps)


def _count(node: Node) -> int:
    (count,) = node.shape(1)
    if not isinstance(count, int):
        raise node.needs_value(1, "the number of elements")
    return count


def _places(node: Node, index: int) -> list[Dim] | None:
    return node.dims(index) if node.known(index) is not None else None


def _sliced(node: Node, starts: list[Any], ends: list[Any], axes: list[int], steps: list[int]) -> Value:
    places = [normal_axis(axis, node.rank()) for axis in axes]
    starts = [_clamped(start) for start in starts]
    ends = [_clamped(end) for end in ends]
    return R.strided_slice(node.tensor(0), places, starts, ends, steps)


def _clamped(position: Dim) -> Dim:
    if isinstance(position, Expr):
        return position
    return 2**63 - 1 if position > FAR else -(2**63) if position < -FAR else position


def _by_tensors(node: Node, axes: list[int]) -> Value:
    """Slice with bounds that are unknown at import."""
    rank = node.rank()
    places = [normal_axis(axis, rank) for axis in axes]
    sizes = [size_value(dim) for dim in node.shape()]
    zero, one = R.const(np.int64(0)), R.const(np.int64(1))
    begins, ends, steps = [zero] * rank, list(sizes), [one] * rank
    count = len(axes)
    inputs = [R.astype(node.tensor(i), "int64") if node.has(i) else R.full([count], one) for i in (1, 2, 4)]
    for number, place in enumerate(places):
        parts = [R.reshape(R.strided_slice(x, [0], [number], [number + 1]), ()) for x in inputs]
        begins[place], ends[place], steps[place] = parts
    counts = []
    for begin, end, step, size in zip(begins, ends, steps, sizes, strict=True):
        counts.append(_number(begin, end, step, size))
    dims = node.converter.dims_of(_vector(counts))
    result: Value = node.te(
        topi.dynamic_strided_slice, node.tensor(0), _vector(begins), _vector(ends), _vector(steps), dims
    )
    return result


def _number(begin: Value, end: Value, step: Value, size: Value) -> Value:
    """Return the number of elements of a slice, like Python's ``slice.indices``."""
    zero, one = R.const(np.int64(0)), R.const(np.int64(1))
    forward = R.greater(step, zero)
    low = R.where(forward, zero, R.negative(one))
    high = R.where(forward, size, R.subtract(size, one))

    def held(place: Value) -> Value:
        counted = R.where(R.less(place, zero), R.add(place, size), place)
        return R.minimum(R.maximum(counted, low), high)

    distance = R.where(forward, R.subtract(held(end), held(begin)), R.subtract(held(begin), held(end)))
    width = R.maximum(R.abs(step), one)
    return R.maximum(R.floor_divide(R.subtract(R.add(distance, width), one), width), zero)


def _vector(numbers: list[Value]) -> Value:
    return R.concat([R.reshape(number, (1,)) for number in numbers], 0)
