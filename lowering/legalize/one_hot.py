"""Legalisation of one_hot: compare every position with the index."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.base import normalize_axis
from relax_mlir.lowering.legalize.elementwise import dtype_of
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.mlir import arith, ir, linalg
from relax_mlir.scalars.arithmetic import Scalar, select
from relax_mlir.scalars.linalg_builders import generic, identity, projection


@legalization("relax.one_hot")
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
