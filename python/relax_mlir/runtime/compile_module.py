"""A module of level L as machine code in this process."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from relax_mlir.error import CompileError
from relax_mlir.lowering.abi.text import symbol_name
from relax_mlir.mlir import ir, llvm
from relax_mlir.runtime.compile_parts import compile_objects
from relax_mlir.runtime.elf_object import SUPPORTED, ObjectFileError
from relax_mlir.runtime.machine_code import JitCode, MachineCode, ObjectCode, shared_libraries


def missing_symbols(module: ir.Module, libraries: Sequence[str]) -> list[str]:
    """Functions that `module` declares and neither the process nor `libraries` define."""
    loaded = [ctypes.CDLL(None), *(ctypes.CDLL(library) for library in libraries)]
    return sorted(
        name
        for op in module.body.operations
        if isinstance(op, llvm.LLVMFuncOp) and not op.regions[0].blocks
        for name in (symbol_name(op),)
        if not name.startswith("llvm.") and not any(hasattr(library, name) for library in loaded)
    )


def compile_module(
    module: ir.Module, opt_level: int, persistent: bool = False
) -> tuple[MachineCode, list[bytes]]:
    """Compile a module of level L; gives its code and the object files of it.

    Args:
        opt_level: LLVM's, 0 to 3.
        persistent: whether shared parts come from the persistent cache, and are kept there.

    Where objects cannot be loaded (on other machines than x86-64 with Linux, or objects that the loader does not
    understand), LLVM links the code, and there are no object files.

    Raises CompileError if the module calls functions that nothing here defines.
    """
    if missing := missing_symbols(module, shared_libraries()):
        raise CompileError(f"compiled code calls functions that do not exist here: {', '.join(missing)}")
    if SUPPORTED:
        objects = compile_objects(module, shared_libraries(), opt_level, persistent)
        try:
            return ObjectCode(objects), objects
        except ObjectFileError:
            pass  # LLVM's linker knows more kinds of objects
    return JitCode(module, opt_level), []
