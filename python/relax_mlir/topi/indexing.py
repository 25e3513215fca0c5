"""Gather elements by index tensors.

Negative indices count from the end, except in `take` with `mode` "clip". An index out of range raises `BoundsError` at
run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.error import ArgumentError, ShapeError, expect
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr, ExprLike
from relax_mlir.te.own_loops import Fresh, element
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import (
    axis_of,
    computed,
    counted,
    index_tensor_of,
    product,
    replaced,
    require,
    require_at_most,
    require_equal,
    size,
    unflattened,
)
from relax_mlir.topi.part_loops import parts_taken
from relax_mlir.topi.scatter import counted_index
from relax_mlir.topi.tag import INJECTIVE


def take(
    a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip"
) -> Tensor:
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

    def vector(number: Any, at: Sequence[Any]) -> list[Any]:  # noqa: ANN401 - expressions or strings
        return [*at, number] if is_last else [number, *at]

    def places(names: Sequence[str], at: Sequence[str], fresh: Fresh) -> tuple[list[str], list[str]]:
        lines: list[str] = []
        found = [*at[:batch_dims]]
        for number in range(count):
            dim = tensor.shape[batch_dims + number]
            more, place = counted_index(element(names[0], vector(str(number), at)), dim, fresh)
            lines += more
            found.append(place)
        return lines, found

    if within:
        return parts_taken(tensor, [index], rest, within, places, "T_gather_nd")

    def value(*i: Expr) -> Expr:
        at: list[ExprLike] = [
            counted(index(*vector(number, i[:width])), tensor.shape[batch_dims + number])
            for number in range(count)
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
