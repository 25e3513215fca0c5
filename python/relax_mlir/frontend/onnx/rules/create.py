"""Constants, ranges, and tensors filled by a rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.dialects.effects import literal_format
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.frontend.onnx.dtypes import dtype_name
from relax_mlir.frontend.onnx.items import TensorItem, of_array
from relax_mlir.frontend.onnx.registry import Node, constant, place_of, rule
from relax_mlir.symbolic import Expr


@rule("Constant")
def _constant(node: Node) -> TensorItem:
    for attribute in node.proto.attribute:
        if attribute.name == "value":
            return node.converter.arrays.of_tensor(attribute.t)
        if attribute.name == "sparse_value":
            return node.converter.arrays.of_sparse(attribute.sparse_tensor)
        kinds = {
            "value_float": np.float32,
            "value_floats": np.float32,
            "value_int": np.int64,
            "value_ints": np.int64,
        }
        if attribute.name in kinds:
            return of_array(np.asarray(node.attr(attribute.name), kinds[attribute.name]))
    raise ArgumentError("the constant has no value that is a tensor of numbers")


@rule("ConstantOfShape")
def _constant_of_shape(node: Node) -> Value:
    value = node.attr("value")
    filling = np.zeros(1, np.float32) if value is None else np.asarray(value)
    number = R.const(filling.reshape(-1)[0].reshape(()))
    dims = node.dims(0)
    return R.full(dims, number) if dims else number


@rule("Range")
def _range(node: Node) -> Value:
    dtype = node.dtype()
    known = [node.known(i) for i in range(3)]
    if dtype.startswith("int") and all(k is not None for k in known) and not node.tensor_item(2).is_symbolic:
        start, limit, delta = (dims[0] for dims in map(node.dims, range(3)))
        assert isinstance(delta, int)
        return R.arange(start, limit, delta, dtype)
    first, last, step = (R.reshape(value, ()) for value in node.tensors)
    wide = "float64" if dtype.startswith("float") else "int64"
    distance = R.subtract(R.astype(last, wide), R.astype(first, wide))
    if wide == "float64":
        steps = R.ceil(R.divide(distance, R.astype(step, wide)))
    else:
        steps = R.negative(R.floor_divide(R.negative(distance), R.astype(step, wide)))
    count = R.astype(R.maximum(steps, constant(0, wide)), "int64")
    (size,) = node.converter.dims_of(R.reshape(count, (1,)))
    numbers = R.astype(R.arange(0, size, 1, "int64"), dtype)
    return R.add(first, R.multiply(numbers, step))


@rule("EyeLike")
def _eye_like(node: Node) -> Value:
    rows, columns = node.shape()
    code = node.attr("dtype")
    dtype = node.dtype() if code is None else dtype_name(code, "the result")
    return R.eye(rows, columns, node.attr("k", 0), dtype)


@rule("Trilu")
def _trilu(node: Node) -> Value:
    upper = bool(node.attr("upper", 1))
    if not node.has(1) or node.known(1) is not None:
        k = int(node.scalar(1)) if node.has(1) else 0
        return (R.triu if upper else R.tril)(node.tensor(0), k)

    def kept(x: Any, k: Any) -> Any:  # noqa: ANN401 - tensors of te
        def value(*i: Any) -> Any:  # noqa: ANN401 - expressions of te
            offset = te.cast("int64", i[-1]) - te.cast("int64", i[-2])
            inside = offset >= k() if upper else offset <= k()
            return te.select(inside, x(*i), te.const(0, x.dtype))

        return te.compute(x.shape, value, name="trilu")

    result: Value = node.te(kept, node.tensor(0), R.reshape(node.tensor(1), ()))
    return result


@rule("OneHot")
def _one_hot(node: Node) -> Value:
    axis = node.attr("axis", -1)
    rank = node.rank(0)
    axis = axis + rank + 1 if axis < 0 else axis
    (depth,) = _one_dim(node, 1)
    if not isinstance(depth, Expr) and depth < 1:
        raise ShapeError(f"the depth (input 1) is {depth}, expected at least 1")
    indices = R.astype(node.tensor(0), "int64")
    size = R.prim_to_tensor(R.prim_value(depth)) if isinstance(depth, Expr) else R.const(np.int64(depth))
    if isinstance(depth, Expr):
        message = f"{place_of(node.proto)}: the depth (input 1) is 0, expected at least 1"
        R.assert_op(R.greater(size, R.const(np.int64(0))), format=literal_format(message))
    wrapped = R.where(R.less(indices, R.const(np.int64(0))), R.add(indices, size), indices)
    places = R.reshape(R.arange(0, depth, 1, "int64"), [depth if i == axis else 1 for i in range(rank + 1)])
    is_hot = R.equal(R.expand_dims(wrapped, axis), places)
    off, on = R.split(node.tensor(2), 2, 0)[0], R.split(node.tensor(2), 2, 0)[1]
    return R.where(is_hot, on, off)


def _one_dim(node: Node, index: int) -> list[Any]:
    """Return a tensor of one element as a dimension."""
    if node.known(index) is not None:
        return node.dims(index)
    return node.converter.dims_of(R.astype(R.reshape(node.tensor(index), (1,)), "int64"))
