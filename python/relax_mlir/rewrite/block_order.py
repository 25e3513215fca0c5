"""Dependencies between the ops of a block, and their topological order."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence

from relax_mlir.analysis.well_formed import defining_symbols
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.structure import MatchShapeOp, is_pure
from relax_mlir.dialects.symbolic_attributes import dim_attributes
from relax_mlir.dialects.types import struct_info
from relax_mlir.error import ArgumentError, RelaxError
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.mlir import ir
from relax_mlir.symbolic import symbols

Graph = Sequence[Sequence[int]]
"""For each op of a block, by index: the indices of other ops in ascending order."""


def needs_of(ops: Sequence[ir.Operation]) -> Graph:
    """The ops that must precede each op: those that define its operands, or symbols that it uses."""
    positions: dict[ir.Value, int] = {
        result: number for number, op in enumerate(ops) for result in op.results
    }
    needs: list[list[int]] = []
    definers: dict[str, int] = {}
    for number, op in enumerate(ops):
        needed = set(numbers_of(positions, [value for inner in ops_of(op) for value in inner.operands]))
        needed |= {definers[symbol] for symbol in _symbols(op) if symbol in definers}
        needs.append(sorted(needed))
        if op.name == MatchShapeOp.OPERATION_NAME:
            for symbol in defining_symbols(struct_info(op.results[0].type)):
                definers.setdefault(symbol, number)
    return needs


def numbers_of(positions: Mapping[ir.Value, int], values: Sequence[ir.Value]) -> list[int]:
    """The indices of those of `values` that have one, in ascending order."""
    return sorted({positions[value] for value in values if value in positions})


def _symbols(op: ir.Operation) -> set[str]:
    found: set[str] = set()
    for inner in ops_of(op):
        for _, dims in dim_attributes(inner):
            found.update(name for dim in dims if dim is not None for name in symbols(dim))
        for result in inner.results:
            try:
                found.update(struct_info(result.type).symbols())
            except RelaxError:
                continue  # a value of another dialect, without symbols
    return found


def needs_with_effects(ops: Sequence[ir.Operation], impure: Collection[str] = ()) -> Graph:
    """`needs_of`, plus the order of ops with side effects or regions: each needs the one before it.

    `impure`: the functions with side effects.
    """
    needs = [list(row) for row in needs_of(ops)]
    before: int | None = None
    for number, op in enumerate(ops):
        if is_pure(op) and not len(op.regions) and (op.name != "relax.call" or callee_of(op) not in impure):
            continue
        if before is not None:
            needs[number] = sorted({*needs[number], before})
        before = number
    return needs


def sort_block(block: ir.Block, impure: Collection[str] = ()) -> None:
    """Sort the ops of a block topologically; the order of side effects, and otherwise where possible, is kept.

    `impure`: the functions with side effects.

    Raises:
        ArgumentError: the ops depend on each other in a cycle.
    """
    *ops, end = [view.operation for view in block.operations]
    needs = needs_with_effects(ops, impure)
    if all(needed < number for number, row in enumerate(needs) for needed in row):
        return
    users: list[list[int]] = [[] for _ in ops]
    for number, row in enumerate(needs):
        for needed in row:
            users[needed].append(number)
    missing = [len(row) for row in needs]
    ready = [number for number, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        number = heapq.heappop(ready)
        order.append(number)
        for user in users[number]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(ready, user)
    if len(order) < len(ops):
        stuck = next(ops[number] for number, count in enumerate(missing) if count)
        raise ArgumentError(f"{stuck.name} at {location_text(stuck.location)} needs its own result")
    for number in order:
        ops[number].move_before(end)
