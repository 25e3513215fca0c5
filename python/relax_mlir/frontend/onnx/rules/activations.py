"""Activation functions, softmax and related ops."""

from __future__ import annotations

import math
from collections.abc import Callable

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.frontend.onnx.registry import rule


@rule("Relu")
def _relu(node: Node) -> Value:
    return R.nn.relu(node.tensor(0))


@rule("LeakyRelu")
def _leaky_relu(node: Node) -> Value:
    x = node.tensor(0)
    return R.where(R.less(x, node.const(0)), R.multiply(x, node.const(node.attr("alpha", 0.01))), x)


@rule("PRelu")
def _prelu(node: Node) -> Value:
    x, slope = node.tensor(0), node.tensor(1)
    if node.opset < 7 and node.rank(1) == 1 and node.rank(0) > 2 and node.shape(1) != (1,):
        slope = R.reshape(slope, [*node.shape(1), *[1] * (node.rank(0) - 2)])
    return R.where(R.less(x, node.const(0)), R.multiply(x, slope), x)


@rule("Elu")
def _elu(node: Node) -> Value:
    return exponential_below_zero(node, node.attr("alpha", 1.0))


@rule("Selu")
def _selu(node: Node) -> Value:
    gamma = node.attr("gamma", 1.05070102214813232421875)
    inner = exponential_below_zero(node, node.attr("alpha", 1.67326319217681884765625))
    return R.multiply(inner, node.const(gamma))


@rule("Celu")
def _celu(node: Node) -> Value:
    alpha = node.attr("alpha", 1.0)
    return exponential_below_zero(node, alpha, alpha)


def exponential_below_zero(node: Node, alpha: float, divisor: float = 1.0) -> Value:
    """Return x where it is positive, else alpha·(exp(x / divisor) - 1)."""
    x = node.tensor(0)
    below = R.minimum(x, node.const(0))
    scaled = below if divisor == 1.0 else R.divide(below, node.const(divisor))
    curve = R.multiply(R.subtract(R.exp(scaled), node.const(1)), node.const(alpha))
    return R.where(R.greater(x, node.const(0)), x, curve)


@rule("ThresholdedRelu")
def _thresholded_relu(node: Node) -> Value:
    x = node.tensor(0)
    return R.where(R.greater(x, node.const(node.attr("alpha", 1.0))), x, node.const(0))


@rule("HardSigmoid")
def _hard_sigmoid(node: Node) -> Value:
    return hard_sigmoid(node, node.attr("alpha", 0.2), node.attr("beta", 0.5))


@rule("HardSwish")
def _hard_swish(node: Node) -> Value:
    return R.multiply(node.tensor(0), hard_sigmoid(node, 1 / 6, 0.5))


def hard_sigmoid(node: Node, alpha: float, beta: float) -> Value:
    x = R.add(R.multiply(node.tensor(0), node.const(alpha)), node.const(beta))
    return R.maximum(R.minimum(x, node.const(1)), node.const(0))


@rule("Softplus")
def _softplus(node: Node) -> Value:
    return softplus(node, node.tensor(0))


def softplus(node: Node, x: Value) -> Value:
    """Return log(1 + exp(x)) without overflow."""
    return R.log_add_exp(x, node.const(0))


@rule("Mish")
def _mish(node: Node) -> Value:
    x = node.tensor(0)
    return R.multiply(x, R.tanh(softplus(node, x)))


@rule("Softsign")
def _softsign(node: Node) -> Value:
    x = node.tensor(0)
    return R.divide(x, R.add(R.abs(x), node.const(1)))


@rule("Gelu")
def _gelu(node: Node) -> Value:
    return (R.nn.gelu_tanh if node.attr("approximate", "none") == "tanh" else R.nn.gelu)(node.tensor(0))


@rule("Swish")
def _swish(node: Node) -> Value:
    x = node.tensor(0)
    alpha = node.attr("alpha", 1.0)
    return R.nn.silu(x) if alpha == 1.0 else R.multiply(x, R.sigmoid(R.multiply(x, node.const(alpha))))


@rule("Shrink")
def _shrink(node: Node) -> Value:
    x, bias, edge = node.tensor(0), node.const(node.attr("bias", 0.0)), node.attr("lambd", 0.5)
    above = R.where(R.greater(x, node.const(edge)), R.subtract(x, bias), node.const(0))
    return R.where(R.less(x, node.const(-edge)), R.add(x, bias), above)


@rule("Softmax", since=13)
def _softmax(node: Node) -> Value:
    return R.nn.softmax(node.tensor(0), node.axis(default=-1))


@rule("LogSoftmax", since=13)
def _log_softmax(node: Node) -> Value:
    return R.nn.log_softmax(node.tensor(0), node.axis(default=-1))


@rule("Softmax", until=12)
def _softmax_of_rows(node: Node) -> Value:
    return _on_rows(node, R.nn.softmax)


@rule("LogSoftmax", until=12)
def _log_softmax_of_rows(node: Node) -> Value:
    return _on_rows(node, R.nn.log_softmax)


@rule("Hardmax", until=12)
def _hardmax_of_rows(node: Node) -> Value:
    return _on_rows(node, lambda x, axis: _hardmax_along(node, x, axis))


@rule("Hardmax", since=13)
def _hardmax(node: Node) -> Value:
    return _hardmax_along(node, node.tensor(0), node.axis(default=-1))


def _hardmax_along(node: Node, x: Value, axis: int) -> Value:
    """Return 1 at the first of the largest elements along `axis`, 0 at the others."""
    info = x.tensor_info
    assert info.known_shape is not None
    axis %= len(info.known_shape)
    size = info.known_shape[axis]
    places = R.reshape(
        R.arange(0, size, 1, "int64"), [size if i == axis else 1 for i in range(info.ndim or 1)]
    )
    first = R.argmax(x, axis, True)
    return R.astype(R.equal(R.astype(first, "int64"), places), node.dtype())


def _on_rows(node: Node, function: Callable[[Value, int], Value]) -> Value:
    """Apply `function` to the rows of a matrix that flattens all axes from `axis` on: the semantics before opset 13."""
    shape, axis = node.shape(), node.axis(default=1)
    if axis == len(shape) - 1:
        return function(node.tensor(0), axis)
    rows, columns = math.prod(shape[:axis]), math.prod(shape[axis:])
    return R.reshape(function(R.reshape(node.tensor(0), [rows, columns]), 1), list(shape))
