"""Legalisation of where and clip."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.select import clip_bound
from relax_mlir.lowering.legalize.elementwise import dtype_of, elementwise_prim
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, legalization
from relax_mlir.scalars.arithmetic import Scalar, const, maximum, minimum, select, widened


@legalization("relax.where")
def legalize_where(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    dtype = dtype_of(op.operands[1])
    return elementwise_prim(lz, op, lambda condition, a, b: select(dtype, condition, a, b))


@legalization("relax.clip")
def legalize_clip(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Clip the tensor; return it unchanged if there are no bounds."""
    low, high = clip_bound(op.args, "min"), clip_bound(op.args, "max")
    if low is None and high is None:
        return op.operands

    def rule(dtype: DType, x: Scalar) -> Scalar:
        if low is not None:
            x = maximum(dtype, x, const(dtype, low))
        return x if high is None else minimum(dtype, x, const(dtype, high))

    dtype = dtype_of(op.operands[0])
    return elementwise_prim(lz, op, lambda x: widened(rule)(dtype, x), key=(str(low), str(high)))
