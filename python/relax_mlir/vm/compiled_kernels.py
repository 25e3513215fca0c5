"""Machine code of an executable's kernels, compiled in this process or loaded from a library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tvm_ffi

from relax_mlir.error import ParseError
from relax_mlir.export.inspect import LibraryInfo

if TYPE_CHECKING:
    from relax_mlir.runtime.executable import Executable as NativeExecutable


@dataclass(frozen=True)
class CompiledKernels:
    """Kernels as FFI functions, by name.

    `written`: for prim funcs that users may call, the indices of the arguments that they write. `native`: set if the
    code was compiled in this process.
    """

    functions: Mapping[str, tvm_ffi.Function]
    written: Mapping[str, tuple[int, ...]]
    native: NativeExecutable | None = None

    @staticmethod
    def of(native: NativeExecutable) -> CompiledKernels:
        """The kernels of an executable compiled by `relax_mlir.build`."""
        signatures = native.engine.interface.signatures
        written = {name: tuple(map(int, facts.get("written", ()))) for name, facts in signatures.items()}
        return CompiledKernels({name: native[name].ffi for name in native}, written, native)

    @staticmethod
    def of_library(path: Path, info: LibraryInfo) -> CompiledKernels:
        """The kernels of a shared library described by `info`. Raises ParseError if it cannot be loaded."""
        try:
            library = tvm_ffi.load_module(str(path.resolve()))
        except RuntimeError as error:
            raise ParseError(f"Executable.load: {path}: the library cannot be loaded: {error}") from None
        facts = info.facts["functions"]
        written = {name: tuple(map(int, each.get("written", ()))) for name, each in facts.items()}
        return CompiledKernels({name: library.get_function(name) for name in facts}, written)
