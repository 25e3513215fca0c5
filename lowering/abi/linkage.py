"""`internalize`: what only the module itself calls is internal to its native code.

LLVM then drops what it has inlined, which halves the time of compiling a small module. The support functions are
rarely on a hot path: they are compiled for size. Functions on buffers (prim funcs, kernels) are not inlined: that
saves nothing at run time, and with many calls of few kernels it makes compiling three times slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.lowering.abi.text import is_declaration, symbol_name
from relax_mlir.mlir import ir, llvm
from relax_mlir.transform import ModulePass, PassContext

SUPPORT_PREFIXES = ("relax.rt.", "relax.object.")
_FOR_SIZE = ("minsize", "optsize", "noinline")


@dataclass(frozen=True)
class Internalize(ModulePass):
    """Give private functions internal linkage."""

    name: ClassVar[str] = "internalize"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        internal = ir.Attribute.parse("#llvm.linkage<internal>")
        for_size = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in _FOR_SIZE])
        for op in module.body.operations:
            if not isinstance(op, llvm.LLVMFuncOp) or is_declaration(op):
                continue
            if "sym_visibility" in op.attributes:
                op.attributes["linkage"] = internal
            if symbol_name(op).startswith(SUPPORT_PREFIXES):
                op.attributes["passthrough"] = for_size
            elif "sym_visibility" in op.attributes and _takes_pointers(op):
                _add_passthrough(op, "noinline")


def _takes_pointers(op: llvm.LLVMFuncOp) -> bool:
    parameters = str(ir.TypeAttr(op.attributes["function_type"]).value).partition("(")[2]
    return "ptr" in parameters


def _add_passthrough(op: llvm.LLVMFuncOp, name: str) -> None:
    """Add an attribute of LLVM to those that the function has."""
    present = list(op.attributes["passthrough"]) if "passthrough" in op.attributes else []
    op.attributes["passthrough"] = ir.ArrayAttr.get([*present, ir.StringAttr.get(name)])
