"""Calls of prim funcs that write results into the memory of their arguments."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import DONATED
from relax_mlir.dialects.calls import destinations
from relax_mlir.dialects.inplace import FRESH, inplace_indices
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.traits import TakesOwnership, has_trait
from relax_mlir.dialects.types import Tensor, dims_from_attr, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import callee_of, defining_op
from relax_mlir.lowering.shapes.body import BodyLowering, Lowered, cast, flatten, handles
from relax_mlir.lowering.shapes.buffers import (
    fresh_buffer,
    memory_of_its_own,
    memref_type,
    owned_tensor,
    read_buffer,
)
from relax_mlir.lowering.shapes.calls import call_result, note_destinations, prim_callee, require_known
from relax_mlir.mlir import bufferization, func, ir, memref


@handles("relax.call_tir_inplace")
def _call_tir_inplace(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    name = callee_of(op)
    callee = prim_callee(body, op, name)
    indices = inplace_indices(op)
    require_known(body, op, name)
    infos = [info for info in destinations(struct_info(op.results[0].type)) if isinstance(info, Tensor)]
    fields = body.values[op.operands[0]]
    assert isinstance(fields, tuple)
    extra = [body.symbols.value(d) for d in dims_from_attr(op.attributes["tir_vars"]) if d is not None]
    lower = _on_memrefs if any(isinstance(t, ir.MemRefType) for t in callee.type.inputs) else _on_tensors
    return call_result(op, lower(body, op, callee, fields, indices, infos, extra))


def _on_tensors(
    body: BodyLowering,
    op: ir.Operation,
    callee: func.FuncOp,
    fields: Sequence[Lowered],
    indices: Sequence[int],
    infos: Sequence[Tensor],
    extra: Sequence[ir.Value],
) -> list[ir.Value]:
    """Call a prim func on tensors. Bufferisation copies arguments that are read later or are not writable."""
    arguments = [leaf for item in fields for leaf in flatten(item)]
    outs = [body.empty(info) for info, index in zip(infos, indices, strict=True) if index == FRESH]
    given = _fitting(op, callee, [*arguments, *outs, *extra])
    _note_destinations(callee, fields, indices, len(arguments), len(outs))
    args = [
        cast(v, t) if isinstance(t, ir.RankedTensorType) else v
        for v, t in zip(given, callee.type.inputs, strict=True)
    ]
    results = func.CallOp(list(callee.type.results), callee.name.value, args).results
    return [cast(r, info.storage_type()) for r, info in zip(results, infos, strict=True)]


def _on_memrefs(
    body: BodyLowering,
    op: ir.Operation,
    callee: func.FuncOp,
    fields: Sequence[Lowered],
    indices: Sequence[int],
    infos: Sequence[Tensor],
    extra: Sequence[ir.Value],
) -> list[ir.Value]:
    arguments: list[ir.Value] = []
    written: dict[int, ir.Value] = {}
    owned, donated = _owned(op), _donated(op)
    for number, field in enumerate(fields):
        if number in indices:
            assert isinstance(field, ir.Value)
            is_own = number in donated or (number in owned and memory_of_its_own(field))
            own = field if is_own else bufferization.alloc_tensor(field.type, [], copy=field)
            written[number] = bufferization.to_buffer(memref_type(field.type), own)
            arguments.append(written[number])
        else:
            arguments += [
                read_buffer(leaf) if isinstance(leaf.type, ir.RankedTensorType) else leaf
                for leaf in flatten(field)
            ]
    buffers = [
        fresh_buffer(body, info) if index == FRESH else written[index]
        for info, index in zip(infos, indices, strict=True)
    ]
    outs = [buffer for buffer, index in zip(buffers, indices, strict=True) if index == FRESH]
    given = _fitting(op, callee, [*arguments, *outs, *extra])
    _note_destinations(callee, fields, indices, len(arguments), len(outs))
    args = [
        memref.cast(t, v) if isinstance(t, ir.MemRefType) and v.type != t else v
        for v, t in zip(given, callee.type.inputs, strict=True)
    ]
    func.CallOp([], callee.name.value, args)
    return [owned_tensor(info.storage_type(), buffer) for info, buffer in zip(infos, buffers, strict=True)]


def _note_destinations(
    callee: func.FuncOp, fields: Sequence[Lowered], indices: Sequence[int], arguments: int, outs: int
) -> None:
    """Record as destinations the arguments whose memory results take, and the outputs after all arguments."""
    ends = list(itertools.accumulate(len(flatten(item)) for item in fields))
    taken = [ends[index] - 1 for index in indices if index != FRESH]
    note_destinations(callee, [*taken, *range(arguments, arguments + outs)])


def _fitting(op: ir.Operation, callee: func.FuncOp, given: list[ir.Value]) -> list[ir.Value]:
    """Return `given` if its length matches the prim func; otherwise raise `UnsupportedError`."""
    wanted = len(callee.type.inputs)
    if len(given) != wanted:
        raise UnsupportedError(
            f"{where(op)}: call_tir_inplace of '{callee.name.value}': {len(given)} arguments (outputs of their own "
            f"and tir_vars included), the prim func takes {wanted}"
        )
    return given


def _owned(call: ir.Operation) -> set[int]:
    """Indices of the arguments whose old elements only `call` uses, so that it may take their memory."""
    defining = defining_op(call.operands[0])
    if (
        defining is None
        or defining.name != TUPLE
        or [use.owner.operation for use in defining.results[0].uses] != [call]
    ):
        return set()
    owned = set()
    for number, value in enumerate(defining.operands):
        producer = defining_op(value)
        if producer is None or not has_trait(producer, TakesOwnership) or producer.block != call.block:
            continue
        if [use.owner.operation for use in value.uses] == [defining]:
            owned.add(number)
    return owned


def _donated(call: ir.Operation) -> set[int]:
    """Indices of the arguments that are donated parameters whose old elements only `call` uses."""
    defining, function = defining_op(call.operands[0]), call.block.owner
    if not isinstance(function.opview, func.FuncOp) or DONATED not in function.attributes:
        return set()
    if defining is None or defining.name != TUPLE:
        return set()
    taken = {item.value for item in function.attributes[DONATED]}
    names = parameter_names(function.opview)
    return {
        number
        for number, value in enumerate(defining.operands)
        if isinstance(value.owner, ir.Block)
        and value.owner == call.block
        and names[ir.BlockArgument(value).arg_number] in taken
        and [use.owner.operation for use in value.uses] == [defining]
        and [use.owner.operation for use in defining.results[0].uses] == [call]
    }
