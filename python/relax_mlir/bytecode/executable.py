"""Bytecode executables: a function table, a constant pool and instructions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir import highlight
from relax_mlir.bytecode import instructions
from relax_mlir.bytecode.constant_pool import normalize, same
from relax_mlir.bytecode.instructions import MAX_WORD, FunctionInfo, Instruction, Kernels, Words
from relax_mlir.bytecode.verify import verify
from relax_mlir.dialects.number_attributes import integer
from relax_mlir.error import (
    ArgumentError,
    BoundsError,
    UnknownNameError,
    UnsupportedError,
    expect,
    expect_all,
)
from relax_mlir.files import path_of
from relax_mlir.lazy import Hook

_machine: Hook[[Executable], Mapping[str, Callable[..., Any]]] = Hook("bytecode.Executable.machine")
_export_library: Hook[[Executable, Path, str], Path] = Hook("bytecode.Executable.export_library")
_load_library: Hook[[Path, bool], Executable] = Hook("bytecode.Executable.load_library")
_HTML_LINES = 500
"""The number of text lines of an executable that a notebook shows."""


@dataclass(frozen=True)
class CompiledKernels:
    """Kernels as FFI functions, by name.

    `written`: for prim funcs that users may call, the indices of the arguments that they write. `native`: their
    executable, if the code was compiled in this process.
    """

    functions: Mapping[str, tvm_ffi.Function]
    written: Mapping[str, tuple[int, ...]]
    native: Any = None


@dataclass(frozen=True, eq=False, repr=False)
class Executable:
    """A program of the virtual machine.

    Every executable is verified on construction, so it satisfies the invariants of `relax_mlir.bytecode.verify`.

    Attributes:
        functions: the function table.
        constants: the constant pool; `relax_mlir.bytecode.constant_pool` lists the kinds.
        words: the read-only words of all instructions; see `relax_mlir.bytecode.instructions`.
        offsets: the index in `words` of each instruction's first word.
        kernels: code of prim funcs among the packed functions, if the executable includes it.

    Raises:
        BytecodeError: an invariant does not hold; names function, instruction and register.
        ArgumentError, DTypeError: a constant is of a kind that the pool does not support.
    """

    functions: tuple[FunctionInfo, ...]
    constants: tuple[object, ...]
    words: Words
    offsets: Words
    kernels: Kernels | None = None
    library: CompiledKernels | None = field(default=None, repr=False)
    """The machine code of the kernels if they are compiled already; it is not saved."""
    is_trusted: bool = field(default=True, repr=False)
    """True if kernels are compiled without the checks of users' prim funcs (see `load`)."""

    def __post_init__(self) -> None:
        expect_all("vm.Executable: 'functions'", self.functions, FunctionInfo, "functions")
        expect("vm.Executable: 'constants'", self.constants, list | tuple, "a list of constants")
        constants = (normalize(value, f"constant {index}") for index, value in enumerate(self.constants))
        object.__setattr__(self, "functions", tuple(self.functions))
        object.__setattr__(self, "constants", tuple(constants))
        object.__setattr__(self, "words", _unchangeable(self.words))
        object.__setattr__(self, "offsets", _unchangeable(self.offsets))
        verify(self.functions, self.constants, self.words, self.offsets, self.kernels)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """A function of the executable, in a virtual machine that is created on first use."""
        machine = self.__dict__.get("_machine")
        if machine is None:
            machine = self.__dict__["_machine"] = _machine(self)
        function: Callable[..., Any] = machine[name]
        return function

    def __iter__(self) -> Iterator[str]:
        return iter(self.function_names)

    def __len__(self) -> int:
        return len(self.function_names)

    @property
    def function_names(self) -> tuple[str, ...]:
        """The names of the functions that have instructions, in the order of the function table."""
        return tuple(info.name for info in self.functions if info.kind == "vm")

    @property
    def packed_names(self) -> tuple[str, ...]:
        """The names of the packed functions, in the order of the function table."""
        return tuple(info.name for info in self.functions if info.kind == "packed")

    def function(self, name: str) -> FunctionInfo:
        """Return an entry of the function table. Raises UnknownNameError."""
        for info in self.functions:
            if info.name == name:
                return info
        raise UnknownNameError("function", name, [info.name for info in self.functions])

    def instruction(self, index: int) -> Instruction:
        """Return an instruction by its index among those of all functions. Raises BoundsError."""
        index = integer(index, "vm.Executable.instruction: 'index'")
        if not -self.offsets.size <= index < self.offsets.size:
            raise BoundsError(f"instruction {index} of {self.offsets.size}")
        return instructions.decode(self.words, int(self.offsets[index]))  # type: ignore[arg-type]  # a row of integers

    def __eq__(self, other: object) -> bool:
        """True for the same functions, code and kernels, and bitwise equal constants."""
        if not isinstance(other, Executable):
            return NotImplemented
        return (
            self.functions == other.functions
            and self.kernels == other.kernels
            and len(self.constants) == len(other.constants)
            and np.array_equal(self.words, other.words)
            and np.array_equal(self.offsets, other.offsets)
            and all(map(same, self.constants, other.constants))
        )

    __hash__ = None  # type: ignore[assignment]  # equality compares whole tensors

    def stats(self) -> str:
        """Summarise constants and functions in a few lines."""
        from relax_mlir.bytecode import text_forms

        return text_forms.stats(self)

    def as_text(self) -> str:
        """Print all functions, one instruction per line."""
        from relax_mlir.bytecode import text_forms

        return text_forms.as_text(self)

    def as_python(self, constants: str | os.PathLike[str] | None = None) -> str:
        """Return Python code that rebuilds this executable, as its variable ``ex``.

        Tensors are written as literals. With the path `constants`, the executable is saved there, and the code reads
        tensors of more than 64 elements from that file.
        """
        from relax_mlir.bytecode import text_forms

        return text_forms.as_python(
            self, None if constants is None else path_of("vm.Executable.as_python: 'constants'", constants)
        )

    astext = as_text
    aspython = as_python

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the executable to a file, atomically.

        Raises:
            ArgumentError: the file cannot be written.
            UnsupportedError: the kernels were loaded from a library, as machine code only.
        """
        from relax_mlir.bytecode import executable_file

        self.require_text_of_kernels("save")
        executable_file.save(self, path_of("vm.Executable.save: 'path'", path))

    def export_library(self, path: str | os.PathLike[str], *, bytecode: str = "inside") -> Path:
        """Write a shared library (``.so``) with the machine code of the kernels, so that loading compiles nothing.

        Args:
            bytecode: ``"inside"``: the bytecode is a section of the library; ``"beside"``: it is a file with the same
                name and the suffix ``.vmexec``, which needs the library.

        Raises:
            ArgumentError: the suffix or `bytecode` is wrong. UnsupportedError: there are no kernels (use `save`), or
                `relax_mlir.export.export_library` does not support them.
        """
        return _export_library(self, path_of("vm.Executable.export_library: 'path'", path), bytecode)

    def require_text_of_kernels(self, method: str) -> None:
        """Raise `UnsupportedError` if the kernels exist only in a library; `method` is what needs their text."""
        if self.library is not None and self.library.native is None:
            raise UnsupportedError(
                f"Executable.{method}: its kernels have been loaded from a library, as machine code: copy the "
                "library's file, and that of the bytecode if it lies beside"
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str], check_tensors: bool = False, *, trusted: bool = False) -> Executable:
        """Load an executable that `save` or `export_library` (``.so``) has written.

        Tensors stay in the file and are read on use. The file must not be modified in place while the executable is
        used; `save` replaces it as a whole.

        A library contains code that runs unchecked: load only libraries that you trust.

        Args:
            check_tensors: verify the checksums of large tensors as well, which reads the whole file.
            trusted: if False, kernels are compiled with the checks of users' prim funcs, which keep them within
                their tensors; the last bits of results may differ. Use True for your own files: kernels are then
                compiled unchanged.

        Raises:
            ParseError: the file cannot be read, is truncated or damaged, or contains no valid executable.
        """
        from relax_mlir.bytecode import executable_file

        path = path_of("vm.Executable.load: 'path'", path)
        if path.suffix == ".so":
            return _load_library(path, check_tensors)
        loaded = executable_file.load(path, check_tensors)
        object.__setattr__(loaded, "is_trusted", trusted)
        return loaded

    def __repr__(self) -> str:
        size = sum(value.nbytes for value in self.constants if isinstance(value, np.ndarray))
        counts = (
            (len(self.function_names), "function"),
            (len(self.packed_names), "packed function"),
            (self.offsets.size, "instruction"),
            (len(self.constants), "constant"),
        )
        told = ", ".join(f"{count} {what}{'s' * (count != 1)}" for count, what in counts)
        kernels = f", kernels of {len(self.kernels.text)} characters" if self.kernels is not None else ""
        return f"<bytecode executable: {told} of {size} bytes{kernels}>"

    def _repr_html_(self) -> str:
        lines = f"{self.stats()}\n{self.as_text()}".rstrip().split("\n")
        if len(lines) > _HTML_LINES:
            lines[_HTML_LINES:] = [f"… {len(lines) - _HTML_LINES} more lines; see as_text()"]
        return highlight.preformatted_html("\n".join(lines))


def _unchangeable(numbers: Any) -> Words:  # noqa: ANN401 - an array or anything that makes one
    """Return a permanently read-only copy. Raises ArgumentError unless it is a one-dimensional array of integers."""
    try:
        array = np.asarray(numbers)
    except (ValueError, OverflowError) as error:
        raise ArgumentError(f"words and offsets are integers of 64 bits: {error}") from None
    is_whole = array.dtype.kind in "iu" or not array.size
    if array.ndim != 1 or not is_whole or (array.dtype == np.uint64 and (array > np.uint64(MAX_WORD)).any()):
        raise ArgumentError(
            f"words and offsets are rows of integers of 64 bits; got {array.dtype} of shape {array.shape}"
        )
    return np.frombuffer(array.astype(np.int64).tobytes(), np.int64)
