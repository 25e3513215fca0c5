"""Pass `parallelize-loops`: run loops written as `T.parallel` on the thread pool (level V)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import LOOP_KIND
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.kernels.core import parallel
from relax_mlir.lowering.loops.annotated_loops import (
    INDEPENDENT,
    PARALLEL,
    annotated_functions,
    enclosing_loops,
    loops_of_kind,
)
from relax_mlir.lowering.loops.independence import Aliases, Independence
from relax_mlir.lowering.loops.loop_costs import cost_of
from relax_mlir.lowering.loops.report import honoured, serial
from relax_mlir.mlir import ir
from relax_mlir.transform import ModulePass, PassContext


@dataclass(frozen=True)
class ParallelizeLoops(ModulePass):
    """Mark `scf.for` annotated as ``parallel`` to run on several threads, if its cost justifies it.

    `outline-parallel-loops` outlines marked loops as jobs. The cost of all iterations is a formula of the trip counts
    of inner loops. A loop whose iterations are not proved independent, or in which a check may fail, stays serial, with
    a note. A loop nested in a marked one is sequential within its job.
    """

    name: ClassVar[str] = "parallelize-loops"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        aliases = Aliases(module)
        for function in annotated_functions(module, PARALLEL):
            independence = Independence(function, aliases)
            for loop in reversed(loops_of_kind(function.operation, PARALLEL)):
                reason = _obstacle(loop, independence)
                if reason is not None:
                    serial(loop, reason)
                    continue
                with ir.InsertionPoint(loop), loop.location:
                    cost = cost_of(loop)
                honoured(loop, "jobs of threads")
                for mark in (LOOP_KIND, INDEPENDENT):
                    if mark in loop.attributes:
                        del loop.attributes[mark]
                parallel.mark(loop, cost)


def _obstacle(loop: ir.Operation, independence: Independence) -> str | None:
    if any(parallel.PARALLEL in around.attributes for around in enclosing_loops(loop)):
        return "a loop around it runs on several threads"
    if loop.results:
        return "an iteration gives values to the next"
    ops = ops_of(loop, "cf.assert", "func.call")
    if ops:
        return "a check in it may fail"
    return None if INDEPENDENT in loop.attributes else independence.obstacle(loop)
