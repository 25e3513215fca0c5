"""Legalisation of astype."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.legalize.elementwise import dtype_of, elementwise_prim
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, legalization
from relax_mlir.scalars.arithmetic import convert


@legalization("relax.astype")
def legalize_astype(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Convert the dtype; return the tensor itself if it already has it."""
    source, target = dtype_of(op.operands[0]), op.results[0].dtype
    assert target is not None
    if source == target:
        return op.operands
    return elementwise_prim(lz, op, lambda x: convert(source, target, x))
