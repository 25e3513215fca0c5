"""Pass ``topological-sort``: reorder the bindings of dataflow blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import ir
from relax_mlir.rewrite.function_editing import Graph, needs_of, numbers_of
from relax_mlir.transform import DataflowBlockPass, PassContext


@dataclass(frozen=True)
class TopologicalSort(DataflowBlockPass):
    """Order the bindings of dataflow blocks depth first or breadth first, from the inputs or from the outputs.

    Depth first from the inputs: a binding is followed by its users as soon as their other operands are defined. Depth
    first from the outputs: a binding is preceded by the bindings that only it needs. Breadth first: by generation. The
    order is stable, and a `match_shape` stays before the users of the symbols that it defines.
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
        needs = needs_of(ops)
        if self.direction == "from-inputs":
            order = _from_inputs(needs, depth_first=self.order == "depth-first")
        else:
            outputs = numbers_of(positions, end.operands)
            order = _from_outputs(needs, outputs, depth_first=self.order == "depth-first")
        for number in order:
            ops[number].move_before(end)


def _users(needs: Graph) -> Graph:
    users: list[list[int]] = [[] for _ in needs]
    for user, needed in enumerate(needs):
        for number in needed:
            users[number].append(user)
    return users


def _from_inputs(needs: Graph, *, depth_first: bool) -> list[int]:
    users, missing = _users(needs), [len(needed) for needed in needs]
    ready = deque(number for number, count in enumerate(missing) if count == 0)
    order: list[int] = []
    while ready:
        number = ready.popleft()
        order.append(number)
        freed = []
        for user in users[number]:
            missing[user] -= 1
            if missing[user] == 0:
                freed.append(user)
        if depth_first:
            ready.extendleft(reversed(freed))
        else:
            ready.extend(freed)
    return order


def _from_outputs(needs: Graph, outputs: Sequence[int], *, depth_first: bool) -> list[int]:
    roots = list(dict.fromkeys([*outputs, *range(len(needs))]))
    if depth_first:
        return _post_order(needs, roots)
    users = _users(needs)
    waiting = [len(found) for found in users]
    ready = deque(number for number in reversed(roots) if waiting[number] == 0)
    order: list[int] = []
    while ready:
        number = ready.popleft()
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
        while stack:
            number, rest = stack[-1]
            following = next((n for n in rest if n not in order), None)
            if following is None:
                order[number] = None
                stack.pop()
            else:
                stack.append((following, iter(needs[following])))
    return list(order)
