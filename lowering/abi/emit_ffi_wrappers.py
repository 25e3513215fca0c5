"""`emit-ffi-wrappers`: the TVM FFI entry point `__tvm_ffi_<name>` of every function with `relax.signature`.

An entry point takes the arguments of a TVM FFI safe call (self, TVMFFIAny array, count, result), checks number,
kind, device, dtype and rank, asks `@<name>.shapes` for the sizes of the results (which checks the dimensions),
makes contiguous copies where strides demand it, allocates the results or takes those the caller passed in, and
calls `@<name>`, which gives back itself whatever has no size before the call. It is written with the declarations that
every other function uses, so that its error paths come from `lower-checks`, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import LATENCY_CRITICAL, SIGNATURE, TAKES_HANDLES
from relax_mlir.lowering.abi.ffi_wrapper import Wrapper
from relax_mlir.lowering.abi.quick_wrapper import QuickWrapper
from relax_mlir.lowering.abi.signature import signature_of
from relax_mlir.lowering.runtime_lib.support import define_object_support, define_support
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import Fragment, functions, symbol
from relax_mlir.transform import ModulePass, PassContext

ENTRY_PREFIX = "__tvm_ffi_"
INPUTS = "relax.inputs"


@dataclass(frozen=True)
class EmitFFIWrappers(ModulePass):
    """Write the TVM FFI entry point `__tvm_ffi_<name>` of every function that has `relax.signature`.

    The support functions are defined, too. With `separate_support`, those that all modules need are only declared: they
    are compiled separately (see `early_support`).
    """

    name: ClassVar[str] = "emit-ffi-wrappers"
    separate_support: bool = False

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        define_support(module, self.separate_support)
        fragment = Fragment()
        for function in functions(module).values():
            if SIGNATURE not in function.attributes:
                continue
            signature = signature_of(function.operation)
            is_quick = LATENCY_CRITICAL in function.attributes and QuickWrapper.suits(signature)
            wrapper = (QuickWrapper if is_quick else Wrapper)(signature, function, fragment)
            wrapper.write()
            parameters = "%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr"
            head = f"{symbol(ENTRY_PREFIX + signature.name)}({parameters})"
            marks = f", {LATENCY_CRITICAL}" if LATENCY_CRITICAL in function.attributes else ""
            marks += f", {TAKES_HANDLES}" if signature.takes_handles else ""
            fragment.function(head, wrapper.code, f"{INPUTS} = {signature.inputs} : i64{marks}")
        fragment.splice(module)
        define_object_support(module)
