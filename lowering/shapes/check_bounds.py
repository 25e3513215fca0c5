"""Pass ``check-bounds``: wrong indices in prim funcs written with loops are errors of the call (level T)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.analysis.prim_calls import prim_params
from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import CHECK, PRIM_FUNC
from relax_mlir.dialects.traits import IsLoop, has_trait
from relax_mlir.error import ArgumentError
from relax_mlir.ir_queries import ancestors
from relax_mlir.lowering.abi.runtime_declarations import Hooks
from relax_mlir.lowering.shapes.index_ranges import Ranges
from relax_mlir.mlir import arith, func, ir, memref
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.config import BOUNDS_CHECK

MODES = ("auto", "all", "none")
ACCESSES = {"memref.load": 0, "memref.store": 1}
"""Ops that take indices, and which operand the buffer is."""


@dataclass(frozen=True)
class CheckBounds(ModulePass):
    """Check the indices of loads and stores in prim funcs at run time, where they are not proved to be in range.

    `mode`: ``auto`` checks what stands outside of loops, where it costs nothing; ``all`` everything; ``none``
    nothing. Empty: what the context's option ``tir.bounds_check`` says, which is ``auto`` by default.
    """

    name: ClassVar[str] = "check-bounds"
    mode: str = ""

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raises `ArgumentError` for an unknown mode."""
        mode = self.mode or str(ctx.option(BOUNDS_CHECK))
        if mode not in MODES:
            raise ArgumentError(f"{BOUNDS_CHECK} is one of {', '.join(MODES)}, not '{mode}'")
        tops = list(module.body.operations)
        hooks = Hooks(module, _checks=sum(CHECK in op.attributes for op in tops))
        for op in tops:
            if mode != "none" and isinstance(op, func.FuncOp) and PRIM_FUNC in op.attributes:
                _check_function(op, hooks, everywhere=mode == "all")


def _check_function(function: func.FuncOp, hooks: Hooks, *, everywhere: bool) -> None:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in ACCESSES:
            found.append(op)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    ranges = Ranges(function)
    names = _names(function)
    for op in found:
        if not everywhere and any(has_trait(around, IsLoop) for around in ancestors(op)):
            continue
        number = ACCESSES[op.name]
        buffer = op.operands[number]
        for axis, index in enumerate(list(op.operands)[number + 1 :]):
            if not ranges.within(index, buffer, axis):
                with ir.InsertionPoint(op), op.location:
                    _check(
                        hooks,
                        op,
                        f"{function.name.value}: {names.get(buffer, 'a local buffer')}",
                        buffer,
                        axis,
                        index,
                    )


def _names(function: func.FuncOp) -> dict[ir.Value, str]:
    """Buffers by their names in messages."""
    declared = prim_params(function)
    return {
        argument: f"'{declared[number].name}'" if declared is not None else f"argument {number}"
        for number, argument in enumerate(function.arguments)
    }


def _check(hooks: Hooks, op: ir.Operation, what: str, buffer: ir.Value, axis: int, index: ir.Value) -> None:
    size = memref.dim(buffer, arith.constant(ir.IndexType.get(), axis))
    inside = arith.cmpi(arith.CmpIPredicate.ult, index, size)
    place = where(op).replace("{", "(").replace("}", ")")
    message = f"{what}: index {{0}} is out of range for dimension {axis} of size {{1}}, at {place}"
    hooks.check(inside, "IndexError", message, [index, size])
