"""Ops that move elements: transposes, joins, splits, and blocks of pixels."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.value import Value
from relax_mlir.error import ShapeError
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
    """Tensors joined along `axis`; their other dimensions are taken to be equal, which a call checks."""
    if len(values) == 1:
        return values[0]
    first = values[0].tensor_info.known_shape
    assert first is not None
    joined = [values[0]]
    for value in values[1:]:
        shape = value.tensor_info.known_shape
        assert shape is not None
        if len(shape) != len(first):
            raise ShapeError(f"tensors of rank {len(first)} and {len(shape)} cannot be joined")
        pattern: list[Dim] = [
            dim if i == axis or isinstance(dim, int) or symbolic.prove_equal(dim, wanted) else wanted
            for i, (dim, wanted) in enumerate(zip(shape, first, strict=True))
        ]
        joined.append(value if pattern == list(shape) else R.match_shape(value, pattern))
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
    outputs = []
    start: Dim = 0
    for part in parts:
        outputs.append(R.strided_slice(x, [axis], [start], [start + part], assume_inbound=True))
        start = start + part
    return outputs


def equal_parts(size: Dim, count: int) -> list[Dim]:
    """`count` parts of a dimension, all but the last of which are of the same size."""
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
