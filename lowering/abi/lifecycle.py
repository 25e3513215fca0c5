"""`emit-lifecycle`: the functions through which the runtime fills and empties the globals of a module.

`__relax_constants_address() -> pointer to the constant table, or null` and `__relax_release()`, which frees the
cached workspaces and drops the cached function handles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.lowering.abi.constants import TABLE
from relax_mlir.lowering.abi.support import CACHED_MEMORY, CACHED_OBJECT
from relax_mlir.lowering.abi.text import Code, Fragment, symbol, symbol_name
from relax_mlir.mlir import ir, llvm
from relax_mlir.transform import ModulePass, PassContext

RELEASE = "__relax_release"
CONSTANTS_ADDRESS = "__relax_constants_address"


@dataclass(frozen=True)
class EmitLifecycle(ModulePass):
    """Write `__relax_release` and `__relax_constants_address`."""

    name: ClassVar[str] = "emit-lifecycle"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        globals = [op for op in module.body.operations if isinstance(op, llvm.GlobalOp)]
        fragment = Fragment()
        fragment.external("@free(!llvm.ptr)")
        release, address = Code(), Code()
        for op in globals:
            name = symbol_name(op)
            owner = CACHED_MEMORY in op.attributes, CACHED_OBJECT in op.attributes
            if not any(owner) and name != TABLE:
                continue
            # Known to the text; `splice` keeps the module's own definition.
            fragment.define(f"llvm.mlir.global external {symbol(name)}() : !llvm.ptr")
            if name == TABLE:
                continue
            cache = release.let(f"llvm.mlir.addressof {symbol(name)} : !llvm.ptr")
            held = release.let(
                f"llvm.atomicrmw xchg {cache}, {release.null()} acq_rel : !llvm.ptr, !llvm.ptr"
            )
            if owner[0]:
                release.do(f"llvm.call @free({held}) : (!llvm.ptr) -> ()")
            else:
                drop = fragment.declare("relax.rt.drop", "(!llvm.ptr) -> ()")
                release.do(f"func.call {drop}({held}) : (!llvm.ptr) -> ()")
        release.do("func.return")
        has_table = any(symbol_name(op) == TABLE for op in globals)
        table = address.let(f"llvm.mlir.addressof @{TABLE} : !llvm.ptr") if has_table else address.null()
        address.do(f"func.return {table} : !llvm.ptr")
        fragment.function(f"@{RELEASE}()", release)
        fragment.function(f"@{CONSTANTS_ADDRESS}() -> !llvm.ptr", address)
        fragment.splice(module)
