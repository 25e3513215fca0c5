"""Contractions: sums of products of two tensors."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.elementwise import elementwise
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, PrimBody
from relax_mlir.mlir import ir, linalg
from relax_mlir.scalars.arithmetic import add, const, convert, multiply
from relax_mlir.scalars.linalg_builders import generic
from relax_mlir.symbolic import Dim


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
    shape = info.known_shape
    assert shape is not None
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
    sizes = out_info.known_shape
    assert sizes is not None and out_info.dtype is not None
    loops = len(sizes) + 1
    maps = [
        operand_map(info, axes, sizes, loops)
        for info, axes in zip(prim.in_infos[:2], (axes1, axes2), strict=True)
    ]
    out_map = ir.AffineMap.get(loops, 0, [ir.AffineDimExpr.get(i) for i in range(loops - 1)])
    dtype, sources = out_info.dtype, [info.dtype for info in prim.in_infos[:2]]

    def body(a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
        assert sources[0] is not None and sources[1] is not None
        product = multiply(dtype, convert(sources[0], dtype, a), convert(sources[1], dtype, b))
        return add(dtype, total, product)

    iterators = ["parallel"] * (loops - 1) + ["reduction"]
    return generic(prim.ins[:2], maps, [out], [out_map], iterators, body)[0]


def zeroed(prim: PrimBody) -> ir.Value:
    """The first output of a prim func, filled with zeros."""
    dtype = prim.out_infos[0].dtype
    assert dtype is not None
    filled: ir.Value = linalg.fill(const(dtype, 0), outs=[prim.outs[0]])
    return filled
