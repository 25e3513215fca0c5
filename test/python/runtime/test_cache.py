"""The persistent cache of compiled modules: hits, misses, damage, concurrent writers, limits, and disabling it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cold_process
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir import tuning
from relax_mlir.error import ArgumentError
from relax_mlir.instrument import PassStatistics
from relax_mlir.runtime import cache_key, cache_store, fast_call, memory, threads
from relax_mlir.runtime.compile_units import UNIT_ENTRY
from relax_mlir.runtime.elf import SUPPORTED
from relax_mlir.runtime.kernel_store import KERNEL_ENTRY
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="objects for this machine cannot be loaded")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The cache is enabled, in a separate directory."""
    memory.memory_stats()
    threads._address()
    fast_call.fast_calls()  # everything compiled once per process exists: other entries are those of modules
    monkeypatch.setenv(cache_store.SWITCH, "1")
    monkeypatch.setenv(cache_store.DIRECTORY, str(tmp_path / "cache"))
    monkeypatch.setattr(cache_store, "_warned", set())
    yield tmp_path / "cache"


def affine(scale: float = 2.0, weight: np.ndarray[Any, Any] | None = None, product: bool = False) -> rx.IRModule:
    """x * weight * scale for x of n rows; `product`: x @ weight * scale."""
    weight = np.arange(30 * 40, dtype="float32").reshape(30, 40) / 100 if weight is None else weight
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", weight.shape[0]), "float32"))
    if not product:
        x = rx.Var("x", rx.Tensor(("n", *weight.shape), "float32"))
    with builder.function("main", [x]):
        left = builder.const(weight)
        scaled = (R.matmul(x, left) if product else x * left) * builder.const(np.float32(scale))
        builder.emit_func_output(scaled)
    return builder.get()


def hit(mod: rx.IRModule, **options: Any) -> bool:
    report = rx.build(mod, **options).compile_report
    assert report is not None
    assert (set(report.phases) == {"cache"}) == report.from_cache
    return report.from_cache


def entries(folder: Path) -> list[Path]:
    """The entries of modules."""
    parts = (UNIT_ENTRY, KERNEL_ENTRY)
    return sorted(path for path in folder.glob("*.entry") if not path.name.startswith(parts))


def test_a_second_build_gives_the_same_function(folder: Path) -> None:
    x = np.random.default_rng(0).normal(size=(7, 30)).astype("float32")
    first, second = rx.build(affine(product=True)), rx.build(affine(product=True))
    assert second.compile_report is not None and second.compile_report.from_cache
    assert dict(second.functions) == dict(first.functions) == {"main": 1}
    results = [np.from_dlpack(executable["main"](x)) for executable in (first, second)]
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[1], x @ (np.arange(1200).reshape(30, 40) / 100) * 2, rtol=1e-5)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in entries(folder)] == [0o600]
    with pytest.raises(Exception, match="30"):
        second["main"](np.zeros((2, 31), "float32"))


def test_weights_are_not_stored(folder: Path) -> None:
    rx.build(affine(weight=np.zeros((500, 400), "float32")))
    assert cache_store.info().bytes < 200_000


def test_results_outlive_the_executable() -> None:
    rx.build(affine())
    result = rx.build(affine())["main"](np.ones((3, 30, 40), "float32"))
    assert np.from_dlpack(result).shape == (3, 30, 40)


@pytest.mark.parametrize(
    "change",
    [
        lambda: (affine(scale=3.0), {}),
        lambda: (affine(weight=np.full((30, 40), 0.5, "float32")), {}),
        lambda: (affine(), {"target": Target("cpu", vector_bytes=16)}),
        lambda: (affine(), {"target": Target("cpu", l1_bytes=16 * 1024)}),
    ],
    ids=["scalar", "weight", "vectors", "l1"],
)
def test_another_module_or_target_is_compiled(
    change: Callable[[], tuple[rx.IRModule, dict[str, Any]]],
) -> None:
    rx.build(affine())
    mod, options = change()
    assert not hit(mod, **options)
    assert hit(*change()[:1], **options)
    assert hit(affine())


def test_a_weight_changed_in_place_is_seen() -> None:
    weight = np.ones((30, 40), "float32")
    mod = affine(weight=weight)
    rx.build(mod)
    weight[3, 4] = 7
    assert not hit(affine(weight=weight))


@pytest.mark.parametrize(
    "context",
    [
        {"opt_level": 0},
        {"disabled_pass": ["fuse-ops"]},
        {"required_pass": ["fuse-ops"]},
        {"config": {"tir.bounds_check": "all"}},
    ],
    ids=lambda context: next(iter(context)),
)
def test_the_pass_context_counts(context: dict[str, Any]) -> None:
    rx.build(affine())
    with PassContext(**context):
        assert not hit(affine())
        assert hit(affine())


def test_tuned_values_count() -> None:
    """Tuning results change the code of a module: each database has separate entries."""
    builder = rx.BlockBuilder()
    x, k = rx.Var("x", rx.Tensor(("n", 4, "h", "w"))), rx.Var("k", rx.Tensor((4, 2, 3, 3)))
    with builder.function("main", [x, k]):
        builder.emit_func_output(R.nn.conv2d(x, k, padding=(1, 1), groups=2))
    module = builder.get()
    (task,) = tuning.extract_tasks(module)
    values = {name: candidates[-1] for name, candidates in task.space().items()}
    times = (tuning.SizeTime(2.0, 2.0, 2.0, 1e-6),)
    record = tuning.Record.of(task, [{"n": 1, "h": 9, "w": 9}], tuning.Measurement(values, times))
    tuned = tuning.Database()
    tuned.add(record)
    assert not hit(module) and hit(module)
    with tuning.apply_history_best(tuned):
        assert not hit(module) and hit(module)
    assert hit(module)


def test_versions_count(monkeypatch: pytest.MonkeyPatch) -> None:
    rx.build(affine())
    environment = cache_key.environment()
    for i in range(len(environment)):
        changed = (*environment[:i], environment[i] + " other", *environment[i + 1 :])
        monkeypatch.setattr(cache_key, "environment", lambda changed=changed: changed)
        assert not hit(affine())


def test_who_watches_passes_sees_them(tmp_path: Path) -> None:
    rx.build(affine())
    assert not hit(affine(), instruments=[PassStatistics()])
    assert not hit(affine(), dump_stages=tmp_path / "stages")
    with PassContext(instruments=[PassStatistics()]):
        assert not hit(affine())


def test_off_switches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not hit(affine(), cache=False)
    monkeypatch.setenv(cache_store.SWITCH, "0")
    assert not hit(affine())
    assert not folder.exists()
    assert not cache_store.info().enabled
    monkeypatch.setenv(cache_store.SWITCH, "maybe")
    with pytest.raises(ArgumentError, match=r"RELAX_MLIR_CACHE.*expected 0 or 1"):
        rx.build(affine())


def _flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: _flip(data, 3),
        lambda data: _flip(data, 25),
        lambda data: _flip(data, 60),
        lambda data: _flip(data, len(data) // 2),
    ],
    ids=["empty", "half", "short", "long", "magic", "checksum", "key", "code"],
)
def test_a_damaged_entry_is_replaced(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    rx.build(affine())
    (path,) = entries(folder)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(cache_store.CacheWarning, match=r"entry .* is dropped"):
        assert not hit(affine())
    assert hit(affine())


@pytest.mark.parametrize("payload", [b"", b"\0" * 64, b"\x02\0\0\0\0\0\0\0{}", b"\xff" * 40])
def test_an_entry_of_another_format_is_replaced(folder: Path, payload: bytes) -> None:
    rx.build(affine())
    cache_store.store(entries(folder)[0].stem, payload)
    with pytest.warns(cache_store.CacheWarning, match="cannot be loaded"):
        assert not hit(affine())
    assert hit(affine())


def test_an_entry_under_another_key_is_not_taken(folder: Path) -> None:
    rx.build(affine())
    (first,) = entries(folder)
    rx.build(affine(scale=5.0))
    (second,) = (path for path in entries(folder) if path != first)
    second.write_bytes(first.read_bytes())
    with pytest.warns(cache_store.CacheWarning, match="checksum"):
        assert not hit(affine(scale=5.0))


def test_the_entry_used_longest_ago_goes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [f"{i:064}" for i in range(4)]
    for i, key in enumerate(keys[:3]):
        cache_store.store(key, b"x" * 1000)
        os.utime(folder / f"{key}.entry", (i, i))
    assert cache_store.load(keys[0]) == b"x" * 1000
    monkeypatch.setenv(cache_store.SIZE, "3500")
    cache_store.store(keys[3], b"x" * 1000)
    assert [path.stem for path in entries(folder)] == [keys[0], keys[2], keys[3]]
    assert not cache_store.store("big", b"x" * 4000)
    monkeypatch.setenv(cache_store.SIZE, "many")
    with pytest.raises(ArgumentError, match="RELAX_MLIR_CACHE_SIZE"):
        cache_store.info()


@pytest.mark.slow
def test_the_limit_holds_while_processes_store_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache_store.SIZE, "20000")
    store = (
        "import sys; from relax_mlir.runtime import cache_store\n"
        "for i in range(40): cache_store.store(f'{sys.argv[1]}{i}', b'x' * 1000)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", store, name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    info = cache_store.info()
    assert info.entries >= 10
    assert info.bytes <= info.limit


def test_the_entries_are_looked_at_now_and_then(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scans: list[Path] = []
    look = cache_store._entries
    monkeypatch.setattr(cache_store, "_entries", lambda path: scans.append(path) or look(path))
    monkeypatch.setenv(cache_store.SIZE, "1000000")
    for number in range(100):
        cache_store.store(f"{number}", b"x" * 1000)
    assert 1 <= len(scans) < 5


def test_clear_and_what_dead_writers_left(folder: Path) -> None:
    cache_store.store("a", b"1")
    (folder / "dead.tmp").write_bytes(b"x")
    (folder / "note.txt").write_text("mine")
    assert cache_store.info().entries == 1
    assert cache_store.clear() == 1
    assert [path.name for path in folder.iterdir()] == ["note.txt"]
    assert cache_store.clear() == 0


def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv(cache_store.DIRECTORY, str(blocked / "cache"))
    with pytest.warns(cache_store.CacheWarning, match="RELAX_MLIR_CACHE_DIR names another") as caught:
        assert not hit(affine())
        assert not hit(affine())
    assert len(caught) == 1


def test_a_directory_to_be_read_only_still_serves(folder: Path) -> None:
    rx.build(affine())
    folder.chmod(0o500)
    try:
        assert hit(affine())
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("mode", [0o770, 0o777])
def test_a_directory_that_others_can_write_is_not_trusted(folder: Path, mode: int) -> None:
    rx.build(affine())
    folder.chmod(mode)
    with pytest.warns(cache_store.CacheWarning, match="can be written by others"):
        assert not hit(affine())


def test_a_file_that_others_can_write_is_not_trusted(folder: Path) -> None:
    rx.build(affine())
    entries(folder)[0].chmod(0o666)
    with pytest.warns(cache_store.CacheWarning, match="can be written by others"):
        assert not hit(affine())


def test_the_default_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cache_store.DIRECTORY)
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/where")
    assert cache_store.directory() == Path("/some/where/relax-mlir")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_store.directory() == Path.home() / ".cache" / "relax-mlir"


def test_writers_at_once(folder: Path) -> None:
    payloads = [bytes([i]) * 100_000 for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: cache_store.store("k", payloads[i % 8]), range(64)))
        found = set(pool.map(lambda i: cache_store.load("k"), range(16)))
    assert found <= set(payloads)
    assert not list(folder.glob("*.tmp"))


PROGRAM = """
import numpy as np, relax_mlir as rx
from relax_mlir import op as R
from relax_mlir import tuning
bb = rx.BlockBuilder()
x = rx.Var("x", rx.Tensor(("n", 3), "float32"))
with bb.function("main", [x]):
    bb.emit_func_output(R.exp(x) + bb.const(np.arange(300, dtype="float32").reshape(100, 3)[:1]))
ex = rx.build(bb.get())
assert np.from_dlpack(ex["main"](np.zeros((2, 3), "float32"))).tolist() == [[1, 2, 3]] * 2
print(ex.compile_report.from_cache)
"""


@pytest.mark.slow
def test_processes_at_once_and_one_after() -> None:
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: cold_process.run(["-c", PROGRAM]), range(2)))
    assert [done.returncode for done in both] == [0, 0], both
    after = cold_process.run(["-c", PROGRAM])
    assert after.stdout.split() == ["True"], after


def test_packed_functions_and_shapes_from_the_cache() -> None:
    seen: list[int] = []

    @tvm_ffi.register_global_func("test_cache.note", override=True)
    def note(x: Any) -> Any:
        seen.append(1)
        return x

    def module() -> rx.IRModule:
        builder = rx.BlockBuilder()
        x = rx.Var("x", rx.Tensor(("n",), "float32"))
        with builder.function("main", [x]):
            builder.emit_func_output(
                builder.emit(R.call_pure_packed("test_cache.note", x, out=rx.Tensor(("n",), "float32")))
            )
        return builder.get()

    mods = [module(), module()]
    assert [hit(mod) for mod in mods[:1]] == [False]
    executable = rx.build(mods[1])
    assert np.from_dlpack(executable["main"](np.ones(4, "float32"))).tolist() == [1] * 4
    assert seen
