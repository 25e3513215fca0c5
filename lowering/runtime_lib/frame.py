"""The frame of a function emitted with builders (see `support`): the resources that its calls must release."""

from __future__ import annotations

from collections.abc import Container

from relax_mlir.ir_queries import callee_of
from relax_mlir.mlir import func, ir, llvm
from relax_mlir.mlir_text import Fragment

FRAME = "relax.frame"
DEFER = "relax.defer"


def declare_release(module: ir.Module) -> None:
    """Declare `relax.rt.release` and `relax.rt.release_to` in the module; `emit-ffi-wrappers` defines them."""
    fragment = Fragment()
    fragment.declare("relax.rt.release", "(!llvm.ptr) -> ()")
    fragment.declare("relax.rt.release_to", "(!llvm.ptr, !llvm.ptr) -> ()")
    fragment.splice(module)


def frame_of(function: func.FuncOp) -> ir.Value:
    """The frame of `function` (created at its entry if it has none), released on every exit."""
    entry = function.body.blocks[0]
    for op in entry.operations:
        if FRAME in op.attributes:
            return op.results[0]
    pointer, size = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    with ir.InsertionPoint.at_block_begin(entry), function.location:
        eight = llvm.ConstantOp(size, ir.IntegerAttr.get(size, 8)).result
        byte = ir.TypeAttr.get(ir.IntegerType.get_signless(8))
        frame = llvm.AllocaOp(pointer, eight, byte, alignment=8)
        frame.operation.attributes[FRAME] = ir.UnitAttr.get()
        llvm.StoreOp(llvm.ZeroOp(pointer).result, frame.result)
        release = func.CallOp([], "relax.rt.release", [frame.result])
        release.operation.attributes[DEFER] = ir.StringAttr.get("always")
    return frame.result


def calls_of(function: func.FuncOp, callees: Container[str]) -> list[func.CallOp]:
    """The calls in `function` of functions named in `callees`."""
    found: list[func.CallOp] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call" and callee_of(op) in callees:
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return found
