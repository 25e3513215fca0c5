"""Pass ``materialize-results``: the results of prim funcs on tensors are written to their destinations."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.prim_entries import exposed_prims
from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.mlir import bufferization, func, ir
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

ELSEWHERE = ("bufferization.alloc_tensor", "func.call", "tensor.empty")
"""Ops whose results have, or may have, separate memory."""
TARGETS = {"tensor.cast": 0, "tensor.insert": 1, "tensor.insert_slice": 1}
"""Ops whose result uses the memory of an operand, and the index of the operand."""


class MaterializeResults(ModulePass):
    """Copy a result of a prim func that is not computed in its destination (one of the last parameters) into it.

    Such results are new tensors, or results of calls. In exposed prim funcs they are also other parameters, because
    callers with buffers read only the destination.
    """

    name: ClassVar[str] = "materialize-results"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        table = functions(module)
        exposed = exposed_prims(table.values())
        for name, function in table.items():
            if PRIM_FUNC in function.attributes and not is_declaration(function):
                _materialize(function, name in exposed)


def _materialize(function: func.FuncOp, is_exposed: bool) -> None:
    end = entry_block(function).operations[-1].operation
    tensors = [a for a in function.arguments if isinstance(a.type, ir.RankedTensorType)]
    results = list(end.operands)
    destinations = tensors[len(tensors) - len(results) :] if len(results) <= len(tensors) else []
    if [value.type for value in results] != [value.type for value in destinations]:
        return
    roots = [_root(value) for value in results]
    with ir.InsertionPoint(end), end.location:
        for number, root in enumerate(roots):
            if is_exposed and root in destinations and root != destinations[number]:
                # This result is in another one's destination, which must be read before it is overwritten.
                results[number] = bufferization.alloc_tensor(root.type, [], copy=results[number])
        for number, (value, root, destination) in enumerate(zip(results, roots, destinations, strict=True)):
            made = defining_op(root)
            is_elsewhere = made is not None and made.name in ELSEWHERE
            if is_elsewhere or (is_exposed and root != destination):
                end.operands[number] = bufferization.materialize_in_destination(
                    destination.type, value, destination
                )


def _root(value: ir.Value) -> ir.Value:
    """The tensor whose memory a result would use, traced through destination operands."""
    while isinstance(value, ir.OpResult):
        source = _source(value, value.owner.operation)
        if source is None:
            break
        value = source
    return value


def _source(value: ir.OpResult, op: ir.Operation) -> ir.Value | None:
    if op.name in TARGETS:
        return op.operands[TARGETS[op.name]]
    if op.name == "scf.for":
        body = op.regions[0].blocks[0]
        carried = body.arguments[value.result_number + 1]
        same = (
            _root(body.operations[len(body.operations) - 1].operation.operands[value.result_number])
            == carried
        )
        return op.operands[value.result_number + 3] if same else None
    if op.name.startswith("linalg.") and len(op.results) <= len(op.operands):
        return op.operands[len(op.operands) - len(op.results) + value.result_number]
    return None
