"""Legalisation of the ops that create tensors, triangles, one_hot and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.create import (
    ArangeOp,
    EyeLikeOp,
    EyeOp,
    FullLikeOp,
    FullOp,
    HammingWindowOp,
    OneHotOp,
    SizeOp,
    TrilOp,
    TriuOp,
    arange_bounds,
)
from relax_mlir.dialects.dtypes import DType
from relax_mlir.lowering.legalize.prim_bodies import dtype_of, elementwise_prim, prim_name
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, expression, lower
from relax_mlir.mlir import arith, ir, linalg
from relax_mlir.scalars.arithmetic import Scalar, const, convert, select
from relax_mlir.scalars.linalg_builders import generic, identity, projection
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.dialects.types import StructInfo
    from relax_mlir.expr import Attrs
    from relax_mlir.te import Tensor as TETensor


VALUES = {"ones": 1, "ones_like": 1, "zeros": 0, "zeros_like": 0}
"""The fill value of each op."""


@lower(FullOp, FullLikeOp)
def legalize_full(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Read only the fill value; the shape is the result's."""
    return elementwise_prim(lz, replace(op, operands=op.operands[-1:]), lambda fill: fill)


@lower(*(f"relax.{name}" for name in VALUES))
def legalize_filled(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    dtype, value = op.results[0].element, VALUES[op.args.op]
    return elementwise_prim(lz, replace(op, operands=()), lambda: const(dtype, value))


@lower(ArangeOp)
def legalize_arange(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """``start + i * step``: in int64 for integer bounds, in float64 for float bounds, then converted."""
    start, end, step = arange_bounds(op.args)
    dtype = op.results[0].element
    work = dtypes.dtype("float64" if isinstance(start, float) else "int64")

    def build(prim: PrimBody) -> Sequence[ir.Value]:
        first, stride = (_bound(prim, work, bound) for bound in (start, step))

        def element(_: Scalar) -> Scalar:
            position = arith.index_cast(dtypes.dtype("int64").storage_type(), linalg.IndexOp(0).result)
            if work.is_float:
                offset = arith.mulf(arith.sitofp(work.storage_type(), position), stride)
                return convert(work, dtype, arith.addf(first, offset))
            return convert(work, dtype, arith.addi(first, arith.muli(position, stride)))

        return generic([], [], prim.outs, [identity(1)], ["parallel"], element)

    key = (str(start), str(end), str(step))
    return lz.prim(prim_name(op, dtype), [], op.results, build, pattern="injective", key=key)


def _bound(prim: PrimBody, work: DType, bound: Dim | float) -> Scalar:
    if isinstance(bound, int | float):
        return const(work, bound)
    return arith.index_cast(work.storage_type(), prim.index(bound))


# Legalisation of eye, tril and triu: elements are selected by their position relative to the diagonal.


_P = arith.CmpIPredicate
RELATIONS = {"eye": _P.eq, "eye_like": _P.eq, "tril": _P.sle, "triu": _P.sge}
"""The predicate of ``column - row`` and `k` for elements that are kept."""


def _is_kept(op: OpCall) -> Scalar:
    rank = len(op.results[0].dims)
    offset = arith.subi(linalg.IndexOp(rank - 1).result, linalg.IndexOp(rank - 2).result)
    k = arith.constant(ir.IndexType.get(), op.args.int_attr("k"))
    return arith.cmpi(RELATIONS[op.args.op], offset, k)


@lower(EyeOp, EyeLikeOp)
def legalize_eye(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Fill the result by position; no input is read."""
    op, dtype = replace(op, operands=()), op.results[0].element
    key = op.args.int_attr("k")
    return elementwise_prim(lz, op, lambda: select(dtype, _is_kept(op), const(dtype, 1), const(dtype, 0)), key=key)


@lower(TrilOp, TriuOp)
def legalize_triangle(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    dtype = op.results[0].element
    key = op.args.int_attr("k")
    return elementwise_prim(lz, op, lambda x: select(dtype, _is_kept(op), x, const(dtype, 0)), key=key)


# Legalisation of one_hot: compare every position with the index.


@lower(OneHotOp)
def legalize_one_hot(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    indices, on, _ = op.operands
    rank = len(indices.shape) + 1
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), rank)
    kind, value = dtype_of(indices), dtype_of(on)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        def element(index: Scalar, on: Scalar, off: Scalar, _: Scalar) -> Scalar:
            cast = arith.index_castui if kind.kind == "uint" else arith.index_cast
            here = linalg.IndexOp(axis).result
            is_here = arith.cmpi(arith.CmpIPredicate.eq, cast(ir.IndexType.get(), index), here)
            return select(value, is_here, on, off)

        others = projection(rank, [number for number in range(rank) if number != axis])
        maps = [others, projection(rank, []), projection(rank, [])]
        return generic(prim.ins, maps, prim.outs, [identity(rank)], ["parallel"] * rank, element)

    return lz.prim(op.args.op, op.operands, op.results, body, pattern="injective", key=axis)


# Legalisation of size: the product of the dimensions.


@lower(SizeOp)
def legalize_size(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Fill a scalar with the product of the dimensions; no input is read."""
    count = symbolic.product(op.operands[0].shape)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        number = arith.index_cast(dtypes.dtype("int64").storage_type(), prim.index(count))
        return [linalg.fill(number, outs=[prim.outs[0]])]

    return lz.prim(op.args.op, [], op.results, body, pattern="opaque", key=str(count))


# Windows.


@expression(HammingWindowOp)
def hamming_window(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """The Hamming window."""
    from relax_mlir import topi  # most modules have no tensor expressions

    size = symbolic.to_dim(attrs.window_size)
    return topi.hamming_window(size, attrs.periodic, attrs.alpha, attrs.beta, attrs.dtype)
