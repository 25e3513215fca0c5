"""Operators on images as tensor expressions, with the names of TVM's `topi.image`."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
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
    replaced,
    require,
    require_equal,
    require_float,
    size,
)
from relax_mlir.topi.manipulate import require_layout
from relax_mlir.topi.tag import COMM_REDUCE, INJECTIVE

__all__ = ["affine_grid", "grid_sample", "resize1d", "resize2d", "resize3d"]

SAMPLING_METHODS = ("nearest", "bilinear", "bicubic")
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
        raise ShapeError(f"{what}: {rank} sizes for {matrix}, expected (batch, 2, 3) for 2, (batch, 3, 4) for 3")
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
        raise ShapeError(f"{what}: the grid {places} does not fit {tensor}: both are of 4, or of 5 dimensions")
    if require_layout(what, layout, "NCHW" if rank == 2 else "NCDHW") not in ("NCHW", "NCDHW"):
        raise ArgumentError(f"{what}: the layout is {layout!r}, expected NCHW or NCDHW")
    require_equal(f"{what}: the batches", tensor.shape[:1], places.shape[:1])
    for label, value, known in (
        ("method", method, SAMPLING_METHODS),
        ("padding_mode", padding_mode, PADDINGS),
    ):
        if value not in known:
            raise ArgumentError(f"{what}: '{label}' is {value!r}, expected one of {', '.join(map(repr, known))}")
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
            known = [1.0 - rest, rest] if taps == 2 else _cubic(rest, CUBIC)
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


RESIZE_METHODS = ("nearest_neighbor", "linear", "cubic")
ROUNDINGS = ("", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@dataclass(frozen=True)
class _Axis:
    """One dimension: its old and new size, the cropped range, and the scale if it is given."""

    old: Dim
    new: Dim
    begin: float
    end: float
    scale: float | None = None

    @property
    def spread(self) -> Expr:
        """The new size by the scale, before rounding."""
        return _float(self.new) if self.scale is None else _float(self.old) * self.scale

    def place(self, x: Expr) -> Expr:
        """Convert a position in the new dimension to one in the old dimension."""
        return x * (_float(self.old) / _float(self.new)) if self.scale is None else x / self.scale


def _float(dim: Dim) -> Expr:
    return as_expr(size(dim)).astype("float32")


def _half_pixel(x: Expr, axis: _Axis) -> Expr:
    return axis.place(x + 0.5) - 0.5


def _half_pixel_symmetric(x: Expr, axis: _Axis) -> Expr:
    """Half-pixel coordinates around the centre, if the scaled size is not an integer."""
    if axis.scale is None:
        return _half_pixel(x, axis)
    return _half_pixel(x, axis) + _float(axis.old) * 0.5 * (1.0 - _float(axis.new) / axis.spread)


def _alone(x: Expr, axis: _Axis, otherwise: float, value: Callable[[], Expr]) -> Expr:
    """`otherwise` if there is only one new element."""
    if isinstance(axis.new, int):
        return functions.const(otherwise, "float32") if axis.new == 1 else value()
    return functions.select(as_expr(size(axis.new)) > 1, value(), otherwise)


def _gaps(axis: _Axis) -> Expr:
    """The distance from the first to the last new element, in elements; 1 instead of 0."""
    if axis.scale is None:
        return functions.maximum(_float(axis.new - 1), 1.0)
    gaps = axis.spread - 1.0
    return functions.select(gaps == 0.0, functions.const(1.0, "float32"), gaps)


def _tf_crop_and_resize(x: Expr, axis: _Axis) -> Expr:
    last = _float(axis.old - 1)
    middle = last * (0.5 * (axis.begin + axis.end))
    if axis.new == 1:
        return middle
    step = last * (axis.end - axis.begin) / _gaps(axis)
    spread = last * axis.begin + x * step
    return spread if isinstance(axis.new, int) else functions.select(as_expr(size(axis.new)) > 1, spread, middle)


COORDINATES: dict[str, Callable[[Expr, _Axis], Expr]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "align_corners": lambda x, axis: _alone(x, axis, 0.0, lambda: x * (_float(axis.old - 1) / _gaps(axis))),
    "asymmetric": lambda x, axis: axis.place(x),
    "pytorch_half_pixel": lambda x, axis: _alone(x, axis, 0.0, lambda: _half_pixel(x, axis)),
    "tf_half_pixel_for_nn": lambda x, axis: axis.place(x + 0.5),
    "tf_crop_and_resize": _tf_crop_and_resize,
}
"""Functions from a position of the result to a position along a dimension of the input."""


@dataclass(frozen=True)
class _How:
    """The parameters of the interpolation."""

    method: str
    coordinates: str
    rounding: str
    alpha: float
    exclude: bool
    outside: float


def resize1d(
    data: Tensor,
    roi: Sequence[float] | None,
    size: Sequence[Any],
    layout: str = "NCW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: float = -0.5,
    bicubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
    scales: Sequence[float] | None = None,
) -> Tensor:
    """Resize the last dimension; see `resize2d`."""
    cubic = (bicubic_alpha, bool(bicubic_exclude))
    how = _How(method, coordinate_transformation_mode, rounding_method, *cubic, extrapolation_value)
    return _resized("resize1d", data, roi, size, layout, "NCW", how, out_dtype, scales)


def resize2d(
    data: Tensor,
    roi: Sequence[float] | None,
    size: Sequence[Any],
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: float = -0.5,
    bicubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
    scales: Sequence[float] | None = None,
) -> Tensor:
    """Resize the last two dimensions.

    Args:
        data: floats, or any dtype for "nearest_neighbor".
        roi: for "tf_crop_and_resize": the begin of the cropped range in each dimension, then the ends, as fractions.
        size: the new sizes, integers or symbols.
        layout: the letters ``NCHW`` in any order.
        method: "nearest_neighbor", "linear" or "cubic".
        coordinate_transformation_mode: "half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric",
            "pytorch_half_pixel", "tf_half_pixel_for_nn" or "tf_crop_and_resize".
        rounding_method: of "nearest_neighbor": "round" (or "round_prefer_floor"), "round_prefer_ceil", "floor" or
            "ceil"; the default is "floor" for "asymmetric", else "round".
        bicubic_alpha: the parameter of the cubic.
        bicubic_exclude: exclude positions outside; otherwise they have the value at the edge.
        extrapolation_value: for "tf_crop_and_resize", the value outside of the tensor.
        out_dtype: dtype of the result; by default that of `data`.
        scales: for each dimension the ratio of new to old size, if the new size was rounded.
    """
    cubic = (bicubic_alpha, bool(bicubic_exclude))
    how = _How(method, coordinate_transformation_mode, rounding_method, *cubic, extrapolation_value)
    return _resized("resize2d", data, roi, size, layout, "NCHW", how, out_dtype, scales)


def resize3d(
    data: Tensor,
    roi: Sequence[float] | None,
    size: Sequence[Any],
    layout: str = "NCDHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: float = -0.5,
    bicubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
    scales: Sequence[float] | None = None,
) -> Tensor:
    """Resize the last three dimensions; see `resize2d`."""
    cubic = (bicubic_alpha, bool(bicubic_exclude))
    how = _How(method, coordinate_transformation_mode, rounding_method, *cubic, extrapolation_value)
    return _resized("resize3d", data, roi, size, layout, "NCDHW", how, out_dtype, scales)


def _resized(
    name: str,
    data: Tensor,
    roi: Sequence[float] | None,
    sizes: Sequence[Any],
    layout: str,
    wanted: str,
    how: _How,
    out_dtype: str | None,
    scales: Sequence[float] | None,
) -> Tensor:
    what = f"topi.image.{name}"
    tensor = require(f"{what}: 'data'", data)
    if how.method != "nearest_neighbor":
        require_float(what, tensor)
    rank = len(wanted) - 2
    require_layout(what, layout, wanted)
    new = dims_of(f"{what}: 'size'", sizes)
    if tensor.ndim != rank + 2 or len(new) != rank:
        raise ShapeError(f"{what}: {len(new)} sizes for {tensor}, expected {rank} for {rank + 2} dimensions")
    for label, value, known in (
        ("method", how.method, RESIZE_METHODS),
        ("coordinate_transformation_mode", how.coordinates, tuple(COORDINATES)),
        ("rounding_method", how.rounding, ROUNDINGS),
    ):
        if value not in known:
            raise ArgumentError(f"{what}: '{label}' is {value!r}, expected one of {', '.join(map(repr, known))}")
    crops = how.coordinates == "tf_crop_and_resize"
    moves = crops or how.coordinates == "tf_half_pixel_for_nn"
    part = list(roi) if crops and roi is not None else [0.0] * rank + [1.0] * rank
    if len(part) != 2 * rank:
        raise ArgumentError(f"{what}: 'roi' has {len(part)} numbers, expected {2 * rank}")
    places = [layout.index(letter) for letter in wanted[2:]]
    if scales is not None and len(scales) != rank:
        raise ArgumentError(f"{what}: 'scales' has {len(scales)} numbers, expected {rank}")
    axes = [
        _Axis(
            tensor.shape[place],
            new[n],
            float(part[n]),
            float(part[rank + n]),
            None if scales is None else float(scales[n]),
        )
        for n, place in enumerate(places)
    ]
    found = tensor
    # The last dimension first, while there are few rows, because the accesses along it are not contiguous.
    for place, axis in reversed(list(zip(places, axes, strict=True))):
        if moves or axis.old != axis.new or axis.scale not in (None, 1.0):
            found = _along(found, place, axis, how)
    if crops:
        found = _outside_filled(found, places, axes, how.outside)
    if out_dtype is not None and out_dtype != found.dtype:
        kind, inner = dtypes.dtype(out_dtype).name, found
        found = computed(found.shape, lambda *i: inner(*i).astype(kind), "T_cast", INJECTIVE)
    return found if found is not tensor else computed(tensor.shape, lambda *i: tensor(*i), "T_resize", INJECTIVE)


def _place(index: Expr, axis: _Axis, how: _How) -> Expr:
    return COORDINATES[how.coordinates](index.astype("float32"), axis)


def _along(tensor: Tensor, number: int, axis: _Axis, how: _How) -> Tensor:
    """Resize one dimension. Positions and weights are computed once for each new index."""
    shape = [*tensor.shape[:number], axis.new, *tensor.shape[number + 1 :]]
    taps = {"nearest_neighbor": 1, "linear": 2, "cubic": 4}[how.method]

    def first(i: Expr) -> Expr:
        x = _place(i, axis, how)
        if how.method == "nearest_neighbor":
            return _rounded(x, how).astype("int64")
        return functions.floor(x).astype("int64") - (taps // 2 - 1)

    def weights(i: Expr) -> list[Expr]:
        x = _place(i, axis, how)
        rest = x - functions.floor(x)
        if how.method == "linear":
            return [1.0 - rest, rest]
        found = _cubic(rest, how.alpha)
        if how.exclude:
            places = [first(i) + tap for tap in range(taps)]
            found = [
                functions.select(functions.all(place >= 0, place < size(axis.old)), weight, 0.0)
                for place, weight in zip(places, found, strict=True)
            ]
            total = found[0] + found[1] + found[2] + found[3]
            found = [weight / total for weight in found]
        return found

    begins = computed((axis.new,), lambda i: first(i) + _zero(axis.old), "T_resize_places", INJECTIVE)
    kind = "float64" if tensor.dtype == "float64" else "float32"
    shares = [
        computed((axis.new,), lambda i, tap=tap: weights(i)[tap].astype(kind), "T_resize_weights", INJECTIVE)
        for tap in range(taps if taps > 1 else 0)
    ]

    def read(i: Sequence[Expr], tap: int) -> Expr:
        place = held(begins(i[number]) + tap, axis.old)
        return guarded(tensor(*replaced(i, number, place)), [(place, axis.old)])

    def value(*i: Expr) -> Expr:
        if taps == 1:
            return read(i, 0)
        terms = [read(i, tap).astype(kind) * share(i[number]) for tap, share in enumerate(shares)]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total.astype(tensor.dtype)

    return computed(shape, value, "T_resize", INJECTIVE)


def _zero(dim: Dim) -> Any:  # noqa: ANN401 - an expression, or 0
    """0; for an empty dimension, an access that is an error at run time."""
    if symbolic.prove_less_equal(1, dim):
        return 0
    one_or_none = symbolic.minimum(dim, 1)
    return computed((one_or_none,), lambda i: functions.const(0, "int64"), "T_resize_zeros", INJECTIVE)(0)


def _rounded(x: Expr, how: _How) -> Expr:
    """A position rounded to an integer; ties round down by default, as in ONNX."""
    rounding = how.rounding or ("floor" if how.coordinates == "asymmetric" else "round")
    if rounding == "floor":
        return functions.floor(x)
    if rounding == "ceil":
        return functions.ceil(x)
    return functions.floor(x + 0.5) if rounding == "round_prefer_ceil" else functions.ceil(x - 0.5)


def _cubic(t: Expr, alpha: float) -> list[Expr]:
    """Keys' weights of the four elements around a position that is `t` after the second (IEEE ASSP 29(6), 1981)."""

    def near(x: Expr) -> Expr:
        return ((alpha + 2) * x - (alpha + 3)) * x * x + 1.0

    def far(x: Expr) -> Expr:
        return ((alpha * x - 5 * alpha) * x + 8 * alpha) * x - 4 * alpha

    return [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]


def _outside_filled(tensor: Tensor, places: Sequence[int], axes: Sequence[_Axis], filling: float) -> Tensor:
    """The elements whose positions are inside the input, and `filling` for the rest."""
    how = _How("linear", "tf_crop_and_resize", "", 0.0, False, filling)

    def value(*i: Expr) -> Expr:
        tests: list[Expr] = []
        for place, axis in zip(places, axes, strict=True):
            x = _place(i[place], axis, how)
            tests += [x >= 0.0, x <= _float(axis.old - 1)]
        return functions.select(functions.all(*tests), tensor(*i), filling)

    return computed(tensor.shape, value, "T_resize", INJECTIVE)
