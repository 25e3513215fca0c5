"""`internalize`: what only the module itself calls is internal to its native code.

LLVM then drops what it has inlined, which halves the time of compiling a small module. The support functions are
rarely on a hot path: LLVM does not optimise them. Functions on buffers (prim funcs, kernels) are not inlined: that
saves nothing at run time, and with many calls of few kernels it makes compiling three times slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.lowering.parts.shared_code import is_support
from relax_mlir.mlir import func, ir, llvm
from relax_mlir.mlir_text import is_declaration
from relax_mlir.transform import ModulePass, PassContext

_PLAIN = ("optnone", "noinline")


@dataclass(frozen=True)
class Internalize(ModulePass):
    """Give private functions internal linkage: of level F (`llvm.linkage` on `func.func`) or L.

    `support_is_hot`: LLVM optimises and inlines support functions, and what uses them, as it thinks best.
    """

    name: ClassVar[str] = "internalize"
    support_is_hot: bool = False

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for op in module.body.operations:
            if isinstance(op, llvm.LLVMFuncOp | func.FuncOp) and not is_declaration(op):
                internalize(op, self.support_is_hot)


def internalize(op: ir.OpView, support_is_hot: bool = False) -> None:
    """Give a function internal linkage, if it is private, and say whether it may be inlined."""
    private = "sym_visibility" in op.attributes
    if private:
        op.attributes[attribute_name(op, "linkage")] = ir.Attribute.parse("#llvm.linkage<internal>")
    if support_is_hot:
        return
    if is_support(op):
        leave_plain(op)
    elif private and _takes_buffers(op):
        _add_passthrough(op, "noinline")


def leave_plain(op: ir.OpView) -> None:
    """Keep LLVM's code generator from optimising a function, which takes a third of its time, and more."""
    _add_passthrough(op, *_PLAIN)


def attribute_name(op: ir.OpView, attribute: str) -> str:
    """What an attribute of functions of the LLVM dialect is called on `op`, which may yet have to become one."""
    return f"llvm.{attribute}" if isinstance(op, func.FuncOp) else attribute


def _takes_buffers(op: ir.OpView) -> bool:
    parameters = str(ir.TypeAttr(op.attributes["function_type"]).value).partition("(")[2]
    return "ptr" in parameters or "memref" in parameters


def _add_passthrough(op: ir.OpView, *names: str) -> None:
    """Add attributes of LLVM to those that the function has."""
    key = attribute_name(op, "passthrough")
    present = [ir.StringAttr(each).value for each in op.attributes[key]] if key in op.attributes else []
    all_names = dict.fromkeys([*present, *names])
    op.attributes[key] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in all_names])
