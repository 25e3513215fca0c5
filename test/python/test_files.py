"""Paths that are not regular files, and files with wrong sizes, are errors of every reader; none waits."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import warm_process
from relax_mlir import tuning
from relax_mlir.error import ParseError, RelaxError
from relax_mlir.export import inspect_library, metadata
from relax_mlir.export.metadata import FORMAT, SECTION
from relax_mlir.files import load_arrays, mapped, open_regular, read_bytes, read_text, why_unreadable
from relax_mlir.runtime import cache_store, compile_units
from relax_mlir.tools.run_driver import read_archive

REASONS = {
    "folder": "it is a folder",
    "pipe": "it is a pipe",
    "device": "it is a device",
    "dangling": "there is no such file",
    "loop": "symbolic links",
    "\0": "NUL character",
}


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder of paths that are not files."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to(os.devnull)
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize("name", REASONS)
def test_what_is_no_regular_file(name: str, odd: Path) -> None:
    path = f"{odd}/{name}"
    assert REASONS[name] in why_unreadable(path)
    for read in (open_regular, read_bytes, read_text, mapped, load_arrays):
        with pytest.raises(OSError):
            read(path)
    readers: list[Callable[[str], object]] = [
        rx.load,
        rx.IRModule.read,
        rx.IRModule.load,
        rx.vm.Executable.load,
        inspect_library,
        tuning.Database,
        read_archive,
    ]
    for reader in readers:
        if reader is tuning.Database and name in ("dangling", "loop", "\0"):
            continue  # an output file for records
        with pytest.raises(RelaxError):
            reader(path)
    for ending in (".onnx", ".pt2", ".py", ".so"):
        if name != "\0":
            os.rename(path, f"{path}{ending}") if name != "loop" else os.symlink(f"loop{ending}", path + ending)
            path_of_kind = f"{path}{ending}"
            with pytest.raises(RelaxError):
                (rx.vm.Executable.load if ending == ".so" else rx.load)(path_of_kind)
            if name != "loop":
                os.rename(path_of_kind, path)


def test_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("ä")
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link") == "ä" == mapped(tmp_path / "file")[:].decode()
    assert not why_unreadable(tmp_path / "link")
    with pytest.raises(OSError), open_regular(tmp_path / "link", follow_links=False):
        pass


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "dangling", "loop"])
def test_entries_of_caches(kind: str, odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They count as missing; new entries replace them, except for folders."""
    monkeypatch.setattr(cache_store, "_warned", set())
    monkeypatch.setenv(compile_units.UNITS_DIRECTORY, str(odd))
    name = compile_units._entry("key")
    for key, load, store in (
        ("key", lambda: cache_store.load("key", odd), lambda: cache_store.store("key", b"code", odd)),
        (name, lambda: compile_units.load_unit("key"), lambda: compile_units.store_unit("key", b"code")),
    ):
        os.rename(odd / kind, odd / f"{key}{cache_store._SUFFIX}")
        with pytest.warns(cache_store.CacheWarning, match="cannot be read"):
            assert load() is None
        if kind == "folder":
            os.rename(odd / f"{key}{cache_store._SUFFIX}", odd / kind)
            continue
        store()
        assert load() == b"code"
        if key == "key":
            (odd / kind).symlink_to("other") if kind != "pipe" else os.mkfifo(odd / kind)


@pytest.mark.parametrize("kind", ["pipe", "device", "dangling", "loop"])
def test_directories_of_caches(kind: str, odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_store, "_warned", set())
    assert cache_store.load("key", odd / kind) is None
    with pytest.warns(cache_store.CacheWarning, match="cannot be kept"):
        assert not cache_store.store("key", b"code", odd / kind)


def npz(**changes: bytes) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, x=np.ones(3))
    data = stream.getvalue()
    for old, new in changes.items():
        data = data.replace(old.encode().strip(b"_"), new)
    return data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04 cut off",
        npz()[:-30],
        npz().replace(b"(3,)", b"(9999999999999999,)"[:4].ljust(4)),
        npz().replace(b"'shape'", b"'sha\xff\xff'"),
        npz().replace(b"<f8", b"|O8"),
        b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1<<60,), }".ljust(117) + b"\n",
        b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (-8,), }".ljust(117) + b"\n",
    ],
)
def test_damaged_arrays(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(ParseError, match=r"x\.npz"):
        read_archive(str(tmp_path / "x.npz"))


def archive_of(*sizes: bytes) -> bytes:
    """An archive of ``ar`` whose first members, its tables, have these sizes."""
    heads = [b"/".ljust(48) + size.ljust(10) + b"`\n" for size in sizes]
    return b"!<arch>\n" + b"".join(heads) + b"model.o/".ljust(60)


@pytest.mark.parametrize(
    "data",
    [
        archive_of(b"-60"),
        archive_of(b"0", b"-120"),
        archive_of(b"6_0"),
        archive_of(b"+1"),
        archive_of(b""),
        archive_of(b"9999999999"),
        archive_of(),
        b"!<arch>\n",
        b"\x7fELF\x02\x01" + b"\xff" * 90,
        b"",
    ],
)
def test_damaged_libraries(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.a").write_bytes(data)
    with pytest.raises(ParseError, match=r"model\.a: not a library"):
        inspect_library(tmp_path / "model.a")


def test_metadata_of_other_kinds(tmp_path: Path) -> None:
    """The metadata of a library is checked before it is shown."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(rx.op.add(x, x))
    path = rx.build(bb.get()).export_library(tmp_path / "model.so")
    good = path.read_bytes()
    assert SECTION.encode() in good
    for old, new in (
        (b'"functions": {', b'"functions": 7, "": {'),
        (b'"params": [', b'"params": 77, "": ['),
        (b'"kind": "tensor"', b'"kind": 12345678 '),
        (b'"targets": [', b'"tArgets": ['),
        (b'"bytes":', b'"bYtes":'),
        (b'"format": 1', b'"format": ['),
    ):
        assert old in good
        path.write_bytes(good.replace(old, new.ljust(len(old))[: len(old)] if len(new) <= len(old) else new, 1))
        with pytest.raises(ParseError, match=r"model\.so"):
            inspect_library(path)


def test_metadata_nested_deeply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON takes deeper values than the check of their kinds."""
    value: dict[str, object] = {"kind": "tuple"}
    for _ in range(450):
        value = {"kind": "tuple", "fields": [value]}
    texts = dict.fromkeys(("relax_mlir", "tvm_ffi", "source"), "")
    lists: dict[str, object] = {"targets": [], "profile": [], "packed": {}, "weights": {"bytes": 0}}
    facts = {"format": FORMAT, "functions": {"f": {"params": [value]}}, **texts, **lists}
    path = tmp_path / "model.so"
    path.write_text(json.dumps(facts))
    monkeypatch.setattr(metadata, "section", lambda data, *_: (0, len(data)))
    with pytest.raises(ParseError, match=r"model\.so: not a library"):
        inspect_library(path)


def test_tools_read_regular_files(odd: Path) -> None:
    for tool, *options in (
        ("opt",),
        ("run_command",),
        ("compile_command", "--inspect"),
        ("tune_command", "--list"),
    ):
        done = warm_process.run(["-m", f"relax_mlir.tools.{tool}", *options, str(odd / "pipe")])
        assert done.returncode == 1
        assert b"it is a pipe, not a regular file" in done.stderr
        assert b"internal error" not in done.stderr


def test_zip_entries_of_wrong_sizes(tmp_path: Path) -> None:
    """Every number in the directory of an archive, replaced by the maximum: an error, or without effect."""
    path = tmp_path / "model.rx"
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor((3,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(rx.op.add(x, bb.const(np.ones(3, "float32"))))
    bb.get().save(path)
    good, text = path.read_bytes(), str(rx.load(path))
    with zipfile.ZipFile(path) as archive:
        start = archive.start_dir
    for at in (16, 20, 24, 28, 30, 32, 42):
        width = 2 if 28 <= at < 36 else 4
        path.write_bytes(good[: start + at] + b"\xff" * width + good[start + at + width :])
        if at in (16, 28, 42):
            with pytest.raises(ParseError, match=r"model\.rx"):
                rx.load(path)
            continue
        try:
            assert str(rx.load(path)) == text
        except ParseError as error:
            assert "model.rx" in str(error)
