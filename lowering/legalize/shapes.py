"""Lowering of size: the product of the dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.shapes import SizeOp
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, lower
from relax_mlir.mlir import arith, ir, linalg


@lower(SizeOp)
def legalize_size(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Fill a scalar with the product of the dimensions; no input is read."""
    count = symbolic.product(op.operands[0].shape)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        number = arith.index_cast(dtypes.dtype("int64").storage_type(), prim.index(count))
        return [linalg.fill(number, outs=[prim.outs[0]])]

    return lz.prim(op.args.op, [], op.results, body, pattern="opaque", key=str(count))
