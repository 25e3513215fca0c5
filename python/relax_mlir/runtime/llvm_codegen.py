"""Compile MLIR to machine code with the LLVM of the bindings, without the GIL, so that threads compile in parallel.

The bindings' `ExecutionEngine` holds the GIL while it compiles; the underlying C API does not need it. The result is
dumped as an object file. Destroying an engine takes LLVM as long as compiling 50 ops, so this is done later
(`destroy_engines`).
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from relax_mlir import capi
from relax_mlir.error import CompileError
from relax_mlir.fork_safety import after_fork_in_child
from relax_mlir.mlir import ir

LLVM_OPTIONS = (
    "-x86-experimental-pref-innermost-loop-alignment=6",
    "-avoid-speculation=0",
    "-disable-post-ra",
)
"""Process-wide options of LLVM.

Inner loops are aligned to a cache line: if two hardware threads share a core, a GEMM with a misaligned loop is up to 10
% slower. Constants are hoisted out of loops even if a loop may have no iteration or registers are scarce; otherwise
LLVM loads some in each iteration, by a 64-bit address. Scheduling after register allocation is disabled: it took 5 % of
LLVM's time and gave an out-of-order CPU (Zen 4) no speedup.
"""

_used_engines: list[int] = []
"""Engines that are no longer used but not yet destroyed."""
after_fork_in_child(_used_engines.clear)  # the parent destroys them


def object_code(
    module: ir.Module, symbol: str, external: Sequence[str], libraries: Sequence[str], opt_level: int
) -> bytes:
    """Compile a module of level L to an ELF object of position-independent code for this machine.

    Args:
        module: the module; its context must allow multithreading.
        symbol: an external function that it defines.
        external: declared functions that `libraries` do not define.
        opt_level: LLVM's, 0 to 3.

    Raises CompileError if the module cannot be translated, or calls an undefined function (LLVM's message is on
    stderr).
    """
    with _engine(module, libraries, opt_level) as engine:
        for name in external:  # any address, since the code is not run here
            capi.quick_library().mlirExecutionEngineRegisterSymbol(engine, capi.text(name), 1)
        # The lookup triggers compilation.
        if not _library().mlirExecutionEngineLookup(engine, capi.text(symbol)):
            raise CompileError(f"the native code of {symbol} could not be linked (see LLVM's message)")
        return _dumped(engine)


def _dumped(engine: int) -> bytes:
    """Return the object file of an engine, through a file in memory: accessing a folder may wait for the GIL."""
    file = os.memfd_create("relax-mlir-object")
    try:
        _library().mlirExecutionEngineDumpToObjectFile(engine, capi.text(f"/proc/self/fd/{file}"))
        code = os.pread(file, os.fstat(file).st_size, 0)
    finally:
        os.close(file)
    if not code:
        raise CompileError("the object file could not be written to memory (see LLVM's message)")
    return code


@contextmanager
def _engine(module: ir.Module, libraries: Sequence[str], opt_level: int) -> Iterator[int]:
    paths = (capi.Text * len(libraries))(*map(capi.text, libraries))
    engine = _library().mlirExecutionEngineCreate(
        capi.pointer(module), opt_level, len(libraries), paths, True, True
    )
    if not engine:
        raise CompileError("LLVM cannot compile the module (its message is on stderr)")
    try:
        yield engine
    finally:
        _used_engines.append(engine)


def destroy_engines() -> None:
    """Destroy the engines that `object_code` has used, without the GIL."""
    while True:
        try:
            engine = _used_engines.pop()
        except IndexError:
            return
        _library().mlirExecutionEngineDestroy(engine)


@functools.cache
def _library() -> capi.FreeLibrary:
    """Return the C API, with LLVM's options set."""
    options = ("relax-mlir", *LLVM_OPTIONS)
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    capi.library().LLVMParseCommandLineOptions(len(options), words, b"")
    return capi.library()
