"""Where the sections of an ELF file of 64 bits lie."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_IDENT = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<40xQ10xHHH")
"""Where section headers begin, their size, how many there are, which of them has the names."""
_SECTION = struct.Struct("<II16xQQ24x")
"""Name, type, where the section begins, its size."""


def sections(data: bytes) -> Iterator[tuple[str, int, int]]:
    """The name, place and size of each section; raises ValueError, IndexError or struct.error for anything else."""
    if not data.startswith(_IDENT):
        raise ValueError("not an ELF file of 64 bits")
    start, entry, count, names = _HEADER.unpack_from(data)
    headers = [_SECTION.unpack_from(data, start + entry * i) for i in range(count)]
    text = data[headers[names][2] : headers[names][2] + headers[names][3]]
    for name, _, offset, size in headers:
        yield text[name : text.index(b"\0", name)].decode(), offset, size


def with_renamed_symbols(data: bytes, old: str, new: str) -> bytes:
    """An object file in which `old` has become `new`, which is as long, in the names of all symbols."""
    assert len(old) == len(new)
    for name, offset, size in sections(data):
        if name == ".strtab":
            names = data[offset : offset + size].replace(old.encode(), new.encode())
            data = data[:offset] + names + data[offset + size :]
    return data
