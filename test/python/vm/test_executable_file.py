"""`Executable.save` and `Executable.load`: round trips with mapping; damaged files are errors."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cold_process
import mutated_executables
import numpy as np
import pytest
import relax_mlir as rx
import sweep
from mutated_executables import ENTRY, put_checksums_right
from relax_mlir.bytecode.executable_file import HEADER, MAGIC, PAGE
from relax_mlir.dialects.dtypes import DTYPES
from relax_mlir.error import ArgumentError, ParseError

Load = rx.vm.Executable.load


def everything() -> rx.vm.Executable:
    """Every dtype in sizes 0, 1 and above a page, rank 0 to 5, and all other kinds of constants."""
    rng = np.random.default_rng(0)
    ib = rx.vm.ExecBuilder()
    arrays = []
    for dtype in DTYPES.values():
        for shape in ((), (0,), (3, 0, 1 << 40), (1, 1, 1, 1, 1), (4097,)):
            count = int(np.prod(shape, dtype=object))
            data = rng.integers(0, 2 if dtype.name == "bool" else 256, count * dtype.itemsize, np.uint8)
            arrays.append(np.frombuffer(data.tobytes(), dtype.numpy).reshape(shape))
    others = [*((), (1, -2, 1 << 62), "", "ü\n\0", np.float32, None, True, False, 5, -(1 << 63), 0.1, -0.0)]
    others.append(float("nan"))
    with ib.function("main", 1, param_names=["x"]):
        ib.emit_call("f", args=[ib.r(0), ib.vm_state(), ib.imm(-1), *map(ib.c, [*arrays, *others])], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    ib.set_kernels("module {\n}\n", [ib.c(arrays[0])])
    return ib.get()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("executables") / "model.rxvm"
    everything().save(path)
    return path


@pytest.mark.parametrize("check", [False, True])
def test_round_trip(saved: Path, tmp_path: Path, check: bool) -> None:
    ex, loaded = everything(), Load(saved, check_tensors=check)
    assert loaded == ex
    assert [type(a) for a in loaded.constants] == [type(a) for a in ex.constants]
    loaded.save(tmp_path / "folder" / "again.rxvm")
    assert (tmp_path / "folder" / "again.rxvm").read_bytes() == saved.read_bytes()
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["again.rxvm"]


def test_an_executable_of_nothing(tmp_path: Path) -> None:
    ex = rx.vm.ExecBuilder().get()
    ex.save(tmp_path / "empty")
    assert Load(tmp_path / "empty", check_tensors=True) == ex
    assert ex.as_text() == ""


def test_tensors_stay_in_the_file(saved: Path) -> None:
    loaded = Load(saved)
    arrays = [value for value in loaded.constants if isinstance(value, np.ndarray) and value.nbytes]
    assert not any(array.flags.writeable or array.flags.owndata for array in arrays)
    maps = Path("/proc/self/maps").read_text()
    lines = [line for line in maps.splitlines() if line.endswith(str(saved))]
    ranges = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in lines]
    for array in arrays:
        assert any(first <= array.ctypes.data < last for first, last in ranges)
        assert array.ctypes.data % (PAGE if array.nbytes >= PAGE else 64) == 0


def test_tensors_outlive_the_executable_and_a_new_file(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "model"
    ex = everything()
    ex.save(path)
    constants = Load(path).constants
    rx.vm.ExecBuilder().get().save(path)
    path.unlink()
    assert everything().constants[4].tobytes() == constants[4].tobytes()  # type: ignore[attr-defined]  # tensors


def test_load_constants_and_code_that_reads_them(tmp_path: Path) -> None:
    ex = everything()
    path = tmp_path / 'with "quotes".rxvm'
    code = ex.as_python(constants=path)
    assert "base64" not in code and len(code) < len(ex.as_python()) / 10
    found: dict[str, Any] = {}
    exec(code, found)
    assert found["ex"] == ex
    assert len(rx.vm.load_constants(path)) == len(ex.constants)


def test_files_that_cannot_be_written_or_read(tmp_path: Path) -> None:
    ex = rx.vm.ExecBuilder().get()
    (tmp_path / "file").write_text("no executable")
    (tmp_path / "nothing").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ArgumentError, match=r"Executable\.save: cannot write .*file/model"):
        ex.save(tmp_path / "file" / "model")
    for name, reason in (
        ("missing", "No such file"),
        ("", "it is a folder, not a regular file"),
        ("pipe", "it is a pipe, not a regular file"),
        ("nothing", "is empty"),
        ("file", "not a bytecode executable"),
    ):
        with pytest.raises(ParseError, match=f"Executable.load: .*{tmp_path}.*{reason}"):
            Load(tmp_path / name)
    ex.save("/dev/null")


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    rx.vm.ExecBuilder().get().save(path)
    before = path.read_bytes()

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArgumentError, match="No space left on device"):
        everything().save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_every_length_and_every_byte(tmp_path: Path) -> None:
    """No prefix of a file loads; a changed byte is detected, or was padding."""
    ib = rx.vm.ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("f", args=[ib.r(0), np.arange(3.0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    ex = ib.get()
    path = tmp_path / "model"
    ex.save(path)
    data = path.read_bytes()
    used = len(data.rstrip(b"\0"))
    ends = [*range(0, 600, 3), *range(600, len(data), 97), len(data) - 1]
    for end in ends:
        path.write_bytes(data[:end])
        with pytest.raises(ParseError):
            Load(path)
    found = 0
    for at in [*range(0, 600, 2), *range(PAGE, used)]:
        changed = bytearray(data)
        changed[at] ^= 0x41
        path.write_bytes(changed)
        try:
            assert Load(path) == ex
            assert data[at] == 0
        except ParseError:
            found += 1
    assert found > 200


def test_large_tensors_are_checked_on_request(saved: Path, tmp_path: Path) -> None:
    data = bytearray(saved.read_bytes())
    data[-1] ^= 1
    path = tmp_path / "changed"
    path.write_bytes(data)
    assert Load(path) != everything()
    with pytest.raises(ParseError, match=r"constant \d+ is damaged \(CRC-32\)"):
        Load(path, check_tensors=True)


def sections(data: bytes) -> dict[int, int]:
    """The offsets of sections, by kind."""
    count = HEADER.unpack_from(data)[2]
    rows = (struct.unpack_from("<IIQQ", data, HEADER.size + ENTRY * index) for index in range(count))
    return {row[0]: row[2] for row in rows}


def put(at: int, code: str, value: int) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        struct.pack_into(code, data, at, value)

    return change


def put_in(kind: int, at: int, code: str, value: int) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        struct.pack_into(code, data, sections(data)[kind] + at, value)

    return change


# The constants of `damaged` begin with a tensor of f32 (2, 3): count 4, tag 1, text 4 + 7, rank 4, sizes 8 each.
RANK = 4 + 1 + 4 + 7
HOSTILE: dict[str, tuple[Callable[[bytearray], None], str]] = {
    "magic": (put(0, "<B", 0x88), "not a bytecode executable"),
    "version": (put(8, "<I", 2), "has version 2 of the format, expected 1"),
    "count of sections": (put(12, "<I", 7), "has 7 sections"),
    "no sections": (put(12, "<I", 0), "has 0 sections"),
    "kinds of sections": (put(HEADER.size, "<I", 9), r"has sections of the kinds \[9, 2"),
    "section outside": (put(HEADER.size + 8, "<Q", 1 << 63), "section 'functions' has bytes"),
    "section in the table": (put(HEADER.size + 8, "<Q", 8), "section 'functions' has bytes 8 to"),
    "huge section": (put(HEADER.size + 16, "<Q", (1 << 64) - 1), "section 'functions' has bytes"),
    "tensors not on a page": (
        put(HEADER.size + ENTRY * 4 + 8, "<Q", 4095),
        "does not begin at a multiple of 4096",
    ),
    "many functions": (put_in(1, 0, "<I", 0xFFFFFFFF), "section 'functions' ends inside of a record"),
    "function's kind": (put_in(1, 4, "<B", 2), "'main' is of the unknown kind 2"),
    "long name": (put_in(1, 5, "<I", 0xFFFFFFFF), "section 'functions' ends inside of a record"),
    "name of no text": (put_in(1, 9, "<B", 0xFF), "has a text that is not UTF-8"),
    "many registers": (
        put_in(1, 13 + 24, "<Q", 1 << 60),
        r"no valid executable: function 'main': has \d+ registers",
    ),
    "fewer functions": (put_in(1, 0, "<I", 1), r"section 'functions' has \d+ bytes too many"),
    "opcode": (
        put_in(2, 0, "<q", 9),
        "no valid executable: function 'main', instruction 0: has no known opcode",
    ),
    "register": (put_in(2, 8, "<q", 7), r"function 'main', instruction 0, register %7: is none of"),
    "offset": (put_in(3, 0, "<q", 3), "the first instruction begins at word 0"),
    "many constants": (put_in(4, 0, "<I", 0xFFFFFFFF), "section 'constants' ends inside of a record"),
    "constant's kind": (put_in(4, 4, "<B", 8), "constant 0 is of the unknown kind 8"),
    "dtype": (put_in(4, 9, "<B", 0x67), "constant 0 has the unknown dtype 'gloat32'"),
    "rank": (put_in(4, RANK, "<I", 65), "constant 0 has rank 65, more than 64"),
    "size": (put_in(4, RANK + 4, "<Q", 1 << 61), r"constant 0 has the shape \(\d+, 3\), which is too large"),
    "large size": (put_in(4, RANK + 4, "<Q", 1 << 40), r"constant 0 has \d+ bytes at 0 in section 'tensors'"),
    "tensor's place": (put_in(4, RANK + 20, "<Q", 1), r"constant 0 has 24 bytes at 1 in section 'tensors'"),
    "tensor outside": (put_in(4, RANK + 20, "<Q", (1 << 64) - 64), r"constant 0 has 24 bytes at \d+ in"),
    "tensor's checksum": (put_in(4, RANK + 28, "<I", 1), r"constant 0 is damaged \(CRC-32\)"),
    "bool": (put_in(4, RANK + 33, "<B", 2), "constant 1 is a bool with the value 2"),
    "entries of a shape": (
        put_in(4, RANK + 35, "<I", 0xFFFFFFFF),
        "section 'constants' ends inside of a record",
    ),
    "length of a tensor": (lambda data: data.extend(bytes(64)), ""),
}


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file with a tensor, a bool and a shape."""
    ib = rx.vm.ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("f", args=[ib.r(0), np.ones((2, 3), "f4"), True, (1, 2)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    path = tmp_path_factory.mktemp("damaged") / "model"
    ib.get().save(path)
    return path.read_bytes()


@pytest.mark.parametrize("name", HOSTILE)
def test_changes_with_right_checksums(name: str, damaged: bytes, tmp_path: Path) -> None:
    change, message = HOSTILE[name]
    data = bytearray(damaged)
    assert data.startswith(MAGIC)
    change(data)
    path = tmp_path / "model"
    path.write_bytes(data)
    with pytest.raises(ParseError):
        Load(path)
    put_checksums_right(data)
    path.write_bytes(data)
    if not message:
        Load(path)  # bytes after the last section belong to no section
        return
    with pytest.raises(ParseError, match=f"Executable.load: {path}: .*{message}"):
        Load(path)


def test_bytes_of_bools(tmp_path: Path) -> None:
    ib = rx.vm.ExecBuilder()
    ib.c(np.array([True, False]))
    path = tmp_path / "model"
    ib.get().save(path)
    data = bytearray(path.read_bytes())
    data[-1] = 2
    at = data.index(zlib.crc32(b"\1\0").to_bytes(4, "little"))
    data[at : at + 4] = zlib.crc32(b"\1\2").to_bytes(4, "little")
    put_checksums_right(data)
    path.write_bytes(data)
    with pytest.raises(ParseError, match="constant 0 is of dtype bool, but has bytes above 1"):
        Load(path)


def test_a_sparse_file_that_claims_much(damaged: bytes, tmp_path: Path) -> None:
    """Sections of a terabyte, which no disk holds, are refused before anything is read."""
    path = tmp_path / "sparse"
    for kind in range(4):
        data = bytearray(damaged)
        struct.pack_into("<QQ", data, HEADER.size + ENTRY * kind + 8, PAGE, 1 << 40)
        for later in range(kind + 1, 5):
            struct.pack_into("<QQ", data, HEADER.size + ENTRY * later + 8, PAGE + (1 << 40), 0)
        put_checksums_right(data)
        fields = list(HEADER.unpack_from(data))
        fields[3] = PAGE + (1 << 40)
        HEADER.pack_into(data, 0, *fields[:-1], zlib.crc32(HEADER.pack(*fields[:-1], 0)[:28]))
        with path.open("wb") as file:
            file.write(data)
            file.truncate(PAGE + (1 << 40))
        with pytest.raises(ParseError, match=r"has 1099511627776 bytes, more than \d+"):
            Load(path)


def test_mutated_files() -> None:
    """In a separate process, with little memory; loaded files are run. `make fuzz` runs more of them."""
    count = 600 if sweep.ALL else 300
    made = cold_process.run([mutated_executables.__file__, "--seed", "0", "--count", str(count)], timeout=600)
    assert made.returncode == 0, made.stderr[-2000:]
    counts = dict(reversed(part.split()) for part in made.stdout.splitlines()[-1].split(", "))
    assert int(counts["loaded"]) > count // 12
    assert int(counts["refused"]) > count // 2
