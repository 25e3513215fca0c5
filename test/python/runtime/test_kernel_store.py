"""Kernels of the library in the persistent cache: a process that finds them neither emits nor lowers them."""

from __future__ import annotations

import json
from pathlib import Path

import kept_parts
import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.lowering.kernels import library
from relax_mlir.mlir import ir
from relax_mlir.runtime import cache_store, compile_units, elf, kernel_store
from relax_mlir.runtime.cache_store import CacheWarning
from relax_mlir.target import Target

pytestmark = pytest.mark.skipif(not elf.SUPPORTED, reason="objects for this machine cannot be loaded")

X, Y = (np.random.default_rng(number).standard_normal((40, 40), dtype="f4") for number in range(2))
GEMM = "relax.gemm.f32"


@pytest.fixture
def emitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that are emitted, with an empty cache."""
    names: list[str] = []
    emit = library._emitted

    def noted(target: Target, exported: tuple[str, ...], body: object) -> library.Kernel:
        names.append(exported[0])
        return emit(target, exported, body)

    monkeypatch.setattr(library, "_emitted", noted)
    monkeypatch.setenv("RELAX_MLIR_CACHE", "1")
    monkeypatch.setenv("RELAX_MLIR_CACHE_DIR", str(tmp_path / "cache"))
    kept_parts.forget(monkeypatch)
    return names


def product(scale: float) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor(("n", "n"), "float32")) for name in "xy")
    with bb.function("main", [x, y]):
        bb.emit_func_output(R.matmul(x, y) * bb.const(np.float32(scale)))
    return bb.get()


def run(scale: float, cache: bool = True) -> np.ndarray:
    executable = rx.build(product(scale), cache=cache)
    assert not executable.compile_report.from_cache
    return np.from_dlpack(executable["main"](X, Y))


def test_another_process_emits_nothing(emitted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(2.0)
    assert GEMM in emitted
    kernels = {kernel.name: kernel for kernel in library._kernels.values()}
    emitted.clear()
    kept_parts.forget(monkeypatch)
    second = run(4.0)
    assert not emitted
    np.testing.assert_array_equal(2 * first, second)
    found = {kernel.name: kernel for kernel in library._kernels.values()}
    assert set(found) == set(kernels)
    for name, kernel in found.items():
        assert kernel.objects and not kernel.source
        for field in ("target", "exported", "failing", "parallel", "needs"):
            assert getattr(kernel, field) == getattr(kernels[name], field)
    assert run(8.0).shape == first.shape and not emitted


@pytest.mark.parametrize("cache", [False, True])
def test_without_the_cache(emitted: list[str], monkeypatch: pytest.MonkeyPatch, cache: bool) -> None:
    run(2.0, cache=not cache)
    emitted.clear()
    kept_parts.forget(monkeypatch)
    run(4.0, cache=cache)
    assert GEMM in emitted


def test_a_kernel_without_those_that_it_needs_is_emitted(emitted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(2.0)
    kernel_of_name = {kernel.name: kernel for kernel in library._kernels.values()}
    target = kernel_of_name[GEMM].target
    lost = f"{GEMM}.dots"
    Path(rx.runtime.cache_store.directory(), f"{kernel_store._entry(target, lost)}.entry").unlink()
    emitted.clear()
    kept_parts.forget(monkeypatch)
    np.testing.assert_array_equal(2 * first, run(4.0))
    assert emitted == [GEMM, lost] or emitted == [lost, GEMM]


def test_a_damaged_entry_is_emitted_again(emitted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(2.0)
    kernel_of_name = {kernel.name: kernel for kernel in library._kernels.values()}
    entry = tmp_path / "cache" / f"{kernel_store._entry(kernel_of_name[GEMM].target, GEMM)}.entry"
    entry.write_bytes(entry.read_bytes()[:-1])
    emitted.clear()
    kept_parts.forget(monkeypatch)
    with pytest.warns(CacheWarning, match="its checksum is wrong"):
        np.testing.assert_array_equal(2 * first, run(4.0))
    assert emitted == [GEMM]
    assert entry.exists()


def test_code_that_cannot_be_loaded_is_made_again(emitted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(2.0)
    target = next(kernel.target for kernel in library._kernels.values() if kernel.name == GEMM)
    head = json.loads(cache_store.load(kernel_store._entry(target, GEMM)) or b"")
    compile_units.store_unit(head["units"][0], b"\x7fELF, but no more than that")
    emitted.clear()
    kept_parts.forget(monkeypatch)
    with pytest.warns(CacheWarning, match="cannot be loaded"):
        np.testing.assert_array_equal(2 * first, run(4.0))
    assert emitted == [GEMM]


def test_each_target_has_its_own(emitted: list[str]) -> None:
    with ir.Context():
        names = {
            kernel_store._entry(Target(text), GEMM)
            for text in ("cpu", "cpu -num-threads=3", "cpu -l2=65536", "cpu -mcpu=haswell")
        }
    assert len(names) == 4
