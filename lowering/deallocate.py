"""`place-deallocs`: allocations that nobody frees are freed.

In kernels and prim funcs a buffer is freed at the end of the block that allocates it (in the function's own block: on
every way out). Buffers that leave their block, and those of functions that may fail inside loops, live until the
function returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.lowering.abi.frame import DEFER, declare_release, frame_of
from relax_mlir.lowering.abi.text import Fragment, functions, is_declaration
from relax_mlir.lowering.liveness import Liveness, enclosing
from relax_mlir.lowering.memory_plan import allocate_in_frame
from relax_mlir.mlir import func, ir, memref
from relax_mlir.transform import ModulePass, PassContext


def _may_fail(function: func.FuncOp) -> bool:
    """Whether control may leave from the middle of the function (hooks all have names with `relax.`)."""
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or op.name in ("cf.assert", "func.call")
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return found


@dataclass(frozen=True)
class PlaceDeallocs(ModulePass):
    """Free every buffer that no `memref.dealloc` frees."""

    name: ClassVar[str] = "place-deallocs"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for function in list(functions(module).values()):
            if is_declaration(function):
                continue
            for buffer in Liveness(function).buffers:
                if buffer.freed or buffer.escapes:
                    continue
                around = enclosing(buffer.alloc)
                if not around and not buffer.yielded:
                    with ir.InsertionPoint.after(buffer.alloc), buffer.alloc.location:
                        free = memref.DeallocOp(buffer.alloc.results[0])
                        free.operation.attributes[DEFER] = ir.StringAttr.get("always")
                elif buffer.yielded or _may_fail(function):
                    _declare(module)
                    allocate_in_frame(buffer, frame_of(function))
                else:
                    with ir.InsertionPoint.at_block_terminator(buffer.alloc.block), buffer.alloc.location:
                        memref.DeallocOp(buffer.alloc.results[0])


def _declare(module: ir.Module) -> None:
    fragment = Fragment()
    fragment.declare("relax.rt.frame_buffer", "(!llvm.ptr, index) -> memref<?xi8>")
    fragment.splice(module)
    declare_release(module)
