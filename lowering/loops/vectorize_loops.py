"""Pass `vectorize-loops`: vectorise loops written as `T.vectorized` (level V)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.lowering.loops.annotated_loops import (
    INDEPENDENT,
    PARALLEL,
    VECTORIZED,
    annotated_functions,
    constant_of,
    loops_of_kind,
)
from relax_mlir.lowering.loops.fuse_multiply_add import contract_sums
from relax_mlir.lowering.loops.independence import Aliases, Independence
from relax_mlir.lowering.loops.lane_chunks import LaneChunks
from relax_mlir.lowering.loops.lane_plan import LanePlan, NoVectors
from relax_mlir.lowering.loops.report import honoured, serial
from relax_mlir.mlir import func, ir
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext


@dataclass(frozen=True)
class VectorizeLoops(ModulePass):
    """Vectorise `scf.for` annotated as ``vectorized`` for `target`, if its iterations are independent.

    Contiguous elements are vector loads and stores, those up to four apart are selected from vectors, uniform elements
    are read once, others are accessed one by one. Inner loops stay loops, over vectors. Conditions that differ between
    iterations become masks. A dynamic trip count is covered by a mask, or by a loop of single iterations for elements
    without cheap masks (16 bits and less). Nothing is read outside of the range between the first and the last element
    that the loop reads.

    A loop whose iterations are not proved independent, or that has ops without a vector form (checks, calls, `while`),
    stays, with a note. Loops annotated as ``parallel`` that are independent are marked so, before loops in them change.
    """

    name: ClassVar[str] = "vectorize-loops"
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        target, aliases = Target.parse(self.target), Aliases(module)
        for function in annotated_functions(module, VECTORIZED):
            _mark_independent(function, Independence(function, aliases))
            for loop in loops_of_kind(function.operation, VECTORIZED):
                _vectorize(loop, function, aliases, target)


def _mark_independent(function: func.FuncOp, independence: Independence) -> None:
    """Mark independent parallel loops for `parallelize-loops`."""
    for loop in loops_of_kind(function.operation, PARALLEL):
        if not loop.results and independence.obstacle(loop) is None:
            with loop.context:
                loop.attributes[INDEPENDENT] = ir.UnitAttr.get()


def _vectorize(loop: ir.Operation, function: func.FuncOp, aliases: Aliases, target: Target) -> None:
    try:
        plan = _plan(loop, Independence(function, aliases))
    except NoVectors as obstacle:
        serial(loop, str(obstacle))
        return
    contract_sums(loop)
    with ir.InsertionPoint(loop), loop.location:
        how = LaneChunks(plan, target, function).emit()
    honoured(loop, how)
    loop.erase()


def _plan(loop: ir.Operation, independence: Independence) -> LanePlan:
    """Analyse a loop; raises `NoVectors` if it cannot be vectorised."""
    if loop.results:
        raise NoVectors("an iteration gives values to the next")
    if constant_of(loop.operands[2]) != 1:
        raise NoVectors("its step is not 1")
    plan = LanePlan(loop)
    obstacle = independence.obstacle(loop)
    if obstacle is not None:
        raise NoVectors(obstacle)
    return plan
