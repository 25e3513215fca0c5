"""Legalisation of matmul: ``linalg.matmul`` for matrices, else one contraction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.linear_algebra import ELLIPSIS, EinsumOp, MatmulOp, parsed
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.prim_bodies import elementwise
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, expression, lower
from relax_mlir.mlir import ir, linalg
from relax_mlir.scalars.arithmetic import add, compute_dtype, const, convert, multiply
from relax_mlir.scalars.linalg_builders import generic
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.dialects.types import StructInfo
    from relax_mlir.expr import Attrs
    from relax_mlir.te import Tensor as TETensor


# Contractions: sums of products of two tensors.


def cast(lz: Legalizer, value: Arg, dtype: DType) -> Arg:
    """Call of a prim func that converts `value` to `dtype`; `value` itself if it has that dtype."""
    source = value.info.dtype
    assert source is not None
    if source == dtype:
        return value
    out = value.info.with_dtype(dtype)
    body = elementwise(lambda x: convert(source, dtype, x))
    return lz.prim("cast", [value], [out], body, pattern="elementwise")[0]


def operand_map(info: Tensor, axes: Sequence[int], sizes: Sequence[Dim], loops: int) -> ir.AffineMap:
    """Map that reads dimension i of a tensor at loop ``axes[i]``, or at 0 where it broadcasts (size 1).

    `sizes`: the sizes of the parallel loops, which come first.
    """
    shape = info.dims
    exprs = [
        ir.AffineConstantExpr.get(0)
        if dim == 1 and axis < len(sizes) and sizes[axis] != 1
        else ir.AffineDimExpr.get(axis)
        for dim, axis in zip(shape, axes, strict=True)
    ]
    return ir.AffineMap.get(loops, 0, exprs)


def contraction(prim: PrimBody, axes1: Sequence[int], axes2: Sequence[int], out: ir.Value) -> ir.Value:
    """Sum of products of a prim func's two inputs into `out`, its zeroed output, over one more loop.

    Loop i < rank is dimension i of the output, loop ``rank`` the sum; ``axes1[i]`` is the loop of dimension i of
    the first input. Inputs narrower than the output are converted first.
    """
    out_info = prim.out_infos[0]
    sizes = out_info.dims
    loops = len(sizes) + 1
    maps = [operand_map(info, axes, sizes, loops) for info, axes in zip(prim.in_infos[:2], (axes1, axes2), strict=True)]
    out_map = ir.AffineMap.get(loops, 0, [ir.AffineDimExpr.get(i) for i in range(loops - 1)])
    dtype, sources = out_info.element, [info.element for info in prim.in_infos[:2]]

    def body(a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
        product = multiply(dtype, convert(sources[0], dtype, a), convert(sources[1], dtype, b))
        return add(dtype, total, product)

    iterators = ["parallel"] * (loops - 1) + ["reduction"]
    return generic(prim.ins[:2], maps, [out], [out_map], iterators, body)[0]


def zeroed(prim: PrimBody) -> ir.Value:
    """The first output of a prim func, filled with zeros."""
    dtype = prim.out_infos[0].element
    filled: ir.Value = linalg.fill(const(dtype, 0), outs=[prim.outs[0]])
    return filled


@lower(MatmulOp)
def legalize_matmul(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    result = op.results[0]
    wide = result.with_dtype(compute_dtype(result.element))
    body = matrices if _is_plain(op.operands, wide) else _batched
    products = lz.prim("matmul", op.operands, [wide], body, pattern="out_fusable")
    return [cast(lz, products[0], result.element)]


def _is_plain(operands: Sequence[Arg], out: Tensor) -> bool:
    """True for two matrices of the accumulator's dtype, which is not bool: what ``linalg.matmul`` computes."""
    return out.element.kind != "bool" and all(len(a.shape) == 2 and a.info.dtype == out.dtype for a in operands)


def matrices(prim: PrimBody) -> Sequence[ir.Value]:
    """The body of a GEMM of two matrices of the accumulator's dtype."""
    return [linalg.matmul(*prim.ins, outs=[zeroed(prim)])]


def _batched(prim: PrimBody) -> Sequence[ir.Value]:
    rank1, rank2 = (len(info.shape or ()) for info in prim.in_infos)
    rank = len(prim.out_infos[0].shape or ())
    rows, columns, total = int(rank1 > 1), int(rank2 > 1), rank
    batch = rank - rows - columns
    axes1 = [*range(batch - max(rank1 - 2, 0), batch), *([batch] if rows else []), total]
    axes2 = [*range(batch - max(rank2 - 2, 0), batch), total, *([batch + rows] if columns else [])]
    return [contraction(prim, axes1, axes2, zeroed(prim))]


LOW_PRECISION = ("float16", "bfloat16")


@expression(EinsumOp)
def einsum(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """Multiply the tensors pairwise; each step sums over the axes that neither later operands nor the result use."""
    from relax_mlir import topi  # most modules have no tensor expressions

    found = parsed(attrs.subscripts, len(inputs))
    dtype = inputs[0].dtype
    is_wide = len(inputs) > 2 and dtype in LOW_PRECISION
    tensors = [topi.cast(tensor, "float32") for tensor in inputs] if is_wide else list(inputs)
    total, text = tensors[0], found.operands[0]
    for number in range(1, len(tensors) - 1):
        rest = "".join((*found.operands[number + 1 :], found.result))
        pair = text + found.operands[number]
        kept = "".join(dict.fromkeys(c for c in pair if c in rest and c != "."))
        kept = (ELLIPSIS if ELLIPSIS in pair else "") + kept
        total = topi.einsum(f"{text},{found.operands[number]}->{kept}", total, tensors[number])
        text = kept
    if len(tensors) == 1:
        return topi.einsum(f"{text}->{found.result}", total)
    total = topi.einsum(f"{text},{found.operands[-1]}->{found.result}", total, tensors[-1])
    return topi.cast(total, dtype) if is_wide else total
