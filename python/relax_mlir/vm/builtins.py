"""The builtins of the virtual machine: native code, shared by bytecode and Python.

They are registered with the FFI as ``vm.builtin.*``, so that ``tvm_ffi.get_global_func("vm.builtin.shape_of")`` returns
one. They are not registered if TVM is installed: TVM has builtins of the same names and aborts the process when a name
is taken. Machines and ``rx.vm.builtin("shape_of")`` always use those of this module.
"""

from __future__ import annotations

import functools
import importlib.util

import tvm_ffi

from relax_mlir.error import UnknownNameError, expect
from relax_mlir.lowering.runtime_lib.vm_builtins import BUILTINS, ENTRIES, MEMORY_ADDRESS, builtins_text
from relax_mlir.runtime import memory
from relax_mlir.runtime.process_code import load_code, pointer_from

PREFIX = "vm.builtin."


@functools.cache
def builtin_functions() -> dict[str, tvm_ffi.Function]:
    """Return all builtins by name; they are compiled once per process."""
    code = load_code(builtins_text(), (MEMORY_ADDRESS, *ENTRIES.values()), has_checks=True)
    memory.bind(pointer_from(code, MEMORY_ADDRESS))
    found = {name: tvm_ffi.Function.__from_extern_c__(code.address(entry)) for name, entry in ENTRIES.items()}
    if may_register():
        for name, function in found.items():
            tvm_ffi.register_global_func(name, function, override=True)
    return found


def may_register() -> bool:
    """True if no builtin name is registered and TVM is not installed."""
    is_taken = any(tvm_ffi.get_global_func(name, allow_missing=True) is not None for name in ENTRIES)
    return not is_taken and importlib.util.find_spec("tvm") is None


def builtin(name: str) -> tvm_ffi.Function:
    """Return the builtin `name`, with or without the prefix ``vm.builtin.``. Raises UnknownNameError."""
    expect("vm.builtin: 'name'", name, str, "a name")
    functions = builtin_functions()
    full = name if name.startswith(PREFIX) else PREFIX + name
    if full not in functions:
        raise UnknownNameError(
            "builtin of the virtual machine", name, [n.removeprefix(PREFIX) for n in functions]
        )
    return functions[full]


def builtin_names() -> tuple[str, ...]:
    """Return the names of all builtins."""
    return tuple(BUILTINS)
