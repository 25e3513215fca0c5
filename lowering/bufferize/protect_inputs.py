"""`protect-inputs`: bufferisation does not write into read-only arguments of callers."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from relax_mlir.dialects.attributes import SIGNATURE
from relax_mlir.dialects.prim_entries import exposed_prims
from relax_mlir.lowering.abi.signature import signature_of
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

WRITABLE = "bufferization.writable"


class ProtectInputs(ModulePass):
    """Mark tensor arguments as not writable, except destinations of results and donated tensors.

    This includes exposed prim funcs: their callers, which pass buffers, rely on the declared written arguments.
    """

    name: ClassVar[str] = "protect-inputs"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        table = functions(module)
        for function in table.values():
            if SIGNATURE not in function.attributes or is_declaration(function):
                continue
            signature = signature_of(function.operation)
            results = [leaf for result in signature.results for leaf in result.leaves()]
            tensors = sum(not leaf.returned for leaf in results)
            hidden = int(signature.recursive)
            inputs = len(function.type.inputs) - tensors - hidden
            _protect(function, set(range(inputs)) - set(signature.written))
        for name, written in exposed_prims(table.values()).items():
            if name in table and not is_declaration(table[name]):
                _protect(table[name], set(range(len(table[name].type.inputs))) - set(written))


def _protect(function: func.FuncOp, read: Collection[int]) -> None:
    types = list(function.type.inputs)
    kept = (
        list(function.arg_attrs) if "arg_attrs" in function.attributes else [ir.DictAttr.get({})] * len(types)
    )
    function.arg_attrs = [
        ir.DictAttr.get({**{named.name: named.attr for named in old}, WRITABLE: ir.BoolAttr.get(False)})
        if number in read and isinstance(type_, ir.RankedTensorType)
        else old
        for number, (old, type_) in enumerate(zip(kept, types, strict=True))
    ]
