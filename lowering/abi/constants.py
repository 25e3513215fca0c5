"""`lower-constants`: calls of `@relax.constant.K` read pointer K of the table that the runtime fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.lowering.abi.text import Code, Fragment, functions, is_declaration, symbol
from relax_mlir.mlir import ir
from relax_mlir.transform import ModulePass, PassContext

TABLE = "__relax_constants"


@dataclass(frozen=True)
class LowerConstants(ModulePass):
    """Give the constant hooks a body: a memref over the memory that `@__relax_constants` points to."""

    name: ClassVar[str] = "lower-constants"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        hooks = {
            name: ir.IntegerAttr(op.attributes["relax.constant"]).value
            for name, op in functions(module).items()
            if "relax.constant" in op.attributes and is_declaration(op)
        }
        if not hooks:
            return
        fragment = Fragment()
        size = max(hooks.values()) + 1
        fragment.define(
            f"llvm.mlir.global external @{TABLE}() : !llvm.array<{size} x ptr> {{\n"
            f"  %0 = llvm.mlir.zero : !llvm.array<{size} x ptr>\n  llvm.return %0 : !llvm.array<{size} x ptr>\n}}"
        )
        table = functions(module)
        for name, position in hooks.items():
            type = ir.MemRefType(table[name].type.results[0])
            code = Code()
            base = code.let(f"llvm.mlir.addressof @{TABLE} : !llvm.ptr")
            data = code.load(base, 8 * position, "!llvm.ptr")
            memref = code.memref(data, [code.constant(d) for d in type.shape], str(type))
            code.do(f"func.return {memref} : {type}")
            fragment.function(f"private {symbol(name)}() -> {type}", code)
        fragment.splice(module)
