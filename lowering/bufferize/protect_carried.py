"""Pass `protect-carried`: no loop iteration overwrites a yielded tensor before it is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import ClassVar

from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.lowering.bufferize.place_results import MATERIALIZE, is_parameter
from relax_mlir.lowering.shapes.body import memory_of
from relax_mlir.mlir import bufferization, ir
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext


class ProtectCarried(ModulePass):
    """Copy tensors that an iteration yields but does not compute, before the iteration writes anything.

    At its end an iteration writes the tensors that it yields into its iteration arguments. A yielded tensor may be one
    of these arguments, the result of an inner loop or branch (which may be one of them), or be yielded twice. One-shot
    bufferisation would then overwrite it before it is read, or refuse the loop. Calls may just return an argument:
    canonicalisation creates such functions, for example from ``maximum(x, x)``.
    """

    name: ClassVar[str] = "protect-carried"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        table = functions(module)
        first: dict[ir.Block, ir.Operation] = {}
        carried: dict[ir.Block, set[ir.Value]] = defaultdict(set)
        for op in ops_of(module.operation, MATERIALIZE):
            if not op.results or is_parameter(op.operands[1]):
                continue
            source, block = op.operands[0], op.block
            write = first.setdefault(block, op)
            base = _origin(source, table)
            if _was_there(base) or base in carried[block]:
                with ir.InsertionPoint(write), op.location:
                    op.operands[0] = bufferization.alloc_tensor(source.type, [], copy=source)
            carried[block].add(base)


def _origin(value: ir.Value, table: Mapping[str, ir.OpView]) -> ir.Value:
    """The tensor that `value` is, traced through views and calls that return an argument."""
    base = memory_of(value)
    while not isinstance(base, ir.BlockArgument) and base.owner.operation.name == "func.call":
        call = base.owner.operation
        number = _given(table[callee_of(call)], ir.OpResult(base).result_number)
        if number is None:
            return base
        base = memory_of(call.operands[number])
    return base


def _was_there(base: ir.Value) -> bool:
    """True if a tensor is a block argument or the result of a loop or branch."""
    return isinstance(base, ir.BlockArgument) or base.owner.operation.name.startswith("scf.")


def _given(function: ir.OpView, result: int) -> int | None:
    """The index of the argument that a function returns as this result; None if it computes the result."""
    if is_declaration(function):
        return None
    block = entry_block(function)
    base = memory_of(block.operations[len(block.operations) - 1].operands[result])
    return base.arg_number if isinstance(base, ir.BlockArgument) and base.owner == block else None
