"""Pass `linalg-to-loops`: lower linalg operations on memrefs to loops over vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from relax_mlir.lowering.base.module_parts import own_ops
from relax_mlir.lowering.kernels.gemm.epilogue import VECTORS_PER_BODY
from relax_mlir.lowering.kernels.nest.loop_nest import nest_of
from relax_mlir.lowering.kernels.nest.vector_loops import emit_nest
from relax_mlir.lowering.kernels.rows.arg_reduce import emit_arg_reduce
from relax_mlir.lowering.kernels.rows.rows import NEXT_ROW
from relax_mlir.mlir import ir, linalg
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.pipeline import run_native

Operation: TypeAlias = ir.Operation


@dataclass(frozen=True)
class LinalgToLoops(ModulePass):
    """Lower linalg operations and `memref.copy` on memrefs to scf loops with vector operations.

    It lowers every `linalg.generic` whose indexing maps select loops (or the constant 0) and whose body has no regions.
    `relax_mlir.lowering.kernels.nest.vector_loops` describes what is vectorised. Float sums and products over the last
    axis are reassociated. Upstream's `convert-linalg-to-loops` lowers the remaining operations.
    """

    name: ClassVar[str] = "linalg-to-loops"
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        target = Target.parse(self.target)
        copies, left = _found(module)
        for copy in copies:
            if copy.operands[0] == copy.operands[1]:  # a slice that was already written in place
                copy.erase()
                continue
            with ir.InsertionPoint(copy), copy.location:
                linalg.copy(copy.operands[0], outs=[copy.operands[1]])
            copy.erase()
        if copies or any(operation.name != "linalg.generic" for operation in left):
            run_native("builtin.module(func.func(linalg-generalize-named-ops))", module)
            _, left = _found(module)
        done = 0
        for operation in left:
            with ir.InsertionPoint(operation), operation.location:
                if emit_arg_reduce(operation, target) or _emit_loops(operation, target):
                    operation.erase()
                    done += 1
        if done < len(left):
            run_native("builtin.module(func.func(convert-linalg-to-loops))", module)


def _found(module: ir.Module) -> tuple[list[Operation], list[Operation]]:
    """The copies and the linalg ops of the module; kernels that depend on the target alone have none."""
    ops = own_ops(module)
    found = [op for op in ops if op.name.startswith("linalg.") and not op.parent.name.startswith("linalg.")]
    return [op for op in ops if op.name == "memref.copy"], found


def _emit_loops(operation: Operation, target: Target) -> bool:
    nest = nest_of(operation)
    if nest is None:
        return False
    attributes = operation.attributes
    vectors_per_body = int(attributes[VECTORS_PER_BODY]) if VECTORS_PER_BODY in attributes else None
    next_row = list(attributes[NEXT_ROW]) if NEXT_ROW in attributes else []
    return emit_nest(nest, target, vectors_per_body, next_row)
