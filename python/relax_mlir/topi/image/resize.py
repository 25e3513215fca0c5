"""Images of another size: which places of the input an element is made of, as ONNX's Resize has it."""

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
    """One dimension: its old and new size, the part of it that is looked at, and the scale, if that is given."""

    old: Dim
    new: Dim
    begin: float
    end: float
    scale: float | None = None

    @property
    def spread(self) -> Expr:
        """The new size as the scale has it: before it was rounded."""
        return _float(self.new) if self.scale is None else _float(self.old) * self.scale

    def place(self, x: Expr) -> Expr:
        """A place in the new dimension as one in the old dimension."""
        return x * (_float(self.old) / _float(self.new)) if self.scale is None else x / self.scale


def _float(dim: Dim) -> Expr:
    return as_expr(size(dim)).astype("float32")


def _asymmetric(x: Expr, axis: _Axis) -> Expr:
    return axis.place(x)


def _half_pixel(x: Expr, axis: _Axis) -> Expr:
    return axis.place(x + 0.5) - 0.5


def _half_pixel_symmetric(x: Expr, axis: _Axis) -> Expr:
    """About the middle, where a scale leaves a part of an element over."""
    if axis.scale is None:
        return _half_pixel(x, axis)
    return _half_pixel(x, axis) + _float(axis.old) * 0.5 * (1.0 - _float(axis.new) / axis.spread)


def _alone(x: Expr, axis: _Axis, otherwise: float, value: Callable[[], Expr]) -> Expr:
    """`otherwise` where there is one new element."""
    if isinstance(axis.new, int):
        return functions.const(otherwise, "float32") if axis.new == 1 else value()
    return functions.select(as_expr(size(axis.new)) > 1, value(), otherwise)


def _gaps(axis: _Axis) -> Expr:
    """How many new elements are behind the first, not 0."""
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
"""Where in a dimension of the input the element is that stands at a place of the result."""


@dataclass(frozen=True)
class _How:
    """How elements are made."""

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
    """Another size of the last dimension; see `resize2d`."""
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
    """Other sizes of the last two dimensions.

    Args:
        data: floats, or anything for "nearest_neighbor".
        roi: for "tf_crop_and_resize": where the looked-at part begins in each dimension, and then where it ends, of 1.
        size: the new sizes, integers or symbols.
        layout: the letters ``NCHW`` in any order.
        method: "nearest_neighbor", "linear" or "cubic".
        coordinate_transformation_mode: "half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric",
            "pytorch_half_pixel", "tf_half_pixel_for_nn" or "tf_crop_and_resize".
        rounding_method: of "nearest_neighbor": "round" (or "round_prefer_floor"), "round_prefer_ceil", "floor" or
            "ceil"; by default "round", but for "asymmetric", which takes "floor".
        bicubic_alpha, bicubic_exclude: the constant of the cubic, and whether places outside count for nothing; else
            they are those at the edge.
        extrapolation_value: for "tf_crop_and_resize", what is outside of the tensor.
        out_dtype: of the result; that of `data` by default.
        scales: of each dimension the new size by the old one, before it was rounded, if it was.
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
    """Other sizes of the last three dimensions; see `resize2d`."""
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
    # The last dimension first, while there are few rows: its elements are not read side by side.
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
    """The tensor with another size of one dimension. Places and weights are computed once for each new place."""
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
    """0; where a dimension has nothing to take elements from, an access that is an error of the call."""
    if symbolic.prove_less_equal(1, dim):
        return 0
    one_or_none = symbolic.minimum(dim, 1)
    return computed((one_or_none,), lambda i: functions.const(0, "int64"), "T_resize_zeros", INJECTIVE)(0)


def _rounded(x: Expr, how: _How) -> Expr:
    """A place as a whole number; ties go down by default, as in ONNX."""
    rounding = how.rounding or ("floor" if how.coordinates == "asymmetric" else "round")
    if rounding == "floor":
        return functions.floor(x)
    if rounding == "ceil":
        return functions.ceil(x)
    return functions.floor(x + 0.5) if rounding == "round_prefer_ceil" else functions.ceil(x - 0.5)


def _cubic(t: Expr, alpha: float) -> list[Expr]:
    """Keys' weights of the four places around one that is `t` behind the second (IEEE ASSP 29(6), 1981)."""

    def near(x: Expr) -> Expr:
        return ((alpha + 2) * x - (alpha + 3)) * x * x + 1.0

    def far(x: Expr) -> Expr:
        return ((alpha * x - 5 * alpha) * x + 8 * alpha) * x - 4 * alpha

    return [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]


def _outside_filled(tensor: Tensor, places: Sequence[int], axes: Sequence[_Axis], filling: float) -> Tensor:
    """The elements whose places are in the input, and `filling` elsewhere."""
    how = _How("linear", "tf_crop_and_resize", "", 0.0, False, filling)

    def value(*i: Expr) -> Expr:
        tests: list[Expr] = []
        for place, axis in zip(places, axes, strict=True):
            x = _place(i[place], axis, how)
            tests += [x >= 0.0, x <= _float(axis.old - 1)]
        return functions.select(functions.all(*tests), tensor(*i), filling)

    return computed(tensor.shape, value, "T_resize", INJECTIVE)
