"""Pass `stack-buffers`: select small local buffers of prim funcs for the stack (level V)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import AS_GENERATED, ON_STACK, PRIM_FUNC, SHARED_GROUP
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.memory.entry_sizes import static_bytes
from relax_mlir.mlir import func, ir
from relax_mlir.transform import ModulePass, PassContext

MAX_BYTES = 32 * 1024
"""The maximum bytes of all stack buffers of a function together."""
_LOOPS = ("scf.for", "scf.while", "scf.parallel")


@dataclass(frozen=True)
class StackBuffers(ModulePass):
    """Mark each `memref.alloc` of static size in a prim func as memory on the stack, up to 32 kB per function.

    `pool-buffers` applies the marks after parallel loops are outlined, whose buffers are on the stacks of the threads.
    If all indices are constants, LLVM keeps the elements in registers. Buffers that a loop carries are excluded: an
    iteration reads the buffer of the previous one while it writes its own.
    """

    name: ClassVar[str] = "stack-buffers"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for function in module.body.operations:
            marks = function.attributes
            if not isinstance(function, func.FuncOp) or PRIM_FUNC not in marks:
                continue
            if AS_GENERATED not in marks and SHARED_GROUP not in marks:
                _choose(function)


def _choose(function: func.FuncOp) -> None:
    left = MAX_BYTES
    for alloc in ops_of(function.operation, "memref.alloc"):
        type_ = ir.MemRefType(alloc.results[0].type)
        if not type_.has_static_shape or static_bytes(type_) > left or _outlives_round(alloc):
            continue
        left -= static_bytes(type_)
        with alloc.context:
            alloc.attributes[ON_STACK] = ir.UnitAttr.get()


def _outlives_round(alloc: ir.Operation) -> bool:
    """True if a buffer of one iteration of a loop may be used in later ones."""
    return _is_in_loop(alloc) and _is_handed_on(alloc.results[0])


def _is_in_loop(op: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None and not isinstance(parent, func.FuncOp):
        if parent.operation.name.startswith(_LOOPS):
            return True
        parent = parent.operation.parent
    return False


def _is_handed_on(buffer: ir.Value) -> bool:
    """True if a buffer, or a view of it, is an operand of a terminator, of an op with regions, or of a select."""
    for use in buffer.uses:
        user = use.owner.operation
        if user.name.startswith(("scf.", "cf.", "arith.select", "func.return")):
            return True
        views = [result for result in user.results if isinstance(result.type, ir.MemRefType)]
        if any(map(_is_handed_on, views)):
            return True
    return False
