"""`internalize`: give private functions internal linkage.

LLVM can then drop functions that it has inlined everywhere, which makes a small module compile twice as fast. Support
functions are rarely on a hot path, so LLVM does not optimise them. Functions on buffers (prim funcs, kernels) are not
inlined: inlining saves no run time, and makes modules with many calls of few kernels compile three times slower.
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
    """Give private functions internal linkage, at level F (`llvm.linkage` on `func.func`) or L.

    With `support_is_hot`, LLVM's own heuristics optimise and inline support functions and their callers.
    """

    name: ClassVar[str] = "internalize"
    support_is_hot: bool = False

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for op in module.body.operations:
            if isinstance(op, llvm.LLVMFuncOp | func.FuncOp) and not is_declaration(op):
                internalize(op, self.support_is_hot)


def internalize(op: ir.OpView, support_is_hot: bool = False) -> None:
    """Give a private function internal linkage, and set its inlining attributes."""
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
    """Disable LLVM's optimisation of a function; optimising takes a third of its compile time or more."""
    _add_passthrough(op, *_PLAIN)


def attribute_name(op: ir.OpView, attribute: str) -> str:
    """The name of an LLVM function attribute on `op`: prefixed with ``llvm.`` on a `func.func`."""
    return f"llvm.{attribute}" if isinstance(op, func.FuncOp) else attribute


def _takes_buffers(op: ir.OpView) -> bool:
    parameters = str(ir.TypeAttr(op.attributes["function_type"]).value).partition("(")[2]
    return "ptr" in parameters or "memref" in parameters


def _add_passthrough(op: ir.OpView, *names: str) -> None:
    """Add LLVM attributes to those of the function."""
    key = attribute_name(op, "passthrough")
    present = [ir.StringAttr(each).value for each in op.attributes[key]] if key in op.attributes else []
    all_names = dict.fromkeys([*present, *names])
    op.attributes[key] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in all_names])
