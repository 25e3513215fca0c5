"""Pass `protect-carried`: what a round of a loop hands on is not overwritten before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.abi.text import functions, is_declaration
from relax_mlir.lowering.place_results import MATERIALIZE, is_parameter
from relax_mlir.lowering.shapes.body import memory_of
from relax_mlir.mlir import bufferization, ir
from relax_mlir.transform import ModulePass, PassContext


class ProtectCarried(ModulePass):
    """Copy what a round of a loop carries on, if calls only hand it on: first of all, before anything is written.

    At its end a round writes what it carries on into the tensors that it was given. Those that are carried on as they
    are have been copied before; but canonicalisation makes functions that return what they are given, of
    ``maximum(x, x)`` say, and one-shot bufferisation refuses such a result where its tensor is written before.
    """

    name: ClassVar[str] = "protect-carried"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        table = functions(module)
        first: dict[ir.Block, ir.Operation] = {}
        for op in ops_of(module.operation, MATERIALIZE):
            if not op.results or is_parameter(op.operands[1]):
                continue
            source = op.operands[0]
            write = first.setdefault(op.block, op)
            if _is_handed_on(source, table):
                with ir.InsertionPoint(write), op.location:
                    op.operands[0] = bufferization.alloc_tensor(source.type, [], copy=source)


def _is_handed_on(value: ir.Value, table: Mapping[str, ir.OpView]) -> bool:
    """Whether calls only hand on `value`, which is an argument of a block or the result of a loop or branch."""
    base, calls = memory_of(value), 0
    while not isinstance(base, ir.BlockArgument) and base.owner.operation.name == "func.call":
        call = base.owner.operation
        number = _given(table[callee_of(call)], base.result_number)
        if number is None:
            return False
        base, calls = memory_of(call.operands[number]), calls + 1
    return calls > 0 and (isinstance(base, ir.BlockArgument) or base.owner.operation.name.startswith("scf."))


def _given(function: ir.OpView, result: int) -> int | None:
    """The number of the argument that a function returns as this result; None if it computes that."""
    if is_declaration(function):
        return None
    block = function.regions[0].blocks[0]
    base = memory_of(block.operations[len(block.operations) - 1].operands[result])
    return base.arg_number if isinstance(base, ir.BlockArgument) and base.owner == block else None
