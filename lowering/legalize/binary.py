"""Lowering of elementwise ops of several operands."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.binary import ClipOp, WhereOp, clip_bound
from relax_mlir.dialects.dtypes import DType
from relax_mlir.lowering.legalize.prim_bodies import dtype_of, elementwise_prim, register
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, lower
from relax_mlir.scalars.arithmetic import (
    Scalar,
    const,
    maximum,
    minimum,
    select,
    widened,
)
from relax_mlir.scalars.rules import (
    BINARY_RULES,
    BITWISE_RULES,
    COMPARISON_RULES,
)

register(BINARY_RULES)
register(BITWISE_RULES)
register(COMPARISON_RULES)


@lower(WhereOp)
def legalize_where(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    dtype = dtype_of(op.operands[1])
    return elementwise_prim(lz, op, lambda condition, a, b: select(dtype, condition, a, b))


@lower(ClipOp)
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
