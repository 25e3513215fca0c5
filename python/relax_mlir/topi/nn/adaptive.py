"""Adaptive pooling: as many windows as the result has elements, which cover each dimension."""

from __future__ import annotations

from typing import Any

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, dims_of, require, require_float, size


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:  # noqa: ANN401 - sizes
    """The largest element ("max") or the mean ("avg") of each of ``(height, width)`` windows of every channel.

    Window ``i`` of ``n`` in a dimension of length ``l`` goes from ``i * l // n`` up to ``ceildiv((i + 1) * l, n)``. One
    of no elements has the mean NaN and no largest element: the least number of the dtype.

    Args:
        data: the tensor; floats for means.
        output_size: sizes, integers or symbols; one number for all.
        pool_type: "max" or "avg".
        layout: the letters ``NCHW`` in any order.
    """
    return _pooled("adaptive_pool", 2, data, output_size, pool_type, layout, "NCHW")


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:  # noqa: ANN401 - sizes
    """Adaptive pooling along one dimension; see `adaptive_pool`."""
    return _pooled("adaptive_pool1d", 1, data, output_size, pool_type, layout, "NCW")


def adaptive_pool3d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW") -> Tensor:  # noqa: ANN401 - sizes
    """Adaptive pooling along three dimensions; see `adaptive_pool`."""
    return _pooled("adaptive_pool3d", 3, data, output_size, pool_type, layout, "NCDHW")


def _pooled(
    name: str,
    rank: int,
    data: Tensor,
    output_size: Any,  # noqa: ANN401 - sizes
    pool_type: str,
    layout: str,
    letters: str,
) -> Tensor:
    what = f"topi.nn.{name}"
    tensor = require(f"{what}: 'data'", data)
    if sorted(layout) != sorted(letters):
        raise ArgumentError(f"{what}: the layout is {layout!r}, expected the letters of {letters}")
    if pool_type not in ("max", "avg"):
        raise ArgumentError(f"{what}: 'pool_type' is {pool_type!r}, expected 'max' or 'avg'")
    counts = dims_of(f"{what}: 'output_size'", output_size)
    counts = counts * rank if len(counts) == 1 else counts
    if tensor.ndim != rank + 2 or len(counts) != rank:
        raise ShapeError(
            f"{what}: {len(counts)} sizes for {tensor}, expected {rank} for {rank + 2} dimensions"
        )
    if pool_type == "avg":
        require_float(what, tensor)
    axes = [layout.index(letter) for letter in letters[2:]]
    found = tensor
    for axis, count in zip(axes, counts, strict=True):
        found = _along(found, axis, count, pool_type)
    return found


def _along(tensor: Tensor, axis: int, count: Dim, pool_type: str) -> Tensor:
    """The pooling of one dimension; that of several is one after the other."""
    length = tensor.shape[axis]
    shape = [*tensor.shape[:axis], count, *tensor.shape[axis + 1 :]]
    if length == count:
        return computed(shape, lambda *i: tensor(*i), "T_adaptive_pool", f"adaptive_pool_{pool_type}")
    tap = reductions.reduce_axis((0, _longest(length, count)), "r")
    least = functions.const(0, tensor.dtype)
    if pool_type == "max":
        is_float = tensor.dtype.startswith(("float", "bfloat"))
        least = -functions.infinity(tensor.dtype) if is_float else functions.min_value(tensor.dtype)

    def ends(index: Expr) -> tuple[Expr, Expr]:
        return index * size(length) // size(count), ((index + 1) * size(length) + size(count - 1)) // size(
            count
        )

    def value(*i: Expr) -> object:
        begin, end = ends(i[axis])
        place = begin + tap
        item = functions.if_then_else(place < end, tensor(*i[:axis], place, *i[axis + 1 :]), least)
        return (reductions.max if pool_type == "max" else reductions.sum)(item, tap)

    pooled = computed(shape, value, f"T_adaptive_pool_{pool_type}", f"adaptive_pool_{pool_type}")
    if pool_type == "max":
        return pooled

    def mean(*i: Expr) -> Expr:
        begin, end = ends(i[axis])
        return pooled(*i) / (end - begin).astype(tensor.dtype)

    return computed(shape, mean, "T_adaptive_pool_mean", f"adaptive_pool_{pool_type}")


def _longest(length: Dim, count: Dim) -> Dim:
    """A number of elements that no window has more of; just theirs where the length is divisible."""
    if count == 1:
        return length
    return symbolic.ceildiv(length, count) + symbolic.minimum(symbolic.floormod(length, count), 1)
