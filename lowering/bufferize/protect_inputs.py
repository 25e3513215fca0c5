"""`protect-inputs`: bufferisation never writes into the arguments of a public function."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.dialects.attributes import SIGNATURE
from relax_mlir.lowering.abi.signature import signature_of
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

WRITABLE = "bufferization.writable"


class ProtectInputs(ModulePass):
    """Mark the tensors that callers pass in as not writable; the destinations of results, and donated ones, stay so."""

    name: ClassVar[str] = "protect-inputs"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for function in functions(module).values():
            if SIGNATURE not in function.attributes or is_declaration(function):
                continue
            signature = signature_of(function.operation)
            results = [leaf for result in signature.results for leaf in result.leaves()]
            tensors = sum(not leaf.returned for leaf in results)
            hidden = int(signature.recursive)
            types = list(function.type.inputs)
            inputs = len(types) - tensors - hidden
            kept = (
                list(function.arg_attrs)
                if "arg_attrs" in function.attributes
                else [ir.DictAttr.get({})] * len(types)
            )
            function.arg_attrs = [
                ir.DictAttr.get(
                    {**{named.name: named.attr for named in old}, WRITABLE: ir.BoolAttr.get(False)}
                )
                if i < inputs and i not in signature.written and isinstance(type, ir.RankedTensorType)
                else old
                for i, (old, type) in enumerate(zip(kept, types, strict=True))
            ]
