"""Matrix products, contractions and determinants."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir import symbolic, topi
from relax_mlir.dialects.value import Value
from relax_mlir.error import ShapeError
from relax_mlir.frontend.onnx.dtypes import FLOATS
from relax_mlir.frontend.onnx.registry import Node, aligned, rule
from relax_mlir.symbolic import Dim, Expr

# Matrix products and contractions.


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


# Determinants, by elimination.


@rule("Det")
def _determinant(node: Node) -> Value:
    """Eliminate with column pivoting by largest absolute value, for all matrices of the batch at once."""
    shape = node.shape()
    if len(shape) < 2 or not symbolic.prove_equal(shape[-1], shape[-2]):
        raise ShapeError(f"the input has shape {tuple(map(str, shape))}, expected square matrices")
    size, batch = shape[-1], symbolic.product(shape[:-2])
    rows = R.reshape(R.arange(0, size, 1, "int64"), [1, size])
    one, zero = node.const(1), node.const(0)

    def emit(k: Expr, matrix: Value, product: Value) -> tuple[Value, Value]:
        place = R.prim_to_tensor(R.prim_value(k))
        column = _column(matrix, k, batch, size)
        open_rows = R.where(R.less(rows, place), R.subtract(zero, one), R.abs(column))
        pivot = R.expand_dims(R.astype(R.argmax(open_rows, 1), "int64"), 1)
        order = R.where(R.equal(rows, place), pivot, R.where(R.equal(rows, pivot), place, rows))
        spread = R.broadcast_to(R.expand_dims(order, 2), [batch, size, size])
        swapped: Value = node.te(topi.gather, matrix, 1, spread)
        line = R.strided_slice(swapped, [1], [k], [k + 1], assume_inbound=True)
        head = R.reshape(R.strided_slice(line, [2], [k], [k + 1], assume_inbound=True), [batch, 1])
        divisor = R.where(R.equal(head, zero), one, head)
        below = R.where(R.greater(rows, place), R.divide(_column(swapped, k, batch, size), divisor), zero)
        rest = R.subtract(swapped, R.multiply(R.expand_dims(below, 2), line))
        sign = R.where(R.equal(pivot, place), one, R.subtract(zero, one))
        return rest, R.multiply(product, R.multiply(head, sign))

    start = [R.reshape(node.tensor(0), [batch, size, size]), R.full([batch, 1], one)]
    _, product = R.for_loop(0, size, emit, start)
    result: Value = R.reshape(product, list(shape[:-2]))
    return result


def _column(matrix: Value, k: Expr, batch: Dim, size: Dim) -> Value:
    return R.reshape(R.strided_slice(matrix, [2], [k], [k + 1], assume_inbound=True), [batch, size])
