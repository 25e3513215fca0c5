"""The tables of an ELF file of 64 bits (little-endian): System V ABI, "ELF-64 Object File Format"."""

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
"""Types of sections: the symbol table, and memory that begins as zeros, of which the file has nothing."""

_IDENT = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<16sHH20xQ10xHHH")


class ElfError(ValueError):
    """The file is none of 64 bits, or malformed; the message says why."""


@dataclass(frozen=True)
class ElfTables:
    """What the header of a file says: its kind, its machine, and its sections."""

    kind: int
    machine: int
    sections: np.ndarray[Any, Any]
    """The section headers (`SECTION`); a section's ``offset`` is the distance from the start of the file."""
    start: int
    """Where the section headers begin."""
    names: int
    """The number of the section that has the names of all."""


def elf_tables(data: bytes | mmap.mmap, start: int = 0) -> ElfTables:
    """The tables of a file that begins at `start`.

    Raises ElfError: not such a file, or one that ends before its tables or sections do.
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
    """The number of the section that has the symbols; raises ElfError unless there is one."""
    (found,) = np.nonzero(tables.sections["type"] == SYMTAB)
    if len(found) != 1:
        raise ElfError(f"malformed ELF file: {len(found)} symbol tables")
    return int(found[0])
