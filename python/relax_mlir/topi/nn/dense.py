"""Matrix multiplication."""

from __future__ import annotations

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ShapeError
from relax_mlir.te import reductions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor, broadcast_element, broadcast_shape
from relax_mlir.topi.common import computed, require
from relax_mlir.topi.elementwise import add

MATMUL = "matmul"
"""The tag of matmuls."""


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """The matmul of the last two dimensions, with broadcast batch dimensions; `transp_a`, `transp_b`: transposed."""
    what = "topi.matmul"
    left, right = require(f"{what}: 'a'", a), require(f"{what}: 'b'", b)
    if left.ndim < 2 or right.ndim < 2:
        raise ShapeError(f"{what}: {left} and {right} are not both of two dimensions or more")
    rows, inner = left.shape[-2:][::-1] if transp_a else left.shape[-2:]
    other, columns = right.shape[-2:][::-1] if transp_b else right.shape[-2:]
    if not symbolic.prove_equal(inner, other):
        raise ShapeError(
            f"{what}: {left} and {right} are combined along {inner} and {other}, not known to be equal"
        )
    before = broadcast_shape(what, [left.shape[:-2], right.shape[:-2]])
    k = reductions.reduce_axis((0, inner), "k")

    def at(tensor: Tensor, batch: tuple[Expr, ...], row: Expr, column: Expr) -> Expr:
        return broadcast_element(tensor, [*before, *tensor.shape[-2:]], [*batch, row, column])

    def value(*i: Expr) -> object:
        batch, row, column = i[:-2], i[-2], i[-1]
        x = at(left, batch, k, row) if transp_a else at(left, batch, row, k)
        y = at(right, batch, column, k) if transp_b else at(right, batch, k, column)
        return reductions.sum(x * y, k)

    return computed([*before, rows, columns], value, "T_matmul", MATMUL)


def batch_matmul(
    tensor_a: Tensor, tensor_b: Tensor, transpose_a: bool = False, transpose_b: bool = True
) -> Tensor:
    """The batched matmul of two tensors of three dimensions; by default the second one is transposed."""
    for name, tensor in (("tensor_a", tensor_a), ("tensor_b", tensor_b)):
        if require(f"topi.nn.batch_matmul: '{name}'", tensor).ndim != 3:
            raise ShapeError(f"topi.nn.batch_matmul: {tensor} is not of three dimensions")
    return matmul(tensor_a, tensor_b, transpose_a, transpose_b)


def dense(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Tensor:
    """``tensor_a @ tensor_b.T + bias``: `tensor_b` are weights of shape ``(outputs, inputs)``.

    `out_dtype`: operands are converted to it first, so that it is also the accumulator dtype.
    """
    what = "topi.nn.dense"
    left, right = require(f"{what}: 'tensor_a'", tensor_a), require(f"{what}: 'tensor_b'", tensor_b)
    if out_dtype is not None:
        wanted = dtypes.dtype(out_dtype).name
        left, right = (t if t.dtype == wanted else t.astype(wanted) for t in (left, right))
    found = matmul(left, right, transpose_a, transpose_b)
    return found if bias is None else add(found, require(f"{what}: 'bias'", bias))
