"""The machine code of an executable's kernels: of this process, or of a library in a file."""

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
    """Kernels as functions of the FFI, by name.

    `written`: for prim funcs that users may call, the numbers of the arguments that they write; `native`: where the
    code is of this process.
    """

    functions: Mapping[str, tvm_ffi.Function]
    written: Mapping[str, tuple[int, ...]]
    native: NativeExecutable | None = None

    @staticmethod
    def of(native: NativeExecutable) -> CompiledKernels:
        """Those that `relax_mlir.build` has compiled."""
        signatures = native.engine.interface.signatures
        written = {name: tuple(map(int, facts.get("written", ()))) for name, facts in signatures.items()}
        return CompiledKernels({name: native[name].ffi for name in native}, written, native)

    @staticmethod
    def of_library(path: Path, info: LibraryInfo) -> CompiledKernels:
        """Those of a shared library, which `info` describes; raises ParseError if it cannot be loaded."""
        try:
            library = tvm_ffi.load_module(str(path.resolve()))
        except RuntimeError as error:
            raise ParseError(f"Executable.load: {path}: the library cannot be loaded: {error}") from None
        facts = info.facts["functions"]
        written = {name: tuple(map(int, each.get("written", ()))) for name, each in facts.items()}
        return CompiledKernels({name: library.get_function(name) for name in facts}, written)
