"""Slices with data-dependent bounds, and writes to slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import (
    axis_of,
    computed,
    dim_of,
    dims_of,
    index_tensor_of,
    replaced,
    require,
    size,
)
from relax_mlir.topi.tag import INJECTIVE


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


def _written(
    what: str, tensor: Tensor, new: Tensor, ranges: dict[int, tuple[Dim, int, Dim]], name: str
) -> Tensor:
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
