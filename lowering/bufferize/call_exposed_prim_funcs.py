"""Pass ``call-exposed-prim-funcs``: the entries of prim funcs call them (level M)."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import EXPOSES, PRIM_FUNC
from relax_mlir.error import UnsupportedError, VerifyError
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.module_functions import functions_of
from relax_mlir.transform import ModulePass, PassContext


class CallExposedPrimFuncs(ModulePass):
    """Make each function created by `expose-prim-funcs` call its prim func on the buffers that it receives."""

    name: ClassVar[str] = "call-exposed-prim-funcs"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raise `VerifyError` for an attribute of other origin, `UnsupportedError` for types that have no entry."""
        functions = {op.name.value: op for op in functions_of(module)}
        for entry in functions.values():
            if EXPOSES in entry.attributes:
                _call(entry, _callee(entry, functions))
                del entry.attributes[EXPOSES]


def _callee(entry: func.FuncOp, functions: dict[str, func.FuncOp]) -> func.FuncOp:
    attribute = entry.attributes[EXPOSES]
    callee = attribute["callee"] if isinstance(attribute, ir.DictAttr) and "callee" in attribute else None
    prim = functions.get(callee.value) if isinstance(callee, ir.FlatSymbolRefAttr) else None
    if prim is None or PRIM_FUNC not in prim.attributes or entry.type.results or prim.type.results:
        raise VerifyError(
            f"{location_text(entry.location)}: function '{entry.name.value}' has an attribute {EXPOSES} that "
            "expose-prim-funcs has not made: leave it out"
        )
    return prim


def _call(entry: func.FuncOp, prim: func.FuncOp) -> None:
    given, wanted = [str(t) for t in entry.type.inputs], [str(t) for t in prim.type.inputs]
    if given != wanted:
        raise UnsupportedError(
            f"{location_text(prim.location)}: prim func '{entry.name.value}' cannot be called from outside: its "
            f"parameters are declared as ({', '.join(given)}), but it takes ({', '.join(wanted)})"
        )
    end = list(entry_block(entry.operation).operations)[-1]
    with entry.location, ir.InsertionPoint(end):
        func.CallOp([], prim.name.value, list(entry.arguments))
