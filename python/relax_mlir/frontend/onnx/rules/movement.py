"""Ops that move elements: transposes, concatenations, splits, and blocks of pixels."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.types import shape_text
from relax_mlir.dialects.value import Value
from relax_mlir.error import ShapeError
from relax_mlir.frontend.onnx.aligned_operands import matched, wanted_dims
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.symbolic import Dim


@rule("Transpose")
def _transpose(node: Node) -> Value:
    return R.permute_dims(node.tensor(0), node.attr("perm"))


@rule("Concat")
def _concat(node: Node) -> Value:
    return concatenated(node.tensors, node.axis(default=1 if node.opset < 4 else 0))


def concatenated(values: list[Value], axis: int) -> Value:
    """Concatenate tensors along `axis`; each call checks that the other dimensions are equal."""
    if len(values) == 1:
        return values[0]
    shapes: list[tuple[Dim, ...]] = []
    for value in values:
        shape = value.tensor_info.known_shape
        assert shape is not None
        if shapes and len(shape) != len(shapes[0]):
            raise ShapeError(f"tensors of rank {len(shapes[0])} and {len(shape)} cannot be joined")
        shapes.append(shape)
    target = wanted_dims(shapes)
    joined = [
        matched(value, [*target[:axis], shape[axis], *target[axis + 1 :]])
        for value, shape in zip(values, shapes, strict=True)
    ]
    return R.concat(joined, axis)


@rule("Split")
def _split(node: Node) -> list[Value]:
    x, axis, count = node.tensor(0), node.axis(), len(node.proto.output)
    size = node.shape()[axis]
    if node.has(1) or node.attr("split") is not None:
        parts = node.dims(1) if node.has(1) else node.attr("split")
    else:
        parts = equal_parts(size, node.attr("num_outputs", count))
    if len(parts) < count:
        raise ShapeError(f"{len(parts)} parts for {count} outputs")
    total = sum(parts, symbolic.to_dim(0))
    if symbolic.prove_not_equal(total, size) or any(isinstance(part, int) and part < 0 for part in parts):
        raise ShapeError(f"parts {shape_text(parts)} of dimension {axis}, whose size is {size}")
    if not symbolic.prove_equal(total, size):
        x = R.match_shape(x, [total if number == axis else dim for number, dim in enumerate(node.shape())])
    outputs = []
    start: Dim = 0
    for part in parts:
        outputs.append(R.strided_slice(x, [axis], [start], [start + part], assume_inbound=True))
        start = start + part
    return outputs


def equal_parts(size: Dim, count: int) -> list[Dim]:
    """Split a dimension into `count` parts of equal size, except for the last."""
    if symbolic.prove_divisible(size, count):
        return [symbolic.floordiv(size, count)] * count
    part = symbolic.ceildiv(size, count)
    return [part] * (count - 1) + [size - part * (count - 1)]


@rule("DepthToSpace")
def _depth_to_space(node: Node) -> Value:
    b, c, h, w = node.shape()
    size = node.required("blocksize")
    if not symbolic.prove_divisible(c, size * size):
        raise ShapeError(f"{c} channels are not known to be blocks of {size} by {size}")
    rest = symbolic.floordiv(c, size * size)
    if node.attr("mode", "DCR") == "DCR":
        x = R.permute_dims(R.reshape(node.tensor(0), [b, size, size, rest, h, w]), [0, 3, 4, 1, 5, 2])
    else:
        x = R.permute_dims(R.reshape(node.tensor(0), [b, rest, size, size, h, w]), [0, 1, 4, 2, 5, 3])
    return R.reshape(x, [b, rest, h * size, w * size])


@rule("SpaceToDepth")
def _space_to_depth(node: Node) -> Value:
    b, c, h, w = node.shape()
    size = node.required("blocksize")
    rows, columns = symbolic.floordiv(h, size), symbolic.floordiv(w, size)
    x = R.reshape(node.tensor(0), [b, c, rows, size, columns, size])
    order = [0, 3, 5, 1, 2, 4] if node.attr("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    return R.reshape(R.permute_dims(x, order), [b, c * (size * size), rows, columns])
