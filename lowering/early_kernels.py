"""Kernels that a module is going to need, before it is lowered: they are compiled meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.cut_kernels import cut_kernels
from relax_mlir.lowering.kernels.gemm import GemmKernel, emit_tiles
from relax_mlir.lowering.module_parts import APART, Part
from relax_mlir.mlir import func, ir
from relax_mlir.target import Target

_PRODUCTS = ("relax.matmul", "relax.nn_attention")
_WHOLE = {"f32": ir.F32Type, "f64": ir.F64Type}
"""Element types of products whose kernels are not rewritten before they leave a module (see `ExpandFloats`)."""


@dataclass(frozen=True)
class EarlyKernels:
    """The register tiles of products, which take LLVM longest of all kernels and are the same in every module.

    `declared` holds the declarations of what the parts define. A product that is folded or decomposed later has had
    its tiles compiled for nothing.
    """

    parts: list[Part]
    declared: ir.Module

    @staticmethod
    def of(module: ir.Module, target: Target) -> EarlyKernels:
        """Those for the products of a module at level R0."""
        with module.context, ir.Location.unknown():
            scratch = ir.Module.create()
            for name in _products(module):
                with ir.InsertionPoint(scratch.body):
                    tiles = emit_tiles(scratch.body, GemmKernel(name, name), target)
                    _use(scratch, tiles)
            return EarlyKernels(cut_kernels(scratch), scratch)

    def declare(self, module: ir.Module) -> None:
        """Declare them in a module, which has none of its kernels yet: it will not make these again."""
        with module.context, ir.InsertionPoint(module.body):
            for op in self.declared.body.operations:
                if APART in op.attributes:
                    op.operation.clone()


def _products(module: ir.Module) -> list[str]:
    """The element types of products of more than one row."""
    found: dict[str, None] = {}
    for op in ops_of(module.operation, *_PRODUCTS):
        type_ = op.operands[0].type
        if not isinstance(type_, ir.RankedTensorType) or type_.rank < 2:
            continue
        is_row = op.name == "relax.matmul" and type_.shape[-2] == 1
        name = next((name for name, kind in _WHOLE.items() if isinstance(type_.element_type, kind)), None)
        if name is not None and not is_row:
            found[name] = None
    return list(found)


def _use(module: ir.Module, name: str) -> None:
    """A public function that needs another one."""
    type_ = next(op for op in module.body.operations if op.name.value == name).type
    user = func.FuncOp(f"uses.{name}", ([], [type_]))
    with ir.InsertionPoint(user.add_entry_block()):
        func.ReturnOp([func.ConstantOp(type_, ir.FlatSymbolRefAttr.get(name)).result])
