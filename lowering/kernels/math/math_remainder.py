"""The remainder of a division, as C's ``fmod`` gives it: exact, with the sign of the dividend."""

from __future__ import annotations

from relax_mlir.lowering.kernels.core.emit import Value, is_vector
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.mlir import arith, ir, math, scf, vector

_EXACT = 2.0**24
"""Quotients below are exact in f32, but for their fraction."""


def fmod(lanes: Lanes, x: Value, y: Value) -> Value:
    """x - q·y of f32, where q is x / y without its fraction: exact, and NaN for x infinite or y = 0.

    Where q is exact, so is the difference, by one fused multiply-add: it is a multiple of the last place of y, and
    smaller than y. The quotient is rounded, perhaps up to the next whole number; then the difference is negative, and
    y is added once. Vectors with a larger quotient in some lane are left to libm.
    """
    left, right = lanes.abs(x), lanes.abs(y)
    quotient = lanes.div(left, right)
    is_exact = lanes.compare("olt", quotient, lanes.const(_EXACT))
    all_exact = (
        vector.reduction(_flag(), vector.CombiningKind.AND, is_exact) if is_vector(lanes.type) else is_exact
    )
    branch = scf.IfOp(all_exact, [lanes.type], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        rest = lanes.fma(lanes.negate(math.TruncOp(quotient).result), right, left)
        rest = lanes.select(lanes.compare("olt", rest, lanes.const(0.0)), lanes.add(rest, right), rest)
        rest = lanes.select(lanes.compare("olt", quotient, lanes.const(1.0)), left, rest)  # y may be infinite
        scf.YieldOp([lanes.copysign(rest, x)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([arith.RemFOp(x, y).result])
    return branch.results[0]


def _flag() -> ir.Type:
    return ir.IntegerType.get_signless(1)
