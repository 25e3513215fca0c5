"""In-place changes by packed functions as new values, so that ops can be replaced and moved by SSA value."""

from __future__ import annotations

from collections.abc import Collection

from relax_mlir.analysis.type_inference import forward_field
from relax_mlir.dialects.calls import CallPackedOp, DistinctOp, UpdatedOp
from relax_mlir.dialects.closures import LambdaOp
from relax_mlir.dialects.effects import PRINT
from relax_mlir.dialects.structure import TUPLE, MatchShapeOp, TupleGetItemOp, pack, unpack
from relax_mlir.dialects.types import Tensor, Tuple, struct_info
from relax_mlir.ir_module import relax_functions
from relax_mlir.ir_queries import (
    FunctionTable,
    defining_op,
    enclosing_op_in,
    entry_block,
    has_one_use,
    is_a,
    is_used,
    next_op,
    ops_of,
    owner_block,
)
from relax_mlir.mlir import func, ir


def make_all_effects_explicit(module: ir.Module) -> None:
    """Make the effects in all Relax functions of the module explicit."""
    for function in relax_functions(module):
        make_effects_explicit(function)


def make_effects_explicit(function: func.FuncOp) -> None:
    """Make the effects in the body of `function`, a function of a module, explicit; idempotent."""
    ops = ops_of(function.operation)
    if not any(op.name == CallPackedOp.OPERATION_NAME for op in ops):
        return
    functions = FunctionTable(function.operation.parent.operation)
    for op in ops:
        if op.name == TupleGetItemOp.OPERATION_NAME:
            forward_field(op, functions)
        elif op.name == CallPackedOp.OPERATION_NAME:
            _own_arguments(op)
    calls = {
        op for op in ops_of(function.operation, CallPackedOp.OPERATION_NAME) if _may_change(op) and not _is_updated(op)
    }
    _make_explicit(entry_block(function), calls)


def _own_arguments(call: ir.Operation) -> None:
    """Give a call a dedicated argument tuple, with no effect between the tuple and the call.

    The fields of an older tuple may have been changed by earlier calls.
    """
    defining = defining_op(call.operands[0])
    if defining is not None and defining.name == TUPLE and _stands_before(defining, call):
        return
    whole = struct_info(call.operands[0].type)
    assert isinstance(whole, Tuple)
    with ir.InsertionPoint(call), call.location:
        fields = unpack(call.operands[0], [field.to_type() for field in whole.fields])
        call.operands[0] = pack(fields, call.location)
    if defining is not None and defining.name == TUPLE and not is_used(defining.results[0]):
        defining.erase()


def _stands_before(defining: ir.Operation, call: ir.Operation) -> bool:
    """True if `call` is the only user of `defining`, in the same block, and no effect is between the two."""
    if not has_one_use(defining.results[0]):
        return False
    op = next_op(defining)
    while op is not None and op != call:
        if len(op.regions) or op.name == CallPackedOp.OPERATION_NAME:  # a call in another block is in a region
            return False
        op = next_op(op)
    return True


Updates = dict[ir.Value, ir.Value]
"""Values from outside of a block, each with its replacement at the end of the block."""


def _make_explicit(block: ir.Block, calls: Collection[ir.Operation]) -> Updates:
    """Make the effects of those of `calls` that are in `block` explicit.

    Returns the values from outside that they change, each with its value at the end of the block.
    """
    latest: Updates = {}
    origins: Updates = {}  # updated value → original value
    for view in list(block.operations):
        op = view.operation
        if latest:
            _use_latest(op, origins, latest)
        changed: Updates = {}
        if op in calls:
            changed = _after_call(op)
        elif op.name == "scf.if":
            changed = _after_conditional(op, calls)
        elif op.name in ("scf.for", "scf.while"):
            changed = _after_loop(op, calls)
        elif op.name == LambdaOp.OPERATION_NAME:
            _make_explicit(entry_block(op), calls)
        for old, new in changed.items():
            origins[new] = origins.get(old, old)
            latest[origins[new]] = new
    return {value: new for value, new in latest.items() if owner_block(value) != block}


def _use_latest(op: ir.Operation, origins: Updates, latest: Updates) -> None:
    """Replace operands of `op`, and of the ops nested in it, by their latest versions."""
    for user in ops_of(op):
        for number, value in enumerate(user.operands):
            new = latest.get(origins.get(value, value))
            if new is not None and new != value:
                user.operands[number] = new


def _may_change(call: ir.Operation) -> bool:
    return bool(ir.StringAttr(call.attributes["func"]).value != PRINT)


def _is_updated(call: ir.Operation) -> bool:
    """True if the pass has processed this call already: an argument is read by `relax.updated` after it.

    Other passes may have inserted a `match_shape` between a value and the call since.
    """
    defining = defining_op(call.operands[0])
    assert defining is not None
    given = tuple(map(_unchecked, defining.operands))
    op = next_op(call)
    while op is not None:
        if op.name == UpdatedOp.OPERATION_NAME and _unchecked(op.operands[0]) in given:
            return True
        if op.name == CallPackedOp.OPERATION_NAME:
            return False
        op = next_op(op)
    return False


def _unchecked(value: ir.Value) -> ir.Value:
    """`value` without the `match_shape` ops around it."""
    while (checked := defining_op(value)) is not None and is_a(checked, MatchShapeOp):
        value = checked.operands[0]
    return value


def _after_call(call: ir.Operation) -> Updates:
    defining = defining_op(call.operands[0])
    assert defining is not None
    tensors = list(dict.fromkeys(v for v in defining.operands if isinstance(struct_info(v.type), Tensor)))
    given = _kept_apart(call, defining, tensors)
    changed: Updates = {}
    after: ir.Operation = call
    for value in tensors:
        with call.location, ir.InsertionPoint.after(after):
            after = ir.Operation.create(UpdatedOp.OPERATION_NAME, results=[value.type], operands=[given[value]])
        changed[value] = after.results[0]
    return changed


def _kept_apart(call: ir.Operation, defining: ir.Operation, tensors: list[ir.Value]) -> Updates:
    """The arguments of the call by original tensor; all but one of possibly equal tensors get a `relax.distinct`."""
    given: Updates = {}
    for index, value in enumerate(tensors):
        given[value] = value
        if any(_may_become_one(value, other) for other in tensors[:index]):
            with call.location, ir.InsertionPoint(call):
                copy = ir.Operation.create(DistinctOp.OPERATION_NAME, results=[value.type], operands=[value])
            given[value] = copy.results[0]
    if any(old != new for old, new in given.items()):
        with ir.InsertionPoint(call):
            call.operands[0] = pack([given.get(v, v) for v in defining.operands], defining.location)
        defining.erase()
    return given


FRESH = frozenset({CallPackedOp.OPERATION_NAME, DistinctOp.OPERATION_NAME, UpdatedOp.OPERATION_NAME})
"""Ops that no pass merges, and whose results do not alias other values."""


def _may_become_one(value: ir.Value, other: ir.Value) -> bool:
    """True if a pass might prove two tensors equal and replace one by the other.

    Equal ops are merged, different ops may fold to equal constants, and a parameter, a field, a result of control flow
    or a checked value may turn out to be another value. The lowering removes copies that are not needed after all.
    """
    first, second = struct_info(value.type), struct_info(other.type)
    assert isinstance(first, Tensor)
    assert isinstance(second, Tensor)
    dtypes_differ = None not in (first.dtype, second.dtype) and first.dtype != second.dtype
    ranks_differ = None not in (first.ndim, second.ndim) and first.ndim != second.ndim
    defining_ops = [defining_op(value), defining_op(other)]
    is_fresh = any(defining is not None and defining.name in FRESH for defining in defining_ops)
    return not (dtypes_differ or ranks_differ or is_fresh)


def is_needless_copy(distinct: ir.Operation) -> bool:
    """True if a `relax.distinct` is the only user of its operand, computed by a prim func in the same block."""
    value = distinct.operands[0]
    defining = defining_op(value)
    made_here = defining is not None and defining.name == "relax.call_tir" and defining.block == distinct.block
    return made_here and has_one_use(value)


def _after_conditional(op: ir.Operation, calls: Collection[ir.Operation]) -> Updates:
    """Extend the results of a conditional by the values that a branch may change."""
    branches = [_make_explicit(region.blocks[0], calls) for region in op.regions if len(region.blocks)]
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


def _after_loop(op: ir.Operation, calls: Collection[ir.Operation]) -> Updates:
    """Extend the loop-carried values by those that an iteration may change."""
    rounds = [_make_explicit(region.blocks[0], calls) for region in op.regions]
    changed = list(dict.fromkeys(value for updates in rounds for value in updates))
    if not changed:
        return {}
    types = [value.type for value in changed]
    results = [*(result.type for result in op.results), *types]
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create(op.name, results=results, operands=[*op.operands, *changed], regions=len(op.regions))
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
    """Replace `old` by `new` in the ops of a loop's block, including nested ones."""
    for use in list(old.uses):
        user = use.owner.operation
        if enclosing_op_in(block, user) is not None:
            user.operands[use.operand_number] = new
