"""Bytecode executables as libraries: kernels as machine code, bytecode in a section or in a separate file."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from relax_mlir.error import ArgumentError, ParseError, UnsupportedError
from relax_mlir.export.elf_sections import section
from relax_mlir.export.export_library import Attachment, export_library
from relax_mlir.export.inspect import inspect_library
from relax_mlir.files import mapped
from relax_mlir.vm import bytecode, executable_file
from relax_mlir.vm.bytecode import ArgKind
from relax_mlir.vm.compiled_kernels import CompiledKernels
from relax_mlir.vm.executable import Executable
from relax_mlir.vm.kernel_library import load_kernels

ENDING = ".vmexec"
SECTION = ".vmexec_relax"
PLACES = ("inside", "beside")


def export(executable: Executable, path: Path, place: str) -> Path:
    """Write a shared library; see `Executable.export_library`."""
    if path.suffix != ".so":
        raise ArgumentError(f"Executable.export_library: 'path' is {str(path)!r}, expected an ending of .so")
    if place not in PLACES:
        raise ArgumentError(
            f"Executable.export_library: 'bytecode' is {place!r}, expected {' or '.join(map(repr, PLACES))}"
        )
    require_text_of_kernels(executable, "export_library")
    kernels = executable.library or load_kernels(executable)
    if kernels is None:
        raise UnsupportedError("Executable.export_library: it has no kernels: save writes it")
    assert kernels.native is not None, "they have been compiled here"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as scratch:
        file = Path(scratch) / "bytecode"
        executable_file.save(_without_kernels(executable), file)
        if place == "inside":
            return export_library(kernels.native, path, attachment=Attachment(SECTION, "inside", file))
        beside = path.with_suffix(ENDING)
        os.replace(file, beside)
    return export_library(kernels.native, path, attachment=Attachment(SECTION, beside.name))


def require_text_of_kernels(executable: Executable, method: str) -> None:
    """Raise `UnsupportedError` if the kernels of an executable exist only in a library."""
    if executable.library is not None and executable.library.native is None:
        raise UnsupportedError(
            f"Executable.{method}: its kernels have been loaded from a library, as machine code: copy the library's "
            "file, and that of the bytecode if it lies beside"
        )


def load(path: Path, check_tensors: bool) -> Executable:
    """Load the executable of a library that `export` has written. Raises ParseError."""
    info = inspect_library(path)
    where = info.facts.get("bytecode")
    if where is None:
        raise ParseError(
            f"Executable.load: {path} has machine code alone, and no bytecode: tvm_ffi.load_module loads it"
        )
    if where == "inside":
        loaded = executable_file.load(path, check_tensors, _section(path))
    else:
        loaded = executable_file.load(path.with_name(Path(str(where)).name), check_tensors)
    return replace(loaded, library=CompiledKernels.of_library(path, info))


def _section(path: Path) -> tuple[int, int]:
    """Return offset and size of the bytecode in the file."""
    with mapped(path) as data:
        place = section(data, SECTION)
    if place is None:
        raise ParseError(f"Executable.load: {path}: it has no section {SECTION}")
    return place


def _without_kernels(executable: Executable) -> Executable:
    """Return a copy without the text of the kernels and the tensors that only they use; the library contains both."""
    used = {
        arg.value
        for offset in executable.offsets
        if isinstance(call := bytecode.decode(executable.words, int(offset)), bytecode.Call)  # type: ignore[arg-type]  # a row of integers
        for arg in call.args
        if arg.kind is ArgKind.CONSTANT
    }
    constants = tuple(value if index in used else 0 for index, value in enumerate(executable.constants))
    return replace(executable, constants=constants, kernels=None, library=None)
