"""Comparison of shape values."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.diagnostics import where
from relax_mlir.error import UnsupportedError
from relax_mlir.lowering.shapes.body import BodyLowering, Lowered, ShapeValue, handles
from relax_mlir.mlir import arith, ir, tensor


@handles("relax.shape_equal")
def _shape_equal(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    a, b = (body.values[operand] for operand in op.operands)
    if not isinstance(a, ShapeValue) or not isinstance(b, ShapeValue):
        raise UnsupportedError(
            f"{where(op)}: shape_equal: the rank of an operand is unknown; match_shape it to one first"
        )
    flag = ir.IntegerType.get_signless(1)
    equal = arith.constant(flag, int(len(a.dims) == len(b.dims)))
    if len(a.dims) == len(b.dims):
        for x, y in zip(a.dims, b.dims, strict=True):
            equal = arith.andi(equal, arith.cmpi(arith.CmpIPredicate.eq, x, y))
    return [tensor.from_elements(ir.RankedTensorType.get([], flag), [equal])]
