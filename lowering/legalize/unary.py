"""Lowering of elementwise ops of one operand."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.unary import AstypeOp
from relax_mlir.lowering.legalize.prim_bodies import dtype_of, elementwise_prim, register
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, lower
from relax_mlir.scalars.arithmetic import (
    const,
    convert,
    widened_test,
)
from relax_mlir.scalars.rules import (
    FLOAT_TESTS,
    ROUNDING,
    UNARY_RULES,
    plain,
)

register(UNARY_RULES)


@lower(*(f"relax.{name}" for name in ROUNDING))
def legalize_rounding(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Round floats; return integers unchanged."""
    dtype = dtype_of(op.operands[0])
    if not dtype.is_float:
        return op.operands
    rule = plain(ROUNDING[op.args.op])
    return elementwise_prim(lz, op, lambda x: rule(dtype, x))


@lower(*(f"relax.{name}" for name in FLOAT_TESTS))
def legalize_float_test(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Test floats; the answer for integers and bool is constant."""
    dtype = dtype_of(op.operands[0])
    test, answer = FLOAT_TESTS[op.args.op]
    if not dtype.is_float:
        result = op.results[0].dtype
        assert result is not None
        return elementwise_prim(lz, op, lambda x: const(result, answer))
    rule = widened_test(test)
    return elementwise_prim(lz, op, lambda x: rule(dtype, x))


@lower(AstypeOp)
def legalize_astype(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Convert the dtype; return the tensor itself if it already has it."""
    source, target = dtype_of(op.operands[0]), op.results[0].dtype
    assert target is not None
    if source == target:
        return op.operands
    return elementwise_prim(lz, op, lambda x: convert(source, target, x))
