"""`export_library`: compiled functions as a shared library, an object file or an archive."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from relax_mlir.error import ArgumentError, expect
from relax_mlir.export import metadata
from relax_mlir.export.assembly import library_assembly
from relax_mlir.export.compiled_code import CompiledCode
from relax_mlir.export.library_levels import ordered_levels, require_exportable
from relax_mlir.export.linkers import Linker, binary_tool, run_tool
from relax_mlir.export.object_files import level_objects
from relax_mlir.export.start_code import start_objects
from relax_mlir.export.weights import FILE_ENDING, WeightsLayout, safetensors_header, write_weights
from relax_mlir.lowering.base.signature import ENTRY_PREFIX
from relax_mlir.lowering.runtime_lib.library import WeightsFile
from relax_mlir.runtime.executable import Executable
from relax_mlir.target import Target

WEIGHTS = ("embed", "beside")


@dataclass(frozen=True)
class Attachment:
    """Data of a library in addition to its code: the contents of `file`, in a separate section.

    `file` is None if the data is not inside. `where`: the entry in the metadata: ``"inside"``, or the name of a file.
    """

    section: str
    where: str
    file: Path | None = None


_EXPORTS = f"{{ global: {ENTRY_PREFIX}*; local: *; }};\n"
"""A version script for linkers."""

_SHARED = ("-shared", "-Wl,-z,nodelete", "-Wl,-z,noexecstack", "-Wl,--version-script=exports.map")
"""The library must stay loaded: results outlive its last user, and their memory returns to its pool."""


def export_library(
    executable: Executable | CompiledCode | Sequence[Executable | CompiledCode],
    path: str | Path,
    linker: Linker | None = None,
    *,
    weights: str = "embed",
    attachment: Attachment | None = None,
) -> Path:
    """Write compiled functions to a file that runs without this project.

    The functions are the symbols ``__tvm_ffi_NAME``, with the calling convention of the TVM FFI:
    ``tvm_ffi.load_module`` loads a shared library in Python, the FFI's C API in C and C++. Nothing else is exported.
    The file contains code, constants (including those that are packed at compile time), memory pool and threads; at run
    time it needs ``libtvm_ffi`` and the C library. It runs on CPUs that have the features of the target.

    Args:
        executable: the result of `relax_mlir.build`, or, for another architecture, of `cross_build`. Several, of one
            module for several targets, become one library: at load, it selects the code that uses the most features of
            the CPU.
        path: ends with ``.so`` (a shared library), ``.o`` (an object file) or ``.a`` (an archive).
        linker: the C compiler used for linking; by default, one for the target's architecture (see `Linker.find`).
        weights: ``"embed"``: the constants are in the file. ``"beside"``: they are in a safetensors file of the same
            name in the same folder (for an object or archive: the folder of the program that it is linked into). In
            both cases they are mapped, not read, at load.
        attachment: bytecode that calls the functions.

    Returns:
        The path. The file is written completely or not at all.

    Raises:
        ArgumentError: another ending, or executables that do not match. UnsupportedError: the functions call something
            that only this process has (the message names the op's location), there is no linker, or this system has no
            ELF objects. CompileError: the linker fails (with its message).
    """
    levels = _levels(executable)
    expect("export_library: 'path'", path, str | Path, "a path that ends with .so, .o or .a")
    path = Path(path)
    writer = _WRITERS.get(path.suffix)
    if writer is None:
        endings = ", ".join(_WRITERS)
        raise ArgumentError(f"export_library: 'path' is {str(path)!r}, expected an ending of {endings}")
    if weights not in WEIGHTS:
        raise ArgumentError(
            f"export_library: 'weights' is {weights!r}, expected {' or '.join(map(repr, WEIGHTS))}"
        )
    for level in levels:
        require_exportable(level)
    levels = ordered_levels(levels)
    linker = linker or Linker.find(Target.parse(levels[0].interface.target).architecture)
    with _scratch(path) as scratch:
        job = _Job(levels, linker, Path(scratch), path.stem if weights == "beside" else None, attachment)
        writer(job, job.write_inputs())
        if job.weights_name is not None:
            os.replace(job.folder / job.weights_name, path.with_name(job.weights_name))
        os.replace(job.folder / "result", path)
    return path


def _scratch(path: Path) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder next to the output file; raises ArgumentError if it cannot be created."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise ArgumentError(f"export_library: cannot write {path}: {error.strerror or error}") from None
    except ValueError:
        raise ArgumentError(f"export_library: 'path' is {str(path)!r}: it has a NUL character") from None


def _levels(executable: object) -> list[CompiledCode]:
    kinds = (Executable, CompiledCode)
    given = [executable] if isinstance(executable, kinds) else executable
    wanted = "an Executable (relax_mlir.build gives one), or several of one module for several targets"
    expect("export_library: 'executable'", given, list | tuple, wanted)
    assert isinstance(given, list | tuple)
    if not given:
        raise ArgumentError(f"export_library: 'executable' is empty, expected {wanted}")
    levels = []
    for each in given:
        expect("export_library: 'executable'", each, Executable | CompiledCode, wanted)
        levels.append(CompiledCode.of(each) if isinstance(each, Executable) else each)
    return levels


@dataclass(frozen=True)
class _Job:
    """The inputs of a library: written to `folder`; `stem`: of the file of weights, if there is one."""

    levels: Sequence[CompiledCode]
    linker: Linker
    folder: Path
    stem: str | None
    attachment: Attachment | None

    @property
    def architecture(self) -> str:
        return Target.parse(self.levels[0].interface.target).architecture

    @property
    def is_profiled(self) -> bool:
        return bool(self.levels[0].sites)

    @property
    def weights_name(self) -> str | None:
        return None if self.stem is None else f"{self.stem}{FILE_ENDING}"

    def write_inputs(self) -> list[str]:
        """Write objects, assembly and weights; return the names of the files to link."""
        layout = WeightsLayout.of([level.constants for level in self.levels])
        targets = [Target.parse(level.interface.target) for level in self.levels]
        own = [
            data
            for number, level in enumerate(self.levels)
            for data in level_objects(level, number, len(self.levels), self.linker, self.folder)
        ]
        functions = list(self.levels[0].functions)
        beside = self._write_weights(layout)
        objects = [*own, *start_objects(functions, targets, layout.places, beside, self.is_profiled)]
        names = [f"part{number}.o" for number in range(len(objects))]
        for name, content in zip(names, objects, strict=True):
            (self.folder / name).write_bytes(content)
        attached, more = self.attachment, {}
        where = None if attached is None else attached.where
        if attached is not None and attached.file is not None:
            (self.folder / "attachment").symlink_to(attached.file.resolve())
            more[attached.section] = "attachment"
        facts = metadata.metadata(self.levels, layout, self.weights_name, where)
        (self.folder / "metadata").write_bytes(metadata.to_bytes(facts))
        assembly = library_assembly("weights", "metadata", self.architecture, more)
        (self.folder / "library.s").write_text(assembly)
        (self.folder / "exports.map").write_text(_EXPORTS)
        return [*names, "library.s"]

    def _write_weights(self, layout: WeightsLayout) -> WeightsFile | None:
        if self.weights_name is None:
            with (self.folder / "weights").open("wb") as stream:
                write_weights(layout, stream)
            return None
        header = safetensors_header(layout)
        (self.folder / "weights").write_bytes(header)
        with (self.folder / self.weights_name).open("wb") as stream:
            stream.write(header)
            write_weights(layout, stream)
        return WeightsFile(self.weights_name, len(header) + layout.size, len(header))


def _shared(job: _Job, inputs: list[str]) -> None:
    job.linker.run([*_SHARED, *inputs, "-lm", "-ldl", "-o", "result"], job.folder)


def _object(job: _Job, inputs: list[str]) -> None:
    """Link one object in which only entry points are visible from outside."""
    objcopy, keep = binary_tool("objcopy", job.architecture), f"--keep-global-symbol={ENTRY_PREFIX}*"
    job.linker.run(["-r", "-nostdlib", *inputs, "-o", "merged.o"], job.folder)
    run_tool([objcopy, "--wildcard", keep, "merged.o", "result"], job.folder)


def _archive(job: _Job, inputs: list[str]) -> None:
    ar = binary_tool("ar", job.architecture)
    _object(job, inputs)
    (job.folder / "result").rename(job.folder / "library.o")
    run_tool([ar, "rcs", "result", "library.o"], job.folder)


_WRITERS: dict[str, Callable[[_Job, list[str]], None]] = {".so": _shared, ".o": _object, ".a": _archive}
