"""Machine code from MLIR by the LLVM of the bindings, without the GIL, so that several threads compile at once.

The bindings' `ExecutionEngine` holds the GIL while it compiles; the C API under it does not need it. What it has
compiled is taken as an object file. To destroy an engine takes LLVM as long as to compile 50 ops: that is done when
nobody waits for code (`destroy_engines`).
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
"""Options of LLVM, which hold for the process.

Inner loops begin on a cache line: where two hardware threads share a core, a product whose loop does not is up to 10 %
slower. Constants are loaded in front of a loop even if it may have no iteration, and if registers are few: else LLVM
loads some in each iteration, by an address of 64 bits. Instructions are not put in order again once registers are
allocated: that took a twentieth of LLVM's time, and a CPU that runs them out of order gained nothing (Zen 4).
"""

_used_engines: list[int] = []
"""Those that have done their work, and are still to be destroyed."""
after_fork_in_child(_used_engines.clear)  # the parent does


def object_code(
    module: ir.Module, symbol: str, external: Sequence[str], libraries: Sequence[str], opt_level: int
) -> bytes:
    """Compile a module of level L to an ELF object of position-independent code for this machine.

    Args:
        module: the module; its context must be one for several threads.
        symbol: an external function that it defines.
        external: what it declares and `libraries` do not define.
        opt_level: LLVM's, 0 to 3.

    Raises CompileError if the module cannot be translated, or calls what nothing defines (LLVM's message is on
    stderr).
    """
    with _engine(module, libraries, opt_level) as engine:
        for name in external:  # any address: the code is not run here
            capi.quick_library().mlirExecutionEngineRegisterSymbol(engine, capi.text(name), 1)
        # This is what makes LLVM compile.
        if not _library().mlirExecutionEngineLookup(engine, capi.text(symbol)):
            raise CompileError(f"the native code of {symbol} could not be linked (see LLVM's message)")
        return _dumped(engine)


def _dumped(engine: int) -> bytes:
    """The object file of an engine, by way of a file in memory: each step to and from a folder may cost the GIL."""
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
    """Destroy what `object_code` has left, without the GIL."""
    while True:
        try:
            engine = _used_engines.pop()
        except IndexError:
            return
        _library().mlirExecutionEngineDestroy(engine)


@functools.cache
def _library() -> capi.FreeLibrary:
    """The C API, with LLVM's options set."""
    options = ("relax-mlir", *LLVM_OPTIONS)
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    capi.library().LLVMParseCommandLineOptions(len(options), words, b"")
    return capi.library()
