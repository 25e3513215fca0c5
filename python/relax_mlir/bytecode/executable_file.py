"""Files of bytecode executables: `Executable.save` and `Executable.load`."""

from __future__ import annotations

import math
import mmap
import os
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import IO, Any

import numpy as np
import tvm_ffi

from relax_mlir.bytecode.constant_pool import byte_view
from relax_mlir.bytecode.executable import Executable
from relax_mlir.bytecode.instructions import FunctionInfo, Kernels, Words
from relax_mlir.dialects.dtypes import DTYPES
from relax_mlir.error import ArgumentError, BytecodeError, ParseError, expect
from relax_mlir.files import open_regular
from relax_mlir.module_file import writing_atomically

# The file format of bytecode executables: header, section table, and the records of sections.
#
# ``docs/vm.md`` describes the format byte by byte. All numbers are little-endian.


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
        raise InvalidFile(f"has version {version} of the format, expected {VERSION}: another release wrote it")
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
        found: tuple[int, ...] = struct.unpack(f"<{count}{code}", self._take(count * struct.calcsize(f"<{code}")))
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
            raise InvalidFile(f"section '{self._name}' has a text that is not UTF-8: {error.reason}") from None

    def end(self) -> None:
        """Check that all data has been read."""
        if self._at != len(self._data):
            raise InvalidFile(f"section '{self._name}' has {len(self._data) - self._at} bytes too many")


Array = np.ndarray[Any, Any]

_ALWAYS_CHECKED = 4096
"""Checksums of tensors up to this size in bytes are always verified."""
_MAX_RANK = 64
_WRITE_CHUNK = 1 << 24


# Writing


@dataclass(frozen=True)
class _Placed:
    """A tensor and its offset in the tensor section."""

    array: Array
    offset: int


_NO_RESERVE = 0x4000
"""Linux's MAP_NORESERVE: the private mapping of a large file does not count against the commit limit."""


def save(executable: Executable, path: Path) -> None:
    """Write to a temporary file, sync it to disk and rename it; see `Executable.save`."""
    tensors = list(_places(executable.constants))
    contents = {
        Section.FUNCTIONS: _functions(executable.functions),
        Section.WORDS: executable.words.astype("<i8").tobytes(),
        Section.OFFSETS: executable.offsets.astype("<i8").tobytes(),
        Section.CONSTANTS: _constants(executable.constants, tensors),
    }
    if executable.kernels is not None:
        contents[Section.KERNELS] = _kernels(executable.kernels)
    for kind, data in contents.items():
        if len(data) > MAX_LENGTHS[kind]:
            raise ArgumentError(
                f"Executable.save: section '{kind.name.lower()}' has {len(data)} bytes, more than {MAX_LENGTHS[kind]}"
            )
    entries = _layout(contents, tensors)
    try:
        with writing_atomically(path) as stream:
            _write(stream, entries, contents, tensors)
            stream.flush()
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                os.fsync(stream.fileno())
        _sync_folder(path)
    except OSError as error:
        raise ArgumentError(f"Executable.save: cannot write {path}: {error.strerror or error}") from None


def _places(constants: Sequence[object]) -> Iterator[_Placed]:
    end = 0
    for value in constants:
        if isinstance(value, np.ndarray):
            unit = PAGE if value.nbytes >= PAGE else ALIGNMENT
            offset = -(-end // unit) * unit
            yield _Placed(value, offset)
            end = offset + value.nbytes


def _layout(contents: Mapping[Section, bytes], tensors: Sequence[_Placed]) -> list[Entry]:
    end = front_length(len(contents) + 1)
    entries = []
    for kind, data in contents.items():
        offset = -(-end // 8) * 8
        entries.append(Entry(kind, zlib.crc32(data), offset, len(data)))
        end = offset + len(data)
    length = tensors[-1].offset + tensors[-1].array.nbytes if tensors else 0
    return [*entries, Entry(Section.TENSORS, 0, -(-end // PAGE) * PAGE, length)]


def _write(
    stream: IO[bytes], entries: Sequence[Entry], contents: Mapping[Section, bytes], tensors: Sequence[_Placed]
) -> None:
    last = entries[-1]
    written = stream.write(pack_front(list(entries), last.offset + last.length))
    for entry in entries[:-1]:
        written += stream.write(bytes(entry.offset - written))
        written += stream.write(contents[entry.kind])
    for placed in tensors:
        written += stream.write(bytes(last.offset + placed.offset - written))
        data = byte_view(placed.array)
        for at in range(0, data.size, _WRITE_CHUNK):
            written += stream.write(data[at : at + _WRITE_CHUNK].data)
    stream.write(bytes(last.offset + last.length - written))


def _sync_folder(path: Path) -> None:
    """Sync the folder to make the new name durable, on systems that can open folders."""
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(folder)
    except OSError:
        pass  # the file is synced; not every file system can sync folders
    finally:
        os.close(folder)


def _functions(functions: Sequence[FunctionInfo]) -> bytes:
    record = Record()
    record.number("I", len(functions))
    for info in functions:
        record.number("B", info.kind == "vm")
        record.text(info.name)
        if info.kind == "vm":
            record.number("Q", info.start, info.end, info.num_args, info.num_registers)
            record.number("I", len(info.param_names))
            for name in info.param_names:
                record.text(name)
    return bytes(record.data)


def _constants(constants: Sequence[object], tensors: Sequence[_Placed]) -> bytes:
    record = Record()
    record.number("I", len(constants))
    places = iter(tensors)
    for value in constants:
        if isinstance(value, np.ndarray):
            _tensor(record, next(places))
        elif isinstance(value, tvm_ffi.Shape):
            record.number("B", Tag.SHAPE)
            record.number("I", len(value))
            record.number("q", *value)
        elif isinstance(value, str):
            record.number("B", Tag.DTYPE if isinstance(value, tvm_ffi.dtype) else Tag.STRING)
            record.text(str(value))
        elif isinstance(value, bool):
            record.number("B", Tag.BOOL, value)
        elif isinstance(value, int):
            record.number("B", Tag.INT)
            record.number("q", value)
        elif isinstance(value, float):
            record.number("B", Tag.FLOAT)
            record.number("d", value)
        else:
            record.number("B", Tag.NONE)
    return bytes(record.data)


def _tensor(record: Record, placed: _Placed) -> None:
    array = placed.array
    record.number("B", Tag.TENSOR)
    record.text(array.dtype.name)
    record.number("I", array.ndim)
    record.number("Q", *array.shape)
    record.number("Q", placed.offset)
    record.number("I", zlib.crc32(byte_view(array)))  # type: ignore[arg-type]  # an array is a buffer


def _kernels(kernels: Kernels) -> bytes:
    record = Record()
    record.text(kernels.text)
    record.number("I", len(kernels.constants))
    record.number("I", *kernels.constants)
    return bytes(record.data)


# Reading


def load(path: Path, check_tensors: bool = False, place: tuple[int, int] | None = None) -> Executable:
    """Read everything but the tensors, which are memory-mapped; see `Executable.load`.

    `place`: offset and size of the contents in the file; None for the whole file.
    """
    try:
        data = _mapped(path)
        return _read(data if place is None else data[place[0] : place[0] + place[1]], check_tensors)
    except InvalidFile as error:
        raise ParseError(f"Executable.load: {path}: {error}") from None
    except BytecodeError as error:
        raise ParseError(f"Executable.load: {path}: no valid executable: {error}") from error
    except (OSError, MemoryError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ParseError(f"Executable.load: cannot read {path}: {reason}") from None


def load_constants(path: str | os.PathLike[str]) -> tuple[object, ...]:
    """Return the constant pool of the executable in a file. Raises ParseError as `Executable.load` does."""
    expect("vm.load_constants: 'path'", path, str | os.PathLike, "a path")
    return load(Path(path)).constants


def _mapped(path: Path) -> memoryview:
    """Map a file into memory; pages are read on use.

    The mapping is private: a packed function that writes into a constant neither changes the file nor crashes.
    """
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if not size:
            raise InvalidFile("is empty")
        flags = mmap.MAP_PRIVATE | _NO_RESERVE
        return memoryview(mmap.mmap(stream.fileno(), size, flags, mmap.PROT_READ | mmap.PROT_WRITE))


def _read(data: memoryview, check_tensors: bool) -> Executable:
    entries = read_front(data)
    contents = {kind: _checked(data, entry) for kind, entry in entries.items() if kind is not Section.TENSORS}
    functions = _read_functions(Reader("functions", contents[Section.FUNCTIONS]))
    place = entries[Section.TENSORS]
    tensors = _Tensors(data[place.offset : place.offset + place.length], check_tensors)
    constants = _read_constants(Reader("constants", contents[Section.CONSTANTS]), tensors)
    kernels = None
    if Section.KERNELS in contents:
        kernels = _read_kernels(Reader("kernels", contents[Section.KERNELS]))
    words, offsets = (_read_words(kind, contents[kind]) for kind in (Section.WORDS, Section.OFFSETS))
    return Executable(functions, constants, words, offsets, kernels)


def _checked(data: memoryview, entry: Entry) -> bytes:
    content = bytes(data[entry.offset : entry.offset + entry.length])
    if zlib.crc32(content) != entry.checksum:
        raise InvalidFile(f"section '{entry.kind.name.lower()}' is damaged (CRC-32)")
    return content


def _read_words(kind: Section, content: bytes) -> Words:
    if len(content) % 8:
        raise InvalidFile(f"section '{kind.name.lower()}' has {len(content)} bytes, no multiple of 8")
    return np.frombuffer(content, "<i8")


def _read_functions(reader: Reader) -> tuple[FunctionInfo, ...]:
    functions = tuple(_read_function(reader) for _ in range(reader.integer("I")))
    reader.end()
    return functions


def _read_function(reader: Reader) -> FunctionInfo:
    kind, name = reader.integer("B"), reader.text()
    if kind == 0:
        return FunctionInfo(name)
    if kind != 1:
        raise InvalidFile(f"function '{name}' is of the unknown kind {kind}")
    start, end, num_args, num_registers = reader.integers("Q", 4)
    names = tuple(reader.text() for _ in range(reader.integer("I")))
    return FunctionInfo(name, "vm", start, end, num_args, num_registers, names)


def _read_kernels(reader: Reader) -> Kernels:
    kernels = Kernels(reader.text(), reader.integers("I", reader.integer("I")))
    reader.end()
    return kernels


class _Tensors:
    """The tensor section while constants are read, in increasing order of offsets."""

    def __init__(self, data: memoryview, check_all: bool) -> None:
        self._data, self._check_all = data, check_all
        self._end = 0

    def read(self, reader: Reader, index: int) -> Array:
        """Return the tensor that a record describes, as a view of the mapped file."""
        name = reader.text()
        if name not in DTYPES:
            raise InvalidFile(f"constant {index} has the unknown dtype {name!r}")
        rank = reader.integer("I")
        if rank > _MAX_RANK:
            raise InvalidFile(f"constant {index} has rank {rank}, more than {_MAX_RANK}")
        shape = reader.integers("Q", rank)
        offset, checksum = reader.integer("Q"), reader.integer("I")
        dtype = DTYPES[name].numpy
        if math.prod(max(size, 1) for size in shape) * dtype.itemsize >= 1 << 63:
            raise InvalidFile(f"constant {index} has the shape {shape}, which is too large")
        length = math.prod(shape) * dtype.itemsize
        if offset < self._end or offset % ALIGNMENT or length > len(self._data) or offset > len(self._data) - length:
            raise InvalidFile(
                f"constant {index} has {length} bytes at {offset} in section 'tensors', expected a multiple of "
                f"{ALIGNMENT} from {self._end} on, and an end at {len(self._data)} at most"
            )
        self._end = offset + length
        data = self._data[offset : offset + length]
        if (self._check_all or length <= _ALWAYS_CHECKED) and zlib.crc32(data) != checksum:
            raise InvalidFile(f"constant {index} is damaged (CRC-32)")
        if name == "bool" and length and int(np.frombuffer(data, np.uint8).max()) > 1:
            raise InvalidFile(f"constant {index} is of dtype bool, but has bytes above 1")
        if not length:
            return np.zeros(shape, dtype)
        array = np.frombuffer(data, dtype).reshape(shape)
        array.flags.writeable = False
        return array


def _read_constants(reader: Reader, tensors: _Tensors) -> tuple[object, ...]:
    constants = tuple(_read_constant(reader, tensors, index) for index in range(reader.integer("I")))
    reader.end()
    return constants


def _read_constant(reader: Reader, tensors: _Tensors, index: int) -> object:
    tag = reader.integer("B")
    if tag == Tag.TENSOR:
        return tensors.read(reader, index)
    if tag == Tag.SHAPE:
        return tvm_ffi.Shape(reader.integers("q", reader.integer("I")))
    if tag == Tag.DTYPE:
        name = reader.text()
        if name not in DTYPES:
            raise InvalidFile(f"constant {index} is the unknown dtype {name!r}")
        return tvm_ffi.dtype(name)
    if tag == Tag.BOOL:
        value = reader.integer("B")
        if value > 1:
            raise InvalidFile(f"constant {index} is a bool with the value {value}")
        return bool(value)
    if tag == Tag.STRING:
        return reader.text()
    if tag == Tag.INT:
        return reader.integer("q")
    if tag == Tag.FLOAT:
        return reader.float()
    if tag == Tag.NONE:
        return None
    raise InvalidFile(f"constant {index} is of the unknown kind {tag}")
