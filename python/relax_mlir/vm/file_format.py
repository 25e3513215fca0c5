"""The file format of bytecode executables: header, section table, and the records of sections.

``docs/vm.md`` describes the format byte by byte. All numbers are little-endian.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

MAGIC = b"\x89RXVM\r\n\x1a"
VERSION = 1
PAGE = 4096
"""Alignment of the tensor section and of each tensor of at least this size."""
ALIGNMENT = 64
"""Alignment of smaller tensors."""

HEADER = struct.Struct("<8sIIQII32x")
"""Magic, version, number of sections, file length, checksum of the section table, checksum of the preceding fields."""
_CHECKED = 28
"""The number of header bytes covered by the header's checksum."""
_ENTRY = struct.Struct("<IIQQ8x")
"""Kind, checksum, offset and length of a section."""


class Section(IntEnum):
    """Kinds of sections, in file order; only `KERNELS` is optional."""

    FUNCTIONS = 1
    WORDS = 2
    OFFSETS = 3
    CONSTANTS = 4
    KERNELS = 5
    TENSORS = 6


MAX_LENGTHS = {
    Section.FUNCTIONS: 1 << 26,
    Section.WORDS: 1 << 27,
    Section.OFFSETS: 1 << 27,
    Section.CONSTANTS: 1 << 26,
    Section.KERNELS: 1 << 28,
}
"""The maximum length in bytes of each section that is read into memory."""


class Tag(IntEnum):
    """Kinds of constants."""

    NONE = 0
    BOOL = 1
    INT = 2
    FLOAT = 3
    STRING = 4
    DTYPE = 5
    SHAPE = 6
    TENSOR = 7


class InvalidFile(Exception):
    """The contents of a file are invalid; the message gives the reason."""


@dataclass(frozen=True)
class Entry:
    """The position of a section, and the CRC-32 of its bytes (zero for the tensors, which have one each)."""

    kind: Section
    checksum: int
    offset: int
    length: int


def pack_front(entries: list[Entry], file_length: int) -> bytes:
    """Return the header and the section table."""
    table = b"".join(_ENTRY.pack(each.kind, each.checksum, each.offset, each.length) for each in entries)
    fields = (MAGIC, VERSION, len(entries), file_length, zlib.crc32(table))
    checksum = zlib.crc32(HEADER.pack(*fields, 0)[:_CHECKED])
    return HEADER.pack(*fields, checksum) + table


def front_length(sections: int) -> int:
    """Return the length in bytes of header and section table."""
    return HEADER.size + sections * _ENTRY.size


def read_front(data: memoryview) -> dict[Section, Entry]:
    """Return the sections of a file after checking their positions and order, but not their contents.

    Raises InvalidFile.
    """
    if len(data) < HEADER.size or bytes(data[: len(MAGIC)]) != MAGIC:
        raise InvalidFile("not a bytecode executable, or cut off in its header")
    header = bytes(data[: HEADER.size])
    _, version, count, length, table_checksum, checksum = HEADER.unpack(header)
    if zlib.crc32(header[:_CHECKED]) != checksum or any(header[_CHECKED + 4 :]):
        raise InvalidFile("its header is damaged (CRC-32)")
    if version != VERSION:
        raise InvalidFile(
            f"has version {version} of the format, expected {VERSION}: another release wrote it"
        )
    if length != len(data):
        raise InvalidFile(f"has {len(data)} bytes, its header says {length}: it is cut off or has grown")
    if not len(Section) - 1 <= count <= len(Section):
        raise InvalidFile(f"has {count} sections")
    if front_length(count) > length:
        raise InvalidFile("is cut off in its table of sections")
    table = bytes(data[HEADER.size : front_length(count)])
    if zlib.crc32(table) != table_checksum:
        raise InvalidFile("its table of sections is damaged (CRC-32)")
    return _checked_entries(list(_ENTRY.iter_unpack(table)), length)


def _checked_entries(rows: list[tuple[int, ...]], length: int) -> dict[Section, Entry]:
    kinds = [row[0] for row in rows]
    if kinds not in (list(Section), [kind for kind in Section if kind is not Section.KERNELS]):
        raise InvalidFile(f"has sections of the kinds {kinds}, expected 1 to 6 in this order, or without 5")
    entries = [Entry(Section(row[0]), *row[1:]) for row in rows]
    end = front_length(len(rows))
    for each in entries:
        name = each.kind.name.lower()
        if each.offset < end or each.length > length or each.offset > length - each.length:
            raise InvalidFile(
                f"section '{name}' has bytes {each.offset} to {each.offset + each.length}, expected {end} to {length}"
            )
        if each.length > MAX_LENGTHS.get(each.kind, length):
            raise InvalidFile(f"section '{name}' has {each.length} bytes, more than {MAX_LENGTHS[each.kind]}")
        end = each.offset + each.length
    if entries[-1].offset % PAGE or entries[-1].checksum:
        raise InvalidFile(f"section 'tensors' does not begin at a multiple of {PAGE}, or has a checksum")
    return {each.kind: each for each in entries}


class Record:
    """Numbers and strings written in sequence."""

    def __init__(self) -> None:
        self.data = bytearray()

    def number(self, code: str, *values: float) -> None:
        """Append numbers, each in `struct`'s format `code`."""
        self.data += struct.pack(f"<{len(values)}{code}", *values)

    def text(self, text: str) -> None:
        """Append a string as its length in bytes and UTF-8."""
        encoded = text.encode()
        self.number("I", len(encoded))
        self.data += encoded


class Reader:
    """Reads what `Record` has written, with bounds checks. All methods raise InvalidFile."""

    def __init__(self, name: str, data: bytes) -> None:
        self._name, self._data, self._at = name, data, 0

    def _take(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise InvalidFile(f"section '{self._name}' ends inside of a record, at byte {self._at}")
        self._at += count
        return self._data[self._at - count : self._at]

    def integers(self, code: str, count: int) -> tuple[int, ...]:
        """Read `count` integers in `struct`'s format `code`."""
        found: tuple[int, ...] = struct.unpack(
            f"<{count}{code}", self._take(count * struct.calcsize(f"<{code}"))
        )
        return found

    def integer(self, code: str) -> int:
        """Read one integer in `struct`'s format `code`."""
        return self.integers(code, 1)[0]

    def float(self) -> float:
        """Read a 64-bit float."""
        (found,) = struct.unpack("<d", self._take(8))
        return float(found)

    def text(self) -> str:
        """Read a string."""
        encoded = self._take(self.integer("I"))
        try:
            return encoded.decode()
        except UnicodeDecodeError as error:
            raise InvalidFile(
                f"section '{self._name}' has a text that is not UTF-8: {error.reason}"
            ) from None

    def end(self) -> None:
        """Check that all data has been read."""
        if self._at != len(self._data):
            raise InvalidFile(f"section '{self._name}' has {len(self._data) - self._at} bytes too many")
