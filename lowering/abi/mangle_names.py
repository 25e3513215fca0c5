"""`mangle-names`: prefix function names, so that they do not clash with C library functions that the code calls."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.ir_queries import callee_of
from relax_mlir.lowering.abi.runtime_declarations import SHAPES_SUFFIX
from relax_mlir.lowering.parts.shared_code import own_ops
from relax_mlir.mlir import func, ir
from relax_mlir.transform import ModulePass, PassContext

OWN_PREFIX = "relax."
FUNCTION_PREFIX = "relax.fn."


class MangleNames(ModulePass):
    """Prefix the names of all functions that have a body; signatures keep the names of entry points.

    Otherwise a function called ``exp`` or ``malloc`` would replace that of the C library.
    """

    name: ClassVar[str] = "mangle-names"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        renamed: dict[str, ir.Attribute] = {}
        for op in module.body.operations:
            if isinstance(op, func.FuncOp) and not op.is_external:
                old = op.name.value
                if not old.removesuffix(SHAPES_SUFFIX).startswith(OWN_PREFIX):
                    op.attributes["sym_name"] = ir.StringAttr.get(FUNCTION_PREFIX + old)
                    renamed[old] = ir.FlatSymbolRefAttr.get(FUNCTION_PREFIX + old)
        for call in own_ops(module, "func.call"):
            callee = callee_of(call)
            if callee in renamed:
                call.attributes["callee"] = renamed[callee]
