"""Pass ``drop-destination-results``: functions on memrefs do not return buffers that are their arguments."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.prim_entries import exposed_prims
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import callee_of, defining_op, entry_block, ops_of
from relax_mlir.mlir import func, ir, linalg, scf
from relax_mlir.module_functions import functions_of
from relax_mlir.transform import ModulePass, PassContext

VIEWS = ("memref.cast", "memref.collapse_shape", "memref.expand_shape")
"""Ops that view all elements of a buffer in their order."""


class DropDestinationResults(ModulePass):
    """Drop memref results that are arguments, in functions and at their calls, and copies of a buffer to itself.

    Results are traced through loop-carried values and reshapes. An exposed prim func may return an input, as a copy
    does: the elements are then copied into the destination, which its callers read.

    Upstream's ``drop-equivalent-buffer-results`` would drop results of any type that are arguments.
    """

    name: ClassVar[str] = "drop-destination-results"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raise `UnsupportedError` for a function that returns a buffer which is not an argument."""
        exposed = exposed_prims(functions_of(module))
        dropped: dict[str, list[int | None]] = {}
        for function in module.body.operations:
            if isinstance(function, func.FuncOp) and not function.is_external:
                if function.name.value in exposed:
                    _fill_destinations(function)
                dropped[function.name.value] = _drop_results(function)
        for op in ops_of(module.operation, "func.call", "memref.copy"):
            if op.name == "func.call":
                _drop_call_results(op, dropped)
            elif op.name == "memref.copy" and _whole(op.operands[0]) == _whole(op.operands[1]):
                op.erase()


def _whole(value: ir.Value) -> ir.Value:
    """The buffer whose elements a view shows, all of them in their order."""
    while (defining := defining_op(value)) is not None and defining.name in VIEWS:
        value = defining.operands[0]
    return value


def _fill_destinations(function: func.FuncOp) -> None:
    """Copy a result of a prim func into its destination if it is another parameter."""
    terminator = entry_block(function).operations[-1].operation
    buffers = [a for a in function.arguments if isinstance(a.type, ir.MemRefType)]
    results = list(terminator.operands)
    if len(results) > len(buffers) or not all(isinstance(v.type, ir.MemRefType) for v in results):
        return
    destinations = buffers[len(buffers) - len(results) :]
    for number, (value, destination) in enumerate(zip(map(_origin, results), destinations, strict=True)):
        if value == destination or not isinstance(value, ir.BlockArgument) or value.type != destination.type:
            continue
        if value in destinations:
            raise UnsupportedError(
                f"{location_text(function.location)}: function '{function.name.value}': result {number} is in the "
                "destination of another one, but each is computed in its own"
            )
        with terminator.location, ir.InsertionPoint(terminator):
            linalg.copy(value, outs=[destination])


def _drop_results(function: func.FuncOp) -> list[int | None]:
    """Drop the results of `function` that are arguments; return the argument's index per result (None: not dropped)."""
    terminator = entry_block(function).operations[-1].operation
    positions: list[int | None] = []
    for index, value in enumerate(map(_origin, terminator.operands)):
        if not isinstance(value.type, ir.MemRefType):
            positions.append(None)
        elif isinstance(value, ir.BlockArgument) and value.owner == entry_block(function):
            positions.append(value.arg_number)
        else:
            raise UnsupportedError(
                f"{location_text(function.location)}: function '{function.name.value}': result {index} is a buffer "
                "of its own; results must be written into the destinations that the caller gives"
            )
    if all(position is None for position in positions):
        return positions
    kept = [v for v, position in zip(terminator.operands, positions, strict=True) if position is None]
    with terminator.location, ir.InsertionPoint(terminator):
        func.ReturnOp(kept)
    terminator.erase()
    inputs = list(function.type.inputs)
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(inputs, [v.type for v in kept])
    )
    return positions


def _origin(value: ir.Value) -> ir.Value:
    """The buffer of `value`, traced through loop-carried values that no iteration changes and inverse reshapes."""
    while isinstance(value, ir.OpResult):
        source = _carried(value) if value.owner.name == "scf.for" else _seen(value)
        if source is None:
            break
        value = source
    return value


def _carried(result: ir.OpResult) -> ir.Value | None:
    loop: scf.ForOp = result.owner.operation.opview
    number = result.result_number
    same = loop.body.operations[-1].operation.operands[number] == loop.inner_iter_args[number]
    return loop.initArgs[number] if same else None


def _seen(result: ir.OpResult) -> ir.Value | None:
    if result.owner.name != "memref.collapse_shape":
        return None
    inner = result.owner.operands[0].owner
    if not isinstance(inner, ir.Operation | ir.OpView) or inner.operation.name != "memref.expand_shape":
        return None
    return inner.operation.operands[0] if inner.operation.operands[0].type == result.type else None


def _drop_call_results(call: ir.Operation, dropped: dict[str, list[int | None]]) -> None:
    positions = dropped.get(callee_of(call), [])
    if all(position is None for position in positions):
        return
    name = callee_of(call)
    kept = [r.type for r, position in zip(call.results, positions, strict=True) if position is None]
    with call.location, ir.InsertionPoint(call):
        new = func.CallOp(kept, name, list(call.operands))
    remaining = list(new.results)
    for result, position in zip(call.results, positions, strict=True):
        result.replace_all_uses_with(remaining.pop(0) if position is None else call.operands[position])
    call.erase()
