"""Sample images at data-dependent positions, and create grids of positions."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import Expr, ExprLike, as_expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import (
    computed,
    dims_of,
    guarded,
    held,
    require,
    require_equal,
    require_float,
    size,
)
from relax_mlir.topi.layouts import require_layout
from relax_mlir.topi.tag import COMM_REDUCE, INJECTIVE

METHODS = ("nearest", "bilinear", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
CUBIC = -0.75
"""The parameter of the cubic, as in torch."""


def affine_grid(data: Tensor, target_shape: Sequence[Any], align_corners: bool = True) -> Tensor:
    """The positions ``data @ (x, y, …, 1)`` of the elements of an image of `target_shape`, from -1 to 1.

    Args:
        data: ``(batch, 2, 3)`` for images of two dimensions, ``(batch, 3, 4)`` for three.
        target_shape: rows and columns, or depth, rows and columns; integers or symbols.
        align_corners: -1 and 1 are the centres of the first and the last element, else their outer edges. A single
            element is at 0.

    Returns:
        ``(batch, 2, height, width)``, the column first, or ``(batch, 3, depth, height, width)``.
    """
    what = "topi.image.affine_grid"
    matrix, sizes = require(f"{what}: 'data'", data), dims_of(f"{what}: 'target_shape'", target_shape)
    require_float(what, matrix)
    rank = len(sizes)
    if rank not in (2, 3) or matrix.shape[1:] != (rank, rank + 1):
        raise ShapeError(
            f"{what}: {rank} sizes for {matrix}, expected (batch, 2, 3) for 2, (batch, 3, 4) for 3"
        )
    kind = matrix.dtype

    def coordinate(index: Expr, dim: Dim) -> Expr:
        number, length = index.astype("float32"), as_expr(size(dim)).astype("float32")
        if not align_corners:
            return (number * 2.0 + 1.0) / length - 1.0
        spread = number * 2.0 / functions.maximum(length - 1.0, 1.0) - 1.0
        return functions.select(as_expr(size(dim)) > 1, spread, functions.const(0, "float32"))

    def value(b: Expr, d: Expr, *at: Expr) -> Expr:
        total: Expr = matrix(b, d, rank).astype("float32")
        for number, (index, dim) in enumerate(zip(at, sizes, strict=True)):
            total = total + matrix(b, d, rank - 1 - number).astype("float32") * coordinate(index, dim)
        return total.astype(kind)

    return computed([matrix.shape[0], rank, *sizes], value, "T_affine_grid", INJECTIVE)


def grid_sample(
    data: Tensor,
    grid: Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Tensor:
    """Sample images at the positions of `grid`; positions inside the image are from -1 to 1.

    Args:
        data: floats of the layout ``NCHW`` or ``NCDHW``.
        grid: ``(batch, 2, height, width)``, first the column, then the row; or ``(batch, 3, depth, height, width)``.
        method: "nearest", "bilinear" (trilinear in three dimensions), or, in two dimensions, "bicubic".
        layout: the layout of `data`.
        padding_mode: the values outside: "zeros", "border" (the nearest element), "reflection" (the image mirrored).
        align_corners: see `affine_grid`.
    """
    what = "topi.image.grid_sample"
    tensor, places = require(f"{what}: 'data'", data), require(f"{what}: 'grid'", grid)
    require_float(what, tensor)
    require_float(what, places)
    rank = tensor.ndim - 2
    if rank not in (2, 3) or places.ndim != tensor.ndim or places.shape[1] != rank:
        raise ShapeError(
            f"{what}: the grid {places} does not fit {tensor}: both are of 4, or of 5 dimensions"
        )
    if require_layout(what, layout, "NCHW" if rank == 2 else "NCDHW") not in ("NCHW", "NCDHW"):
        raise ArgumentError(f"{what}: the layout is {layout!r}, expected NCHW or NCDHW")
    require_equal(f"{what}: the batches", tensor.shape[:1], places.shape[:1])
    for label, value, known in (("method", method, METHODS), ("padding_mode", padding_mode, PADDINGS)):
        if value not in known:
            raise ArgumentError(
                f"{what}: '{label}' is {value!r}, expected one of {', '.join(map(repr, known))}"
            )
    if method == "bicubic" and rank == 3:
        raise ArgumentError(f"{what}: 'method' is 'bicubic', which is for two dimensions")
    if tensor.dtype == "float64" and places.dtype != "float64":
        raise DTypeError(f"{what}: the grid has dtype {places.dtype}, and the data float64")
    return _Sampler(tensor, places, method, padding_mode, align_corners).sampled()


class _Sampler:
    def __init__(self, data: Tensor, grid: Tensor, method: str, padding: str, corners: bool) -> None:
        self.data, self.grid, self.method = data, grid, method
        self.padding, self.corners = padding, corners
        self.sizes = data.shape[2:]
        self.kind = "float64" if grid.dtype == "float64" else "float32"

    def sampled(self) -> Tensor:
        """The samples. The element indices and weights of each sample are computed once for all channels."""
        places = self.places()
        taps = {"nearest": 1, "bilinear": 2, "bicubic": 4}[self.method]
        indices = self.indices(places, taps)
        shape = [*self.data.shape[:2], *self.grid.shape[2:]]
        if taps == 1:
            return self.finished(shape, lambda b, c, *at: self.read(b, c, indices, [0] * len(self.sizes), at))
        weights = self.weights(places, taps)
        axes = range(len(self.sizes))
        if taps == 2:

            def linear(b: Expr, c: Expr, *at: Expr) -> Expr:
                total: Expr | None = None
                for corner in itertools.product((0, 1), repeat=len(self.sizes)):
                    item = self.read(b, c, indices, corner, at)
                    for d, tap in zip(axes, corner, strict=True):
                        item = item * weights(b, d, tap, *at)
                    total = item if total is None else total + item
                assert total is not None
                return total

            return self.finished(shape, linear)
        row, column = (reductions.reduce_axis((0, taps), name) for name in ("row", "column"))

        def cubic(b: Expr, c: Expr, *at: Expr) -> object:
            item = self.read(b, c, indices, (row, column), at)
            return reductions.sum(item * weights(b, 0, row, *at) * weights(b, 1, column, *at), [row, column])

        found = computed(shape, cubic, "T_grid_sums", COMM_REDUCE)
        return self.finished(shape, lambda *i: found(*i))

    def finished(self, shape: Sequence[Dim], value: Callable[..., Expr]) -> Tensor:
        """Samples in the dtype of the data."""
        return computed(shape, lambda *i: value(*i).astype(self.data.dtype), "T_grid_sample", INJECTIVE)

    def places(self) -> Tensor:
        """The position of each sample along each dimension, in elements."""
        rank = len(self.sizes)

        def place(b: Expr, d: Expr, *at: Expr) -> Expr:
            found: Expr | None = None
            for number, dim in enumerate(self.sizes):
                own = self.element(self.grid(b, rank - 1 - number, *at).astype(self.kind), dim)
                found = own if found is None else functions.select(d == number, own, found)
            assert found is not None
            return found

        return computed([self.grid.shape[0], rank, *self.grid.shape[2:]], place, "T_grid_places", INJECTIVE)

    def indices(self, places: Tensor, taps: int) -> Tensor:
        """The element indices of each sample along each dimension, -1 if outside."""

        def index(b: Expr, d: Expr, tap: Expr, *at: Expr) -> Expr:
            x = places(b, d, *at)
            whole = functions.nearbyint(x) if taps == 1 else functions.floor(x)
            if taps > 1:
                whole = whole + (tap - (taps // 2 - 1)).astype(self.kind)
            found: Expr | None = None
            for number, dim in enumerate(self.sizes):
                number_of = (self.inside(whole, dim) if taps == 4 else whole).astype("int64")
                is_inside = functions.all(number_of >= 0, number_of < size(dim), ~functions.isnan(x))
                own = functions.select(is_inside, number_of, -1)
                found = own if found is None else functions.select(d == number, own, found)
            assert found is not None
            return found

        batch, rank, *out = places.shape
        return computed([batch, rank, taps, *out], index, "T_grid_indices", INJECTIVE)

    def weights(self, places: Tensor, taps: int) -> Tensor:
        """The weights of those elements."""

        def weight(b: Expr, d: Expr, tap: Expr, *at: Expr) -> Expr:
            x = places(b, d, *at)
            rest = x - functions.floor(x)
            known = [1.0 - rest, rest] if taps == 2 else _cubic(rest)
            found = known[-1]
            for number, other in reversed(list(enumerate(known[:-1]))):
                found = functions.select(tap == number, other, found)
            return found

        batch, rank, *out = places.shape
        return computed([batch, rank, taps, *out], weight, "T_grid_weights", INJECTIVE)

    def element(self, x: Expr, dim: Dim) -> Expr:
        """Convert a position from the range -1 to 1 into elements."""
        length = as_expr(size(dim)).astype(self.kind)
        found = (x + 1.0) * 0.5 * (length - 1.0) if self.corners else ((x + 1.0) * length - 1.0) * 0.5
        return found if self.method == "bicubic" else self.inside(found, dim)

    def inside(self, x: Expr, dim: Dim) -> Expr:
        """The position, moved inside by the padding mode unless that is "zeros"."""
        if self.padding == "zeros":
            return x
        last = as_expr(size(dim)).astype(self.kind) - 1.0
        found = self.mirrored(x, last) if self.padding == "reflection" else x
        return functions.maximum(functions.minimum(found, last), 0.0)

    def mirrored(self, x: Expr, last: Expr) -> Expr:
        """A position mirrored at the edges as often as needed."""
        begin, span = (0.0, last) if self.corners else (-0.5, last + 1.0)
        distance = functions.abs(x - begin)
        wide = functions.maximum(span, 1e-30)
        turns = functions.floor(distance / wide)
        rest = distance - turns * wide
        is_even = turns - functions.floor(turns * 0.5) * 2.0 == 0.0
        found = functions.select(is_even, rest + begin, span - rest + begin)
        return functions.select(span > 0.0, found, functions.const(0, self.kind))

    def read(self, b: Expr, c: Expr, indices: Tensor, taps: Sequence[ExprLike], at: Sequence[Expr]) -> Expr:
        """An element, or 0 if outside."""
        places = [indices(b, d, tap, *at) for d, tap in enumerate(taps)]
        zero = functions.const(0, self.kind)
        inside = [held(place, dim) for place, dim in zip(places, self.sizes, strict=True)]
        item = guarded(self.data(b, c, *inside).astype(self.kind), list(zip(inside, self.sizes, strict=True)))
        is_inside = functools.reduce(operator.and_, (place >= 0 for place in places))
        return functions.select(is_inside, item, zero)


def _cubic(t: Expr) -> list[Expr]:
    """Keys' weights of the four elements around a position that is `t` after the second one."""

    def near(x: Expr) -> Expr:
        return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1.0

    def far(x: Expr) -> Expr:
        return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC

    return [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
