"""Object detection, and image sampling at positions given by tensors."""

from __future__ import annotations

import math
from typing import Any

from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.frontend.onnx.windows import windows_of


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
        raise node.unsupported(
            "mode max, by which ONNX takes the largest weighted neighbour, not the largest sample,"
        )
    places = R.expand_dims(R.astype(node.tensor(2), node.dtype(1)), 1)
    rois = R.concat([places, node.tensor(1)], 1)
    how = node.attr(
        "coordinate_transformation_mode", "half_pixel" if node.opset >= 16 else "output_half_pixel"
    )
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
