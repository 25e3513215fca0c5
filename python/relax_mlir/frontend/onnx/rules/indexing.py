"""Slices, gathers and scatters."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.error import BoundsError, ShapeError
from relax_mlir.frontend.onnx.registry import Node, normal_axis, rule
from relax_mlir.symbolic import Dim, Expr

# Gathers and scatters with index tensors.


def size_value(dim: Dim) -> Value:
    """Return a dimension as an int64 tensor of rank 0."""
    return R.prim_to_tensor(R.prim_value(dim)) if isinstance(dim, Expr) else R.const(np.int64(dim))


@rule("Gather")
def _gather(node: Node) -> Value:
    axis = node.axis()
    known, size = node.known(1), node.shape()[axis]
    if known is None or node.tensor_item(1).is_symbolic:
        return R.take(node.tensor(0), node.tensor(1), axis, "check")
    indices = R.const(np.ascontiguousarray(known.astype(np.int64)).reshape(known.shape))
    if not isinstance(size, int):
        return R.take(node.tensor(0), indices, axis, "check")
    wrong = known[(known < -size) | (known >= size)]
    if wrong.size:
        raise BoundsError(f"index {wrong[0]} is out of range for dimension {axis} of size {size}")
    return R.take(node.tensor(0), R.const(np.where(known < 0, known + size, known)), axis)


@rule("GatherElements")
def _gather_elements(node: Node) -> Value:
    return R.gather_elements(node.tensor(0), node.tensor(1), node.axis())


@rule("GatherND")
def _gather_nd(node: Node) -> Value:
    return R.gather_nd(node.tensor(0), node.tensor(1), node.attr("batch_dims", 0))


@rule("Scatter", "ScatterElements")
def _scatter_elements(node: Node) -> Value:
    data, indices, updates = (node.tensor(index) for index in range(3))
    return R.scatter_elements(data, indices, updates, node.axis(), _reduction(node))


@rule("ScatterND")
def _scatter_nd(node: Node) -> Value:
    data, indices, updates = (node.tensor(index) for index in range(3))
    return R.scatter_nd(data, indices, updates, _reduction(node))


def _reduction(node: Node) -> str:
    """Return the reduction that combines new elements with existing ones."""
    how = str(node.attr("reduction", "none"))
    return "update" if how == "none" else how


@rule("TensorScatter")
def _tensor_scatter(node: Node) -> Value:
    """Write `update` into a cache, at the position along `axis` that ``write_indices`` gives for each batch entry."""
    axis = normal_axis(node.attr("axis", -2), node.rank())
    cache, update = node.tensor(0), node.tensor(1)
    size, count = node.shape(0)[axis], node.shape(1)[axis]
    batch = node.shape()[0]
    if axis == 0:
        raise ShapeError("the axis is that of the batch")
    steps = R.reshape(R.arange(0, count, 1, "int64"), [1, count])
    starts = (
        R.reshape(R.astype(node.tensor(2), "int64"), [batch, 1])
        if node.has(2)
        else R.full([batch, 1], R.const(np.int64(0)))
    )
    places = R.add(starts, steps)
    if node.attr("mode", "linear") == "circular":
        places = R.floor_mod(places, size_value(size))
    shape: list[Dim] = [batch if i == 0 else count if i == axis else 1 for i in range(node.rank())]
    spread = R.broadcast_to(R.reshape(places, shape), list(node.shape(1)))
    return R.scatter_elements(cache, spread, update, axis)


@rule("NonZero")
def _nonzero(node: Node) -> Value:
    return R.nonzero(node.tensor(0))


@rule("Compress")
def _compress(node: Node) -> Value:
    axis = node.attr("axis")
    x = node.tensor(0) if axis is not None else R.flatten(node.tensor(0))
    place = 0 if axis is None else node.axis()
    kept = node.converter.with_symbols(R.nonzero(node.tensor(1)))
    return R.take(x, R.squeeze(kept, [0]), place)


@rule("Unique")
def _unique(node: Node) -> list[Value]:
    axis = node.attr("axis")
    axis = None if axis is None else normal_axis(axis, node.rank())
    x = node.tensor(0)
    if axis is None and node.rank() != 1:
        x = R.flatten(x)
    is_sorted = bool(node.attr("sorted", 1))
    found = R.unique(x, True, True, True, True, axis)
    values, index, inverse, counts = (R.tuple_get_item(found, i) for i in range(4))
    index, inverse, counts = (node.converter.with_symbols(R.astype(part, "int64")) for part in (index, inverse, counts))
    values = node.converter.with_symbols(values)
    if axis is not None or node.rank() == 1:
        inverse = R.reshape(inverse, [inverse_size(node, axis)])
    if is_sorted:
        return [values, index, inverse, counts]
    order = R.astype(R.argsort(index, 0), "int64")
    back = R.astype(R.argsort(order, 0), "int64")
    return [
        R.take(values, order, axis or 0),
        R.take(index, order, 0),
        R.take(back, inverse, 0),
        R.take(counts, order, 0),
    ]


def inverse_size(node: Node, axis: int | None) -> Dim:
    return node.shape()[axis or 0]


@rule("ReverseSequence")
def _reverse_sequence(node: Node) -> Value:
    axes = node.attr("time_axis", 0), node.attr("batch_axis", 1)
    return R.reverse_sequence(node.tensor(0), node.tensor(1), *axes)


# Slices, whose bounds may be known at import, symbols, or tensors.


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
    steps = node.integers(4) if node.has(4) and node.known(4) is not None else None if node.has(4) else [1] * count
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
