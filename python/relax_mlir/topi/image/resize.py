"""Resize images, with the coordinate transformations of ONNX's Resize."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, dims_of, guarded, held, replaced, require, require_float, size
from relax_mlir.topi.layouts import require_layout
from relax_mlir.topi.tag import INJECTIVE

METHODS = ("nearest_neighbor", "linear", "cubic")
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


def _asymmetric(x: Expr, axis: _Axis) -> Expr:
    return axis.place(x)


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


def _align_corners(x: Expr, axis: _Axis) -> Expr:
    return _alone(x, axis, 0.0, lambda: x * (_float(axis.old - 1) / _gaps(axis)))


def _pytorch_half_pixel(x: Expr, axis: _Axis) -> Expr:
    return _alone(x, axis, 0.0, lambda: _half_pixel(x, axis))


def _tf_half_pixel_for_nn(x: Expr, axis: _Axis) -> Expr:
    return axis.place(x + 0.5)


def _tf_crop_and_resize(x: Expr, axis: _Axis) -> Expr:
    last = _float(axis.old - 1)
    middle = last * (0.5 * (axis.begin + axis.end))
    if axis.new == 1:
        return middle
    step = last * (axis.end - axis.begin) / _gaps(axis)
    spread = last * axis.begin + x * step
    return (
        spread if isinstance(axis.new, int) else functions.select(as_expr(size(axis.new)) > 1, spread, middle)
    )


COORDINATES: dict[str, Callable[[Expr, _Axis], Expr]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "tf_half_pixel_for_nn": _tf_half_pixel_for_nn,
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
    how = _How(
        method,
        coordinate_transformation_mode,
        rounding_method,
        bicubic_alpha,
        bool(bicubic_exclude),
        extrapolation_value,
    )
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
    how = _How(
        method,
        coordinate_transformation_mode,
        rounding_method,
        bicubic_alpha,
        bool(bicubic_exclude),
        extrapolation_value,
    )
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
    how = _How(
        method,
        coordinate_transformation_mode,
        rounding_method,
        bicubic_alpha,
        bool(bicubic_exclude),
        extrapolation_value,
    )
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
        ("method", how.method, METHODS),
        ("coordinate_transformation_mode", how.coordinates, tuple(COORDINATES)),
        ("rounding_method", how.rounding, ROUNDINGS),
    ):
        if value not in known:
            raise ArgumentError(
                f"{what}: '{label}' is {value!r}, expected one of {', '.join(map(repr, known))}"
            )
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
    return (
        found if found is not tensor else computed(tensor.shape, lambda *i: tensor(*i), "T_resize", INJECTIVE)
    )


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
