"""The builtins of the virtual machine, registered with the FFI as ``vm.builtin.*``.

They are native code, the same for bytecode and for Python: ``tvm_ffi.get_global_func("vm.builtin.shape_of")(x)``.
"""

from __future__ import annotations

import functools

import tvm_ffi

from relax_mlir.lowering.runtime_lib.vm_builtins.module import (
    BUILTINS,
    ENTRIES,
    MEMORY_ADDRESS,
    builtins_text,
)
from relax_mlir.runtime import memory
from relax_mlir.runtime.process_code import load_code, pointer_from


@functools.cache
def register_builtins() -> None:
    """Compile the builtins, unless this process has them, and register them."""
    code = load_code(builtins_text(), (MEMORY_ADDRESS, *ENTRIES.values()), has_checks=True)
    memory.bind(pointer_from(code, MEMORY_ADDRESS))
    for name, entry in ENTRIES.items():
        function = tvm_ffi.Function.__from_mlir_packed_safe_call__(code.address(entry))
        tvm_ffi.register_global_func(name, function, override=True)


def builtin_names() -> tuple[str, ...]:
    """The names of all builtins."""
    return tuple(BUILTINS)
