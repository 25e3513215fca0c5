"""Gather and scatter by index tensors, indexing like NumPy's, and slices with data-dependent bounds."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Indices, Scalar, scalar
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr, ExprLike, as_expr
from relax_mlir.te.tensors import LoopOp, Tensor, broadcast_element, broadcast_shape
from relax_mlir.topi.common import (
    axis_of,
    computed,
    counted,
    dim_of,
    dims_of,
    index_tensor_of,
    product,
    replaced,
    require,
    require_at_most,
    require_equal,
    size,
    unflattened,
)
from relax_mlir.topi.tag import INJECTIVE

Places = Callable[[LoopBuilder, Sequence[Buffer], Sequence[Scalar]], list[Scalar]]
"""Takes the index tensors and a position; returns the indices of the slice."""


def parts_taken(
    tensor: Tensor,
    indices: Sequence[Tensor],
    outer: Sequence[Dim],
    within: Sequence[Dim],
    places: Places,
    name: str,
) -> Tensor:
    """Gather the slices of `tensor`, of shape `within`, at `places`: a tensor of shape `outer` followed by `within`."""

    def body(b: LoopBuilder, x: Buffer, *buffers: Buffer) -> None:
        *index, out = buffers
        with b.grid(outer) as at:
            found = places(b, index, at)
            with b.grid(within) as inner:
                out[at, inner] = x[found, inner]

    shape = [*outer, *within]
    return LoopOp([tensor, *indices], [shape], [tensor.dtype], body, name, INJECTIVE).outputs[0]


# Scatter updates by index tensors.
#
# Negative indices count from the end. An index out of range raises `BoundsError` at run time. Updates are applied
# in order, so the last one for an element stays.

SCATTER = "scatter"
"""The tag of scatter results."""
UPDATES: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "add": operator.add,
    "mul": operator.mul,
    "min": functools.partial(scalar, "min"),
    "max": functools.partial(scalar, "max"),
}
"""The combinations of the old and the new element."""
REPLACE = "update"
"""The reduction that replaces the old element."""
MEAN = "mean"
"""The reduction that divides each sum by the number of its elements, including the old one."""


def scatter_elements(
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    axis: int = 0,
    reduction: str = "update",
    from_end: bool = True,
) -> Tensor:
    """Scatter `updates` into `data`: the index along the axis is taken from `indices`, the others are those of the
    update.

    `reduction`: "update", or the combination with the old element: "add", "mul", "min", "max", or "mean": that of the
    old element and all updates, rounded down for integers. Without `from_end`, negative indices are also errors at
    run time.
    """
    what = "topi.scatter_elements"
    tensor, index, new = _checked(what, data, indices, updates, reduction, (REPLACE, *UPDATES, MEAN))
    place = axis_of(what, axis, tensor.ndim)
    require_equal(f"{what}: 'updates'", new.shape, index.shape)
    if index.ndim != tensor.ndim:
        raise ShapeError(f"{what}: {tensor} and the indices {index} have different numbers of dimensions")
    require_at_most(what, index.shape, tensor.shape, place)

    def body(b: LoopBuilder, x: Buffer, positions: Buffer, update: Buffer, out: Buffer) -> None:
        counts = b.alloc(tensor.shape, "int64", "counts") if reduction == MEAN else None
        if counts is not None:
            with b.grid(tensor.shape) as at:
                counts[at] = 1
        copy(b, x, out, tensor.shape)
        with b.grid(index.shape) as at:
            found = counted_index(b, positions[at], tensor.shape[place], from_end)
            there = (*at[:place], found, *at[place + 1 :])
            put("add" if counts is not None else reduction, out, there, update[at])
            if counts is not None:
                counts[there] = counts[there] + 1
        if counts is not None:
            with b.grid(tensor.shape) as at:
                count = counts[at].astype(tensor.dtype)
                out[at] = out[at] / count if out.dtype.is_float else out[at] // count

    return LoopOp([tensor, index, new], [tensor.shape], [tensor.dtype], body, "T_scatter_elements", SCATTER).outputs[0]


def put(reduction: str, out: Buffer, there: Indices, new: Scalar) -> None:
    """Combine an element of `out` with `new`."""
    out[there] = new if reduction == REPLACE else UPDATES[reduction](out[there], new)


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """Scatter `updates` into `data` at the index vectors in the columns of `indices`.

    `indices` have the shape ``(k, …)``: the first dimension has the indices of the first ``k`` dimensions of `data`;
    `updates` have the other dimensions of `indices`, followed by those of `data`. `mode` is a reduction of
    `scatter_elements`.
    """
    what = "topi.scatter_nd"
    tensor, index, new = _checked(what, data, indices, updates, mode, (REPLACE, *UPDATES))
    count = index.shape[0] if index.ndim else None
    rest = index.shape[1:]
    return _vectors_put(what, (tensor, index, new), mode, count, rest, lambda number, at: [number, *at])


def scatter_vectors(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """`scatter_nd` with the index vectors in the last dimension of `indices`, as ONNX's ScatterND and Relax's op."""
    what = "topi.scatter_vectors"
    tensor, index, new = _checked(what, data, indices, updates, mode, (REPLACE, *UPDATES))
    count = index.shape[-1] if index.ndim else None
    rest = index.shape[:-1]
    return _vectors_put(what, (tensor, index, new), mode, count, rest, lambda number, at: [*at, number])


def _vectors_put(
    what: str,
    tensors: tuple[Tensor, Tensor, Tensor],
    mode: str,
    count: Dim | None,
    rest: Sequence[Dim],
    place_of: Callable[[int, Sequence[Scalar]], Sequence[Indices]],
) -> Tensor:
    """Scatter at vectors of `count` indices; `place_of` gives the indices of an entry of the vector at `rest`."""
    tensor, index, new = tensors
    if not isinstance(count, int) or count > tensor.ndim:
        raise ShapeError(
            f"{what}: the indices {index} do not name up to {tensor.ndim} dimensions of {tensor} by a dimension of "
            "known size"
        )
    require_equal(f"{what}: 'updates'", new.shape, [*rest, *tensor.shape[count:]])
    width = len(rest)

    def body(b: LoopBuilder, x: Buffer, positions: Buffer, update: Buffer, out: Buffer) -> None:
        copy(b, x, out, tensor.shape)
        with b.grid(rest) as at:
            found = [counted_index(b, positions[place_of(number, at)], tensor.shape[number]) for number in range(count)]
            with b.grid(new.shape[width:]) as inner:
                put(mode, out, [*found, *inner], update[at, inner])

    return LoopOp([tensor, index, new], [tensor.shape], [tensor.dtype], body, "T_scatter_nd", SCATTER).outputs[0]


def _checked(
    what: str, data: Tensor, indices: Tensor, updates: Tensor, reduction: str, known: Sequence[str]
) -> tuple[Tensor, Tensor, Tensor]:
    tensor, index = require(f"{what}: 'data'", data), index_tensor_of(f"{what}: 'indices'", indices)
    new = require(f"{what}: 'updates'", updates)
    if new.dtype != tensor.dtype:
        raise DTypeError(f"{what}: the updates have dtype {new.dtype}, and the data {tensor.dtype}")
    if reduction not in known:
        raise ArgumentError(f"{what}: the reduction is {reduction!r}, expected one of {', '.join(known)}")
    if tensor.dtype == "bool" and reduction in ("add", "mul", MEAN):
        raise DTypeError(f"{what}: the reduction {reduction!r} has no meaning for bool")
    return tensor, index, new


def copy(b: LoopBuilder, x: Buffer, out: Buffer, shape: Sequence[Dim]) -> None:
    """Copy a tensor."""
    with b.grid(shape) as at:
        out[at] = x[at]


def counted_index(b: LoopBuilder, given: Scalar, dim: Dim, from_end: bool = True) -> Scalar:
    """An index that may count from the end; one too far from the end is unchanged, for the message."""
    raw = given.index()
    if not from_end:
        return raw
    behind = raw + b.size(dim)
    return b.select((raw < 0) & (behind >= 0), behind, raw)


# Gather elements by index tensors.
#
# Negative indices count from the end, except in `take` with `mode` "clip". An index out of range raises
# `BoundsError` at run time.


def take(a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Tensor:
    """Take elements, or slices along an axis, at indices.

    Args:
        a: the tensor; without an axis it is flattened in row-major order.
        indices: integers of any shape, which replaces the axis in the shape of the result.
        axis: the axis.
        batch_dims: the number of leading batch dimensions that both tensors share.
        mode: "clip": indices are clamped; "wrap": they are taken modulo the size; "fast": negative indices count
            from the end, and indices out of range are errors at run time.
    """
    what = "topi.take"
    tensor, index = require(f"{what}: 'a'", a), index_tensor_of(f"{what}: 'indices'", indices)
    if mode not in ("clip", "wrap", "fast"):
        raise ArgumentError(f"{what}: 'mode' is {mode!r}, expected 'clip', 'wrap' or 'fast'")
    if axis is None:
        if batch_dims:
            raise ArgumentError(f"{what}: 'batch_dims' needs an axis")
        return computed(
            index.shape,
            lambda *i: tensor(*unflattened(_moded(index(*i), product(tensor.shape), mode), tensor.shape)),
            "T_take",
            INJECTIVE,
        )
    place = axis_of(what, axis, tensor.ndim)
    if not isinstance(batch_dims, int) or not 0 <= batch_dims <= min(place, index.ndim):
        raise ArgumentError(f"{what}: 'batch_dims' is {batch_dims!r}, expected 0 to {min(place, index.ndim)}")
    require_equal(what, tensor.shape[:batch_dims], index.shape[:batch_dims])
    shape = [*tensor.shape[:place], *index.shape[batch_dims:], *tensor.shape[place + 1 :]]
    width = index.ndim - batch_dims

    def value(*i: Expr) -> Expr:
        found = index(*i[:batch_dims], *i[place : place + width])
        return tensor(*i[:place], _moded(found, tensor.shape[place], mode), *i[place + width :])

    return computed(shape, value, "T_take", INJECTIVE)


def _moded(index: Expr, dim: Dim, mode: str) -> Expr:
    wide = index.astype("int64")
    if mode == "wrap":
        return wide % size(dim)
    if mode == "fast":
        return counted(index, dim)
    return functions.maximum(functions.minimum(wide, size(dim - 1)), 0)


def gather(data: Tensor, axis: int, indices: Tensor, from_end: bool = True) -> Tensor:
    """Gather elements: the index along the axis is taken from `indices`, the others are those of the result.

    It is ONNX's GatherElements. Along other dimensions the indices are at most as large as the tensor, which is checked
    at run time if it is unknown. Without `from_end`, negative indices are also errors at run time.
    """
    what = "topi.gather"
    tensor, index = require(f"{what}: 'data'", data), index_tensor_of(f"{what}: 'indices'", indices)
    place = axis_of(what, axis, tensor.ndim)
    if index.ndim != tensor.ndim:
        raise ShapeError(f"{what}: {tensor} and the indices {index} have different numbers of dimensions")
    require_at_most(what, index.shape, tensor.shape, place)
    return computed(
        index.shape,
        lambda *i: tensor(*replaced(i, place, counted(index(*i), tensor.shape[place], from_end))),
        "T_gather",
        INJECTIVE,
    )


def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """Gather elements, or slices, at the index vectors in the columns of `indices`.

    Args:
        a: the tensor.
        indices: of shape ``(k, …)``: the first dimension has the indices of ``k`` dimensions of `a`, which follow
            the batch dimensions.
        batch_dims: the number of leading batch dimensions, shared by `a` and the other dimensions of `indices`.
    """
    what = "topi.gather_nd"
    tensor, index = require(f"{what}: 'a'", a), index_tensor_of(f"{what}: 'indices'", indices)
    count = index.shape[0] if index.ndim else None
    rest = index.shape[1:]
    return _vectors_taken(what, tensor, index, batch_dims, count, rest, is_last=False)


def gather_vectors(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """`gather_nd` with the index vectors in the last dimension of `indices`, as ONNX's GatherND and Relax's op."""
    what = "topi.gather_vectors"
    tensor, index = require(f"{what}: 'a'", a), index_tensor_of(f"{what}: 'indices'", indices)
    count = index.shape[-1] if index.ndim else None
    rest = index.shape[:-1]
    return _vectors_taken(what, tensor, index, batch_dims, count, rest, is_last=True)


def _vectors_taken(
    what: str,
    tensor: Tensor,
    index: Tensor,
    batch_dims: int,
    count: Dim | None,
    rest: Sequence[Dim],
    is_last: bool,
) -> Tensor:
    """The elements at vectors of `count` indices, in the last dimension of `index` or in the first one."""
    expect(f"{what}: 'batch_dims'", batch_dims, int, "the number of leading dimensions that both share")
    if not isinstance(count, int) or not 0 <= batch_dims < index.ndim or batch_dims + count > tensor.ndim:
        raise ShapeError(
            f"{what}: the indices {index} do not name up to {tensor.ndim - batch_dims} dimensions of {tensor} by a "
            "dimension of known size"
        )
    require_equal(what, tensor.shape[:batch_dims], rest[:batch_dims])
    width = len(rest)
    within = tensor.shape[batch_dims + count :]

    def vector(number: Any, at: Sequence[Any]) -> list[Any]:  # noqa: ANN401 - expressions or scalars
        return [*at, number] if is_last else [number, *at]

    def places(b: LoopBuilder, buffers: Sequence[Buffer], at: Sequence[Scalar]) -> list[Scalar]:
        found = [
            counted_index(b, buffers[0][vector(number, at)], tensor.shape[batch_dims + number])
            for number in range(count)
        ]
        return [*at[:batch_dims], *found]

    if within:
        return parts_taken(tensor, [index], rest, within, places, "T_gather_nd")

    def value(*i: Expr) -> Expr:
        at: list[ExprLike] = [
            counted(index(*vector(number, i[:width])), tensor.shape[batch_dims + number]) for number in range(count)
        ]
        return tensor(*i[:batch_dims], *at, *i[width:])

    return computed([*rest, *tensor.shape[batch_dims + count :]], value, "T_gather_nd", INJECTIVE)


def embedding(table: Tensor, indices: Tensor) -> Tensor:
    """The rows of a matrix at indices; indices out of range, also negative ones, are errors at run time."""
    matrix = require("topi.embedding: 'table'", table)
    index = index_tensor_of("topi.embedding: 'indices'", indices)
    return computed(
        [*index.shape, *matrix.shape[1:]],
        lambda *i: matrix(index(*i[: index.ndim]).astype("int64"), *i[index.ndim :]),
        "T_take",
        INJECTIVE,
    )


# Indexing with several index tensors, like NumPy's ``x[i, j]`` and ``x[i, j] = v``.
#
# Negative indices count from the end. An index out of range raises `BoundsError` at run time.


def adv_index(data: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """Select elements, or slices, by index tensors, which are broadcast against each other.

    The shape of the result is their common shape, followed by the dimensions of `data` that are not indexed.
    """
    return _taken("topi.adv_index", data, indices)


def index_tensor(data: Tensor, indices: Sequence[Tensor], from_end: bool = True) -> Tensor:
    """`adv_index` under the name of Relax's op. Without `from_end`, negative indices are also errors at run time."""
    return _taken("topi.index_tensor", data, indices, from_end)


def _taken(what: str, data: Tensor, indices: Sequence[Tensor], from_end: bool = True) -> Tensor:
    tensor, places, common = _checked_indices(what, data, indices)
    width, count = len(common), len(places)
    within = tensor.shape[count:]
    if within:
        return parts_taken(
            tensor,
            places,
            common,
            within,
            lambda b, buffers, at: _found(b, buffers, places, tensor, common, at, from_end),
            "T_adv_index",
        )

    def value(*i: Expr) -> Expr:
        found: list[ExprLike] = [
            counted(broadcast_element(place, common, i[:width]), dim, from_end)
            for place, dim in zip(places, tensor.shape, strict=False)
        ]
        return tensor(*found, *i[width:])

    return computed([*common, *tensor.shape[count:]], value, "T_adv_index", INJECTIVE)


def index_put(
    data: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False, from_end: bool = True
) -> Tensor:
    """`data` with `values`, broadcast, written at index tensors: ``data[i, j] = values``.

    Values are written in order, so the last one for an element stays; with `accumulate` all are added.
    Without `from_end`, negative indices are also errors at run time.
    """
    what = "topi.index_put"
    tensor, places, common = _checked_indices(what, data, indices)
    new = require(f"{what}: 'values'", values)
    if new.dtype != tensor.dtype:
        raise DTypeError(f"{what}: the values have dtype {new.dtype}, and the data {tensor.dtype}")
    if accumulate and tensor.dtype == "bool":
        raise DTypeError(f"{what}: 'accumulate' has no meaning for bool")
    whole = [*common, *tensor.shape[len(places) :]]
    fits = new.ndim <= len(whole) and tuple(broadcast_shape(what, [new.shape, whole])) == tuple(whole)
    if not fits:
        raise ShapeError(f"{what}: the values {new} do not broadcast to ({', '.join(map(str, whole))})")

    def body(b: LoopBuilder, x: Buffer, *buffers: Buffer) -> None:
        *index, update, out = buffers
        copy(b, x, out, tensor.shape)
        with b.grid(common) as at:
            found = _found(b, index, places, tensor, common, at, from_end)
            with b.grid(whole[len(common) :]) as inner:
                item = update[_broadcast(new, whole, [*at, *inner])]
                put("add" if accumulate else REPLACE, out, [*found, *inner], item)

    return LoopOp([tensor, *places, new], [tensor.shape], [tensor.dtype], body, "T_index_put", SCATTER).outputs[0]


def _found(
    b: LoopBuilder,
    buffers: Sequence[Buffer],
    places: Sequence[Tensor],
    tensor: Tensor,
    common: Sequence[Dim],
    at: Sequence[Scalar],
    from_end: bool,
) -> list[Scalar]:
    """The indices at a position of the common shape."""
    return [
        counted_index(b, buffer[_broadcast(place, common, at)], dim, from_end)
        for buffer, place, dim in zip(buffers, places, tensor.shape, strict=False)
    ]


def _broadcast(tensor: Tensor, shape: Sequence[Dim], at: Sequence[Scalar]) -> list[Indices]:
    """The indices of a tensor's element, broadcast to `shape`, at the given position."""
    own, wide = at[len(at) - tensor.ndim :], shape[len(shape) - tensor.ndim :]
    return [0 if size == 1 and other != 1 else i for size, other, i in zip(tensor.shape, wide, own, strict=True)]


def _checked_indices(
    what: str, data: Tensor, indices: Sequence[Tensor]
) -> tuple[Tensor, list[Tensor], tuple[Dim, ...]]:
    """The checked tensor and indices, and the common shape of the indices."""
    tensor = require(f"{what}: 'data'", data)
    expect(f"{what}: 'indices'", indices, list | tuple, "a list of tensors")
    places = [index_tensor_of(f"{what}: an entry of 'indices'", item) for item in indices]
    if not 0 < len(places) <= tensor.ndim:
        raise ShapeError(f"{what}: {len(places)} indices for {tensor}, expected 1 to {tensor.ndim}")
    return tensor, places, broadcast_shape(what, [place.shape for place in places])


def dynamic_strided_slice(
    a: Tensor, begin: Tensor, end: Tensor, strides: Tensor, output_shape: Sequence[Any]
) -> Tensor:
    """Elements from `begin` to `end`, exclusive, in steps; each is a tensor with one number per dimension.

    Args:
        a: the tensor.
        begin, end: indices, clamped, which count from the end if negative, as in Python's slices.
        strides: steps; a step of 0 gives no elements.
        output_shape: the sizes of the result, known to the caller. Smaller sizes give the first elements of the
            slice; larger ones raise `BoundsError` at run time.

    Raises:
        ShapeError: not one begin, end, step and size per dimension of `a`.
    """
    what = "topi.dynamic_strided_slice"
    tensor = require(f"{what}: 'a'", a)
    parts = [
        index_tensor_of(f"{what}: '{name}'", part)
        for name, part in (("begin", begin), ("end", end), ("strides", strides))
    ]
    shape = dims_of(f"{what}: 'output_shape'", output_shape)
    if len(shape) != tensor.ndim or any(part.shape != (tensor.ndim,) for part in parts):
        raise ShapeError(
            f"{what}: {tensor} takes {tensor.ndim} sizes, and as many begins, ends and strides, but they are "
            f"{len(shape)}, and {', '.join(map(repr, parts))}"
        )
    places = computed(
        (2, tensor.ndim),
        lambda which, d: _begin_and_count(tensor, parts, which, d),
        "T_slice_places",
        INJECTIVE,
    )

    def value(*i: Expr) -> Expr:
        found = [
            # An index after the last one of the slice is mapped outside of the tensor.
            functions.select(
                index < places(1, number),
                places(0, number) + index * parts[2](number).astype("int64"),
                size(dim),
            )
            for number, (index, dim) in enumerate(zip(i, tensor.shape, strict=True))
        ]
        return tensor(*found)

    return computed(shape, value, "T_dynamic_strided_slice", INJECTIVE)


def _begin_and_count(tensor: Tensor, parts: Sequence[Tensor], which: Expr, d: Expr) -> Expr:
    """The first index of the slice (`which` is 0), or the number of its elements, along dimension `d`."""
    length: Expr = as_expr(size(tensor.shape[0])) if tensor.ndim else as_expr(0)
    for number, dim in enumerate(tensor.shape):
        length = as_expr(size(dim)) if number == 0 else functions.select(d == number, size(dim), length)
    length = length.astype("int64")
    first, last, step = (part(d).astype("int64") for part in parts)
    first, last = (functions.select(p < 0, p + length, p) for p in (first, last))
    up = functions.minimum(functions.maximum(first, 0), length)
    up_to = functions.minimum(functions.maximum(last, 0), length)
    down = functions.minimum(functions.maximum(first, -1), length - 1)
    down_to = functions.minimum(functions.maximum(last, -1), length - 1)
    size_of_step = functions.maximum(functions.select(step < 0, -step, step), 1)
    distance = functions.select(step > 0, up_to - up, functions.select(step < 0, down - down_to, 0))
    count = functions.maximum((distance + size_of_step - 1) // size_of_step, 0)
    return functions.select(which == 0, functions.select(step > 0, up, down), count)


def slice_scatter(input_tensor: Tensor, src: Tensor, start: Any, end: Any, step: int, axis: int) -> Tensor:  # noqa: ANN401 - indices
    """`input_tensor` with `src` written from `start` to `end`, exclusive, in steps along an axis.

    `start` and `end` are integers or symbols; they are clamped, and negative integers count from the end.

    Raises:
        ArgumentError: `step` is not a positive integer.
        ShapeError: `src` does not provably have the shape of the slice.
    """
    what = "topi.slice_scatter"
    tensor, new = require(f"{what}: 'input_tensor'", input_tensor), require(f"{what}: 'src'", src)
    place = axis_of(what, axis, tensor.ndim)
    if isinstance(step, bool) or not isinstance(step, int) or step < 1:
        raise ArgumentError(f"{what}: 'step' is {step!r}, expected an integer from 1 on")
    whole = tensor.shape[place]
    first, last = (held(dim_of(f"{what}: '{n}'", d), whole) for n, d in (("start", start), ("end", end)))
    count = symbolic.maximum(symbolic.ceildiv(last - first, step), 0)
    return _written(what, tensor, new, {place: (first, step, count)}, "T_slice_scatter")


def strided_set(
    a: Tensor, v: Tensor, begin: Sequence[Any], end: Sequence[Any], strides: Sequence[int] | None = None
) -> Tensor:
    """`a` with `v` written to a slice of its first dimensions; see `slice_scatter`."""
    what = "topi.strided_set"
    tensor, new = require(f"{what}: 'a'", a), require(f"{what}: 'v'", v)
    begins, ends = dims_of(f"{what}: 'begin'", begin), dims_of(f"{what}: 'end'", end)
    steps = [1] * len(begins) if strides is None else list(strides)
    if not len(begins) == len(ends) == len(steps) or len(begins) > tensor.ndim:
        raise ShapeError(f"{what}: {len(begins)} begins, {len(ends)} ends, {len(steps)} strides for {tensor}")
    if any(isinstance(step, bool) or not isinstance(step, int) or step < 1 for step in steps):
        raise ArgumentError(f"{what}: 'strides' is {steps}, expected integers from 1 on")
    ranges: dict[int, tuple[Dim, int, Dim]] = {}
    for place, (first, last, step) in enumerate(zip(begins, ends, steps, strict=True)):
        first, last = held(first, tensor.shape[place]), held(last, tensor.shape[place])
        ranges[place] = first, step, symbolic.maximum(symbolic.ceildiv(last - first, step), 0)
    return _written(what, tensor, new, ranges, "T_strided_set")


def held(place: Dim, whole: Dim) -> Dim:
    """An index, counted from the end if it is a negative integer, clamped to the range from 0 to the end."""
    if isinstance(place, int) and place < 0:
        return symbolic.maximum(whole + place, 0)
    return symbolic.minimum(place, whole)


def _written(what: str, tensor: Tensor, new: Tensor, ranges: dict[int, tuple[Dim, int, Dim]], name: str) -> Tensor:
    """`tensor` with `new` in the slice of (first index, step, count) by dimension."""
    shape = [ranges[n][2] if n in ranges else dim for n, dim in enumerate(tensor.shape)]
    if new.dtype != tensor.dtype:
        raise DTypeError(f"{what}: the new elements have dtype {new.dtype}, and the tensor {tensor.dtype}")
    if len(shape) != new.ndim or not all(map(symbolic.prove_equal, shape, new.shape)):
        raise ShapeError(
            f"{what}: the slice has the shape ({', '.join(map(str, shape))}), which {new} is not known to have"
        )

    def value(*i: Expr) -> Expr:
        tests: list[Expr] = []
        at = list(i)
        for number, (first, step, count) in ranges.items():
            offset = i[number] - size(first)
            own = offset if step == 1 else offset // step
            tests += [i[number] >= size(first), own < size(count)]
            if step != 1:
                tests.append(offset % step == 0)
            at = list(map(as_expr, replaced(at, number, own)))
        return functions.if_then_else(functions.all(*tests), new(*at), tensor(*i))

    return computed(tensor.shape, value, name, INJECTIVE)
