"""Image resizing, object detection, and image sampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from relax_mlir import op as R
from relax_mlir import symbolic, te
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.frontend.onnx.dtypes import FLOATS
from relax_mlir.frontend.onnx.registry import Node, constant, normal_axis, rule
from relax_mlir.frontend.onnx.rules.convolution import windows_of
from relax_mlir.symbolic import Dim, Expr

# Resize images along one axis at a time; each new element is a weighted sum of old ones.
#
# Positions and weights depend only on sizes. They are computed at import if the sizes are known, else by the program,
# in float64 as in ONNX's reference.


@dataclass(frozen=True)
class _How:
    mode: str
    coordinates: str
    rounding: str
    cubic: float
    excludes_outside: bool
    antialias: bool
    extrapolation: float


@dataclass(frozen=True)
class _Axis:
    """One axis: its sizes, the scale if it is a number, and the region that is resized."""

    old: Dim
    new: Dim
    scale: float | None
    roi: tuple[float, float] | None


class _Arrays:
    """Arithmetic on known positions, with NumPy."""

    floor: Callable[..., Any] = staticmethod(np.floor)
    ceil: Callable[..., Any] = staticmethod(np.ceil)
    where: Callable[..., Any] = staticmethod(np.where)
    minimum: Callable[..., Any] = staticmethod(np.minimum)
    maximum: Callable[..., Any] = staticmethod(np.maximum)
    absolute: Callable[..., Any] = staticmethod(np.abs)

    @staticmethod
    def number(dim: Dim) -> Any:  # noqa: ANN401 - a number
        assert isinstance(dim, int)
        return np.float64(dim)

    @staticmethod
    def places(count: Dim) -> Any:  # noqa: ANN401 - an array
        assert isinstance(count, int)
        return np.arange(count, dtype=np.float64)

    @staticmethod
    def value(array: Any, dtype: str) -> Value:  # noqa: ANN401 - an array
        return constant(array, dtype)


class _Program:
    """Arithmetic on positions, by the program."""

    floor = staticmethod(R.floor)
    ceil = staticmethod(R.ceil)
    absolute = staticmethod(R.abs)

    @staticmethod
    def _wide(x: Any) -> Any:  # noqa: ANN401 - a value or a number
        return x if isinstance(x, Value) else constant(x, "float64")

    @classmethod
    def where(cls, condition: Any, x: Any, y: Any) -> Any:  # noqa: ANN401 - arrays or values
        return R.where(condition, cls._wide(x), cls._wide(y))

    @classmethod
    def minimum(cls, x: Any, y: Any) -> Any:  # noqa: ANN401 - arrays or values
        return R.minimum(cls._wide(x), cls._wide(y))

    @classmethod
    def maximum(cls, x: Any, y: Any) -> Any:  # noqa: ANN401 - arrays or values
        return R.maximum(cls._wide(x), cls._wide(y))

    @staticmethod
    def number(dim: Dim) -> Any:  # noqa: ANN401 - a value
        number = R.prim_to_tensor(R.prim_value(dim)) if isinstance(dim, Expr) else constant(dim, "int64")
        return R.astype(number, "float64")

    @staticmethod
    def places(count: Dim) -> Any:  # noqa: ANN401 - a value
        return R.astype(R.arange(0, count, 1, "int64"), "float64")

    @staticmethod
    def value(array: Any, dtype: str) -> Value:  # noqa: ANN401 - a value
        return R.astype(array, dtype) if isinstance(array, Value) else constant(array, dtype)


@rule("Upsample")
def _upsample(node: Node) -> Value:
    scales = node.constant(1).tolist() if node.opset >= 9 else node.required("scales")
    how = _How(node.attr("mode", "nearest"), "asymmetric", "floor", -0.75, False, False, 0.0)
    return _resized(node, how, _by_scales(node.shape(), list(range(node.rank())), scales, None))


@rule("Resize", until=10)
def _resize_of_opset_10(node: Node) -> Value:
    how = _How(node.attr("mode", "nearest"), "asymmetric", "floor", -0.75, False, False, 0.0)
    return _resized(node, how, _by_scales(node.shape(), list(range(node.rank())), node.constant(1).tolist(), None))


@rule("Resize", since=11)
def _resize(node: Node) -> Value:
    how = _How(
        node.attr("mode", "nearest"),
        node.attr("coordinate_transformation_mode", "half_pixel"),
        node.attr("nearest_mode", "round_prefer_floor"),
        node.attr("cubic_coeff_a", -0.75),
        bool(node.attr("exclude_outside", 0)),
        bool(node.attr("antialias", 0)),
        node.attr("extrapolation_value", 0.0),
    )
    axes = [normal_axis(axis, node.rank()) for axis in node.attr("axes") or range(node.rank())]
    roi = node.constant(1).tolist() if how.coordinates == "tf_crop_and_resize" else None
    if node.has(3) and node.shape(3) != (0,):
        needs = how.antialias or node.attr("keep_aspect_ratio_policy", "stretch") != "stretch"
        sizes = node.integers(3) if needs and node.known(3) is None else node.dims(3)
        return _resized(node, how, _by_sizes(node, axes, sizes, roi))
    if not node.has(2):
        raise ArgumentError("there are neither scales nor sizes")
    return _resized(node, how, _by_scales(node.shape(), axes, node.constant(2).tolist(), roi))


def _by_scales(
    shape: Sequence[Dim], axes: Sequence[int], scales: Sequence[float], roi: Sequence[float] | None
) -> dict[int, _Axis]:
    if len(scales) != len(axes):
        raise ArgumentError(f"{len(scales)} scales for {len(axes)} axes")
    found = {}
    for number, (axis, scale) in enumerate(zip(axes, scales, strict=True)):
        if not scale > 0 or not math.isfinite(scale):
            raise ArgumentError(f"the scale of axis {axis} is {scale}")
        exact = Fraction(scale)
        new = symbolic.floordiv(shape[axis] * exact.numerator, exact.denominator)
        found[axis] = _Axis(shape[axis], new, float(scale), _part(roi, number, len(axes)))
    return found


def _by_sizes(node: Node, axes: Sequence[int], sizes: Sequence[Dim], roi: Sequence[float] | None) -> dict[int, _Axis]:
    if len(sizes) != len(axes):
        raise ArgumentError(f"{len(sizes)} sizes for {len(axes)} axes")
    shape = node.shape()
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    common: float | None = None
    if policy != "stretch":
        ratios = []
        for axis, size in zip(axes, sizes, strict=True):
            old = shape[axis]
            if isinstance(size, Expr) or isinstance(old, Expr):
                raise node.unsupported(f"keep_aspect_ratio_policy {policy} with sizes that only a call tells")
            ratios.append(size / old)
        common = min(ratios) if policy == "not_larger" else max(ratios)
    found = {}
    for number, (axis, size) in enumerate(zip(axes, sizes, strict=True)):
        old = shape[axis]
        part = _part(roi, number, len(axes))
        if common is not None:
            assert isinstance(old, int)
            found[axis] = _Axis(old, int(common * old + 0.5), common, part)
        elif isinstance(size, Expr) or isinstance(old, Expr):
            found[axis] = _Axis(old, size, 1.0 if symbolic.prove_equal(size, old) else None, part)
        else:
            found[axis] = _Axis(old, size, size / old if old else 1.0, part)
    return found


def _part(roi: Sequence[float] | None, number: int, count: int) -> tuple[float, float] | None:
    return None if not roi else (roi[number], roi[number + count])


def _resized(node: Node, how: _How, axes: dict[int, _Axis]) -> Value:
    if how.mode not in ("nearest", "linear", "cubic"):
        raise ArgumentError(f"the mode is {how.mode!r}, expected nearest, linear or cubic")
    dtype = node.dtype()
    moves = how.mode == "nearest" and how.coordinates != "tf_crop_and_resize"
    inner = dtype if moves or dtype in ("float32", "float64") else "float32"
    x = node.tensor(0) if inner == dtype else R.astype(node.tensor(0), inner)
    for number, axis in axes.items():
        is_whole = axis.roi is None or axis.roi == (0.0, 1.0)
        if axis.scale is not None and math.isclose(axis.scale, 1.0) and axis.old == axis.new and is_whole:
            continue
        x = _along(x, number, axis, how, inner)
    if inner == dtype:
        return x
    if dtype in FLOATS:
        return R.astype(x, dtype)
    info = np.iinfo(dtype)
    held = R.maximum(R.minimum(x, constant(info.max, inner)), constant(info.min, inner))
    return R.astype(held, dtype)


def _along(x: Value, number: int, axis: _Axis, how: _How, dtype: str) -> Value:
    """Resize axis `number` of `x`."""
    if axis.new == 0:
        shape = list(x.tensor_info.known_shape or ())
        shape[number] = 0
        return R.full(shape, constant(0, dtype))
    is_known = isinstance(axis.old, int) and isinstance(axis.new, int)
    numbers: Any = _Arrays if is_known else _Program
    place = _place(numbers, axis, how)
    last = numbers.number(axis.old) - 1.0
    outside = (place < 0.0, place > last) if how.coordinates == "tf_crop_and_resize" else None
    taps = _taps(numbers, place, axis, how)
    rank = x.ndim or 0
    weights_shape: list[Dim] = [axis.new if i == number else 1 for i in range(rank)]
    if how.excludes_outside:
        taps = _without_outside(numbers, taps, last)
    total: Value | None = None
    for position, weight in taps:
        held = numbers.minimum(numbers.maximum(position, 0.0), last)
        part = R.take(x, numbers.value(held, "int64"), number)
        if weight is not None:
            part = R.multiply(part, R.reshape(numbers.value(weight, dtype), weights_shape))
        total = part if total is None else R.add(total, part)
    assert total is not None
    if outside is None:
        return total
    is_outside = outside[0] | outside[1]
    mask = is_outside if isinstance(is_outside, Value) else R.const(np.asarray(is_outside))
    return R.where(R.reshape(mask, weights_shape), constant(how.extrapolation, dtype), total)


def _place(numbers: Any, axis: _Axis, how: _How) -> Any:  # noqa: ANN401 - an array or a value
    """Return the position of each new element in old coordinates."""
    y = numbers.places(axis.new)
    old, new = numbers.number(axis.old), numbers.number(axis.new)
    scale = new / old if axis.scale is None else axis.scale
    width = new if axis.scale is None else old * axis.scale
    if how.coordinates == "asymmetric":
        return y / scale
    if how.coordinates == "align_corners":
        return numbers.where(width == 1.0, y * 0.0, y * (old - 1.0) / numbers.where(width == 1.0, 1.0, width - 1.0))
    if how.coordinates == "tf_crop_and_resize":
        if axis.roi is None:
            raise ArgumentError("tf_crop_and_resize needs roi")
        start, end = axis.roi
        reach = (old - 1.0) * (end - start)
        inside = numbers.where(
            width == 1.0, y * 0.0 + reach * 0.5, y * reach / numbers.where(width == 1.0, 1.0, width - 1.0)
        )
        return inside + (old - 1.0) * start
    if how.coordinates == "tf_half_pixel_for_nn":
        return (y + 0.5) / scale
    half = (y + 0.5) / scale - 0.5
    if how.coordinates == "half_pixel":
        return half
    if how.coordinates == "pytorch_half_pixel":
        return numbers.where(width == 1.0, y * 0.0 - 0.5, half)
    if how.coordinates == "half_pixel_symmetric":
        return half + old * 0.5 * (1.0 - new / width)
    raise ArgumentError(f"coordinate_transformation_mode is {how.coordinates!r}")


def _taps(numbers: Any, place: Any, axis: _Axis, how: _How) -> list[tuple[Any, Any]]:  # noqa: ANN401 - arrays or values
    """Return the positions of old elements, and their weights (None: 1)."""
    if how.mode == "nearest":
        return [(_rounded(numbers, place, how.rounding), None)]
    first = numbers.floor(place)
    ratio = place - first
    scale = 1.0
    if how.antialias:
        if axis.scale is None:
            raise ArgumentError("antialias with a scale that only a call tells is not supported")
        scale = min(axis.scale, 1.0)
    reach = 1 if how.mode == "linear" else 2
    start = math.floor(-reach / scale) + 1
    offsets = range(start, 2 - start)
    kernel = _triangle if how.mode == "linear" else _cubic
    taps = [
        (first + float(offset), kernel(numbers, numbers.absolute((ratio - float(offset)) * scale), how.cubic))
        for offset in offsets
    ]
    return _divided(taps) if how.antialias else taps


def _rounded(numbers: Any, place: Any, how: str) -> Any:  # noqa: ANN401 - an array or a value
    if how == "round_prefer_floor":
        return numbers.ceil(place - 0.5)
    if how == "round_prefer_ceil":
        return numbers.floor(place + 0.5)
    if how in ("floor", "ceil"):
        return numbers.floor(place) if how == "floor" else numbers.ceil(place)
    raise ArgumentError(f"nearest_mode is {how!r}")


def _triangle(numbers: Any, distance: Any, _: float) -> Any:  # noqa: ANN401 - arrays or values
    return numbers.maximum(1.0 - distance, 0.0)


def _cubic(numbers: Any, distance: Any, a: float) -> Any:  # noqa: ANN401 - arrays or values
    """Return Keys' cubic kernel."""
    near = ((a + 2.0) * distance - (a + 3.0)) * distance * distance + 1.0
    far = ((a * distance - 5.0 * a) * distance + 8.0 * a) * distance - 4.0 * a
    return numbers.where(distance <= 1.0, near, numbers.where(distance < 2.0, far, 0.0))


def _without_outside(numbers: Any, taps: list[tuple[Any, Any]], last: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - arrays or values
    """Set the weights outside of the axis to 0 and normalise the others to a sum of 1."""
    if any(weight is None for _, weight in taps):
        return taps
    kept = [(place, numbers.where((place >= 0.0) & (place <= last), weight, 0.0)) for place, weight in taps]
    total = kept[0][1]
    for _, weight in kept[1:]:
        total = total + weight
    safe = numbers.where(total == 0.0, 1.0, total)
    return [(place, weight / safe) for place, weight in kept]


def _divided(taps: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    total = taps[0][1]
    for _, weight in taps[1:]:
        total = total + weight
    return [(place, weight / total) for place, weight in taps]


# Object detection, and image sampling at positions given by tensors.


@rule("GridSample")
def _grid_sample(node: Node) -> Value:
    kinds = {
        "linear": "bilinear",
        "cubic": "bicubic",
        "bilinear": "bilinear",
        "bicubic": "bicubic",
        "nearest": "nearest",
    }
    mode = node.attr("mode", "linear" if node.opset >= 20 else "bilinear")
    if mode not in kinds:
        raise ArgumentError(f"the mode is {mode!r}, expected linear, cubic or nearest")
    rank = node.rank()
    grid = R.permute_dims(node.tensor(1), [0, rank - 1, *range(1, rank - 1)])
    return R.image.grid_sample(
        node.tensor(0),
        grid,
        kinds[mode],
        "NCHW" if rank == 4 else "NCDHW",
        node.attr("padding_mode", "zeros"),
        bool(node.attr("align_corners", 0)),
    )


@rule("NonMaxSuppression")
def _non_max_suppression(node: Node) -> Value:
    boxes, scores = node.tensor(0), node.tensor(1)
    count = int(node.scalar(2)) if node.has(2) else 0
    overlap = float(node.scalar(3)) if node.has(3) else 0.0
    least = float(node.scalar(4)) if node.has(4) else -math.inf
    if node.attr("center_point_box", 0):
        boxes = _corners(node, boxes)
    found = R.vision.all_class_non_max_suppression(boxes, scores, count, overlap, max(least, -3e38))
    (rows,) = node.converter.dims_of(R.tuple_get_item(found, 1))
    return R.strided_slice(R.tuple_get_item(found, 0), [0], [0], [rows])


def _corners(node: Node, boxes: Value) -> Value:
    """Convert boxes given by centre and size to two corners."""
    x, y, width, height = (R.strided_slice(boxes, [2], [k], [k + 1]) for k in range(4))
    half = node.const(0.5)
    across, down = R.multiply(width, half), R.multiply(height, half)
    corners = [R.subtract(y, down), R.subtract(x, across), R.add(y, down), R.add(x, across)]
    return R.concat(corners, 2)


@rule("RoiAlign")
def _roi_align(node: Node) -> Value:
    if node.attr("mode", "avg") != "avg":
        raise node.unsupported("mode max, by which ONNX takes the largest weighted neighbour, not the largest sample,")
    places = R.expand_dims(R.astype(node.tensor(2), node.dtype(1)), 1)
    rois = R.concat([places, node.tensor(1)], 1)
    how = node.attr("coordinate_transformation_mode", "half_pixel" if node.opset >= 16 else "output_half_pixel")
    return R.vision.roi_align(
        node.tensor(0),
        rois,
        [node.attr("output_height", 1), node.attr("output_width", 1)],
        node.attr("spatial_scale", 1.0),
        node.attr("sampling_ratio", 0),
        how == "half_pixel",
    )


@rule("Col2Im")
def _col2im(node: Node) -> Value:
    """Sum the blocks in columns into an image, the reverse of im2col."""
    image, block = node.dims(1), node.integers(2)
    windows = windows_of(node, block, image)
    batch, stacked, _ = node.shape()
    size = math.prod(block)
    counts = [
        (n + before + after - ((k - 1) * dilation + 1)) // stride + 1
        for n, k, stride, dilation, before, after in zip(
            image, block, windows.strides, windows.dilations, windows.before, windows.after, strict=True
        )
    ]
    blocks = R.reshape(node.tensor(0), [batch, stacked // size, *block, *counts])

    def summed(x: Any) -> Any:  # noqa: ANN401 - tensors of te
        taps = [te.reduce_axis((0, k), f"k{number}") for number, k in enumerate(block)]

        def value(n: Any, c: Any, *place: Any) -> Any:  # noqa: ANN401 - expressions of te
            tests, columns = [], []
            for i, tap, count, stride, dilation, before in zip(
                place, taps, counts, windows.strides, windows.dilations, windows.before, strict=True
            ):
                shifted = i + before - tap * dilation
                column = te.floordiv(shifted, stride)
                tests += [shifted >= 0, te.floormod(shifted, stride) == 0, column < count]
                columns.append(column)
            element = te.if_then_else(te.all(*tests), x(n, c, *taps, *columns), te.const(0, x.dtype))
            return te.sum(element, axis=taps)

        return te.compute([x.shape[0], x.shape[1], *image], value, name="col2im")

    result: Value = node.te(summed, blocks)
    return result


@rule("DeformConv")
def _deformable_convolution(node: Node) -> Value:
    """Convolve with taps displaced by a tensor of offsets, with bilinear interpolation."""
    if node.rank() != 4:
        raise node.unsupported("a deformable convolution of other than images")
    x, weight, offset = (node.tensor(i) for i in range(3))
    batch, channels, height, width = node.shape()
    kernel = [dim for dim in node.shape(1)[2:] if isinstance(dim, int)]
    windows = windows_of(node, kernel, node.shape()[2:])
    groups, offset_groups = node.attr("group", 1), node.attr("offset_group", 1)
    outputs, inner = node.shape(1)[:2]
    rows, columns = node.shape(2)[2:]
    if not all(isinstance(dim, int) for dim in (channels, outputs, inner)):
        raise ShapeError("numbers of channels must be known at import")
    places = R.reshape(offset, [batch, offset_groups, *kernel, 2, rows, columns])
    mask = node.maybe(4)
    if mask is not None:
        mask = R.reshape(mask, [batch, offset_groups, *kernel, rows, columns])

    def sampled(data: Any, beside: Any) -> Any:  # noqa: ANN401 - tensors of te
        per_group = channels // offset_groups

        def value(n: Any, c: Any, kh: Any, kw: Any, i: Any, j: Any) -> Any:  # noqa: ANN401 - expressions of te
            group = te.floordiv(c, per_group)
            top = te.cast(data.dtype, i * windows.strides[0] + kh * windows.dilations[0] - windows.before[0])
            left = te.cast(data.dtype, j * windows.strides[1] + kw * windows.dilations[1] - windows.before[1])
            y = top + beside(n, group, kh, kw, 0, i, j)
            z = left + beside(n, group, kh, kw, 1, i, j)
            y0, z0 = te.floor(y), te.floor(z)
            total: Any = None
            for dy in (0, 1):
                for dz in (0, 1):
                    row, column = te.cast("int64", y0) + dy, te.cast("int64", z0) + dz
                    share = (y - y0 if dy else 1.0 - (y - y0)) * (z - z0 if dz else 1.0 - (z - z0))
                    inside = te.all(row >= 0, row < height, column >= 0, column < width)
                    part = te.if_then_else(inside, data(n, c, row, column), te.const(0, data.dtype)) * share
                    total = part if total is None else total + part
            return total

        shape = [batch, channels, *kernel, rows, columns]
        return te.compute(shape, value, name="deformed")

    taps: Value = node.te(sampled, x, places)
    if mask is not None:
        spread = R.repeat(mask, channels // offset_groups, 1)
        taps = R.multiply(taps, spread)
    size = inner * math.prod(kernel)
    lines = R.reshape(taps, [batch, groups, size, rows * columns])
    filters = R.reshape(weight, [1, groups, outputs // groups, size])
    result = R.reshape(R.matmul(filters, lines), [batch, outputs, rows, columns])
    return R.add(result, R.reshape(node.tensor(3), [outputs, 1, 1])) if node.has(3) else result
