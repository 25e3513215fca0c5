"""Pass `protect-carried`: what a round of a loop carries on is not overwritten before it is read."""

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
    """Copy what a round of a loop carries on and has not computed itself: before the round writes anything.

    At its end a round writes what it carries on into the tensors that it was given. Where that is one of those, the
    result of a loop or branch in it, which may be one of those, or what is carried on twice, one-shot bufferisation
    would overwrite it before it is read, or refuse to. Calls may only hand on what they are given: canonicalisation
    makes such functions, of ``maximum(x, x)`` say.
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
    """The tensor that `value` is, which views and calls may have handed on."""
    base = memory_of(value)
    while not isinstance(base, ir.BlockArgument) and base.owner.operation.name == "func.call":
        call = base.owner.operation
        number = _given(table[callee_of(call)], ir.OpResult(base).result_number)
        if number is None:
            return base
        base = memory_of(call.operands[number])
    return base


def _was_there(base: ir.Value) -> bool:
    """Whether a tensor is an argument of a block or the result of a loop or branch."""
    return isinstance(base, ir.BlockArgument) or base.owner.operation.name.startswith("scf.")


def _given(function: ir.OpView, result: int) -> int | None:
    """The number of the argument that a function returns as this result; None if it computes that."""
    if is_declaration(function):
        return None
    block = entry_block(function)
    base = memory_of(block.operations[len(block.operations) - 1].operands[result])
    return base.arg_number if isinstance(base, ir.BlockArgument) and base.owner == block else None
