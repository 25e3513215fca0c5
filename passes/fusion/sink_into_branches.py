"""Sinking of prim func calls into the branches of a conditional, where they fuse.

A conditional between implementations of an op (`relax_mlir.lowering.legalize.strategies`) yields the result
of the selected one. A loop over that result is copied into each branch, and so is a loop that computes an operand
only for the branches. This is done if at least one branch fuses the loop; the other branches call it separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from relax_mlir.dialects.structure import TUPLE, pack
from relax_mlir.dialects.traits import IsTransparent, has_trait
from relax_mlir.ir_queries import defining_op, enclosing_op_in
from relax_mlir.mlir import ir
from relax_mlir.passes.fusion.prim_calls import CALL_TIR, PrimCall

IF = "scf.if"
Fuses = Callable[[PrimCall, PrimCall], bool]
"""True if the call that defines an operand fuses with the call that uses it, as its only user."""


def sink_epilogues(block: ir.Block, fuses: Fuses) -> None:
    """Move each call into the branches of the conditional that defines its operand, if that lets it fuse."""
    epoch, epochs = 0, dict[ir.Value, int]()
    for op in [view.operation for view in block.operations]:
        if op.name == IF:
            epoch += 1
            epochs.update(dict.fromkeys(op.results, epoch))
        elif not has_trait(op, IsTransparent):
            epoch += 1
        call = PrimCall.of(op) if op.name == CALL_TIR else None
        if call is None or call.info is None:
            continue
        for value in dict.fromkeys(call.operands):
            branch = defining_op(value)
            if branch is None or branch.name != IF or branch.block != block or epochs.get(value) != epoch:
                continue
            if not call.is_only_user(value) or not _are_before(call, value, branch):
                continue
            number = ir.OpResult(value).result_number
            if any(
                fuses(producer, _reading(call, value, producer)) for producer in _producers(branch, number)
            ):
                epochs.update(dict.fromkeys(_sink(call, branch, number).results, epoch))
                break


def _reading(call: PrimCall, value: ir.Value, producer: PrimCall) -> PrimCall:
    """A call that reads the result of `producer` in place of `value`."""
    made = producer.op.results[0]
    operands = [made if operand == value else operand for operand in call.operands]
    return PrimCall(call.op, call.callee, operands, call.index_exprs)


def _are_before(call: PrimCall, value: ir.Value, branch: ir.Operation) -> bool:
    """True if the other operands of a call are defined before a conditional in the same block."""
    others = [operand for operand in call.operands if operand != value]
    made = [op for op in map(defining_op, others) if op is not None and op.block == branch.block]
    return all(op.is_before_in_block(branch) for op in made)


def _producers(branch: ir.Operation, number: int) -> Iterator[PrimCall]:
    """The calls that define a result of a conditional, including those in nested conditionals."""
    for region in branch.regions:
        (block,) = region.blocks
        value = block.operations[len(block.operations) - 1].operation.operands[number]
        op = defining_op(value)
        if op is None or op.block != block:
            continue
        if op.name == IF:
            yield from _producers(op, ir.OpResult(value).result_number)
        elif op.name == CALL_TIR and (call := PrimCall.of(op)) is not None:
            yield call


def _sink(call: PrimCall, branch: ir.Operation, number: int) -> ir.Operation:
    """Copy a call into all branches of a conditional; returns the new conditional."""
    types = [result.type for result in branch.results]
    types[number] = call.op.results[0].type
    with ir.InsertionPoint(branch):
        made = ir.Operation.create(
            IF,
            results=types,
            operands=list(branch.operands),
            attributes={name: branch.attributes[name] for name in branch.attributes},
            regions=len(branch.regions),
            loc=branch.location,
        )
    for old, new in zip(branch.regions, made.regions, strict=True):
        old.blocks[0].append_to(new)
        block = new.blocks[0]
        last = block.operations[len(block.operations) - 1].operation
        given = last.operands[number]
        operands = [given if value == branch.results[number] else value for value in call.operands]
        with ir.InsertionPoint(last):
            packed = pack(operands, call.op.location)
            copy = call.op.clone()
            copy.operands[0] = packed
        last.operands[number] = copy.results[0]
    for place, (old_result, new_result) in enumerate(zip(branch.results, made.results, strict=True)):
        if place != number:
            old_result.replace_all_uses_with(new_result)
    call.op.results[0].replace_all_uses_with(made.results[number])
    call.erase()
    branch.erase()
    return made


def sink_prologues(block: ir.Block, fuses: Fuses) -> None:
    """Move each call whose only users are in the branches of one conditional into these, if that lets it fuse."""
    for op in reversed([view.operation for view in block.operations]):
        call = PrimCall.of(op) if op.name == CALL_TIR else None
        if call is None or call.info is None:
            continue
        users = [use.owner.operation for use in op.results[0].uses]
        places = {enclosing_op_in(block, user) for user in users}
        branch = next(iter(places)) if len(places) == 1 else None
        if branch is None or branch.name != IF or any(user.name != TUPLE for user in users):
            continue
        if not _is_pure_between(op, branch):
            continue
        calls = [use.owner.operation for user in users for use in user.results[0].uses]
        takers = [PrimCall.of(user) for user in calls if user.name == CALL_TIR]
        if any(taker is not None and fuses(call, taker) for taker in takers):
            _sink_before_users(call, branch)


def _is_pure_between(first: ir.Operation, last: ir.Operation) -> bool:
    ops = [view.operation for view in first.block.operations]
    between = ops[ops.index(first) + 1 : ops.index(last)]
    return all(has_trait(op, IsTransparent) for op in between)


def _sink_before_users(call: PrimCall, branch: ir.Operation) -> None:
    """Copy a call into each branch that uses its result."""
    result = call.op.results[0]
    for region in branch.regions:
        block = region.blocks[0]
        users = {enclosing_op_in(block, use.owner.operation) for use in result.uses}
        inside = [view.operation for view in block.operations if view.operation in users]
        if not inside:
            continue
        with ir.InsertionPoint(inside[0]):
            operand = pack(list(call.operands), call.op.location)
            copy = call.op.clone()
            copy.operands[0] = operand
        for use in list(result.uses):
            if enclosing_op_in(block, use.owner.operation) is not None:
                use.owner.operation.operands[use.operand_number] = copy.results[0]
    call.erase()
