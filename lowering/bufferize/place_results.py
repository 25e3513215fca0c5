"""Pass ``place-results``: the results of a function are computed in their destinations."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.ir_queries import defining_op, ops_of
from relax_mlir.mlir import ir, tensor
from relax_mlir.transform import ModulePass, PassContext

MATERIALIZE = "bufferization.materialize_in_destination"


class PlaceResults(ModulePass):
    """Give the call that makes a result the result's destination in place of an uninitialised tensor.

    Upstream's ``eliminate-empty-tensors`` also follows the inputs of calls, and so lets two calls write into one
    destination, which one-shot bufferisation then refuses. Calls in destination-passing style have as many
    uninitialised operands as results, in the same order.
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
            _place(op.operands[0], op.operands[1], uninitialised)


def _drop_stray(module: ir.Module) -> None:
    """Drop materialisations in what is no destination: the rest of loops of one round, whose bodies stand alone now.

    What is written into a destination leaves the destination's block: a function returns it, a round yields it.
    """
    for op in list(ops_of(module.operation, MATERIALIZE)):
        if not op.results:
            continue  # into memory, which is no value
        source, destination = op.operands
        block = destination.owner
        leaves = isinstance(block, ir.Block) and all(
            use.owner == block.operations[len(block.operations) - 1] for use in op.results[0].uses
        )
        if not leaves:
            op.results[0].replace_all_uses_with(source)
            op.erase()


def is_parameter(value: ir.Value) -> bool:
    """Whether `value` is an argument of a function; what a loop carries is read where it is written."""
    return isinstance(value, ir.BlockArgument) and value.owner.owner.operation.name == "func.func"


def _place(value: ir.Value, destination: ir.Value, uninitialised: dict[ir.Value, list[int]]) -> None:
    """`uninitialised`: by the first result of a call, the numbers of the operands that it fills."""
    defining = defining_op(value)
    while defining is not None and defining.name == "tensor.cast":
        value = defining.operands[0]
        defining = defining_op(value)
    if defining is None or defining.name != "func.call" or defining.block != destination.owner:
        return
    if defining.results[0] not in uninitialised:
        numbers = [number for number, operand in enumerate(defining.operands) if _is_empty(operand)]
        uninitialised[defining.results[0]] = numbers
    empties, index = uninitialised[defining.results[0]], ir.OpResult(value).result_number
    if len(empties) != len(defining.results):
        return
    with ir.InsertionPoint(defining), defining.location:
        same = destination.type == value.type
        defining.operands[empties[index]] = destination if same else tensor.cast(value.type, destination)


def _is_empty(value: ir.Value) -> bool:
    defining = defining_op(value)
    return defining is not None and defining.name == "tensor.empty"
