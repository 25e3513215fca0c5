"""Matrix products and contractions."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.onnx.aligned_operands import aligned
from relax_mlir.frontend.onnx.dtypes import FLOATS
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.frontend.onnx.registry import rule


@rule("MatMul")
def _matmul(node: Node) -> Value:
    return R.matmul(node.tensor(0), node.tensor(1))


@rule("Gemm")
def _gemm(node: Node) -> Value:
    a, b = node.tensor(0), node.tensor(1)
    a = R.permute_dims(a) if node.attr("transA", 0) else a
    b = R.permute_dims(b) if node.attr("transB", 0) else b
    product = _scaled(node, R.matmul(a, b), node.attr("alpha", 1.0))
    if not node.has(2):
        return product
    one, other = aligned([product, _scaled(node, node.tensor(2), node.attr("beta", 1.0))])
    return R.add(one, other)


def _scaled(node: Node, x: Value, factor: float) -> Value:
    if factor == 1.0:
        return x
    if node.dtype() in FLOATS or float(factor).is_integer():
        return R.multiply(x, node.const(factor))
    return R.astype(R.multiply(R.astype(x, "float64"), R.const(factor, "float64")), node.dtype())


@rule("Einsum")
def _einsum(node: Node) -> Value:
    return R.einsum(node.tensors, node.required("equation").replace(" ", ""))
