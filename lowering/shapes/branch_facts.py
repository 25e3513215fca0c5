"""Facts about index values inside the branches of ``scf.if``, from the conditions that lead there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import ir

if TYPE_CHECKING:
    from relax_mlir.lowering.shapes.index_ranges import Ranges
    from relax_mlir.lowering.shapes.linear_forms import Linear

EQ, NE, SLT, SLE, SGT, SGE = range(6)
"""Signed predicates of ``arith.cmpi``, by MLIR's enum value."""
OPPOSITE = {EQ: NE, NE: EQ, SLT: SGE, SGE: SLT, SLE: SGT, SGT: SLE}


def facts_at(op: ir.Operation, ranges: Ranges) -> Iterator[Linear]:
    """Yield linear forms that are not negative whenever `op` executes."""
    inner = op
    while True:
        outer = inner.parent
        if outer is None or outer.name == "func.func":
            return
        if outer.name == "scf.if":
            is_then = any(block == inner.block for block in outer.regions[0].blocks)
            yield from _facts(outer.operands[0], is_then, ranges)
        inner = outer.operation


def _facts(condition: ir.Value, holds: bool, ranges: Ranges) -> Iterator[Linear]:
    """Yield the facts that follow if a condition holds, or if it does not."""
    op = defining_op(condition)
    if op is None:
        return
    if op.name == ("arith.andi" if holds else "arith.ori"):
        for part in op.operands:
            yield from _facts(part, holds, ranges)
        return
    if op.name != "arith.cmpi" or not isinstance(op.operands[0].type, ir.IndexType):
        return
    predicate = int(ir.IntegerAttr(op.attributes["predicate"]).value)
    if predicate not in OPPOSITE:
        return
    predicate = predicate if holds else OPPOSITE[predicate]
    left, right = (ranges.exact_form(operand) for operand in op.operands)
    if left is None or right is None:
        return
    if predicate in (SLT, SLE, EQ):
        yield right.plus(left, -1).shifted(-1 if predicate == SLT else 0)
    if predicate in (SGT, SGE, EQ):
        yield left.plus(right, -1).shifted(-1 if predicate == SGT else 0)
