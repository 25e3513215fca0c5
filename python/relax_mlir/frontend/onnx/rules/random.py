"""Random numbers, from the program's generator or from nodes' seeds; dropout."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.frontend.onnx.branches import flag
from relax_mlir.frontend.onnx.dtypes import dtype_name
from relax_mlir.frontend.onnx.registry import Node, constant, rule
from relax_mlir.symbolic import Dim


@rule("RandomUniform")
def _uniform(node: Node) -> Value:
    return _uniform_of(node, _shape(node), _dtype(node, "float32"))


@rule("RandomUniformLike")
def _uniform_like(node: Node) -> Value:
    return _uniform_of(node, node.shape(), _dtype(node, node.dtype()))


@rule("RandomNormal")
def _normal(node: Node) -> Value:
    return _normal_of(node, _shape(node), _dtype(node, "float32"))


@rule("RandomNormalLike")
def _normal_like(node: Node) -> Value:
    return _normal_of(node, node.shape(), _dtype(node, node.dtype()))


def _uniform_of(node: Node, shape: Sequence[Dim], dtype: str) -> Value:
    low, high = node.attr("low", 0.0), node.attr("high", 1.0)
    return _drawn(node, lambda state: R.random.uniform(state, list(shape), low, high, dtype))


def _normal_of(node: Node, shape: Sequence[Dim], dtype: str) -> Value:
    mean, scale = node.attr("mean", 0.0), node.attr("scale", 1.0)
    return _drawn(node, lambda state: R.random.normal(state, list(shape), mean, scale, dtype))


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
    scale = R.astype(
        R.divide(constant(1, "float32"), R.subtract(constant(1, "float32"), ratio)), node.dtype()
    )
    return [R.multiply(node.tensor(0), R.multiply(R.astype(kept, node.dtype()), scale)), kept]
