"""Move elements, and combine tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import (
    axes_of,
    axis_of,
    computed,
    dim_of,
    dims_of,
    flattened,
    listed,
    product,
    replaced,
    require,
    size,
    unflattened,
)
from relax_mlir.topi.tag import INJECTIVE

MOST_AXES = 64
"""How many dimensions a tensor may get at once; NumPy's arrays have no more."""


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The dimensions in another order; reversed by default."""
    tensor = require("topi.transpose: 'a'", a)
    given = list(range(tensor.ndim))[::-1] if axes is None else listed("topi.transpose: 'axes'", axes)
    order = [axis_of("topi.transpose", axis, tensor.ndim) for axis in given]
    if sorted(order) != list(range(tensor.ndim)):
        raise ShapeError(f"topi.transpose: 'axes' is {given}, no order of {tensor.ndim} dimensions")
    shape = [tensor.shape[axis] for axis in order]
    return computed(
        shape, lambda *i: tensor(*(i[order.index(n)] for n in range(tensor.ndim))), "T_transpose", INJECTIVE
    )


def reshape(a: Tensor, newshape: Sequence[Any]) -> Tensor:
    """The elements in row-major order with another shape; one size may be -1.

    Raises:
        ShapeError: the numbers of elements are not provably equal.
    """
    tensor = require("topi.reshape: 'a'", a)
    dims = dims_of("topi.reshape: 'newshape'", newshape)
    shape = _completed(tensor, dims)
    if not symbolic.prove_equal(product(shape), product(tensor.shape)):
        raise ShapeError(
            f"topi.reshape: {product(tensor.shape)} elements of {tensor} do not have the shape "
            f"({', '.join(map(str, dims))}), as far as is known"
        )
    if _without_units(shape) == _without_units(tensor.shape):

        def same(*i: Expr) -> Expr:
            moved = iter([index for index, dim in zip(i, shape, strict=True) if dim != 1])
            return tensor(*(0 if dim == 1 else next(moved) for dim in tensor.shape))

        return computed(shape, same, "T_reshape", INJECTIVE)
    return computed(
        shape, lambda *i: tensor(*unflattened(flattened(i, shape), tensor.shape)), "T_reshape", INJECTIVE
    )


def _without_units(shape: Sequence[Dim]) -> list[Dim]:
    return [dim for dim in shape if dim != 1]


def _completed(tensor: Tensor, dims: Sequence[Dim]) -> list[Dim]:
    open_ = [number for number, dim in enumerate(dims) if dim == -1]
    if not open_:
        return list(dims)
    if len(open_) > 1:
        raise ShapeError("topi.reshape: 'newshape' has -1 more than once")
    known = product([dim for dim in dims if dim != -1])
    if known == 0:
        raise ShapeError("topi.reshape: -1 beside a size of 0 may be any size")
    return [symbolic.floordiv(product(tensor.shape), known) if dim == -1 else dim for dim in dims]


def squeeze(a: Tensor, axis: int | Sequence[int] | None = None) -> Tensor:
    """The tensor without dimensions of size 1: all of them, or those of `axis`."""
    tensor = require("topi.squeeze: 'a'", a)
    chosen = (
        [n for n, dim in enumerate(tensor.shape) if dim == 1]
        if axis is None
        else axes_of("topi.squeeze", axis, tensor.ndim)
    )
    for number in chosen:
        if tensor.shape[number] != 1:
            raise ShapeError(f"topi.squeeze: dimension {number} of {tensor} is not known to be 1")
    shape = [dim for number, dim in enumerate(tensor.shape) if number not in chosen]

    def value(*i: Expr) -> Expr:
        rest = iter(i)
        return tensor(*(0 if number in chosen else next(rest) for number in range(tensor.ndim)))

    return computed(shape, value, "T_squeeze", INJECTIVE)


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """Insert `num_newaxis` dimensions of size 1 before dimension `axis`."""
    tensor = require("topi.expand_dims: 'a'", a)
    place = axis_of("topi.expand_dims", axis, tensor.ndim + 1)
    if not isinstance(num_newaxis, int) or not 0 <= num_newaxis <= MOST_AXES:
        raise ArgumentError(f"topi.expand_dims: 'num_newaxis' is {num_newaxis!r}, expected 0 to {MOST_AXES}")
    shape = [*tensor.shape[:place], *[1] * num_newaxis, *tensor.shape[place:]]
    return computed(
        shape, lambda *i: tensor(*i[:place], *i[place + num_newaxis :]), "T_expand_dims", INJECTIVE
    )


def _together(what: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    found = [require(f"{what}: a tensor", tensor) for tensor in listed(f"{what}: the tensors", tensors)]
    if not found:
        raise ArgumentError(f"{what}: there is no tensor")
    if len({tensor.dtype for tensor in found}) > 1:
        raise DTypeError(
            f"{what}: the tensors have dtypes {', '.join(t.dtype for t in found)}; cast them to one"
        )
    return found


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Concatenate tensors along an axis."""
    tensors = _together("topi.concatenate", a_tuple)
    first = tensors[0]
    place = axis_of("topi.concatenate", axis, first.ndim)
    for other in tensors[1:]:
        same = other.ndim == first.ndim and all(
            number == place or symbolic.prove_equal(*pair)
            for number, pair in enumerate(zip(first.shape, other.shape, strict=True))
        )
        if not same:
            raise ShapeError(f"topi.concatenate: {first} and {other} differ beside dimension {place}")
    ends: list[Dim] = []
    for tensor in tensors:
        ends.append((ends[-1] if ends else 0) + tensor.shape[place])

    def value(*i: Expr) -> Expr:
        begins = [0, *ends[:-1]]
        found = tensors[-1](*replaced(i, place, i[place] - size(begins[-1])))
        for tensor, begin, end in reversed(list(zip(tensors[:-1], begins, ends, strict=False))):
            own = tensor(*replaced(i, place, i[place] - size(begin)))
            found = functions.if_then_else(i[place] < size(end), own, found)
        return found

    shape = [*first.shape[:place], ends[-1], *first.shape[place + 1 :]]
    return computed(shape, value, "T_concat", INJECTIVE)


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Stack tensors of the same shape along a new axis."""
    found = _together("topi.stack", tensors)
    place = axis_of("topi.stack", axis, found[0].ndim + 1)
    return concatenate([expand_dims(tensor, place) for tensor in found], place)


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:  # noqa: ANN401 - see below
    """Split a tensor along an axis into a number of equal sections, or at a list of indices.

    Raises:
        ShapeError: the size is not provably divisible.
    """
    tensor = require("topi.split: 'ary'", ary)
    place = axis_of("topi.split", axis, tensor.ndim)
    whole = tensor.shape[place]
    if isinstance(indices_or_sections, list | tuple):
        cuts = [
            _clamped(dim, whole) for dim in dims_of("topi.split: 'indices_or_sections'", indices_or_sections)
        ]
        begins, ends = [0, *cuts], [*cuts, whole]
    else:
        count = dim_of("topi.split: 'indices_or_sections'", indices_or_sections)
        if not isinstance(count, int) or count < 1 or not symbolic.prove_divisible(whole, count):
            raise ShapeError(f"topi.split: {whole} is not known to be divisible in {count} parts")
        part = symbolic.floordiv(whole, count)
        begins, ends = [part * n for n in range(count)], [part * (n + 1) for n in range(count)]

    def made(begin: Dim, end: Dim) -> Tensor:
        length = symbolic.maximum(end - begin, 0)
        shape = [*tensor.shape[:place], length, *tensor.shape[place + 1 :]]
        return computed(
            shape, lambda *i: tensor(*replaced(i, place, i[place] + size(begin))), "T_split", INJECTIVE
        )

    return [made(begin, end) for begin, end in zip(begins, ends, strict=True)]


def _clamped(place: Dim, whole: Dim) -> Dim:
    """An index, counted from the end if negative, clamped to the range from 0 to the end."""
    if isinstance(place, int) and place < 0:
        return symbolic.maximum(whole + place, 0)
    return symbolic.minimum(place, whole)


def tile(a: Tensor, reps: Any) -> Tensor:  # noqa: ANN401 - a number of repeats, or a list of them
    """Repeat the whole tensor along its last dimensions, or along new ones; `reps` are the repeats."""
    tensor, counts = require("topi.tile: 'a'", a), dims_of("topi.tile: 'reps'", reps)
    rank = max(tensor.ndim, len(counts))
    old = [*[1] * (rank - tensor.ndim), *tensor.shape]
    times = [*[1] * (rank - len(counts)), *counts]
    shape = [dim * count for dim, count in zip(old, times, strict=True)]

    def value(*i: Expr) -> Expr:
        own = list(zip(i, old, times, strict=True))[rank - tensor.ndim :]
        return tensor(*(index if count == 1 else index % size(dim) for index, dim, count in own))

    return computed(shape, value, "T_tile", INJECTIVE)


def repeat(a: Tensor, repeats: Any, axis: int) -> Tensor:  # noqa: ANN401 - a size
    """Repeat every element `repeats` times along an axis."""
    tensor = require("topi.repeat: 'a'", a)
    place, count = axis_of("topi.repeat", axis, tensor.ndim), dim_of("topi.repeat: 'repeats'", repeats)
    if isinstance(count, int) and count < 0:
        raise ArgumentError(f"topi.repeat: 'repeats' is {count}, expected 0 or more")
    shape = [*tensor.shape[:place], tensor.shape[place] * count, *tensor.shape[place + 1 :]]
    return computed(
        shape, lambda *i: tensor(*replaced(i, place, i[place] // size(count))), "T_repeat", INJECTIVE
    )


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """Reverse the elements along an axis."""
    tensor = require("topi.flip: 'a'", a)
    place = axis_of("topi.flip", axis, tensor.ndim)
    last = size(tensor.shape[place] - 1)
    return computed(
        tensor.shape, lambda *i: tensor(*replaced(i, place, last - i[place])), "T_flip", INJECTIVE
    )


def strided_slice(
    a: Tensor,
    begin: Sequence[Any],
    end: Sequence[Any],
    strides: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    slice_mode: str = "end",
) -> Tensor:
    """Elements from `begin` to `end`, exclusive, in steps, as Python's slices.

    Args:
        begin, end: integers or symbols; negative integers count from the end. With `slice_mode` "size", `end` has
            lengths, -1 for the rest of the dimension.
        strides: steps, integers other than 0; 1 by default.
        axes: the axes of the slices; by default the first dimensions.
    """
    what = "topi.strided_slice"
    tensor = require(f"{what}: 'a'", a)
    begins, ends = dims_of(f"{what}: 'begin'", begin), dims_of(f"{what}: 'end'", end)
    steps = [1] * len(begins) if strides is None else list(strides)
    places = list(range(len(begins))) if axes is None else [axis_of(what, axis, tensor.ndim) for axis in axes]
    if slice_mode not in ("end", "size"):
        raise ArgumentError(f"{what}: 'slice_mode' is {slice_mode!r}, expected 'end' or 'size'")
    if not len(begins) == len(ends) == len(steps) == len(places) or len(begins) > tensor.ndim:
        raise ShapeError(
            f"{what}: {len(begins)} begins, {len(ends)} ends, {len(steps)} strides and {len(places)} axes for {tensor}"
        )
    if any(isinstance(step, bool) or not isinstance(step, int) or step == 0 for step in steps):
        raise ArgumentError(f"{what}: 'strides' is {steps}, expected integers other than 0")
    shape = list(tensor.shape)
    firsts: dict[int, tuple[Dim, int]] = {}
    for place, first, last, step in zip(places, begins, ends, steps, strict=True):
        whole = tensor.shape[place]
        if slice_mode == "size":
            step, last = 1, whole if last == -1 else _clamped(first, whole) + last
        firsts[place], shape[place] = _range(first, last, step, whole)

    def value(*i: Expr) -> Expr:
        at = [
            index if number not in firsts else index * firsts[number][1] + size(firsts[number][0])
            for number, index in enumerate(i)
        ]
        return tensor(*at)

    return computed(shape, value, "T_strided_slice", INJECTIVE)


def _range(first: Dim, last: Dim, step: int, whole: Dim) -> tuple[tuple[Dim, int], Dim]:
    """The first index of a slice with its step, and the number of elements."""
    if step > 0:
        begin, end = _clamped(first, whole), _clamped(last, whole)
        return (begin, step), symbolic.maximum(symbolic.ceildiv(end - begin, step), 0)
    begin = symbolic.minimum(whole + first if isinstance(first, int) and first < 0 else first, whole - 1)
    end = whole + last if isinstance(last, int) and last < 0 else symbolic.minimum(last, whole - 1)
    end = symbolic.maximum(end, -1)
    return (begin, step), symbolic.maximum(symbolic.ceildiv(begin - end, -step), 0)


def trilu(data: Tensor, k: Any, upper: bool) -> Tensor:  # noqa: ANN401 - a diagonal: an integer or a symbol
    """The elements on and above (`upper`), or on and below, the diagonal `k` of the last two dimensions; else 0."""
    tensor, diagonal = require("topi.trilu: 'data'", data), dim_of("topi.trilu: 'k'", k)
    if tensor.ndim < 2:
        raise ShapeError(f"topi.trilu: {tensor} has no two dimensions")

    def value(*i: Expr) -> Expr:
        row, column = i[-2], i[-1]
        edge = row + size(diagonal)
        zero = functions.const(0, tensor.dtype)
        return functions.select(column >= edge if upper else column <= edge, tensor(*i), zero)

    return computed(tensor.shape, value, "T_trilu", INJECTIVE)
