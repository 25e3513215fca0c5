"""The cost of a loop in cycles, as a formula that is computed before the loop (see `parallel_loop`)."""

from __future__ import annotations

from relax_mlir.lowering.kernels.core import emit
from relax_mlir.lowering.kernels.core.emit import Index
from relax_mlir.lowering.loops.annotated_loops import body_of, is_inside, most_bound, trip_count
from relax_mlir.mlir import arith, ir

FUNCTION_CYCLES = 16
"""The approximate cycles of a math function."""
UNKNOWN_LENGTH = 8
"""The assumed trip count of an inner loop whose bounds depend on the loop in question."""
FREE = ("arith.constant", "memref.dim", "memref.cast", "builtin.unrealized_conversion_cast", "scf.yield")


def cost_of(loop: ir.Operation) -> Index:
    """The approximate cycles of all iterations of a loop; emitted at the insertion point, before the loop."""
    return emit.mul(_length(loop, loop), _of_ops(body_of(loop), loop))


def _of_ops(ops: list[ir.Operation], loop: ir.Operation) -> Index:
    total: Index = 1
    for op in ops:
        total = emit.add(total, _of_op(op, loop))
    return total


def _of_op(op: ir.Operation, loop: ir.Operation) -> Index:
    if op.name in FREE:
        return 0
    if op.name == "scf.for":
        return emit.mul(_length(op, loop), _of_ops(body_of(op), loop))
    if len(op.regions):
        blocks = [block for region in op.regions for block in region.blocks]
        costs = [_of_ops([view.operation for view in block.operations], loop) for block in blocks]
        total: Index = 0
        for cost in costs:
            total = emit.maximum(total, cost)
        return total
    return FUNCTION_CYCLES if op.name.startswith("math.") and op.name != "math.fma" else 1


def _length(inner: ir.Operation, loop: ir.Operation) -> Index:
    """The trip count of a loop in another one: exact, an upper bound, or an estimate."""
    begin, end, step = list(inner.operands)[:3]
    count = trip_count(inner)
    if count is not None:
        return count
    if inner == loop or not any(is_inside(value, loop) for value in (begin, end, step)):
        count_ = arith.ceildivsi(arith.subi(end, begin), step)
        return arith.maxsi(count_, emit.index(0))
    most = most_bound(end)
    return UNKNOWN_LENGTH if most is None else max(most, 1)
