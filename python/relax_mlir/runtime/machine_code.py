"""Machine code in this process: made by LLVM now, or loaded from an object that LLVM has made before."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import tempfile
from pathlib import Path
from typing import Protocol

import tvm_ffi

from relax_mlir.error import CompileError
from relax_mlir.mlir import ExecutionEngine, ir
from relax_mlir.runtime.elf_object import LoadedObject


class MachineCode(Protocol):
    """Code whose functions have the packed interface ``(void **) -> void``; it goes with the last user of this."""

    def address(self, name: str) -> int:
        """The packed interface of a function; CompileError if there is none."""


@functools.cache
def shared_libraries() -> tuple[str, ...]:
    """The libraries that compiled code may call, beside what the process has loaded (libm is made sure of)."""
    try:
        ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)
    except OSError:  # another system; to search is slow, since it starts programs
        ctypes.CDLL(ctypes.util.find_library("m"), mode=ctypes.RTLD_GLOBAL)
    return (tvm_ffi.libinfo.find_libtvm_ffi(),)


class JitCode:
    """A module of level L, compiled now."""

    def __init__(self, module: ir.Module, opt_level: int, keep_object: bool = False) -> None:
        """Compile `module`; with `keep_object`, `object_file` can give the result."""
        self._engine = ExecutionEngine(
            module,
            opt_level=opt_level,
            shared_libs=list(shared_libraries()),
            enable_object_dump=keep_object,
            enable_pic=keep_object,
        )
        self._engine.initialize()

    def address(self, name: str) -> int:
        address = self._engine.raw_lookup(name)
        if not address:
            raise CompileError(
                f"the native code of {name} could not be linked (the linker's message is above)"
            )
        return int(address)

    def object_file(self) -> bytes:
        """The object; some function must have been looked up before."""
        with tempfile.TemporaryDirectory(prefix="relax-mlir-") as folder:
            path = Path(folder, "code.o")
            self._engine.dump_to_object_file(str(path))
            return path.read_bytes()


class ObjectCode:
    """An object from `JitCode.object_file`, loaded."""

    def __init__(self, data: bytes) -> None:
        """Load the object; raises `elf_object.ObjectFileError`."""
        self._libraries = [ctypes.CDLL(None), *map(ctypes.CDLL, shared_libraries())]
        self._object = LoadedObject(data, self._resolve)

    def address(self, name: str) -> int:
        address = self._object.address(f"_mlir_{name}")
        if address is None:
            raise CompileError(f"the native code has no function {name}")
        return address

    def _resolve(self, name: str) -> int | None:
        for library in self._libraries:
            if hasattr(library, name):
                return ctypes.cast(library[name], ctypes.c_void_p).value
        return None
