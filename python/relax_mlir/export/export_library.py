"""`export_library`: compiled functions as a shared library, an object file or an archive."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from relax_mlir.error import ArgumentError, UnsupportedError, expect
from relax_mlir.export import metadata
from relax_mlir.export.assembly import library_assembly
from relax_mlir.export.elf_sections import with_renamed_symbols
from relax_mlir.export.linkers import Linker, binary_tool, run_tool
from relax_mlir.export.start_code import start_objects
from relax_mlir.export.weights import WeightsLayout, write_weights
from relax_mlir.lowering.abi.emit_ffi_wrappers import ENTRY_PREFIX
from relax_mlir.lowering.legalize.packed import RUNTIME_PREFIX
from relax_mlir.lowering.runtime_lib.library import CODE_PREFIX
from relax_mlir.runtime.engine import Engine
from relax_mlir.runtime.executable import Executable
from relax_mlir.target import Target

_EXPORTS = f"{{ global: {ENTRY_PREFIX}*; local: *; }};\n"
"""A version script of linkers."""

_SHARED = ("-shared", "-Wl,-z,nodelete", "-Wl,-z,noexecstack", "-Wl,--version-script=exports.map")
"""Results outlive the library's last user, and their memory comes back to its pool: it must stay loaded."""


def export_library(executable: Executable, path: str | Path, linker: Linker | None = None) -> Path:
    """Write compiled functions to a file that runs without this project.

    The functions are the symbols ``__tvm_ffi_NAME``, with the calling convention of the TVM FFI:
    ``tvm_ffi.load_module`` loads a shared library in Python, the FFI's C API in C and C++. Nothing else is
    exported. Code, constants (with those that are packed at load), memory pool and threads are inside; what is needed
    at run time is ``libtvm_ffi`` and the C library. The file runs on CPUs that have the features of the target.

    Args:
        executable: made by `relax_mlir.build`.
        path: ends with ``.so`` (a shared library), ``.o`` (an object file) or ``.a`` (an archive).
        linker: the C compiler that links; see `Linker.find`.

    Returns:
        The path. The file is complete or not there.

    Raises:
        ArgumentError: another ending. UnsupportedError: the functions call what only this process has (the message
            names the op's place), there is no linker, or this system has no ELF objects.
        CompileError: the linker fails (with what it says).
    """
    expect(
        "export_library: 'executable'", executable, Executable, "an Executable (relax_mlir.build gives one)"
    )
    expect("export_library: 'path'", path, str | Path, "a path that ends with .so, .o or .a")
    path = Path(path)
    writer = _WRITERS.get(path.suffix)
    if writer is None:
        endings = ", ".join(_WRITERS)
        raise ArgumentError(f"export_library: 'path' is {str(path)!r}, expected an ending of {endings}")
    engine = executable.engine
    _require_exportable(engine)
    linker = linker or Linker.find()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as scratch:
        folder = Path(scratch)
        inputs = _write_inputs(engine, folder)
        writer(linker, inputs, folder)
        os.replace(folder / "result", path)
    return path


def _require_exportable(engine: Engine) -> None:
    if not engine.objects:
        raise UnsupportedError(
            "export_library: the executable has no object files: this system cannot make them "
            "(they are ELF objects for x86-64 with Linux)"
        )
    tiles = sorted(name for name in Target.parse(engine.interface.target).features if name.startswith("amx_"))
    if tiles:
        changes = ",".join(f"-{name}" for name in tiles)
        raise UnsupportedError(
            "export_library: the code may use AMX tiles, for which a process must ask the system first: build it for "
            f"Target('cpu -mattr={changes}')"
        )
    for name, place in engine.interface.packed.items():
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


def _write_inputs(engine: Engine, folder: Path) -> list[str]:
    """Write objects and assembly to a folder; gives their names."""
    layout = WeightsLayout.of(engine.constants)
    target = Target.parse(engine.interface.target)
    own = [with_renamed_symbols(data, ENTRY_PREFIX, CODE_PREFIX) for data in engine.objects]
    objects = [*own, *start_objects(list(engine.functions), layout.places, target)]
    names = [f"part{number}.o" for number in range(len(objects))]
    for name, content in zip(names, objects, strict=True):
        (folder / name).write_bytes(content)
    with (folder / "weights").open("wb") as stream:
        write_weights(engine.constants, layout, stream)
    (folder / "metadata").write_bytes(metadata.to_bytes(metadata.metadata(engine, layout.size)))
    (folder / "library.s").write_text(library_assembly("weights", "metadata", target.architecture))
    (folder / "exports.map").write_text(_EXPORTS)
    return [*names, "library.s"]


def _shared(linker: Linker, inputs: list[str], folder: Path) -> None:
    linker.run([*_SHARED, *inputs, "-lm", "-o", "result"], folder)


def _object(linker: Linker, inputs: list[str], folder: Path) -> None:
    """One object, in which only entry points can be seen from outside."""
    objcopy, keep = binary_tool("objcopy"), f"--keep-global-symbol={ENTRY_PREFIX}*"
    linker.run(["-r", "-nostdlib", *inputs, "-o", "merged.o"], folder)
    run_tool([objcopy, "--wildcard", keep, "merged.o", "result"], folder)


def _archive(linker: Linker, inputs: list[str], folder: Path) -> None:
    ar = binary_tool("ar")
    _object(linker, inputs, folder)
    (folder / "result").rename(folder / "library.o")
    run_tool([ar, "rcs", "result", "library.o"], folder)


_WRITERS: dict[str, Callable[[Linker, list[str], Path], None]] = {
    ".so": _shared,
    ".o": _object,
    ".a": _archive,
}
