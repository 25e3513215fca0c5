"""Dataflow blocks (`convert-to-dataflow`, `to-non-dataflow`, `topological-sort`), and effects as values."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from relax_mlir.analysis.call_graph import impure_functions
from relax_mlir.dialects.structure import TUPLE, TupleGetItemOp, is_pure, pack
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.error import ArgumentError
from relax_mlir.ir_queries import callee_of, defining_op, entry_block, is_used
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_effects_explicit
from relax_mlir.rewrite.function_editing import Graph, needs_of, numbers_of
from relax_mlir.symbolic import assuming
from relax_mlir.transform import DataflowBlockPass, FunctionPass, PassContext
from relax_mlir.transform.passes import dataflow_blocks

# Pass `convert-to-dataflow`: group pure bindings into dataflow blocks.


@dataclass(frozen=True)
class ConvertToDataflow(FunctionPass):
    """Group each maximal run of `min_size` or more pure bindings outside of dataflow blocks into a dataflow block.

    The branches of conditionals are processed, too. A run ends at calls of functions with effects, control flow,
    dataflow blocks and ops of other dialects. A tuple that is used after a run is built after it.
    """

    name: ClassVar[str] = "convert-to-dataflow"
    min_size: int = 2

    def transform(self, module: ir.Module, ctx: PassContext) -> None:
        """Transform all functions; effects are analysed once, since dataflow blocks do not change them."""
        impure = _impure(module)
        for function in self.functions(module):
            with assuming(read_bounds(function)):
                self._convert(function, impure)

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        self._convert(function, _impure(module))

    def _convert(self, function: func.FuncOp, impure: set[str]) -> None:
        if self.min_size < 1:
            raise ArgumentError(f"{self.name}: min_size is {self.min_size}, expected at least 1")
        make_effects_explicit(function)
        for run in list(_runs(entry_block(function), impure)):
            if sum(op.name != TUPLE for op in run) >= self.min_size:
                _group(run)


def _impure(module: ir.Module) -> set[str]:
    return impure_functions({op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)})


def _runs(block: ir.Block, impure: set[str]) -> Iterator[list[ir.Operation]]:
    run: list[ir.Operation] = []
    for view in list(block.operations):
        op = view.operation
        if _may_join(op, impure):
            run.append(op)
            continue
        yield run
        run = []
        if op.name != "relax.dataflow":
            for region in op.regions:
                for nested in region.blocks:
                    yield from _runs(nested, impure)
    yield run


def _may_join(op: ir.Operation, impure: set[str]) -> bool:
    if len(op.regions) or has_trait(op, EndsBlock):
        return False
    if op.name == "relax.call":
        return callee_of(op) not in impure
    if op.name == TupleGetItemOp.OPERATION_NAME:
        defining = defining_op(op.operands[0])
        if defining is not None and defining.name == "relax.dataflow":
            return False  # an output of the preceding block
    return bool(op.name == TUPLE or (op.name.startswith("relax.") and is_pure(op)))


def _group(run: Sequence[ir.Operation]) -> None:
    """Move the consecutive ops of `run` into a new dataflow block at their position."""
    dataflow = _block_in_front(run)
    body = entry_block(dataflow)
    for op in run:
        body.append(op)
    bindings = [op for op in run if op.name != TUPLE]
    for op in reversed([op for op in run if op.name == TUPLE]):
        _make_behind(op, dataflow)
    outputs = [op.results[0] for op in bindings if _outer_uses(op.results[0], dataflow)]
    with ir.InsertionPoint(body), dataflow.location:
        given = outputs[0] if len(outputs) == 1 else pack(outputs, dataflow.location)
        ir.Operation.create("relax.output", operands=[given])
    dataflow.results[0].set_type(given.type)
    for index, value in reversed(list(enumerate(outputs))):
        outer = _outer_uses(value, dataflow)
        seen = dataflow.results[0] if len(outputs) == 1 else _field(dataflow, index, value)
        for user, number in outer:
            user.operands[number] = seen


def _block_in_front(run: Sequence[ir.Operation]) -> ir.Operation:
    location = ir.Location.from_attr(run[0].location.attr, run[0].context)
    plain = location.child_loc if isinstance(location, ir.NameLoc) else location
    dataflow = ir.Operation.create(
        "relax.dataflow",
        results=[ir.TupleType.get_tuple([])],
        regions=1,
        loc=plain,
        ip=ir.InsertionPoint(run[0]),
    )
    ir.Block.create_at_start(dataflow.regions[0], [])
    return dataflow


def _make_behind(op: ir.Operation, dataflow: ir.Operation) -> None:
    """Rebuild a tuple after the block for its uses there: the fields leave the block individually."""
    outer = _outer_uses(op.results[0], dataflow)
    if not outer:
        return
    copy = op.clone(ip=ir.InsertionPoint.after(dataflow))
    for user, number in outer:
        user.operands[number] = copy.results[0]
    if not is_used(op.results[0]):
        op.erase()


def _field(dataflow: ir.Operation, index: int, value: ir.Value) -> ir.Value:
    with ir.InsertionPoint.after(dataflow), dataflow.location:
        return ir.Operation.create(
            TupleGetItemOp.OPERATION_NAME,
            results=[value.type],
            operands=[dataflow.results[0]],
            attributes={"index": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)},
        ).results[0]


def _outer_uses(value: ir.Value, dataflow: ir.Operation) -> list[tuple[ir.Operation, int]]:
    uses = [(use.owner.operation, use.operand_number) for use in value.uses]
    return [(user, number) for user, number in uses if user.parent is None or user.parent.operation != dataflow]


# Pass `to-non-dataflow`: dissolve dataflow blocks into the enclosing code.


class ToNonDataflow(FunctionPass):
    """Move the ops of dataflow blocks in front of them, and remove the blocks."""

    name: ClassVar[str] = "to-non-dataflow"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        make_effects_explicit(function)
        for dataflow in dataflow_blocks(function):
            _dissolve(dataflow)


def _dissolve(dataflow: ir.Operation) -> None:
    body = [view.operation for view in entry_block(dataflow).operations]
    for op in body[:-1]:
        op.move_before(dataflow)
    dataflow.results[0].replace_all_uses_with(body[-1].operands[0])
    dataflow.erase()


# Pass `topological-sort`: reorder the bindings of dataflow blocks.


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
        positions: dict[ir.Value, int] = {result: number for number, op in enumerate(ops) for result in op.results}
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


# Pass `explicit-effects`: represent in-place changes by packed functions as new values.


class ExplicitEffects(FunctionPass):
    """Represent in-place changes: after a `call_packed`, its tensor arguments are replaced by `relax.updated` of them.

    Afterwards no op before an effect equals an op after it, so that CSE and folding by SSA value are correct. A
    conditional yields the outer tensors that its branches may change, and a loop carries them. A field of a `tuple` op
    aliases the operand of that op: both are updated. Changes by a nested function to captured values are local to it.

    Every pass of this project that replaces one value by another, or moves an op, first makes effects explicit in the
    functions that it changes. MLIR's own passes do not.
    """

    name: ClassVar[str] = "explicit-effects"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        make_effects_explicit(function)
