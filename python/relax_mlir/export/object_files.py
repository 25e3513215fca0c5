"""The object files of one level of a library."""

from __future__ import annotations

from pathlib import Path

from relax_mlir.export.compiled_code import CompiledCode
from relax_mlir.export.linkers import Linker, binary_tool, run_tool
from relax_mlir.lowering.base.signature import (
    CONSTANTS_ADDRESS,
    ENTRY_PREFIX,
    MEMORY_ADDRESS,
    PROFILE_ADDRESS,
    THREADS_ADDRESS,
)
from relax_mlir.lowering.runtime_lib.library import code_prefix, level_suffix
from relax_mlir.runtime.elf_symbols import with_renamed_symbols
from relax_mlir.target import Target


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
