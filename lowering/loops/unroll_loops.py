"""Pass `unroll-loops`: unroll loops written as `T.unroll` (level V)."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.ir_queries import defining_op, ops_of
from relax_mlir.lowering.analysis.loop_annotations import (
    UNROLL,
    annotated_functions,
    body_of,
    clone_ops,
    constant_of,
    honoured,
    index,
    loops_of_kind,
    most_bound,
    serial,
    trip_count,
    variable_of,
)
from relax_mlir.lowering.kernels.core import emit
from relax_mlir.mlir import arith, ir
from relax_mlir.transform import ModulePass, PassContext

# Contraction of sums of products in memory to fused multiply-adds, as in the other generated reduction loops.


_CONTRACT = "#arith.fastmath<contract>"


def contract_sums(loop: ir.Operation) -> None:
    """Allow ``X[i] = X[i] + a * b`` in a loop to become a fused multiply-add."""
    for store in ops_of(loop, "memref.store"):
        value, buffer, *indices = store.operands
        total = defining_op(value)
        if total is None or total.name != "arith.addf":
            continue
        sides = [defining_op(side) for side in total.operands]
        for old, product in (sides, sides[::-1]):
            if old is None or product is None or product.name != "arith.mulf":
                continue
            if old.name == "memref.load" and list(old.operands) == [buffer, *indices]:
                for op in (total, product):
                    op.attributes["fastmath"] = ir.Attribute.parse(_CONTRACT, loop.context)


MAX_ITERATIONS = 64
"""Longer loops are not unrolled."""
MAX_OPS = 4096
"""Loops that would become more operations are not unrolled either."""


@dataclass(frozen=True)
class UnrollLoops(ModulePass):
    """Replace `scf.for` annotated as ``unroll`` by its iterations in sequence, innermost loops first.

    If the trip count only has a constant bound, like that of the last tile, each iteration is under a condition. Loops
    stay, with a note, if they have more than 64 iterations or no such bound, would become more than 4,096 operations,
    or carry values.
    """

    name: ClassVar[str] = "unroll-loops"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for function in annotated_functions(module, UNROLL):
            for loop in loops_of_kind(function.operation, UNROLL):
                _unroll(loop)


def _unroll(loop: ir.Operation) -> None:
    count = _most_iterations(loop)
    reason = _obstacle(loop, count)
    if reason is not None or count is None:
        serial(loop, str(reason))
        return
    contract_sums(loop)
    is_exact = trip_count(loop) is not None
    how = "one iteration" if count == 1 else f"{count} iterations"
    honoured(loop, how if is_exact else f"{how} at most")
    begin, step = constant_of(loop.operands[0]), constant_of(loop.operands[2])
    assert begin is not None and step is not None
    with ir.InsertionPoint(loop), loop.location:
        for number in range(count):
            place = index(begin + number * step)
            condition = None if is_exact else arith.cmpi(arith.CmpIPredicate.sgt, loop.operands[1], place)
            with emit.when(condition) if condition is not None else nullcontext():
                clone_ops(body_of(loop), {variable_of(loop): place})
    loop.erase()


def _most_iterations(loop: ir.Operation) -> int | None:
    """The maximum trip count of a loop; None if it is unknown."""
    begin, step, most = (
        constant_of(loop.operands[0]),
        constant_of(loop.operands[2]),
        most_bound(loop.operands[1]),
    )
    if begin is None or step is None or step < 1 or most is None:
        return None
    return max(0, -(-(most - begin) // step))


def _obstacle(loop: ir.Operation, count: int | None) -> str | None:
    """The reason why a loop is not unrolled; None if it can be."""
    if loop.results:
        return "an iteration gives values to the next"
    if count is None:
        return "its length has no constant bound"
    if count > MAX_ITERATIONS:
        return f"it has {count} iterations, more than {MAX_ITERATIONS}"
    ops = count * (len(ops_of(loop)) - 2)
    if ops > MAX_OPS:
        return f"its iterations are {ops} operations, more than {MAX_OPS}"
    return None
