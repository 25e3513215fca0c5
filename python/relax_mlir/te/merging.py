"""Shorten long chains of computations: inline those whose elements are each read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import Expr, Load
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.tensors import Operation, Tensor
from relax_mlir.te.walk import loads_of, substitute

MAX_COMPUTATIONS = 200
"""Maximum number of computations before inlining; upstream's bufferisation is cubic in their number."""
GOAL = 100
"""Target number of computations after inlining."""

Bodies = dict[Operation, tuple[Expr, ...]]
"""The new values of computations."""


def merged(operations: Sequence[Operation], kept: Sequence[Tensor]) -> tuple[list[Operation], Bodies]:
    """Return the remaining computations and their new values; `kept` are parameters, which remain.

    A computation is inlined into its reader if that reads each of its elements once. No value is computed more often
    than before, or differently.
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
    """Map each tensor to its reader, if exactly one computation reads it, once, at a permutation of its axes."""
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
    """True if a computation without reductions reads an element indexed by a permutation of its axes."""
    if any(isinstance(value, Reduction) for value in op.body):
        return False
    own, read = list(map(id, op.axis)), list(map(id, load.children))
    return len(own) == len(read) and set(own) == set(read)
