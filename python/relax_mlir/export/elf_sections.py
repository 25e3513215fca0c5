"""The positions of the sections of a 64-bit ELF file."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

from relax_mlir.runtime.elf_tables import elf_tables


def sections(data: bytes | mmap.mmap, start: int = 0) -> Iterator[tuple[str, int, int]]:
    """The name, offset and size of each section of a file that begins at `start`.

    Raises ElfError, a ValueError, for anything else.
    """
    tables = elf_tables(data, start)
    names = tables.sections[tables.names]
    first = start + int(names["offset"])
    text = data[first : first + int(names["size"])]
    for header in tables.sections:
        name = int(header["name"])
        yield (
            text[name : text.index(b"\0", name)].decode(),
            start + int(header["offset"]),
            int(header["size"]),
        )


def section(data: bytes | mmap.mmap, name: str, start: int = 0) -> tuple[int, int] | None:
    """The offset and size of the section of this name; None: there is none."""
    return next(((offset, size) for found, offset, size in sections(data, start) if found == name), None)
