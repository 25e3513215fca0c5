"""Where the sections of an ELF file of 64 bits lie."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

_IDENT = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<40xQ10xHHH")
"""Where section headers begin, their size, how many there are, which of them has the names."""
_SECTION = struct.Struct("<II16xQQ24x")
"""Name, type, where the section begins, its size."""


def mapped(path: Path) -> mmap.mmap:
    """A file as bytes that are read when they are looked at; raises OSError, and ValueError for an empty file."""
    with path.open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def sections(data: bytes | mmap.mmap, start: int = 0) -> Iterator[tuple[str, int, int]]:
    """The name, place and size of each section of a file that begins at `start`.

    Raises ValueError, IndexError or struct.error for anything else.
    """
    if data[start : start + len(_IDENT)] != _IDENT:
        raise ValueError("not an ELF file of 64 bits")
    table, entry, count, names = _HEADER.unpack_from(data, start)
    headers = [_SECTION.unpack_from(data, start + table + entry * i) for i in range(count)]
    text = data[start + headers[names][2] : start + headers[names][2] + headers[names][3]]
    for name, _, offset, size in headers:
        yield text[name : text.index(b"\0", name)].decode(), start + offset, size


def section(data: bytes | mmap.mmap, name: str, start: int = 0) -> tuple[int, int] | None:
    """The place and size of the section of this name; None: there is none."""
    return next(((offset, size) for found, offset, size in sections(data, start) if found == name), None)


def with_renamed_symbols(data: bytes, old: str, new: str) -> bytes:
    """An object file in which `old` has become `new`, which is as long, in the names of all symbols."""
    assert len(old) == len(new)
    for name, offset, size in sections(data):
        if name == ".strtab":
            names = data[offset : offset + size].replace(old.encode(), new.encode())
            data = data[:offset] + names + data[offset + size :]
    return data
