"""Quantised values: conversions, and matrix products of them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.error import ShapeError
from relax_mlir.frontend.onnx.dtypes import FLOATS, dtype_name, numpy_dtype
from relax_mlir.frontend.onnx.items import TensorItem
from relax_mlir.frontend.onnx.narrow import NARROW, narrowed, refuse, storage_of, widened
from relax_mlir.frontend.onnx.node import Node, constant
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.frontend.onnx.rules.convolution import convolved, shifted
from relax_mlir.symbolic import Dim


def spread(node: Node, index: int, block: int, data: int = 0) -> Value:
    """Return scales or zero points so that they broadcast against the data: per tensor, axis or block."""
    value = node.tensor(index)
    rank = node.rank(data)
    if node.rank(index) == 0:
        return value
    axis = node.axis(default=1, index=data)
    if node.rank(index) == 1:
        if node.shape(index) == (1,):
            return R.reshape(value, ())
        return R.reshape(
            value, [dim if i == axis else 1 for i, dim in enumerate(_filled(node, index, axis, rank))]
        )
    if not block:
        raise ShapeError("scales of the rank of the data need block_size")
    return R.strided_slice(R.repeat(value, block, axis), [axis], [0], [node.shape(data)[axis]])


def _filled(node: Node, index: int, axis: int, rank: int) -> list[Dim]:
    shape: list[Dim] = [1] * rank
    shape[axis] = node.shape(index)[0]
    return shape


def limits(dtype: str) -> tuple[int, int]:
    """Return the minimum and maximum of an integer dtype."""
    info: Any = ml_dtypes.iinfo(numpy_dtype(dtype)) if dtype in NARROW else np.iinfo(numpy_dtype(dtype))
    return int(info.min), int(info.max)


@rule("QuantizeLinear")
def _quantize(node: Node) -> object:
    block = node.attr("block_size", 0)
    code = node.attr("output_dtype", 0)
    target = node.dtype(2) if node.has(2) else dtype_name(code, "the result") if code else "uint8"
    precision = node.attr("precision", 0)
    inner = dtype_name(precision, "precision") if precision else node.dtype(0)
    inner = "float32" if inner == "int32" else inner
    if node.dtype(0) in NARROW:
        raise refuse(node.dtype(0), node.op)
    if inner not in FLOATS:
        raise node.unsupported(f"quantizing {inner}")
    x, scale = R.astype(node.tensor(0), inner), R.astype(spread(node, 1, block), inner)
    quotient = R.divide(x, scale)
    if target in NARROW and NARROW[target].is_float:
        saturate = bool(node.attr("saturate", 1))
        return TensorItem(target, narrowed(node.bb, quotient, inner, target, saturate))
    point = spread(node, 2, block) if node.has(2) else None
    held = saturated(R.round(quotient), point, target)
    return TensorItem(target, held) if target in NARROW else held


def saturated(whole: Value, point: Value | None, target: str) -> Value:
    """Add a zero point to an integer and clamp to the range of `target`."""
    low, high = limits(target)
    wide = R.astype(whole, "float32")
    edge = constant(2.0**30, "float32")
    held = R.astype(R.maximum(R.minimum(wide, edge), R.negative(edge)), "int32")
    if point is not None:
        held = R.add(held, R.astype(point, "int32"))
    kept = R.maximum(R.minimum(held, constant(high, "int32")), constant(low, "int32"))
    return R.astype(kept, storage_of(target))


@rule("DequantizeLinear")
def _dequantize(node: Node) -> object:
    block = node.attr("block_size", 0)
    code = node.attr("output_dtype", 0)
    target = dtype_name(code, "the result") if code else node.dtype(1)
    scale = R.astype(spread(node, 1, block), "float32")
    if node.dtype() in NARROW and NARROW[node.dtype()].is_float:
        return R.astype(R.multiply(widened(node.tensor(0), node.dtype(), "float32"), scale), target)
    wide = R.astype(node.tensor(0), "int32")
    if node.has(2):
        wide = R.subtract(wide, R.astype(spread(node, 2, block), "int32"))
    return R.astype(R.multiply(R.astype(wide, "float32"), scale), target)


@rule("MatMulInteger")
def _matmul_integer(node: Node) -> Value:
    return R.matmul(shifted(node, 0, 2), _columns(node, 1, 3))


def _columns(node: Node, index: int, zero_point: int) -> Value:
    """Return input `index` as int32 minus its zero point, a scalar or one value per column."""
    wide = R.astype(node.tensor(index), "int32")
    return R.subtract(wide, R.astype(node.tensor(zero_point), "int32")) if node.has(zero_point) else wide


@rule("QLinearMatMul")
def _qlinear_matmul(node: Node) -> Value:
    a = R.subtract(R.astype(node.tensor(0), "int32"), R.astype(node.tensor(2), "int32"))
    b = R.subtract(R.astype(node.tensor(3), "int32"), R.astype(node.tensor(5), "int32"))
    product = R.astype(R.matmul(a, b), "float32")
    scales = [R.astype(node.tensor(i), "float32") for i in (1, 4, 6)]
    scaled = R.divide(R.multiply(product, R.multiply(scales[0], scales[1])), scales[2])
    return saturated(R.round(scaled), node.tensor(7), node.dtype(7))


@rule("QLinearConv")
def _qlinear_conv(node: Node) -> Value:
    x = R.subtract(R.astype(node.tensor(0), "int32"), R.astype(R.reshape(node.tensor(2), ()), "int32"))
    product = convolved(node, x, shifted(node, 3, 5))
    channels: list[Dim] = [*node.shape(3)[:1], *[1] * (node.rank(0) - 2)]
    if node.has(8):
        product = R.add(product, R.reshape(node.tensor(8), channels))
    weight_scale = node.tensor(4)
    weight_scale = R.reshape(weight_scale, channels if node.shape(4) not in ((), (1,)) else ())
    factor = R.multiply(R.reshape(node.tensor(1), ()), weight_scale)
    scaled = R.divide(R.multiply(R.astype(product, "float32"), factor), R.reshape(node.tensor(6), ()))
    return saturated(R.round(scaled), R.reshape(node.tensor(7), ()), node.dtype(7))
