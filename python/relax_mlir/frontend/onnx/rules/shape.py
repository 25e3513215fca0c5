"""Shapes as values, and ops that change the shape of a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.value import Value
from relax_mlir.error import ShapeError
from relax_mlir.frontend.onnx.aligned_operands import broadcast_shape
from relax_mlir.frontend.onnx.items import TensorItem, elements, of_dims
from relax_mlir.frontend.onnx.node import Node, normal_axis
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.symbolic import Dim, Expr


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
            raise ShapeError(
                f"which dimensions of {tuple(map(str, shape))} are 1 is not known at import: give axes"
            )
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
