"""`emit-lifecycle`: the functions through which the runtime fills and empties the globals of a module.

- `__relax_constants_address()` returns a pointer to the constant table, or null.
- `__relax_memory_address()` returns a pointer to the two function pointers {take, give} of the pool.
- `__relax_threads_address()` returns a pointer to the pointer of the thread pool, or null.
- `__relax_profile_address()`, in profiled modules, returns a pointer to the pointer to the records.
- `__relax_release()` drops the cached function handles.
"""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.lowering.abi.signature import (
    CONSTANTS_ADDRESS,
    MEMORY_ADDRESS,
    PROFILE_ADDRESS,
    RELEASE,
    THREADS_ADDRESS,
)
from relax_mlir.lowering.constants.lower_constants import TABLE
from relax_mlir.lowering.instrument.instrument_calls import TABLE as PROFILE_TABLE
from relax_mlir.lowering.runtime_lib.support import CACHED_OBJECT, MEMORY_TABLE
from relax_mlir.lowering.runtime_lib.thread_pool import THREADS_TABLE
from relax_mlir.mlir import ir, llvm
from relax_mlir.mlir_text import Code, Fragment, symbol, symbol_name
from relax_mlir.transform import ModulePass, PassContext


class EmitLifecycle(ModulePass):
    """Emit `__relax_release` and the functions that return the addresses of tables."""

    name: ClassVar[str] = "emit-lifecycle"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        globals = {symbol_name(op): op for op in module.body.operations if isinstance(op, llvm.GlobalOp)}
        fragment = Fragment()
        release = Code()
        for name, op in globals.items():
            if CACHED_OBJECT not in op.attributes:
                continue
            _known(fragment, name)
            cache = release.let(f"llvm.mlir.addressof {symbol(name)} : !llvm.ptr")
            held = release.let(
                f"llvm.atomicrmw xchg {cache}, {release.null()} acq_rel : !llvm.ptr, !llvm.ptr"
            )
            drop = fragment.declare("relax.rt.drop", "(!llvm.ptr) -> ()")
            release.do(f"func.call {drop}({held}) : (!llvm.ptr) -> ()")
        release.do("func.return")
        fragment.function(f"@{RELEASE}()", release)
        tables = [
            (CONSTANTS_ADDRESS, TABLE),
            (MEMORY_ADDRESS, MEMORY_TABLE),
            (THREADS_ADDRESS, THREADS_TABLE),
        ]
        if PROFILE_TABLE in globals:
            tables.append((PROFILE_ADDRESS, PROFILE_TABLE))
        for function, table in tables:
            address = Code()
            if table in globals:
                _known(fragment, table)
                value = address.let(f"llvm.mlir.addressof {symbol(table)} : !llvm.ptr")
            else:
                value = address.null()
            address.do(f"func.return {value} : !llvm.ptr")
            fragment.function(f"@{function}() -> !llvm.ptr", address)
        fragment.splice(module)


def _known(fragment: Fragment, name: str) -> None:
    """Declare a global of the module to the fragment; `splice` keeps the module's own definition."""
    fragment.define(f"llvm.mlir.global external {symbol(name)}() : !llvm.ptr")
