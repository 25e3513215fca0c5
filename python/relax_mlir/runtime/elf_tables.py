"""The tables of a 64-bit little-endian ELF file: System V ABI, "ELF-64 Object File Format"."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

SECTION = np.dtype(
    [
        ("name", "<u4"),
        ("type", "<u4"),
        ("flags", "<u8"),
        ("address", "<u8"),
        ("offset", "<u8"),
        ("size", "<u8"),
        ("link", "<u4"),
        ("info", "<u4"),
        ("align", "<u8"),
        ("entry", "<u8"),
    ]
)
"""A section header."""

SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)

SYMTAB, NOBITS = 2, 8
"""Section types: the symbol table, and zero-initialised memory, which takes no space in the file."""

_IDENT = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<16sHH20xQ10xHHH")


class ElfError(ValueError):
    """The file is not 64-bit ELF, or it is malformed; the message gives the reason."""


@dataclass(frozen=True)
class ElfTables:
    """The contents of a file's header: its kind, its machine, and its sections."""

    kind: int
    machine: int
    sections: np.ndarray[Any, Any]
    """The section headers (`SECTION`); a section's ``offset`` is the distance from the start of the file."""
    start: int
    """The offset of the section headers."""
    names: int
    """The index of the section with the section names."""


def elf_tables(data: bytes | mmap.mmap, start: int = 0) -> ElfTables:
    """Return the tables of the file that begins at `start`.

    Raises ElfError: not such a file, or truncated.
    """
    if data[start : start + len(_IDENT)] != _IDENT or len(data) < start + _HEADER.size:
        raise ElfError("not an ELF file of 64 bits")
    _, kind, machine, at, entry, count, names = _HEADER.unpack_from(data, start)
    if entry != SECTION.itemsize or start + at + count * entry > len(data) or names >= count:
        raise ElfError("malformed ELF file: section table")
    sections = np.frombuffer(data[start + at : start + at + count * entry], SECTION).copy()
    stored = sections["type"] != NOBITS
    offsets, sizes, end = sections["offset"][stored], sections["size"][stored], np.uint64(len(data) - start)
    if (offsets > end).any() or (sizes > end - offsets).any():
        raise ElfError("malformed ELF file: a section ends behind the file")
    return ElfTables(kind, machine, sections, at, names)


def symbol_table(tables: ElfTables) -> int:
    """Return the index of the symbol table section. Raises ElfError if there is none."""
    (found,) = np.nonzero(tables.sections["type"] == SYMTAB)
    if len(found) != 1:
        raise ElfError(f"malformed ELF file: {len(found)} symbol tables")
    return int(found[0])
