"""Legalisation of the binary arithmetic ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.dialects.dtypes import DType
from relax_mlir.lowering.legalize.emit import elementwise
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, legalization
from relax_mlir.mlir import arith, ir

ScalarRule = Callable[[DType, ir.Value, ir.Value], ir.Value]


def _add(dtype: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.addf(a, b) if dtype.is_float else arith.addi(a, b)


SCALAR_RULES: dict[str, ScalarRule] = {"relax.add": _add}
"""What each op computes on two scalars of one dtype."""


@legalization(*SCALAR_RULES)
def legalize_binary(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    name = op.args.op
    dtype = op.operands[0].info.dtype
    assert dtype is not None
    scalar = SCALAR_RULES[f"relax.{name}"]
    shapes_equal = all(a.shape == op.results[0].shape for a in op.operands)
    return lz.prim(
        name,
        op.operands,
        op.results,
        elementwise(lambda a, b: scalar(dtype, a, b)),
        pattern="elementwise" if shapes_equal else "broadcast",
    )
