"""Pass `linalg-to-loops`: linalg operations on memrefs become loops over vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from relax_mlir.lowering.kernels.arg_reduce import emit_arg_reduce
from relax_mlir.lowering.kernels.loops import emit_nest
from relax_mlir.lowering.kernels.nest import nest_of
from relax_mlir.mlir import ir, linalg
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.native_pipeline import run_native

Operation: TypeAlias = Any


@dataclass(frozen=True)
class LinalgToLoops(ModulePass):
    """Lower linalg operations and `memref.copy` on memrefs to scf loops with vector operations.

    Handles every `linalg.generic` whose index maps choose loops (or the constant 0) and whose body has no
    regions; see `relax_mlir.lowering.kernels.loops` for what is vectorised. Sums and products of floats over
    the last axis are reassociated. What is left is lowered by upstream's `convert-linalg-to-loops`.
    """

    name: ClassVar[str] = "linalg-to-loops"
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        target = Target.parse(self.target)
        for copy in _find(module, "memref.copy"):
            if copy.operands[0] == copy.operands[1]:  # a slice that was written where it belongs
                copy.erase()
                continue
            with ir.InsertionPoint(copy), copy.location:
                linalg.copy(copy.operands[0], outs=[copy.operands[1]])
            copy.erase()
        run_native("builtin.module(func.func(linalg-generalize-named-ops))", module)
        for operation in _find(module, "linalg.generic"):
            with ir.InsertionPoint(operation), operation.location:
                done = emit_arg_reduce(operation, target) or _emit_loops(operation, target)
            if done:
                operation.erase()
        run_native("builtin.module(func.func(convert-linalg-to-loops))", module)


def _emit_loops(operation: Operation, target: Target) -> bool:
    nest = nest_of(operation)
    return nest is not None and emit_nest(nest, target)


def _find(module: Operation, name: str) -> list[Operation]:
    found: list[Operation] = []

    def visit(operation: Operation) -> Operation:
        if operation.name == name:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found
