"""Constants, ranges, tensors filled by a rule, and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.dialects.effects import literal_format
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.frontend.onnx.converter import flag
from relax_mlir.frontend.onnx.dtypes import dtype_name
from relax_mlir.frontend.onnx.items import TensorItem, of_array
from relax_mlir.frontend.onnx.registry import Node, constant, place_of, rule
from relax_mlir.symbolic import Dim, Expr


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


# Random numbers, from the program's generator or from nodes' seeds; dropout.


@rule("RandomUniform", "RandomUniformLike")
def _uniform(node: Node) -> Value:
    shape, dtype = _result(node)
    low, high = node.attr("low", 0.0), node.attr("high", 1.0)
    return _drawn(node, lambda state: R.random.uniform(state, shape, low, high, dtype))


@rule("RandomNormal", "RandomNormalLike")
def _normal(node: Node) -> Value:
    shape, dtype = _result(node)
    mean, scale = node.attr("mean", 0.0), node.attr("scale", 1.0)
    return _drawn(node, lambda state: R.random.normal(state, shape, mean, scale, dtype))


def _result(node: Node) -> tuple[list[Dim], str]:
    """Return the shape and dtype of the result: from attributes, or from the input of an op ``…Like``."""
    if node.op.endswith("Like"):
        return list(node.shape()), _dtype(node, node.dtype())
    return list(_shape(node)), _dtype(node, "float32")


def _shape(node: Node) -> list[int]:
    shape: list[int] = node.required("shape")
    if any(size < 0 for size in shape):
        raise ShapeError(f"the shape is {shape}, expected sizes, not negative")
    return shape


def _dtype(node: Node, default: str) -> str:
    """Return the node's dtype, which must be a float."""
    code = node.attr("dtype")
    found = default if code is None else dtype_name(code, "the result")
    if not found.startswith(("float", "bfloat")):
        raise node.unsupported(f"a distribution of floats as {found}")
    return found


def _drawn(node: Node, draw: Callable[[Value], tuple[Value, Value]]) -> Value:
    return node.converter.random.draw(node.bb, draw, node.attr("seed"))


@rule("Bernoulli")
def _bernoulli(node: Node) -> Value:
    code = node.attr("dtype")
    wanted = node.dtype() if code is None else dtype_name(code, "the result")
    return R.astype(_drawn(node, lambda state: R.random.bernoulli(state, node.tensor(0))), wanted)


@rule("Multinomial")
def _multinomial(node: Node) -> Value:
    """Sample by counting the cumulative probabilities (from their logarithms) that a random number reaches."""
    if node.rank() != 2:
        raise ShapeError(f"input 0 has rank {node.rank()}, expected 2")
    wanted = dtype_name(node.attr("dtype", 6), "the result")
    batch, _ = node.shape()
    count: int = node.attr("sample_size", 1)
    sums = R.cumsum(R.nn.softmax(R.astype(node.tensor(0), "float64"), 1), 1)
    total = R.max(sums, [1], True)
    numbers = _drawn(node, lambda state: R.random.uniform(state, [batch, count], dtype="float32"))
    edges = R.expand_dims(R.multiply(R.astype(numbers, "float64"), total), 2)
    reached = R.less_equal(R.expand_dims(sums, 1), edges)
    return R.astype(R.sum(R.astype(reached, "int64"), [2]), wanted)


@rule("Dropout")
def _dropout(node: Node) -> list[Value]:
    """In training, set elements to 0 with probability `ratio` and scale the others by ``1 / (1 - ratio)``."""
    training = node.known(2) if node.has(2) else np.asarray(False)
    ratio = (node.known(1) if node.has(1) else np.asarray(0.5)) if node.opset >= 12 else None
    if ratio is not None and not 0 <= float(ratio.reshape(-1)[0]) < 1:
        raise ArgumentError(f"the ratio is {float(ratio.reshape(-1)[0])}, expected [0, 1)")
    never = ratio is not None and not ratio.any()
    if never or (training is not None and not training.any()):
        return _unchanged(node)
    if training is not None:
        return _dropped(node)
    node.converter.leave_open()
    converter = node.converter

    def in_training() -> Value:
        with converter.block():
            return R.make_tuple(*_dropped(node), converter.random.now)

    def else_() -> Value:
        with converter.block():
            return R.make_tuple(*_unchanged(node), converter.random.now)

    both = R.if_then_else(flag(node, 2), in_training, else_)
    converter.random.now = R.tuple_get_item(both, 2)
    return [R.tuple_get_item(both, 0), R.tuple_get_item(both, 1)]


def _unchanged(node: Node) -> list[Value]:
    """Return the input itself, with a mask that keeps all elements."""
    dims = list(node.shape())
    mask = R.full(dims, constant(True, "bool")) if dims else constant(True, "bool")
    return [node.tensor(0), R.astype(mask, node.dtype()) if node.opset < 10 else mask]


def _dropped(node: Node) -> list[Value]:
    numbers = _drawn(node, lambda state: R.random.uniform(state, list(node.shape()), dtype="float32"))
    ratio = R.astype(R.reshape(node.tensor(1), ()), "float32") if node.has(1) else constant(0.5, "float32")
    kept = R.greater_equal(numbers, ratio)
    scale = R.astype(R.divide(constant(1, "float32"), R.subtract(constant(1, "float32"), ratio)), node.dtype())
    return [R.multiply(node.tensor(0), R.multiply(R.astype(kept, node.dtype()), scale)), kept]
