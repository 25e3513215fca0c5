"""Normalisations."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.onnx.node import Node, constant
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.symbolic import Dim


@rule("BatchNormalization")
def _batch_normalization(node: Node) -> list[Value | None]:
    x, scale, bias, mean, variance = (node.tensor(i) for i in range(5))
    epsilon, momentum = node.attr("epsilon", 1e-5), node.attr("momentum", 0.9)
    if node.attr("training_mode", 0):
        axes = [axis for axis in range(node.rank()) if axis != 1]
        seen_mean, seen_variance = R.mean(x, axes), R.variance(x, axes)
        kept, rest = node.const(momentum, node.dtype(3)), node.const(1 - momentum, node.dtype(3))
        running = [
            R.add(R.multiply(old, kept), R.multiply(R.astype(new, node.dtype(3)), rest))
            for old, new in ((mean, seen_mean), (variance, seen_variance))
        ]
        return [_normalized(node, x, scale, bias, seen_mean, seen_variance, epsilon), *running]
    return [_normalized(node, x, scale, bias, mean, variance, epsilon), mean, variance, None, None]


def _normalized(
    node: Node, x: Value, scale: Value, bias: Value, mean: Value, variance: Value, epsilon: float
) -> Value:
    """Return (x - mean) / sqrt(variance + epsilon)·scale + bias, with one value per channel."""
    dtype = node.dtype()
    scale, bias, mean, variance = (R.astype(part, dtype) for part in (scale, bias, mean, variance))
    if dtype == "float32" and node.rank() >= 2:
        result = R.nn.batch_norm(x, scale, bias, mean, variance, 1, epsilon, training=False)
        return R.tuple_get_item(result, 0)
    shape: list[Dim] = [*node.shape(1), *[1] * (node.rank() - 2)]
    factor = R.multiply(scale, R.rsqrt(R.add(variance, constant(epsilon, dtype))))
    offset = R.subtract(bias, R.multiply(mean, factor))
    return R.add(R.multiply(x, R.reshape(factor, shape)), R.reshape(offset, shape))


@rule("InstanceNormalization")
def _instance_normalization(node: Node) -> Value:
    axes = list(range(2, node.rank()))
    return R.nn.instance_norm(
        node.tensor(0), node.tensor(1), node.tensor(2), 1, axes, node.attr("epsilon", 1e-5)
    )


@rule("LayerNormalization")
def _layer_normalization(node: Node) -> list[Value | None]:
    axis = node.axis(default=-1)
    axes = list(range(axis, node.rank()))
    x, epsilon, dtype = node.tensor(0), node.attr("epsilon", 1e-5), node.dtype()
    wants_mean = any(node.proto.output[1:])
    parameters = list(node.shape(1)) == list(node.shape()[axis:])
    if not wants_mean and parameters and dtype == "float32":
        bias = node.tensor(2) if node.has(2) else R.zeros(list(node.shape(1)), dtype)
        return [R.nn.layer_norm(x, node.tensor(1), bias, axes, epsilon)]
    wide = R.astype(x, "float32") if dtype in ("float16", "bfloat16") else x
    inner = "float32" if dtype in ("float16", "bfloat16") else dtype
    mean = R.mean(wide, axes, True)
    centred = R.subtract(wide, mean)
    variance = R.mean(R.multiply(centred, centred), axes, True)
    inverse = R.divide(constant(1, inner), R.sqrt(R.add(variance, constant(epsilon, inner))))
    result = R.multiply(R.astype(R.multiply(centred, inverse), dtype), node.tensor(1))
    if node.has(2):
        result = R.add(result, node.tensor(2))
    return [result, mean, inverse]


@rule("RMSNormalization")
def _rms_normalization(node: Node) -> Value:
    axis = node.axis(default=-1)
    axes = list(range(axis, node.rank()))
    x, epsilon, dtype = node.tensor(0), node.attr("epsilon", 1e-5), node.dtype()
    if dtype == "float32" and list(node.shape(1)) == list(node.shape()[axis:]):
        return R.nn.rms_norm(x, node.tensor(1), axes, epsilon)
    inner = "float32" if dtype in ("float16", "bfloat16") else dtype
    wide = R.astype(x, inner)
    square = R.mean(R.multiply(wide, wide), axes, True)
    inverse = R.divide(constant(1, inner), R.sqrt(R.add(square, constant(epsilon, inner))))
    return R.multiply(R.astype(R.multiply(wide, inverse), node.dtype(1)), node.tensor(1))


@rule("LpNormalization")
def _lp_normalization(node: Node) -> Value:
    axis, p = node.axis(default=-1), node.attr("p", 2)
    x = node.tensor(0)
    norm = R.sum(R.abs(x), axis, True) if p == 1 else R.sqrt(R.sum(R.multiply(x, x), axis, True))
    zero = node.const(0)
    return R.where(R.equal(norm, zero), zero, R.divide(x, R.where(R.equal(norm, zero), node.const(1), norm)))


@rule("LRN")
def _lrn(node: Node) -> Value:
    result: Value = node.te(
        topi.nn.lrn,
        node.tensor(0),
        node.required("size"),
        1,
        node.attr("alpha", 1e-4),
        node.attr("beta", 0.75),
        node.attr("bias", 1.0),
    )
    return result
