"""`emit-ffi-wrappers`: the TVM FFI entry point `__tvm_ffi_<name>` of every function with `relax.signature`.

An entry point takes the arguments of a TVM FFI safe call (self, TVMFFIAny array, count, result). It checks their
number, kind, device, dtype and rank, and calls `@<name>.shapes`, which checks the dimensions and returns the sizes of
the results. It copies inputs whose strides are not row-major, allocates the results or takes those of the caller, and
calls `@<name>`, which itself returns the results whose sizes are not known before the call. The code uses the same
declarations as every other function, so `lower-checks` also generates its error paths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.dialects.attributes import LATENCY_CRITICAL, SIGNATURE, TAKES_HANDLES
from relax_mlir.lowering.abi.callee import Callee
from relax_mlir.lowering.abi.ffi_wrapper import PARAMETERS, Wrapper
from relax_mlir.lowering.abi.quick_wrapper import QuickWrapper
from relax_mlir.lowering.abi.signature import ENTRY_PREFIX, INPUTS, signature_of
from relax_mlir.lowering.parts.entry_parts import shares_code, show, take_out
from relax_mlir.lowering.parts.module_parts import Part
from relax_mlir.lowering.runtime_lib.support import define_object_support, define_support
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import Fragment, functions, symbol
from relax_mlir.transform import ModulePass, PassContext


@dataclass
class EmitFFIWrappers(ModulePass):
    """Emit the TVM FFI entry point `__tvm_ffi_<name>` of every function that has `relax.signature`.

    Also defines the support functions. With `separate`, separately compiled code moves out of the module, which keeps
    declarations of it: the support functions common to all modules, and entry points that share code (`entry_parts`).
    It becomes nested modules, unless `hand_on` takes it.
    """

    name: ClassVar[str] = "emit-ffi-wrappers"
    separate: bool = False
    hand_on: Callable[[list[Part]], None] | None = field(default=None, init=False)
    """Takes the separate compilation units."""

    @classmethod
    def handing_on(cls, hand_on: Callable[[list[Part]], None] | None) -> EmitFFIWrappers:
        """Create the pass; if `hand_on` is not None, it receives the separate compilation units."""
        made = cls(separate=hand_on is not None)
        made.hand_on = hand_on
        return made

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        define_support(module, self.separate)
        fragment, parts = Fragment(), []
        for function in functions(module).values():
            if SIGNATURE not in function.attributes:
                continue
            signature = signature_of(function.operation)
            marks = [f"{INPUTS} = {signature.inputs} : i64"]
            marks += [LATENCY_CRITICAL] if LATENCY_CRITICAL in function.attributes else []
            marks += [TAKES_HANDLES] if signature.takes_handles else []
            is_quick = LATENCY_CRITICAL in function.attributes and QuickWrapper.suits(signature)
            kind = QuickWrapper if is_quick else Wrapper
            callee = Callee.of(function, signature)
            if self.separate and shares_code(signature, callee):
                parts.append(take_out(module, function, signature, kind, fragment, marks))
                continue
            wrapper = kind(signature, callee, fragment)
            wrapper.write()
            head = f"{symbol(ENTRY_PREFIX + signature.name)}({PARAMETERS})"
            fragment.function(head, wrapper.code, ", ".join(marks))
        fragment.splice(module)
        if self.hand_on is not None:
            self.hand_on(parts)
        else:
            for part in parts:
                show(part, module)
        define_object_support(module)
