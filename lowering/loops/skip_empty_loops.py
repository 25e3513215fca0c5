"""Pass `skip-empty-loops`: skip loops of prim funcs that contain nothing but empty loops (level V)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import ClassVar

from relax_mlir.dialects.attributes import PARAMS
from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.lowering.kernels.core.parallel import MARK
from relax_mlir.lowering.kernels.nest.loop_nest import LONG
from relax_mlir.mlir import arith, func, ir
from relax_mlir.transform import ModulePass, PassContext

LOOPS = ("scf.for", "scf.parallel")
_FREE = (
    "arith.",
    "math.",
    "memref.dim",
    "memref.load",
    "memref.subview",
    "memref.cast",
    "vector.load",
    "ub.poison",
)
"""Name prefixes of ops without side effects."""


class SkipEmptyLoops(ModulePass):
    """Skip a long loop of a prim func if its body only runs loops, and all of them are empty.

    The loop might count to billions around a loop of length 0. The test is emitted before the loop, as far out as the
    bounds are available. Loops that are lowered from linalg ops have their own test, and `skip-empty-results` handles
    results without elements.
    """

    name: ClassVar[str] = "skip-empty-loops"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for function in module.body.operations:
            if isinstance(function, func.FuncOp) and PARAMS in function.attributes:
                for loop in ops_of(function.operation, *LOOPS, order=ir.WalkOrder.POST_ORDER):
                    _guard(loop)


def _guard(loop: ir.Operation) -> None:
    if not _is_plain(loop) or _is_short(loop):
        return
    runs = _reasons_to_run(loop)
    if not runs:
        return
    lower, upper = list(loop.operands)[:2]
    known = [lower, upper, *(value for reason in runs for value in reason)]
    with ir.InsertionPoint(_outermost(loop, known)), loop.location:
        loop.operands[1] = arith.select(functools.reduce(arith.ori, map(_runs, runs)), upper, lower)


def _is_plain(loop: ir.Operation) -> bool:
    """True if a loop has one variable and no results: its operands are lower bound, upper bound and step."""
    return not len(loop.results) and len(loop.operands) == 3


def _reasons_to_run(loop: ir.Operation) -> list[Sequence[ir.Value]]:
    """The bounds of inner loops and the conditions that give a loop effects; empty if it may have others."""
    found: list[Sequence[ir.Value]] = []
    for view in entry_block(loop).operations:
        op = view.operation
        if op.name in LOOPS and _is_plain(op):
            found.append(list(op.operands)[:2])
        elif op.name == "scf.if" and not len(op.results) and not len(op.regions[1].blocks):
            found.append([op.operands[0]])
        elif not _is_free(op):
            return []
    return found if all(_comes_before(value, loop) for reason in found for value in reason) else []


def _is_free(op: ir.Operation) -> bool:
    """True if an op has no side effects, or only declares the cost of a loop."""
    if op.name == "func.call":
        return callee_of(op) == MARK
    return op.name in ("scf.yield", "scf.reduce") or op.name.startswith(_FREE)


def _runs(reason: Sequence[ir.Value]) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.slt, *reason) if len(reason) == 2 else reason[0]


def _comes_before(value: ir.Value, loop: ir.Operation) -> bool:
    """True if a value is available before a loop; arithmetic on available values is hoisted there."""
    if _is_outside(value, loop):
        return True
    op = value.owner
    if isinstance(op, ir.Block) or not _is_moved(op.operation):
        return False
    if not all(_comes_before(operand, loop) for operand in op.operands):
        return False
    op.operation.move_before(loop)
    return True


def _is_moved(op: ir.Operation) -> bool:
    """True if an op may be executed speculatively: divisors are constants."""
    divides = "div" in op.name or "rem" in op.name
    return op.name.startswith("arith.") and not (divides and not _constant(op.operands[1]))


def _is_outside(value: ir.Value, loop: ir.Operation) -> bool:
    """True if a value is defined outside of a loop."""
    owner = value.owner
    op = owner.owner if isinstance(owner, ir.Block) else owner
    while op is not None and op.operation.name != "func.func":
        if op.operation == loop:
            return False
        op = op.operation.parent
    return True


def _outermost(loop: ir.Operation, values: Sequence[ir.Value]) -> ir.Operation:
    """The outermost of the loops around a loop before which the values are available."""
    parent = loop.parent
    while parent is not None and parent.name in LOOPS:
        if not all(_is_outside(value, parent.operation) for value in values):
            break
        loop, parent = parent.operation, parent.operation.parent
    return loop


def _is_short(loop: ir.Operation) -> bool:
    lower, upper = (_constant(value) for value in list(loop.operands)[:2])
    return lower is not None and upper is not None and upper - lower < LONG


def _constant(value: ir.Value) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    return int(ir.IntegerAttr(owner.operation.attributes["value"]).value)
