"""The directory of compilation units: compiled once across processes; and the inputs of its keys."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cold_process
import numpy as np
import pytest
import relax_mlir as rx
import relax_mlir.runtime.process_codegen  # it takes the original compile_part
from relax_mlir.lowering.base.module_parts import Part
from relax_mlir.runtime import cache_key, compile_units, elf
from relax_mlir.runtime.cache_store import LRU, CacheWarning
from relax_mlir.script import parse

pytestmark = pytest.mark.skipif(not elf.SUPPORTED, reason="objects for this machine cannot be loaded")

X = np.linspace(-2, 2, 12, dtype="f4").reshape(3, 4)


def module(number: float = 0.5) -> rx.IRModule:
    """Two functions: a constant one, and one with a distinct number."""
    shape = 'R.Tensor(("n", 4), "float32")'
    return parse(f"""
@I.ir_module
class Module:
    @R.function
    def same(x: {shape}):
        return R.nn.softmax(R.exp(x), -1)

    @R.function
    def main(x: {shape}):
        return R.sigmoid(R.multiply(x, R.const({number}, "float32")))
""")


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Part]]:
    """The units that LLVM compiles; no process has cached any in the directories of this test."""
    parts: list[Part] = []
    compile_part = compile_units.compile_part

    def noted(part: Part, *rest: Any) -> bytes:
        parts.append(part)
        return compile_part(part, *rest)

    monkeypatch.setattr(compile_units, "compile_part", noted)
    monkeypatch.setenv("RELAX_MLIR_CACHE", "1")
    monkeypatch.setenv(compile_units.UNITS_DIRECTORY, str(tmp_path / "parts"))
    restart(tmp_path, monkeypatch)
    yield parts


def restart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a new process, with an empty cache of modules."""
    number = len(list(folder.glob("cache*")))
    cache = folder / f"cache{number}"
    cache.mkdir(0o700)
    monkeypatch.setenv("RELAX_MLIR_CACHE_DIR", str(cache))
    monkeypatch.setattr(compile_units, "_kept", LRU(compile_units.KEPT_PARTS))


def result(executable: rx.Executable) -> np.ndarray:
    return np.concatenate([np.from_dlpack(executable[name](X)) for name in ("same", "main")])


def test_compiled_once(compiled: list[Part], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = result(rx.build(module()))
    count = len(compiled)
    assert count >= 2 and len(list((tmp_path / "parts").iterdir())) == count
    restart(tmp_path, monkeypatch)
    executable = rx.build(module())
    assert not executable.compile_report.from_cache and len(compiled) == count
    np.testing.assert_array_equal(result(executable), first)


def test_what_changes_is_compiled(compiled: list[Part], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rx.build(module())
    count = len(compiled)
    restart(tmp_path, monkeypatch)
    changed = result(rx.build(module(number=3.0)))
    assert count < len(compiled) < 2 * count
    monkeypatch.delenv(compile_units.UNITS_DIRECTORY)
    restart(tmp_path, monkeypatch)
    np.testing.assert_array_equal(result(rx.build(module(number=3.0))), changed)


def test_how_it_is_compiled_counts(compiled: list[Part], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = result(rx.build(module()))
    hot = sum(part.optimised for part in compiled)
    assert hot
    compiled.clear()
    restart(tmp_path, monkeypatch)
    np.testing.assert_allclose(result(rx.build(module(), opt_level=3)), first, rtol=1e-6)
    assert sum(part.optimised for part in compiled) == hot


def test_what_a_part_calls_may_be_missing(
    compiled: list[Part], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cached code of another process may call a function that is missing here: then everything is compiled."""
    text = parse("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        return R.mod(x, y)
""")
    x, y = np.array([5, -5, 7.5], "f4"), np.array([3, 3, -2], "f4")
    rx.build(text)
    load, changed = compile_units.load_unit, []

    def other(key: str) -> bytes | None:
        code = load(key)
        if code is not None and b"\0fmodf\0" in code:
            changed.append(key)
            return code.replace(b"\0fmodf\0", b"\0fmodx\0")
        return code

    monkeypatch.setattr(compile_units, "load_unit", other)
    for _ in range(2):  # recompiled code does not mislead the second process
        restart(tmp_path, monkeypatch)
        compiled.clear()
        changed.clear()
        np.testing.assert_array_equal(np.from_dlpack(rx.build(text)["main"](x, y)), np.mod(x, y))
        assert changed and compiled


@pytest.mark.parametrize("how", ["without the cache", "without a directory", "watched"])
def test_nothing_is_kept(compiled: list[Part], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    if how == "without a directory":
        monkeypatch.delenv(compile_units.UNITS_DIRECTORY)
    dump = tmp_path / "stages" if how == "watched" else None
    rx.build(module(), cache=how != "without the cache", dump_stages=dump)
    assert not (tmp_path / "parts").exists()


def test_a_damaged_entry_is_compiled_again(
    compiled: list[Part], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = result(rx.build(module()))
    count = len(compiled)
    entry = sorted((tmp_path / "parts").iterdir())[0]
    entry.write_bytes(entry.read_bytes()[:-1])
    restart(tmp_path, monkeypatch)
    with pytest.warns(CacheWarning, match=f"{entry.name} is dropped, its checksum is wrong"):
        np.testing.assert_array_equal(result(rx.build(module())), first)
    assert len(compiled) == count + 1 and entry.exists()


def test_keys_change_with_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maker = types.ModuleType("maker")
    maker.__file__ = str(tmp_path / "maker.py")
    monkeypatch.setitem(sys.modules, "maker", maker)
    monkeypatch.setattr(compile_units, "PART_MAKERS", ("maker",))
    monkeypatch.setenv(compile_units.UNITS_DIRECTORY, str(tmp_path / "parts"))
    shared = []
    for source, found in (("a", None), ("", b"code"), ("b", None)):
        with (tmp_path / "maker.py").open("a") as file:
            file.write(source)
        compile_units._makers.cache_clear()
        assert compile_units.load_unit("key") == found, source
        shared.append(compile_units._entry("key"))
        compile_units.store_unit("key", b"code")
    assert shared[0] == shared[1] != shared[2]  # keys of the module cache follow the same rule
    package = types.ModuleType("package")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "package", package)
    monkeypatch.setattr(compile_units, "PART_PACKAGES", ("package",))
    for name, found in (("maker.mlir", None), ("maker.txt", b"code"), ("more.py", None)):
        (tmp_path / name).write_text("")
        compile_units._makers.cache_clear()
        assert compile_units.load_unit("key") == found, name
        compile_units.store_unit("key", b"code")
    assert compile_units.load_unit("another") is None
    monkeypatch.undo()
    compile_units._makers.cache_clear()


TRACED = """
import sys
import relax_mlir as rx
from relax_mlir.runtime import compile_units
from relax_mlir.script import parse

module = parse('''
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "bfloat16"), y: R.Tensor(("n", 4), "float32"), z: R.Tensor((4, "m"), "float32")):
        a = R.exp(R.nn.softmax(x, -1))
        b = R.sin(R.matmul(y, z))
        c = R.cumsum(R.astype(y, "float16"), 0)
        return (a, b, c, R.sort(y, 1))
''')
seen, compile_part = set(), compile_units.compile_part

def note(frame, event, argument):
    name = frame.f_globals.get("__name__", "")
    if name.startswith("relax_mlir."):
        seen.add(name)

def traced(*arguments, **named):
    sys.setprofile(note)
    try:
        return compile_part(*arguments, **named)
    finally:
        sys.setprofile(None)

compile_units.compile_part = traced
rx.build(module)
print(*sorted(seen))
"""


def test_the_key_depends_on_all_modules_that_make_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RELAX_MLIR_CACHE", "0"), ("RELAX_MLIR_COMPILE_THREADS", "1")):
        monkeypatch.setenv(name, value)
    done = cold_process.run(["-c", TRACED])
    assert not done.returncode, done.stderr
    found = set(done.stdout.split())
    assert "relax_mlir.lowering.llvm.to_llvm" in found
    elsewhere = {name for name in found if not name.startswith(cache_key.PART_PACKAGES)}
    plain = {"relax_mlir.fork_safety", "relax_mlir.memory_left"}
    assert elsewhere - plain <= set(cache_key.PART_MAKERS), "properties, locks, checks of memory change no code"
