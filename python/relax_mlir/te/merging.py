"""Long chains of computations made shorter: what is read once, element by element, becomes part of what reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import Expr, Load
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.tensors import Operation, Tensor
from relax_mlir.te.walk import loads_of, substitute

MAX_COMPUTATIONS = 200
"""How many computations are written as they are; upstream's bufferisation takes time with the cube of their number."""
GOAL = 100
"""How many are aimed at where there are more."""

Bodies = dict[Operation, tuple[Expr, ...]]
"""What computations have become."""


def merged(operations: Sequence[Operation], kept: Sequence[Tensor]) -> tuple[list[Operation], Bodies]:
    """The computations that are left, and what they compute now; `kept` are parameters, which are.

    A computation goes into the one that reads it if that reads each of its elements once. Nothing is computed more
    often, or otherwise, than before.
    """
    if len(operations) <= MAX_COMPUTATIONS:
        return list(operations), {}
    limit = -(-len(operations) // GOAL)
    uses = _uses(operations)
    bodies: Bodies = {}
    weights: dict[Operation, int] = {}
    inside: set[Operation] = set()
    parameters = {tensor.op for tensor in kept}
    for op in operations:
        if not isinstance(op, ComputeOp):
            continue
        weights[op] = 1
        values: dict[Expr, Expr] = {}
        for load in loads_of(*op.body):
            producer = load.tensor.op
            if producer in inside:
                assert isinstance(producer, ComputeOp)
                values[load] = substitute(
                    bodies[producer][0], dict(zip(producer.axis, load.children, strict=True))
                )
                weights[op] += weights[producer]
        bodies[op] = tuple(substitute(value, values) for value in op.body) if values else op.body
        reader = uses.get(op.outputs[0])
        if (
            len(op.outputs) == 1
            and op not in parameters
            and not isinstance(op.body[0], Reduction)
            and reader is not None
            and weights[op] < limit
        ):
            inside.add(op)
    return [op for op in operations if op not in inside], bodies


def _uses(operations: Sequence[Operation]) -> dict[Tensor, ComputeOp]:
    """For each tensor that one computation reads at all of its own places, once each: that computation."""
    counts: Counter[Tensor] = Counter()
    found: dict[Tensor, ComputeOp] = {}
    for op in operations:
        if not isinstance(op, ComputeOp):
            counts.update(2 * list(op.input_tensors))
            continue
        for load in loads_of(*op.body):
            counts[load.tensor] += 1
            if _is_one_to_one(op, load):
                found[load.tensor] = op
    return {tensor: op for tensor, op in found.items() if counts[tensor] == 1}


def _is_one_to_one(op: ComputeOp, load: Load) -> bool:
    """Whether a computation without reductions reads an element by its axes, each once."""
    if any(isinstance(value, Reduction) for value in op.body):
        return False
    own, read = list(map(id, op.axis)), list(map(id, load.children))
    return len(own) == len(read) and set(own) == set(read)
