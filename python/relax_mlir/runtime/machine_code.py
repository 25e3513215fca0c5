"""Machine code in this process, compiled by LLVM or loaded from an object file."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from collections.abc import Sequence
from typing import Protocol

import tvm_ffi

from relax_mlir.capi import library, pointer, text
from relax_mlir.error import CompileError
from relax_mlir.mlir import ExecutionEngine, ir
from relax_mlir.runtime.elf_object import LoadedObject


class MachineCode(Protocol):
    """Code of public functions, freed with the last reference."""

    def address(self, name: str) -> int:
        """Return the address of a public function. Raises CompileError if there is none."""


@functools.cache
def shared_libraries() -> tuple[str, ...]:
    """Return the libraries that compiled code may call in addition to the process itself; libm is always available."""
    try:
        ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)
    except OSError:  # searching is slow, since it starts programs
        ctypes.CDLL(ctypes.util.find_library("m"), mode=ctypes.RTLD_GLOBAL)
    return (tvm_ffi.libinfo.find_libtvm_ffi(),)


class JitCode:
    """A module of level L that LLVM has compiled and linked."""

    def __init__(self, module: ir.Module, opt_level: int) -> None:
        """Compile `module`."""
        self._engine = ExecutionEngine(module, opt_level=opt_level, shared_libs=list(shared_libraries()))
        self._engine.initialize()

    def address(self, name: str) -> int:
        address = library().mlirExecutionEngineLookup(pointer(self._engine), text(name))
        if not address:
            raise CompileError(
                f"the native code of {name} could not be linked (the linker's message is above)"
            )
        return int(address)


class ObjectCode:
    """Loaded object files, which may refer to each other."""

    def __init__(self, objects: Sequence[bytes]) -> None:
        """Load the objects. Raises `elf_object.ObjectFileError`."""
        self._libraries = [ctypes.CDLL(None), *map(ctypes.CDLL, shared_libraries())]
        self._objects = [LoadedObject(data) for data in objects]
        self._defined: dict[str, int] = {}
        for loaded in reversed(self._objects):  # the first definition takes precedence
            self._defined.update(loaded.defined)
        for loaded in self._objects:
            loaded.link(self._resolve)

    def address(self, name: str) -> int:
        address = self._defined.get(name)
        if address is None:
            raise CompileError(f"the native code has no function {name}")
        return address

    def _resolve(self, name: str) -> int | None:
        if (own := self._defined.get(name)) is not None:
            return own
        for loaded in self._libraries:
            if hasattr(loaded, name):
                return ctypes.cast(loaded[name], ctypes.c_void_p).value
        return None
