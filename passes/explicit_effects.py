"""Pass ``explicit-effects``: what a packed function may have changed in place becomes a value of its own."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.dialects.calls import CallPackedOp, DistinctOp, UpdatedOp
from relax_mlir.dialects.structure import TUPLE, is_pure, pack
from relax_mlir.dialects.types import Tensor, struct_info
from relax_mlir.ir_queries import defining_op, enclosing_op_in, entry_block, owner_block
from relax_mlir.mlir import func, ir
from relax_mlir.transform import FunctionPass, PassContext


class ExplicitEffects(FunctionPass):
    """Let what follows a `call_packed` use `relax.updated` of the tensors that it was given.

    Afterwards no op before an effect equals one after it, so that CSE and folding by SSA value are right.
    A conditional yields the tensors of its surroundings that its branches may change, and a loop carries them.
    """

    name: ClassVar[str] = "explicit-effects"

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        make_explicit(entry_block(function))


Updates = dict[ir.Value, ir.Value]
"""Values from outside of a block, each with what stands for it at the end of the block."""


def make_explicit(block: ir.Block) -> Updates:
    """Make the effects in `block` explicit: what it changes of values from outside, with what stands for them."""
    updates: Updates = {}
    for view in list(block.operations):
        op = view.operation
        changed: Updates = {}
        if op.name == CallPackedOp.OPERATION_NAME and not _is_updated(op):
            changed = _after_call(op)
        elif op.name == "scf.if":
            changed = _after_conditional(op)
        elif op.name in ("scf.for", "scf.while"):
            changed = _after_loop(op)
        for old, new in changed.items():
            _replace_later_uses(old, new)
            origin = next((origin for origin, latest in updates.items() if latest == old), old)
            if origin != old or owner_block(old) != block:
                updates[origin] = new
    return updates


def _is_updated(call: ir.Operation) -> bool:
    """Whether the pass has been here before."""
    block = list(call.block.operations)
    position = next(i for i, view in enumerate(block) if view.operation == call)
    return bool(block[position + 1].operation.name == UpdatedOp.OPERATION_NAME)


def _after_call(call: ir.Operation) -> Updates:
    maker = defining_op(call.operands[0])
    if maker is None or maker.name != TUPLE:
        return {}
    tensors = list(dict.fromkeys(v for v in maker.operands if isinstance(struct_info(v.type), Tensor)))
    given = _kept_apart(call, maker, tensors)
    changed: Updates = {}
    after: ir.Operation = call
    for value in tensors:
        with call.location, ir.InsertionPoint.after(after):
            after = ir.Operation.create(
                UpdatedOp.OPERATION_NAME, results=[value.type], operands=[given[value]]
            )
        changed[value] = after.results[0]
    return changed


def _kept_apart(call: ir.Operation, maker: ir.Operation, tensors: list[ir.Value]) -> Updates:
    """The tensors as the call is given them: of those that CSE might make one, all but the first are distinct."""
    given: Updates = {}
    seen: set[tuple[str, str]] = set()
    for value in tensors:
        made_by = defining_op(value)
        kind = None if made_by is None or not is_pure(made_by) else (made_by.name, str(value.type))
        given[value] = value
        if kind is not None and kind in seen:
            with call.location, ir.InsertionPoint(call):
                copy = ir.Operation.create(DistinctOp.OPERATION_NAME, results=[value.type], operands=[value])
            given[value] = copy.results[0]
        elif kind is not None:
            seen.add(kind)
    if any(old != new for old, new in given.items()):
        with ir.InsertionPoint(call):
            call.operands[0] = pack([given.get(v, v) for v in maker.operands], maker.location)
        if not list(maker.results[0].uses):
            maker.erase()
    return given


def _after_conditional(op: ir.Operation) -> Updates:
    """Let the conditional yield the values that a branch may change, as more results."""
    branches = [make_explicit(region.blocks[0]) for region in op.regions if len(region.blocks)]
    changed = list(dict.fromkeys(value for branch in branches for value in branch))
    if not changed:
        return {}
    if len(branches) < len(op.regions):
        with op.location, ir.InsertionPoint(op.regions[1].blocks.append()):
            ir.Operation.create("scf.yield")
        branches.append({})
    results = [*(result.type for result in op.results), *(value.type for value in changed)]
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create("scf.if", results=results, operands=list(op.operands), regions=2)
    for index, branch in enumerate(branches):
        block = op.regions[index].blocks[0]
        block.append_to(new.regions[index])
        old_yield = block.operations[-1].operation
        yielded = [*old_yield.operands, *(branch.get(value, value) for value in changed)]
        with old_yield.location, ir.InsertionPoint(old_yield):
            ir.Operation.create("scf.yield", operands=yielded)
        old_yield.erase()
    kept = len(op.results)
    for old_result, new_result in zip(op.results, list(new.results)[:kept], strict=True):
        old_result.replace_all_uses_with(new_result)
    op.erase()
    return dict(zip(changed, list(new.results)[kept:], strict=True))


def _after_loop(op: ir.Operation) -> Updates:
    """Let the loop carry the values that a round may change."""
    rounds = [make_explicit(region.blocks[0]) for region in op.regions]
    changed = list(dict.fromkeys(value for updates in rounds for value in updates))
    if not changed:
        return {}
    types = [value.type for value in changed]
    results = [*(result.type for result in op.results), *types]
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create(
            op.name, results=results, operands=[*op.operands, *changed], regions=len(op.regions)
        )
    for index, updates in enumerate(rounds):
        block = op.regions[index].blocks[0]
        arguments = [block.add_argument(type_, op.location) for type_ in types]
        for value, argument in zip(changed, arguments, strict=True):
            _replace_uses_within(block, value, argument)
        old_end = block.operations[-1].operation
        given = [updates.get(v, a) for v, a in zip(changed, arguments, strict=True)]
        with old_end.location, ir.InsertionPoint(old_end):
            ir.Operation.create(old_end.name, operands=[*old_end.operands, *given])
        old_end.erase()
        block.append_to(new.regions[index])
    kept = len(op.results)
    for old_result, new_result in zip(op.results, list(new.results)[:kept], strict=True):
        old_result.replace_all_uses_with(new_result)
    op.erase()
    return dict(zip(changed, list(new.results)[kept:], strict=True))


def _replace_uses_within(block: ir.Block, old: ir.Value, new: ir.Value) -> None:
    """Let the ops of a loop's block, and those nested in them, use `new` for `old`."""
    for use in list(old.uses):
        user = use.owner.operation
        if enclosing_op_in(block, user) is not None:
            user.operands[use.operand_number] = new


def _replace_later_uses(old: ir.Value, new: ir.Value) -> None:
    """Let the ops behind the maker of `new`, in its block and those nested in them, use `new` for `old`."""
    maker = new.owner.operation
    following: list[ir.Operation] = []
    for view in reversed(list(maker.block.operations)):
        if view.operation == maker:
            break
        following.append(view.operation)
    for use in list(old.uses):
        user = use.owner.operation
        top = enclosing_op_in(maker.block, user)
        if top is not None and top in following:
            user.operands[use.operand_number] = new
