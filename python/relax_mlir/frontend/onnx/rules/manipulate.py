"""Shapes as values, and ops that change shapes, move elements, or pad."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.types import shape_text
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.frontend.onnx.items import TensorItem, elements, of_dims
from relax_mlir.frontend.onnx.registry import Node, broadcast_shape, matched, normal_axis, rule, wanted_dims
from relax_mlir.symbolic import Dim, Expr

# Shapes as values, and ops that change the shape of a tensor.


@rule("Shape")
def _shape(node: Node) -> TensorItem:
    shape = node.shape()
    part = slice(node.attr("start", 0), node.attr("end"))
    return of_dims(shape[part])


@rule("Size")
def _size(node: Node) -> TensorItem:
    return TensorItem("int64", None, elements([symbolic.product(node.shape())], ()))


@rule("Reshape")
def _reshape(node: Node) -> Value:
    return R.reshape(node.tensor(0), _reshaped(node))


def _reshaped(node: Node) -> Sequence[Dim]:
    """Return the dimensions of a reshape, in which 0 denotes the input's dimension and -1 the rest."""
    keeps_zero = bool(node.attr("allowzero", 0))
    if not node.has(1):
        wanted: Sequence[Dim] = node.required("shape")
    elif node.known(1) is not None:
        wanted = node.dims(1)
    else:
        return _computed_shape(node, keeps_zero)
    shape = node.shape()
    dims: list[Dim] = [
        shape[i] if isinstance(dim, int) and dim == 0 and not keeps_zero and i < len(shape) else dim
        for i, dim in enumerate(wanted)
    ]
    if -1 not in dims:
        return dims
    rest = symbolic.product([dim for dim in dims if not (isinstance(dim, int) and dim == -1)])
    total = symbolic.product(shape)
    place = dims.index(-1)
    if isinstance(rest, int) and rest == 0:
        raise ShapeError(f"-1 in {tuple(map(str, dims))} cannot be told beside a dimension 0")
    dims[place] = symbolic.floordiv(total, rest) if rest != 1 else total
    return dims


def _computed_shape(node: Node, keeps_zero: bool) -> list[Dim]:
    """Return a shape that is unknown at import, as symbols."""
    wanted = R.astype(node.tensor(1), "int64")
    (count,) = node.shape(1)
    if not isinstance(count, int):
        raise node.needs_value(1, "the number of elements")
    shape = node.shape()
    given = R.shape_to_tensor(R.shape_expr([*shape, *[1] * count][:count]))
    zero, one, minus = (R.const(np.int64(number)) for number in (0, 1, -1))
    if not keeps_zero:
        wanted = R.where(R.equal(wanted, zero), given, wanted)
    is_rest = R.equal(wanted, minus)
    others = R.prod(R.where(is_rest, one, wanted))
    total = R.prim_to_tensor(R.prim_value(symbolic.product(shape)))
    rest = R.floor_divide(total, R.maximum(others, one))
    return node.converter.dims_of(R.where(is_rest, rest, wanted))


@rule("Flatten")
def _flatten(node: Node) -> Value:
    shape, axis = node.shape(), node.attr("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    if not 0 <= axis <= len(shape):
        raise ShapeError(f"axis {axis} is none of a tensor of rank {len(shape)}")
    return R.reshape(node.tensor(0), [symbolic.product(shape[:axis]), symbolic.product(shape[axis:])])


@rule("Squeeze")
def _squeeze(node: Node) -> Value:
    axes = node.integers(1) if node.has(1) else node.attr("axes")
    shape = node.shape()
    if axes is None:
        if any(isinstance(dim, Expr) for dim in shape):
            raise ShapeError(f"which dimensions of {tuple(map(str, shape))} are 1 is not known at import: give axes")
        axes = [axis for axis, dim in enumerate(shape) if dim == 1]
    axes = [normal_axis(axis, len(shape)) for axis in axes]
    x = node.tensor(0)
    pattern = [1 if axis in axes and isinstance(dim, Expr) else dim for axis, dim in enumerate(shape)]
    if pattern != list(shape):
        x = R.match_shape(x, pattern)
    return R.squeeze(x, axes) if axes else x


@rule("Unsqueeze")
def _unsqueeze(node: Node) -> Value:
    axes = node.integers(1) if node.has(1) else node.required("axes")
    rank = node.rank() + len(axes)
    places = sorted(normal_axis(axis, rank) for axis in axes)
    if len(set(places)) < len(places):
        raise ShapeError(f"axes {axes} name an axis twice")
    shape: list[Dim] = list(node.shape())
    for place in places:
        shape.insert(place, 1)
    return R.reshape(node.tensor(0), shape)


@rule("Expand")
def _expand(node: Node) -> Value:
    target = node.dims(1)
    shape = broadcast_shape(node.shape(), target)
    x = node.tensor(0)
    lead = len(shape) - node.rank()
    pattern = [
        wanted if isinstance(dim, Expr) and not symbolic.prove_equal(dim, wanted) else dim
        for dim, wanted in zip(node.shape(), shape[lead:], strict=True)
    ]
    if pattern != list(node.shape()):
        x = R.match_shape(x, pattern)
    return R.broadcast_to(x, shape)


@rule("Tile", since=6)
def _tile(node: Node) -> Value:
    from relax_mlir import topi

    counts = node.dims(1)
    if all(isinstance(count, int) for count in counts):
        return R.tile(node.tensor(0), [int(count) for count in counts])  # type: ignore[arg-type]  # as checked
    result: Value = node.te(topi.tile, node.tensor(0), counts)
    return result


# Ops that move elements: transposes, concatenations, splits, and blocks of pixels.


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


# Padding, and cropping around a centre.


_MODES = ("constant", "reflect", "edge", "wrap")


@rule("Pad")
def _pad(node: Node) -> Value:
    rank = node.rank()
    mode = node.attr("mode", "constant")
    axes = list(range(rank))
    if node.opset < 11:
        pads: list[Dim] = list(node.attr("pads") or node.required("paddings"))
        filling = node.const(node.attr("value", 0.0))
    else:
        if node.has(3):
            axes = [normal_axis(axis, rank) for axis in node.integers(3)]
        pads = node.dims(1)
        filling = R.reshape(node.tensor(2), ()) if node.has(2) else node.const(0)
    if len(pads) != 2 * len(axes):
        raise ArgumentError(f"{len(pads)} pads for {len(axes)} axes")
    before: list[Dim] = [0] * rank
    after: list[Dim] = [0] * rank
    for number, axis in enumerate(axes):
        before[axis], after[axis] = pads[number], pads[number + len(axes)]
    return padded(node, node.tensor(0), before, after, mode, filling)


def padded(
    node: Node,
    x: Value,
    before: list[Dim],
    after: list[Dim],
    mode: str = "constant",
    filling: Value | None = None,
) -> Value:
    """Pad `x` by the given number of elements before and after each dimension; negative numbers crop."""
    x, before, after = _cropped(x, before, after)
    if all(amount == 0 for amount in (*before, *after)):
        return x
    if mode not in _MODES:
        raise ArgumentError(f"the mode is {mode!r}, expected {', '.join(_MODES)}")
    fill = 0.0 if filling is None or mode != "constant" else filling
    return R.nn.pad(x, list(zip(before, after, strict=True)), mode, fill)


def _cropped(x: Value, before: list[Dim], after: list[Dim]) -> tuple[Value, list[Dim], list[Dim]]:
    """Crop `x` by the negative pads; return it with the remaining pads."""
    shape = x.tensor_info.known_shape
    assert shape is not None
    axes = [
        axis
        for axis, pads in enumerate(zip(before, after, strict=True))
        if any(isinstance(amount, int) and amount < 0 for amount in pads)
    ]
    if not axes:
        return x, before, after
    starts: list[Dim] = [_cut(before[axis]) for axis in axes]
    ends: list[Dim] = [shape[axis] - _cut(after[axis]) for axis in axes]
    cut = R.strided_slice(x, axes, starts, ends)
    return cut, [_kept(amount) for amount in before], [_kept(amount) for amount in after]


def _cut(amount: Dim) -> int:
    return -amount if isinstance(amount, int) and amount < 0 else 0


def _kept(amount: Dim) -> Dim:
    return 0 if isinstance(amount, int) and amount < 0 else amount
