"""Kernels that a module is going to need, before it is lowered: they are compiled meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dialects.attributes import SEPARATE
from relax_mlir.dialects.traits import IsAttention, MultipliesMatrices, OpTrait, has_trait, ops_with
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.kernels.attention.attention import emit_parts
from relax_mlir.lowering.kernels.attention.attention_sizes import Sizes
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_tiles
from relax_mlir.lowering.parts.cut_kernels import cut_kernels
from relax_mlir.lowering.parts.module_parts import Part
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import functions
from relax_mlir.target import Target

_WHOLE = {"f32": ir.F32Type, "f64": ir.F64Type}
"""Element types of operands whose kernels are not rewritten before they leave a module (see `ExpandFloats`)."""


@dataclass(frozen=True)
class EarlyKernels:
    """The register tiles of products, and what all attentions share: the same in every module, and much work for LLVM.

    `declared` holds the declarations of what the parts define. An op that is folded or decomposed later has had its
    kernels compiled for nothing.
    """

    declared: ir.Module

    @staticmethod
    def of(module: ir.Module, target: Target, hand_on: Callable[[list[Part]], None]) -> EarlyKernels:
        """Those for a module at level R0; `hand_on` gets the tiles first, which take longest."""
        with module.context, ir.Location.unknown():
            scratch = ir.Module.create()
            for name in _element_types(module, MultipliesMatrices):
                with ir.InsertionPoint(scratch.body):
                    _use(scratch, emit_tiles(scratch.body, GemmKernel(name, name), target))
            hand_on(cut_kernels(scratch))
            for name in _element_types(module, IsAttention):
                with ir.InsertionPoint(scratch.body):
                    for part in emit_parts(scratch.body, Sizes.of(target, ir.Type.parse(name))):
                        _use(scratch, part)
            hand_on(cut_kernels(scratch))
            return EarlyKernels(scratch)

    def declare(self, module: ir.Module) -> None:
        """Declare them in a module, which has none of its kernels yet: it will not make these again."""
        with module.context, ir.InsertionPoint(module.body):
            for op in self.declared.body.operations:
                if SEPARATE in op.attributes:
                    op.operation.clone()


def _element_types(module: ir.Module, trait: type[OpTrait]) -> list[str]:
    """The element types of the ops of a trait that work on more than one row."""
    found: dict[str, None] = {}
    for op in ops_of(module.operation, *ops_with(trait)):
        type_ = op.operands[0].type
        if not isinstance(type_, ir.RankedTensorType) or type_.rank < 2:
            continue
        is_row = not has_trait(op, IsAttention) and type_.shape[-2] == 1
        name = next((name for name, kind in _WHOLE.items() if isinstance(type_.element_type, kind)), None)
        if name is not None and not is_row:
            found[name] = None
    return list(found)


def _use(module: ir.Module, name: str) -> None:
    """A public function that needs another one."""
    type_ = functions(module)[name].type
    user = func.FuncOp(f"uses.{name}", ([], [type_]))
    with ir.InsertionPoint(user.add_entry_block()):
        func.ReturnOp([func.ConstantOp(type_, ir.FlatSymbolRefAttr.get(name)).result])
