"""`export_library`: compiled functions as a shared library, an object file or an archive."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from relax_mlir.error import ArgumentError, CompileError, UnsupportedError, expect
from relax_mlir.export import metadata
from relax_mlir.export.compiled_code import (
    FILE_ENDING,
    CompiledCode,
    WeightsLayout,
    safetensors_header,
    write_weights,
)
from relax_mlir.export.start_code import library_assembly, needed_words, start_objects
from relax_mlir.lowering.base.signature import (
    CONSTANTS_ADDRESS,
    ENTRY_PREFIX,
    MEMORY_ADDRESS,
    PROFILE_ADDRESS,
    THREADS_ADDRESS,
)
from relax_mlir.lowering.legalize.runtime_calls import RUNTIME_PREFIX
from relax_mlir.lowering.runtime_lib.library import MAX_LEVELS, WeightsFile, code_prefix, level_suffix
from relax_mlir.runtime.elf import with_renamed_symbols
from relax_mlir.runtime.executable import Executable
from relax_mlir.target import Target, host_flags

# The tools that link object files to libraries: the C compiler of the system, or Zig's from the package index.


EXTRA = "link"
"""The extra of the package that installs Zig's C compiler."""

VARIABLE = "CC"


@dataclass(frozen=True)
class Linker:
    """A C compiler driver, which assembles and links: the words of its command."""

    command: tuple[str, ...]

    @staticmethod
    def find(architecture: str | None = None) -> Linker:
        """The linker for an architecture (LLVM's name of it; None: this machine's).

        ``$CC``; else ``cc``, ``gcc`` or ``clang``, and for another architecture ``ARCHITECTURE-linux-gnu-gcc``; else
        ``python -m ziglang cc``, which links for all. ``$CC`` has to be for the architecture.

        Raises:
            UnsupportedError: ``$CC`` is no program, or none of these exists.
        """
        if chosen := os.environ.get(VARIABLE):
            command = tuple(shlex.split(chosen))
            if not command or shutil.which(command[0]) is None:
                raise UnsupportedError(
                    f"export: the environment variable {VARIABLE} is {chosen!r}, which is no program here; "
                    "unset it, or name a C compiler"
                )
            return Linker(command)
        is_cross = architecture not in (None, Target.host().architecture)
        names = (f"{architecture}-linux-gnu-gcc",) if is_cross else ("cc", "gcc", "clang")
        for name in names:
            if path := shutil.which(name):
                return Linker((path,))
        if importlib.util.find_spec("ziglang"):
            other = ("-target", f"{architecture}-linux-gnu") if is_cross else ()
            return Linker((sys.executable, "-m", "ziglang", "cc", *other))
        kind = f"C compiler for {architecture}" if is_cross else "C compiler"
        raise UnsupportedError(
            f"export: there is no {kind} to link with ({', '.join(names)}): install one, name it in the environment "
            f"variable {VARIABLE}, or: pip install 'relax-mlir[{EXTRA}]', which brings Zig's"
        )

    def run(self, arguments: Sequence[str | Path], folder: Path) -> None:
        """Run the command in a folder; raises CompileError with its message if it fails."""
        run_tool([*self.command, *map(str, arguments)], folder)


def run_tool(command: Sequence[str], folder: Path) -> None:
    """Run a program in a folder; raises CompileError with its message if it fails or cannot be started."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CompileError(f"export: {command[0]} cannot be started: {error.strerror}") from None
    # The program may get Ctrl-C from the terminal first.
    if done.returncode in (-signal.SIGINT, 128 + signal.SIGINT):
        raise KeyboardInterrupt
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise CompileError(f"export: {shlex.join(command)} failed with code {done.returncode}: {said}")


def binary_tool(name: str, architecture: str) -> str:
    """The path of a tool for object files of an architecture (``objcopy``, ``ar``), or of LLVM's, which handles all.

    Raises UnsupportedError if neither exists.
    """
    is_cross = architecture != Target.host().architecture
    own = f"{architecture}-linux-gnu-{name}" if is_cross else name
    path = shutil.which(own) or shutil.which(f"llvm-{name}")
    if path is None:
        raise UnsupportedError(
            f"export: there is no {own} here (it comes with binutils); a shared library (.so) needs none"
        )
    return path


# The levels of a library: code of one module for several targets.


def require_exportable(level: CompiledCode) -> None:
    """Raise UnsupportedError if code depends on this process."""
    if not level.objects:
        raise UnsupportedError(
            "export_library: the executable has no object files: this system cannot make them "
            "(they are ELF objects for x86-64 with Linux)"
        )
    for name in level.functions:
        if "@" in name:
            raise UnsupportedError(
                f"export_library: a library has no function {name!r}: linkers read a version after the @"
            )
    for name, place in level.interface.packed.items():
        if name.startswith(RUNTIME_PREFIX):
            op = name.removeprefix(RUNTIME_PREFIX)
            raise UnsupportedError(
                f"export_library: {_WHY.get(op, _WHY['op'])} (at {place}), which needs this compiler when it runs; "
                f"{_INSTEAD.get(op, _INSTEAD['op'])}"
            )


_WHY = {
    "op": "an op works on a tensor whose rank or dtype is known only then",
    "unique": "relax.unique gives a tensor whose size only its elements tell",
    "nonzero": "relax.nonzero gives a tensor whose size only its elements tell",
    "print": "relax.print writes to Python's standard output",
}
_INSTEAD = {
    "op": "give it rank and dtype with match_shape first",
    "unique": "call a function of your own with call_pure_packed, and register it where the library is loaded",
    "nonzero": "call a function of your own with call_pure_packed, and register it where the library is loaded",
    "print": "call a function of your own with call_packed, and register it where the library is loaded",
}


def ordered_levels(levels: Sequence[CompiledCode]) -> list[CompiledCode]:
    """The levels, sorted so that those with the most CPU features come first.

    Raises ArgumentError if they are of different modules, two are for the same target, or for different architectures.
    """
    if len(levels) > MAX_LEVELS:
        raise ArgumentError(f"export_library: there are {len(levels)} executables: a library has at most {MAX_LEVELS}")
    targets = [Target.parse(level.interface.target) for level in levels]
    if any(level.interface.source != levels[0].interface.source for level in levels):
        raise ArgumentError(
            "export_library: the executables are not of one module: give a library of its own to each module"
        )
    if any(level.sites != levels[0].sites for level in levels):
        raise ArgumentError(
            "export_library: the executables record different things: build all with profile=True, or none"
        )
    for target in targets:
        if target.architecture != targets[0].architecture:
            raise ArgumentError(
                f"export_library: one is for {targets[0].architecture}, another one for {target.architecture}: "
                "a library has code for one architecture"
            )
        if targets.count(target) > 1:
            raise ArgumentError(f"export_library: two executables are for the target {target}: leave one out")
    bits = {target: _bits(target) for target in targets}
    pairs = sorted(zip(levels, targets, strict=True), key=lambda pair: bits[pair[1]], reverse=True)
    return [level for level, _ in pairs]


def _bits(target: Target) -> int:
    """The number of features that a CPU must have."""
    return sum((word & 0xFFFFFFFF).bit_count() for word in needed_words(target, host_flags()))


# The object files of one level of a library.


def level_objects(level: CompiledCode, number: int, count: int, linker: Linker, folder: Path) -> list[bytes]:
    """The objects of a level, one of `count`; `code_name` names their entry points.

    Internal names are the same in all levels. So with several levels, each becomes one object, in which only the entry
    points are visible.
    """
    own = [with_renamed_symbols(data, ENTRY_PREFIX, code_prefix(number)) for data in level.objects]
    if count == 1:
        return own
    names = [f"level{number}-{place}.o" for place in range(len(own))]
    for name, content in zip(names, own, strict=True):
        (folder / name).write_bytes(content)
    merged, result = f"level{number}-merged.o", f"level{number}.o"
    linker.run(["-r", "-nostdlib", *names, "-o", merged], folder)
    tables = [CONSTANTS_ADDRESS, MEMORY_ADDRESS, THREADS_ADDRESS, *([PROFILE_ADDRESS] if level.sites else [])]
    visible = {name: f"{name}{level_suffix(number)}" for name in tables}
    keep = [f"--keep-global-symbol={name}" for name in (*visible, f"{code_prefix(number)}*")]
    objcopy = binary_tool("objcopy", Target.parse(level.interface.target).architecture)
    run_tool([objcopy, "--wildcard", *keep, merged, result], folder)
    if number:
        pairs = "".join(f"{old} {new}\n" for old, new in visible.items())
        (folder / "symbols").write_text(pairs)
        run_tool([objcopy, "--redefine-syms=symbols", result], folder)
    return [(folder / result).read_bytes()]


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
        raise ArgumentError(f"export_library: 'weights' is {weights!r}, expected {' or '.join(map(repr, WEIGHTS))}")
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
