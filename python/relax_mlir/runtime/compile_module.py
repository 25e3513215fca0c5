"""Compile a module of level F or L to machine code in this process."""

from __future__ import annotations

from relax_mlir.lowering.base.module_parts import split_module
from relax_mlir.lowering.llvm.to_llvm import to_llvm_dialect
from relax_mlir.mlir import ir
from relax_mlir.runtime.compile_parts import PartCompiler, require_symbols
from relax_mlir.runtime.elf_object import SUPPORTED, ObjectFileError
from relax_mlir.runtime.machine_code import JitCode, MachineCode, ObjectCode, shared_libraries


def compile_module(
    module: ir.Module, opt_level: int, low_precision: bool = True
) -> tuple[MachineCode, list[bytes]]:
    """Compile a module of level F or L; return its code and its object files.

    Args:
        module: is unchanged afterwards, or at level L.
        opt_level: LLVM's, 0 to 3.
        low_precision: True if f16 or bf16 may occur in a module of level F.

    Raises CompileError if the module calls undefined functions.
    """
    with PartCompiler(shared_libraries(), opt_level, False, low_precision) as compiler:
        return compile_rest(module, compiler)


def compile_rest(module: ir.Module, compiler: PartCompiler) -> tuple[MachineCode, list[bytes]]:
    """Compile a module, some of whose compilation units the compiler has already; otherwise like `compile_module`.

    If objects cannot be loaded (on systems other than x86-64 Linux, or objects that the loader does not support), LLVM
    links the code, and there are no object files.

    Raises CompileError if the module calls undefined functions. Raises ObjectFileError if objects cannot be loaded and
    LLVM cannot link the code either, because the module lacks the units that the compiler has.
    """
    is_whole = not compiler.has_parts
    if SUPPORTED:
        compiler.add(split_module(module))
        objects = compiler.objects()
        try:
            return ObjectCode(objects), objects
        except ObjectFileError:  # LLVM's linker supports more object files
            if not is_whole:
                raise
    for step in to_llvm_dialect():
        step.apply_(module)
    require_symbols(module, shared_libraries())
    return JitCode(module, compiler.opt_level), []
