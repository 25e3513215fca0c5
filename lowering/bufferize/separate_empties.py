"""Pass `separate-empties`: give each call its own `tensor.empty`, so that its result gets its own buffer."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.dialects.traits import IsLoop, has_trait
from relax_mlir.ir_queries import is_used, ops_of
from relax_mlir.mlir import ir
from relax_mlir.transform import ModulePass, PassContext


class SeparateEmpties(ModulePass):
    """Give each call that fills an uninitialised tensor a `tensor.empty` op for it alone.

    CSE merges `tensor.empty` ops of equal size, and bufferisation then reuses their buffer. `plan-memory`, which shares
    memory by live ranges, would see one buffer that is live from the first to the last call. A call in a loop keeps a
    tensor that is created outside of the loop.
    """

    name: ClassVar[str] = "separate-empties"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for empty in ops_of(module.operation, "tensor.empty"):
            uses = [(use.owner.operation, use.operand_number) for use in empty.results[0].uses]
            if len(uses) < 2:
                continue
            for user, number in uses:
                if user.name == "func.call" and not _in_loop(user, empty.block):
                    with ir.InsertionPoint(user), user.location:
                        types = [empty.results[0].type]
                        own = ir.Operation.create(empty.name, results=types, operands=list(empty.operands))
                        user.operands[number] = own.results[0]
            if not is_used(empty.results[0]):
                empty.erase()


def _in_loop(op: ir.Operation, outer: ir.Block) -> bool:
    """True if there is a loop between an operation and a block around it."""
    while op.block != outer:
        op = op.parent.operation
        if has_trait(op, IsLoop):
            return True
    return False
