"""Pass ``place-results``: the results of a function are computed in their destinations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from relax_mlir.ir_queries import defining_op, next_op, ops_of
from relax_mlir.mlir import bufferization, ir, tensor
from relax_mlir.transform import ModulePass, PassContext

MATERIALIZE = "bufferization.materialize_in_destination"
VIEWS = ("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape")
"""Ops that view the elements of a tensor, in their order, as a tensor of another type."""


class PlaceResults(ModulePass):
    """Pass the destination of a result to the call that computes it, instead of an uninitialised tensor or buffer.

    A destination that is also read is a donated parameter: a prim func on buffers that reads it must not also write it.
    A result may be a reshape of the call's result; the destination is then passed in the shape that the call writes.

    Upstream's ``eliminate-empty-tensors`` also follows the inputs of calls, so two calls may write into one
    destination, which one-shot bufferisation then refuses. Calls in destination-passing style have one uninitialised
    operand per result, in the same order.
    """

    name: ClassVar[str] = "place-results"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        _drop_stray(module)
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name == MATERIALIZE and is_parameter(op.operands[1]):
                found.append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        uninitialised: dict[ir.Value, list[int]] = {}
        for op in found:
            if not _is_read(op.operands[1]):
                _place(op.operands[0], op.operands[1], uninitialised)


def _drop_stray(module: ir.Module) -> None:
    """Drop materialisations whose target is not a destination, as inlined loops of one iteration leave them.

    A tensor materialised in a destination leaves the destination's block through its terminator (return or yield).
    """
    for op in list(ops_of(module.operation, MATERIALIZE)):
        if not op.results:
            continue  # into a buffer, without a result
        source, destination = op.operands
        block = destination.owner
        leaves = isinstance(block, ir.Block) and all(
            use.owner.operation.block == block and next_op(use.owner.operation) is None
            for use in op.results[0].uses
        )
        if not leaves:
            op.results[0].replace_all_uses_with(source)
            op.erase()


def is_parameter(value: ir.Value) -> bool:
    """True if `value` is a function argument; loop-carried values are read where they are written."""
    return isinstance(value, ir.BlockArgument) and value.owner.owner.operation.name == "func.func"


def _is_read(destination: ir.Value) -> bool:
    """True if an op needs the elements that a destination has at entry."""
    names = [use.owner.operation.name for use in destination.uses]
    return len([name for name in names if name != "tensor.dim"]) > 1


def _place(value: ir.Value, destination: ir.Value, uninitialised: dict[ir.Value, list[int]]) -> None:
    """Place one result; `uninitialised` maps the first result of a call to its uninitialised operands' indices."""
    views: list[ir.Operation] = []
    defining = defining_op(value)
    while defining is not None and defining.name in VIEWS and defining.block == destination.owner:
        views.append(defining)
        value = defining.operands[0]
        defining = defining_op(value)
    if defining is None or defining.block != destination.owner:
        return
    if defining.name == "func.call":
        _place_call(defining, value, views, destination, uninitialised)
    elif defining.name == "bufferization.to_tensor":
        _place_buffer(defining, views, destination)


def _place_call(
    call: ir.Operation,
    value: ir.Value,
    views: Sequence[ir.Operation],
    destination: ir.Value,
    uninitialised: dict[ir.Value, list[int]],
) -> None:
    """Pass the destination to a call of a prim func on tensors, viewed with the type of the call's result."""
    if call.results[0] not in uninitialised:
        numbers = [number for number, operand in enumerate(call.operands) if _is_empty(operand)]
        uninitialised[call.results[0]] = numbers
    empties, index = uninitialised[call.results[0]], ir.OpResult(value).result_number
    if len(empties) != len(call.results) or not _is_empty(call.operands[empties[index]]):
        return
    shapes = [view for view in views if view.name != "tensor.cast"]
    sizes = list(call.operands[empties[index]].owner.operands)
    with ir.InsertionPoint(call), call.location:
        if shapes and any(len(list(v.uses)) > 1 for v in (value, *(view.results[0] for view in views))):
            return
        seen = _seen_back(destination, views, value.type, sizes)
        if shapes and seen is not None:
            seen = _apart(seen)
    if seen is not None:
        call.operands[empties[index]] = seen


def _apart(tensor_: ir.Value) -> ir.Value:
    """Rebuild a tensor from its buffer, so that upstream does not track its memory.

    This is safe, because no other op reads what is written there. Upstream would copy a `tensor.collapse_shape`.
    """
    type_ = ir.RankedTensorType(tensor_.type)
    buffer = bufferization.to_buffer(ir.MemRefType.get(type_.shape, type_.element_type), tensor_)
    return bufferization.to_tensor(tensor_.type, buffer, restrict=True, writable=True)


def _place_buffer(made: ir.Operation, views: Sequence[ir.Operation], destination: ir.Value) -> None:
    """Pass the destination to a prim func on buffers, instead of a buffer that is allocated only for it.

    The result becomes read-only for its other users: upstream treats it as a separate buffer.
    """
    allocation = defining_op(made.operands[0])
    if allocation is None or allocation.name != "memref.alloc" or allocation.block != destination.owner:
        return
    buffer = allocation.results[0]
    users = [use.owner.operation for use in buffer.uses]
    if any(user != made and user.name != "func.call" for user in users):
        return
    with ir.InsertionPoint(allocation), allocation.location:
        seen = _seen_back(destination, views, made.results[0].type, list(allocation.operands))
        if seen is None:
            return
        taken = bufferization.to_buffer(buffer.type, seen)
    buffer.replace_all_uses_with(taken)
    if "writable" in made.attributes:
        del made.attributes["writable"]
    allocation.erase()


def _seen_back(
    destination: ir.Value, views: Sequence[ir.Operation], type_: ir.Type, sizes: Sequence[ir.Value]
) -> ir.Value | None:
    """The destination as the operand type of the innermost view; `views` lists the outermost view first.

    `sizes` are the dynamic sizes of that type. None if it would have to be expanded to sizes that are not known here.
    """
    seen = destination
    for number, view in enumerate(views):
        wanted, groups = view.operands[0].type, view.attributes.get("reassociation")
        result = view.results[0].type
        seen = seen if seen.type == result else tensor.cast(result, seen)
        if view.name == "tensor.cast":
            seen = tensor.cast(wanted, seen)
        elif view.name == "tensor.expand_shape":
            seen = tensor.collapse_shape(wanted, seen, groups)
        elif number + 1 == len(views):
            seen = tensor.expand_shape(
                wanted, seen, groups, list(sizes), list(ir.RankedTensorType(wanted).shape)
            )
        else:
            return None
    return seen if seen.type == type_ else tensor.cast(type_, seen)


def _is_empty(value: ir.Value) -> bool:
    defining = defining_op(value)
    return defining is not None and defining.name == "tensor.empty"
