"""Quantised values: conversions, and matrix products of them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.error import ShapeError
from relax_mlir.frontend.onnx.dtypes import (
    FLOATS,
    NARROW,
    dtype_name,
    narrowed,
    numpy_dtype,
    refuse,
    storage_of,
    widened,
)
from relax_mlir.frontend.onnx.items import TensorItem
from relax_mlir.frontend.onnx.registry import Node, constant, rule
from relax_mlir.frontend.onnx.rules.convolution import convolved, shifted
from relax_mlir.symbolic import Dim


def spread(node: Node, index: int, block: int, data: int = 0) -> Value:
    """Return scales or zero points so that they broadcast against the data: per tensor, axis or block."""
    value = node.tensor(index)
    rank = node.rank(data)
    if node.rank(index) == 0:
        return value
    if node.shape(index) == (1,):
        return R.reshape(value, ())
    axis = node.axis(default=1, index=data)
    if block and node.rank(index) == rank:
        return R.strided_slice(R.repeat(value, block, axis), [axis], [0], [node.shape(data)[axis]])
    if node.rank(index) != 1:
        raise ShapeError("scales of the rank of the data need block_size")
    return R.reshape(value, [node.shape(index)[0] if i == axis else 1 for i in range(rank)])


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
    return _with_vectors(node, _product(node, (0, 2), (1, 3)), 0, 1)


@rule("QLinearMatMul")
def _qlinear_matmul(node: Node) -> Value:
    product = R.astype(_product(node, (0, 2), (3, 5)), "float32")
    a_scale, y_scale = (R.astype(_per_row(node, index), "float32") for index in (1, 6))
    b_scale = R.astype(node.tensor(4), "float32")
    scaled = R.divide(R.multiply(product, R.multiply(a_scale, b_scale)), y_scale)
    return _with_vectors(node, saturated(R.round(scaled), _per_row(node, 7), node.dtype(7)), 0, 3)


def _product(node: Node, left: tuple[int, int], right: tuple[int, int]) -> Value:
    """Multiply two inputs, each given with its zero point, as int32 matrices; a vector becomes one row or column."""
    a, b = (R.astype(node.tensor(index), "int32") for index, _ in (left, right))
    a = R.expand_dims(a, 0) if node.rank(left[0]) == 1 else a
    b = R.expand_dims(b, 1) if node.rank(right[0]) == 1 else b
    if node.has(left[1]):
        a = R.subtract(a, R.astype(_per_row(node, left[1]), "int32"))
    if node.has(right[1]):
        b = R.subtract(b, R.astype(node.tensor(right[1]), "int32"))
    return R.matmul(a, b)


def _per_row(node: Node, index: int) -> Value:
    """Return a scale or zero point, one value or one per row, so that it broadcasts against the rows of a matrix."""
    value = node.tensor(index)
    return R.expand_dims(value, 1) if node.rank(index) == 1 else value


def _with_vectors(node: Node, product: Value, left: int, right: int) -> Value:
    """Remove the rows and columns that `_product` adds to inputs that are vectors."""
    axes = [axis for axis, index in ((-2, left), (-1, right)) if node.rank(index) == 1]
    return R.squeeze(product, axes) if axes else product


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
