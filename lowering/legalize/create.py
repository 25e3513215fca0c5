"""Legalisation of the ops that create tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.create import arange_bounds
from relax_mlir.dialects.dtypes import DType
from relax_mlir.lowering.legalize.elementwise import elementwise_prim, prim_name
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.mlir import arith, ir, linalg
from relax_mlir.scalars.arithmetic import Scalar, const, convert
from relax_mlir.scalars.linalg_builders import generic, identity
from relax_mlir.symbolic import Dim

VALUES = {"ones": 1, "ones_like": 1, "zeros": 0, "zeros_like": 0}
"""The fill value of each op."""


@legalization("relax.full", "relax.full_like")
def legalize_full(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Read only the fill value; the shape is the result's."""
    return elementwise_prim(lz, replace(op, operands=op.operands[-1:]), lambda fill: fill)


@legalization(*(f"relax.{name}" for name in VALUES))
def legalize_filled(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    dtype, value = op.results[0].dtype, VALUES[op.args.op]
    assert dtype is not None
    return elementwise_prim(lz, replace(op, operands=()), lambda: const(dtype, value))


@legalization("relax.arange")
def legalize_arange(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """``start + i * step``: in int64 for integer bounds, in float64 for float bounds, then converted."""
    start, end, step = arange_bounds(op.args)
    dtype = op.results[0].dtype
    assert dtype is not None
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
