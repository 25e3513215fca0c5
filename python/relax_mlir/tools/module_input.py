"""Preparation of the input modules of command-line tools."""

from __future__ import annotations

from relax_mlir.error import UnknownNameError
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import func, ir


def keep_entries(module: IRModule, entries: list[str]) -> IRModule:
    """The module with only these functions public; compilation removes functions that they do not need.

    Raises UnknownNameError if there is no such public function.
    """
    public = {
        op.name.value: op
        for op in module.mlir.body.operations
        if isinstance(op, func.FuncOp) and "sym_visibility" not in op.attributes
    }
    for entry in entries:
        if entry not in public:
            raise UnknownNameError("public function", entry, public)
    if not entries:
        return module
    kept = module.clone()
    with kept.context:
        private = ir.StringAttr.get("private")
        for op in kept.mlir.body.operations:
            if isinstance(op, func.FuncOp) and op.name.value in public and op.name.value not in entries:
                op.attributes["sym_visibility"] = private
    return kept
