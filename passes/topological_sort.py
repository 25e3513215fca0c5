"""Pass ``topological-sort``: the bindings of dataflow blocks in another order that computes the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from relax_mlir.analysis.well_formed import defining_symbols
from relax_mlir.dialects.structure import MatchShapeOp
from relax_mlir.dialects.symbolic_attributes import dim_attributes
from relax_mlir.dialects.types import struct_info
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import entry_block, ops_of
from relax_mlir.mlir import ir
from relax_mlir.symbolic import symbols
from relax_mlir.transform import DataflowBlockPass, PassContext

Graph = Sequence[Sequence[int]]
"""Per op of a block, by its number, the numbers of others in ascending order."""


@dataclass(frozen=True)
class TopologicalSort(DataflowBlockPass):
    """Order the bindings of dataflow blocks depth first or breadth first, from the inputs or from the outputs.

    Depth first from the inputs: behind a binding come its users, as soon as their other operands are there. Depth
    first from the outputs: in front of a binding comes what only it needs. Breadth first: in generations. Among
    equals the order stays; a `match_shape` stays in front of what uses the symbols that it defines.
    """

    name: ClassVar[str] = "topological-sort"
    order: Literal["depth-first", "breadth-first"] = "depth-first"
    direction: Literal["from-inputs", "from-outputs"] = "from-inputs"

    def run_on_block(self, block: ir.Operation, module: ir.Module, ctx: PassContext) -> None:
        ops = [view.operation for view in entry_block(block).operations]
        end = ops.pop()
        positions: dict[ir.Value, int] = {
            result: number for number, op in enumerate(ops) for result in op.results
        }
        needs = _needs(ops, positions)
        if self.direction == "from-inputs":
            order = _from_inputs(needs, depth_first=self.order == "depth-first")
        else:
            outputs = _numbers(positions, end.operands)
            order = _from_outputs(needs, outputs, depth_first=self.order == "depth-first")
        for number in order:
            ops[number].move_before(end)


def _needs(ops: Sequence[ir.Operation], positions: dict[ir.Value, int]) -> Graph:
    """What each op needs to come first: the makers of its operands, and of the symbols that it uses."""
    needs: list[list[int]] = []
    definers: dict[str, int] = {}
    for number, op in enumerate(ops):
        needed = set(_numbers(positions, [value for inner in ops_of(op) for value in inner.operands]))
        needed |= {definers[symbol] for symbol in _symbols(op) if symbol in definers}
        needs.append(sorted(needed))
        if op.name == MatchShapeOp.OPERATION_NAME:
            for symbol in defining_symbols(struct_info(op.results[0].type)):
                definers.setdefault(symbol, number)
    return needs


def _numbers(positions: dict[ir.Value, int], values: Sequence[ir.Value]) -> list[int]:
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
                continue  # a value of another dialect, which has no symbols
    return found


def _users(needs: Graph) -> Graph:
    return [[user for user, needed in enumerate(needs) if number in needed] for number in range(len(needs))]


def _from_inputs(needs: Graph, *, depth_first: bool) -> list[int]:
    users, missing = _users(needs), [len(needed) for needed in needs]
    ready = [number for number, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        number = ready.pop(0)
        order.append(number)
        freed = []
        for user in users[number]:
            missing[user] -= 1
            if missing[user] == 0:
                freed.append(user)
        ready = freed + ready if depth_first else ready + freed
    return order


def _from_outputs(needs: Graph, outputs: Sequence[int], *, depth_first: bool) -> list[int]:
    roots = [*outputs, *(number for number in range(len(needs)) if number not in outputs)]
    if depth_first:
        return _post_order(needs, roots)
    users = _users(needs)
    waiting = [len(found) for found in users]
    ready = [number for number in reversed(roots) if waiting[number] == 0]
    order: list[int] = []
    while ready:
        number = ready.pop(0)
        order.append(number)
        for needed in reversed(needs[number]):
            waiting[needed] -= 1
            if waiting[needed] == 0:
                ready.append(needed)
    return order[::-1]


def _post_order(needs: Graph, roots: Sequence[int]) -> list[int]:
    order: dict[int, None] = {}
    for root in roots:
        stack = [(root, iter(needs[root]))]
        entered = {root}
        while stack and root not in order:
            number, rest = stack[-1]
            following = next((n for n in rest if n not in order and n not in entered), None)
            if following is None:
                order[number] = None
                stack.pop()
            else:
                entered.add(following)
                stack.append((following, iter(needs[following])))
    return list(order)
