"""Pass `mark-straight-loops`: mark functions whose loops LLVM should not optimise."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.dialects.attributes import AS_GENERATED, JOB, PRIM_FUNC, STRAIGHT_LOOPS
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.kernels.core.emit import is_as_written
from relax_mlir.lowering.loops.annotated_loops import body_of
from relax_mlir.lowering.parts.shared_code import shared_group
from relax_mlir.mlir import ir
from relax_mlir.transform import ModulePass, PassContext

_ACCESSES = frozenset(
    ("memref.load", "memref.store", "vector.load", "vector.store", "vector.maskedload", "vector.maskedstore")
)
_CONVERSIONS = frozenset(("arith.extf", "arith.truncf"))
_LOOPS = ("scf.for", "scf.while", "scf.parallel", "scf.forall")


class MarkStraightLoops(ModulePass):
    """Mark prim funcs and thread jobs whose innermost loops are straight-line code that LLVM should not change.

    They get `relax.straight_loops`: LLVM's optimisations gain nothing there and double its time. Other loops are left
    to LLVM: those that users wrote, those that no generator has vectorised or that LLVM should unroll, those with
    branches (its code generator sees one block at a time), those with addresses of several indices, which are mostly
    loop-invariant, and those that widen floats, which is unnecessary on CPUs with f16.
    """

    name: ClassVar[str] = "mark-straight-loops"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Set the attribute."""
        for function in module.body.operations:
            marks = function.attributes
            if AS_GENERATED in marks or not (PRIM_FUNC in marks or JOB in marks) or shared_group(function):
                continue
            loops = _innermost_loops(function.operation)
            if loops and all(is_as_written(loop) and _is_straight(loop) for loop in loops):
                marks[STRAIGHT_LOOPS] = ir.UnitAttr.get(module.context)


def _innermost_loops(function: ir.Operation) -> list[ir.Operation]:
    """The loops of a function that contain no loop."""
    found: list[ir.Operation] = []
    for loop in ops_of(function, *_LOOPS):
        if found and _is_inside(loop, found[-1]):
            found.pop()
        found.append(loop)
    return found


def _is_inside(op: ir.Operation, other: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None and parent.name != "func.func":
        if parent.operation == other:
            return True
        parent = parent.operation.parent
    return False


def _is_straight(loop: ir.Operation) -> bool:
    return not any(op.regions or op.name in _CONVERSIONS or _index_count(op) > 1 for op in body_of(loop))


def _index_count(op: ir.Operation) -> int:
    """The number of indices of a load or store; 0 for other ops."""
    if op.name not in _ACCESSES:
        return 0
    return sum(isinstance(operand.type, ir.IndexType) for operand in op.operands)
