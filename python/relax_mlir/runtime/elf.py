"""ELF object files: their tables, renamed symbols, and a loader that makes their code executable in this process."""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
import struct
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

# The tables of a 64-bit little-endian ELF file: System V ABI, "ELF-64 Object File Format".


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


# Rename symbols in object files, so that several functions can share compiled code that is linked once for each.


def with_symbol_names(data: bytes, names: Mapping[str, str]) -> bytes:
    """Return an object file whose symbols are renamed as `names` says; other symbols are unchanged.

    Raises ElfError (a ValueError) if there is no symbol table, and ValueError if it lacks the first key.
    """
    tables = elf_tables(data)
    table = tables.sections[symbol_table(tables)]
    text = int(table["link"])
    at, size = int(tables.sections[text]["offset"]), int(tables.sections[text]["size"])
    old = data[at : at + size]
    wanted = {key.encode(): value.encode() for key, value in names.items()}
    new, places = bytearray(old), dict[bytes, int]()
    result = bytearray(data)
    symbols = np.frombuffer(result, SYMBOL, int(table["size"]) // SYMBOL.itemsize, int(table["offset"]))
    for number, name in enumerate(symbols["name"].tolist()):
        found = old[name : old.index(b"\0", name)]
        if found not in wanted:
            continue
        if found not in places:
            places[found] = len(new)
            new += wanted[found] + b"\0"
        symbols["name"][number] = places[found]
    if names and next(iter(wanted)) not in places:
        raise ValueError(f"an object file without the symbol {next(iter(names))}")
    # The string table is now at the end of the file.
    header = np.frombuffer(result, SECTION, 1, tables.start + text * SECTION.itemsize)
    header["offset"], header["size"] = len(data), len(new)
    return bytes(result) + bytes(new)


def with_renamed_symbols(data: bytes, old: str, new: str) -> bytes:
    """Replace `old` in all symbol names of an object file by `new`, which has the same length."""
    assert len(old) == len(new)
    tables = elf_tables(data)
    text = tables.sections[int(tables.sections[symbol_table(tables)]["link"])]
    at, size = int(text["offset"]), int(text["size"])
    return data[:at] + data[at : at + size].replace(old.encode(), new.encode()) + data[at + size :]


# Load ELF object files (x86-64) in memory: lay out, relocate and make their code executable in this process.
#
# No linker or compiler is needed. The loader supports the objects that LLVM emits for position-independent code without
# thread-local variables, and rejects others with `ObjectFileError`. Section, symbol and relocation layouts: System V
# ABI, "ELF-64 Object File Format" and its AMD64 supplement.


Resolver = Callable[[str], int | None]
"""Maps a symbol that the object does not define to its address, or None if it is unknown."""

SUPPORTED = platform.machine() in ("x86_64", "AMD64") and sys.platform == "linux"
"""True if objects for this machine can be loaded."""

_RELOCATION = np.dtype([("offset", "<u8"), ("symbol_type", "<u8"), ("addend", "<i8")])

_RELA, _INIT_ARRAY, _FINI_ARRAY = 4, 14, 15
_WRITE, _ALLOCATE, _EXECUTE, _THREAD_LOCAL = 1, 2, 4, 0x400
_UNDEFINED, _ABSOLUTE, _RESERVED = 0, 0xFFF1, 0xFF00
_WEAK, _TLS = 2, 6
_X86_64, _RELOCATABLE = 62, 1

_WIDTHS = {1: 8, 2: 4, 4: 4, 9: 4, 24: 8, 25: 8, 26: 4, 27: 8, 29: 8, 41: 4, 42: 4}
"""The number of bytes that a relocation type patches."""
_BY_TABLE = (9, 27, 41, 42)
"""Relocation types that use the global offset table (GOT)."""
_CALL, _STUB_BYTES, _JUMP = 4, 16, 0x25FF
"""The relocation type of calls, and the PLT stub for targets out of range: a jump to the address in the GOT."""
_PAGE = mmap.PAGESIZE


class ObjectFileError(Exception):
    """The object cannot be loaded here; the message gives the reason."""


@dataclass(frozen=True)
class _Object:
    """The tables of an object file."""

    data: bytes
    sections: np.ndarray[Any, Any]
    symbols: np.ndarray[Any, Any]
    names: list[str]


class LoadedObject:
    """Code and data of an object in memory of this process, freed with the last reference.

    The object is laid out on construction but can run only after `link`, since objects may refer to each other.
    """

    def __init__(self, data: bytes) -> None:
        """Lay out the object `data`.

        Raises ObjectFileError: malformed, or for another machine.
        """
        if not SUPPORTED:
            raise ObjectFileError(f"objects for {platform.machine()} ({sys.platform}) cannot be loaded")
        with _reading():
            self._place(_parse(data))

    def address(self, name: str) -> int | None:
        """Return the address of a symbol that the object exports."""
        return self._defined.get(name)

    @property
    def defined(self) -> Mapping[str, int]:
        """The addresses of the symbols that the object exports."""
        return self._defined

    def _place(self, parsed: _Object) -> None:
        self._groups, self._stubs, self._table = _layout(parsed)
        size = self._groups[-1][1]
        self._base = base = _map(size)
        weakref.finalize(self, _libc().munmap, base, size).atexit = False
        memory = memoryview((ctypes.c_uint8 * size).from_address(base))
        self._parsed, self._image = parsed, np.ndarray((size,), np.uint8, memory)
        for place, section in zip(parsed.sections["address"], parsed.sections, strict=True):
            if section["flags"] & _ALLOCATE and section["type"] != NOBITS:
                start, length = int(section["offset"]), int(section["size"])
                self._image[int(place) : int(place) + length] = np.frombuffer(parsed.data, np.uint8, length, start)
        self._addresses = _own_addresses(parsed, base)
        shown = (parsed.symbols["section"] != _UNDEFINED) & (parsed.symbols["info"] >> 4 != 0)
        self._defined = {parsed.names[i]: int(self._addresses[i]) for i in np.flatnonzero(shown)}

    def link(self, resolve: Resolver) -> None:
        """Resolve undefined symbols with `resolve` and make the code executable; call it once.

        Raises ObjectFileError: unsupported relocations or undefined symbols.
        """
        with _reading():
            self._link(resolve)

    def _link(self, resolve: Resolver) -> None:
        parsed, base, image, groups = self._parsed, self._base, self._image, self._groups
        addresses, stubs, table = self._addresses, self._stubs, self._table
        _resolve_others(parsed, resolve, addresses)
        image[table : table + 8 * len(addresses)].view("<u8")[:] = addresses
        _write_stubs(image, stubs, table, len(addresses))
        for section in parsed.sections[parsed.sections["type"] == _RELA]:
            target = parsed.sections[int(section["info"])]
            if target["flags"] & _ALLOCATE:
                _relocate(parsed, section, int(target["address"]), base, (stubs, table), addresses, image)
        for (start, end), protection in zip(
            groups,
            (mmap.PROT_READ | mmap.PROT_EXEC, mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE),
            strict=True,
        ):
            if end > start and _libc().mprotect(base + start, end - start, protection):
                raise ObjectFileError("the system does not allow to make memory executable")
        del self._parsed, self._image, self._addresses  # as large as the code, and no longer needed


@contextmanager
def _reading() -> Iterator[None]:
    """Convert parse errors to `ObjectFileError`."""
    try:
        yield
    except ElfError as error:
        raise ObjectFileError(str(error)) from None
    except (ValueError, IndexError) as error:
        raise ObjectFileError(f"malformed object file: {error}") from None


def _parse(data: bytes) -> _Object:
    tables = elf_tables(data)
    sections = tables.sections
    if tables.kind != _RELOCATABLE or tables.machine != _X86_64:
        raise ObjectFileError("not an ELF object file for x86-64")
    if (sections["flags"] & _THREAD_LOCAL).any():
        raise ObjectFileError("thread-local variables are not supported")
    if np.isin(sections["type"], (_INIT_ARRAY, _FINI_ARRAY)).any():
        raise ObjectFileError("initialisers are not supported")
    header = sections[symbol_table(tables)]
    symbols = np.frombuffer(data, SYMBOL, int(header["size"]) // SYMBOL.itemsize, int(header["offset"]))
    text = sections[int(header["link"])]
    strings = data[int(text["offset"]) : int(text["offset"] + text["size"])]
    named = [strings[at : strings.index(b"\0", at)].decode() for at in map(int, symbols["name"])]
    return _Object(data, sections, symbols, named)


def _layout(parsed: _Object) -> tuple[list[tuple[int, int]], int, int]:
    """Assign an ``address`` to each section: code, then read-only data, then variables, each group on new pages.

    Return the bounds of the three groups, the offset of the call stubs (after the code) and that of the GOT (in the
    second group).
    """
    flags = parsed.sections["flags"]
    allocated = (flags & _ALLOCATE) != 0
    code, writable = (flags & _EXECUTE) != 0, (flags & _WRITE) != 0
    aligns, sizes = parsed.sections["align"].tolist(), parsed.sections["size"].tolist()
    places = [0] * len(sizes)
    groups: list[tuple[int, int]] = []
    at = table = stubs = 0
    for number, chosen in enumerate((allocated & code, allocated & ~code & ~writable, allocated & ~code & writable)):
        start = at
        for i in np.flatnonzero(chosen).tolist():
            at = _round_up(at, max(1, aligns[i]))
            places[i] = at
            at += sizes[i]
        if number == 0:
            stubs = at = _round_up(at, _STUB_BYTES)
            at += _STUB_BYTES * len(parsed.symbols)
        if number == 1:
            table = at = _round_up(at, 8)
            at += 8 * len(parsed.symbols)
        at = _round_up(at, _PAGE)
        groups.append((start, at))
    parsed.sections["address"] = places
    return groups, stubs, table


def _own_addresses(parsed: _Object, base: int) -> np.ndarray[Any, Any]:
    """Return the address of every symbol that the object defines, 0 for the others."""
    symbols, sections = parsed.symbols, parsed.symbols["section"]
    absolute = sections == _ABSOLUTE
    strange = (symbols["info"] & 15 == _TLS) | ((sections >= _RESERVED) & ~absolute)
    if strange.any():
        name = parsed.names[int(np.flatnonzero(strange)[0])]
        raise ObjectFileError(f"symbol {name} is of a kind that is not supported")
    inside = ~absolute & (sections != _UNDEFINED)
    if (sections[inside] >= len(parsed.sections)).any():
        raise ObjectFileError("malformed object file: a symbol of a section that does not exist")
    found = np.where(absolute, symbols["value"], np.uint64(0))
    places = parsed.sections["address"][sections[inside]]
    found[inside] = np.uint64(base) + places + symbols["value"][inside]
    return found


def _resolve_others(parsed: _Object, resolve: Resolver, addresses: np.ndarray[Any, Any]) -> None:
    """Fill in the addresses of undefined symbols."""
    for i in np.flatnonzero(parsed.symbols["section"] == _UNDEFINED)[1:]:  # symbol 0 is the null symbol
        name = parsed.names[i]
        if name == "_GLOBAL_OFFSET_TABLE_":
            continue
        address = resolve(name)
        if address is None and parsed.symbols["info"][i] >> 4 != _WEAK:
            raise ObjectFileError(f"nothing here defines {name}")
        addresses[i] = address or 0


def _relocate(
    parsed: _Object,
    section: np.void,
    target: int,
    base: int,
    beside: tuple[int, int],
    addresses: np.ndarray[Any, Any],
    image: np.ndarray[Any, Any],
) -> None:
    """Apply the relocations of one section to the section at `target`. Sums wrap around at 64 bits.

    `beside`: the offsets of the stubs and of the GOT.
    """
    stubs, table = beside
    count = int(section["size"]) // _RELOCATION.itemsize
    every = np.frombuffer(parsed.data, _RELOCATION, count, int(section["offset"]))
    types, symbols = every["symbol_type"] & 0xFFFFFFFF, every["symbol_type"] >> 32
    if (every["offset"] + 8 > len(image)).any():
        raise ObjectFileError("malformed object file: a relocation outside of its section")
    for type in sorted(set(types.tolist())):  # np.unique imports numpy.ma, which is slow
        if type not in _WIDTHS:
            raise ObjectFileError(f"relocation type {type} is not supported")
        chosen = types == type
        index = symbols[chosen].astype(np.intp)
        places = every["offset"][chosen].astype(np.uint64) + np.uint64(target)
        addend = every["addend"][chosen].view(np.uint64)
        here, origin = places + np.uint64(base), np.uint64(base + table)
        if type in (26, 29):  # the GOT itself
            value = origin + addend
        elif type in _BY_TABLE:
            value = index.astype(np.uint64) * np.uint64(8) + addend + (np.uint64(0) if type == 27 else origin)
        else:
            value = addresses[index] + addend
        if type == 25:
            value = value - origin
        elif type not in (1, 27):
            value = value - here
        width = _WIDTHS[type]
        if type == _CALL:
            by_stub = np.uint64(base + stubs) + index.astype(np.uint64) * np.uint64(_STUB_BYTES) + addend - here
            value = np.where(_reaches(value), value, by_stub)
        if width == 4 and not _reaches(value).all():
            far = parsed.names[int(index[~_reaches(value)][0])]
            raise ObjectFileError(f"symbol {far} is too far away for its relocation (type {type})")
        at = places.astype(np.intp)[:, None] + np.arange(width)
        image[at] = np.ascontiguousarray(value).view(np.uint8).reshape(-1, 8)[:, :width]


def _reaches(distance: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a mask of the distances that fit in 32 bits."""
    signed = distance.view(np.int64)
    return np.asarray(signed == signed.astype(np.int32))


def _write_stubs(image: np.ndarray[Any, Any], stubs: int, table: int, count: int) -> None:
    """Write the stub of each symbol, ``jmp *distance(%rip)`` through the GOT."""
    made = image[stubs : stubs + _STUB_BYTES * count].reshape(count, _STUB_BYTES)
    numbers = np.arange(count, dtype=np.int64)
    ends = stubs + _STUB_BYTES * numbers + 6
    made[:, :2] = np.frombuffer(_JUMP.to_bytes(2, "little"), np.uint8)
    made[:, 2:6] = (table + 8 * numbers - ends).astype("<i4").view(np.uint8).reshape(count, 4)


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


@functools.cache
def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


def _map(size: int) -> int:
    """Map zeroed pages."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = _libc().mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        raise ObjectFileError(f"no memory for {size} bytes of code")
    return int(address)
