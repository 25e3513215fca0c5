"""Separate compilation of units: what is recompiled, what is cached, and that units work together."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import kept_parts
import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, CompileError
from relax_mlir.lowering.base import support
from relax_mlir.lowering.base.module_parts import split_module
from relax_mlir.lowering.base.support import early_support
from relax_mlir.lowering.runtime_lib import fast_call_state
from relax_mlir.mlir import ir
from relax_mlir.runtime import cache_store, compile_units, elf, machine_code
from relax_mlir.runtime.compile_units import UNIT_ENTRY, lowered_part
from relax_mlir.runtime.executable import DEFAULT_OPT_LEVEL
from relax_mlir.runtime.kernel_store import KERNEL_ENTRY
from relax_mlir.runtime.machine_code import ObjectCode, object_code
from relax_mlir.target import Target, usable_cpus

pytestmark = pytest.mark.skipif(not elf.SUPPORTED, reason="objects for this machine cannot be loaded")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The persistent cache is enabled and empty, and the process has compiled no shared units yet."""
    monkeypatch.setenv(cache_store.SWITCH, "1")
    monkeypatch.setenv(cache_store.DIRECTORY, str(tmp_path / "cache"))
    kept_parts.forget(monkeypatch)
    yield tmp_path / "cache"


SHARED_ENTRY_POINT = "__tvm_ffi_relax.entry"

ONCE = (support.POOL_STATE, support.TEAM_STATE, fast_call_state.STATE)
"""Code that a process compiles once, for the first module that needs it."""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A function of each unit that LLVM compiles, and its optimisation level."""
    levels: dict[str, int] = {}

    def noted(module: ir.Module, symbol: str, external: Sequence[str], libraries: Sequence[str], level: int) -> bytes:
        if symbol not in ONCE:
            levels[symbol] = level
        return object_code(module, symbol, external, libraries, level)

    monkeypatch.setattr(compile_units, "object_code", noted)
    return levels


def shared(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(("relax.gemm.", "relax.rt.", SHARED_ENTRY_POINT)))


def product(scale: float) -> rx.IRModule:
    builder = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n", "k"), "float32")), rx.Var("y", rx.Tensor(("k", "m"), "float32"))
    with builder.function("main", [x, y]):
        builder.emit_func_output(R.matmul(x, y) * builder.const(np.float32(scale)))
    return builder.get()


def check(executable: rx.Executable, scale: float) -> None:
    generator = np.random.default_rng(0)
    for n, k, m in ((1, 7, 5), (3, 4, 1), (70, 33, 65), (0, 2, 2), (2, 0, 2)):
        x, y = generator.normal(size=(n, k)).astype("f4"), generator.normal(size=(k, m)).astype("f4")
        np.testing.assert_allclose(np.from_dlpack(executable["main"](x, y)), x @ y * scale, rtol=1e-4, atol=1e-5)


def test_shared_parts_are_compiled_once_per_process(compiled: dict[str, int]) -> None:
    check(rx.build(product(2.0), cache=False), 2.0)
    assert len(shared(compiled)) >= 4
    compiled.clear()
    check(rx.build(product(3.0), cache=False), 3.0)
    assert compiled
    assert not shared(compiled)


def test_llvm_does_not_optimise_calls_of_kernels(compiled: dict[str, int]) -> None:
    check(rx.build(product(2.0), cache=False), 2.0)
    assert len(shared(compiled)) >= 4
    assert "relax.fn.main" in compiled
    assert set(compiled.values()) == {0}


def test_llvm_optimises_loops_that_are_not_straight(compiled: dict[str, int]) -> None:
    builder = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n", "k"), "float32")), rx.Var("y", rx.Tensor(("k", "m"), "float32"))
    with builder.function("main", [x, y]):
        product = builder.emit(R.matmul(x, y))
        builder.emit_func_output([builder.emit(R.flip(product, 1)), builder.emit(R.exp(product))])
    # The jobs of threads are enough other code for a separate unit.
    rx.build(builder.get(), Target("cpu", num_threads=2), cache=False)
    assert {compiled.pop(name) for name in shared(compiled)} == {0}
    # LLVM vectorises the threads' part of `flip`; the rest has the unvectorised loops of `exp`.
    assert compiled == {"relax.parallel.0": DEFAULT_OPT_LEVEL, "relax.fn.main": 0}


def test_short_calls_and_straight_loops_are_one_part(compiled: dict[str, int]) -> None:
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(R.exp(x))
    rx.build(builder.get(), cache=False)
    assert set(compiled) == {*shared(compiled), SHARED_ENTRY_POINT, "relax.fn.main"}
    assert set(compiled.values()) == {0}  # LLVM's own optimisations bring no speed-up


def test_shared_parts_are_compiled_once_per_cache(
    folder: Path, compiled: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rx.build(product(2.0))
    assert len(list(folder.glob(f"{UNIT_ENTRY}*"))) == len(shared(compiled)) >= 4
    kept_parts.forget(monkeypatch)  # simulates a new process
    compiled.clear()
    executable = rx.build(product(3.0))
    assert executable.compile_report is not None
    assert not executable.compile_report.from_cache
    assert not shared(compiled)
    check(executable, 3.0)


def test_what_a_build_without_the_cache_has_made_is_kept_by_the_next(folder: Path, compiled: dict[str, int]) -> None:
    rx.build(product(2.0), cache=False)
    made = len(shared(compiled))
    compiled.clear()
    check(rx.build(product(3.0)), 3.0)
    assert not shared(compiled)
    assert len(list(folder.glob(f"{UNIT_ENTRY}*"))) == made


def test_without_the_cache_nothing_is_kept_on_disk(folder: Path) -> None:
    check(rx.build(product(2.0), cache=False), 2.0)
    assert not list(folder.glob(f"{UNIT_ENTRY}*"))


def test_a_kernel_that_cannot_be_loaded_is_compiled_again(
    folder: Path, compiled: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rx.build(product(2.0))
    wanted = shared(compiled)
    for path in folder.glob(f"{UNIT_ENTRY}*"):
        cache_store.store(path.stem, b"\x7fELF, but no more than that")
    for path in folder.glob(f"{KERNEL_ENTRY}*"):
        path.unlink()
    kept_parts.forget(monkeypatch)
    compiled.clear()
    with pytest.warns(cache_store.CacheWarning, match="cannot be loaded"):
        check(rx.build(product(3.0)), 3.0)
    assert shared(compiled) == wanted


@pytest.mark.slow
def test_llvm_links_what_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if kernels have been outlined before; nothing is reported, as it makes no difference."""

    def refused(objects: Sequence[bytes]) -> ObjectCode:
        raise elf.ObjectFileError("relocation type 99 is not supported")

    monkeypatch.setattr(compile_units, "ObjectCode", refused)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(rx.build(product(2.0)), 2.0)


def test_another_target_has_other_kernels(compiled: dict[str, int]) -> None:
    rx.build(product(2.0), Target("cpu", num_threads=1))
    compiled.clear()
    check(rx.build(product(2.0), Target("cpu", num_threads=1, l2_bytes=64 << 10)), 2.0)
    assert shared(compiled)


@pytest.mark.parametrize("part_ops", sweep.quick([1, 60, 400], 60))
def test_many_parts_are_one_module(part_ops: int, compiled: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors, constants, tables of the runtime and calls work across units."""
    monkeypatch.setattr(compile_units, "split_module", functools.partial(split_module, part_ops=part_ops))
    weight = np.random.default_rng(1).normal(size=(8, 8)).astype("float32")
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    y = rx.Var("y", rx.Tensor(("m", 8), "float32"))
    with builder.function("main", [x, y]):
        hidden = R.nn.softmax(R.matmul(x, builder.const(weight)), axis=-1)
        total = R.sum(R.exp(hidden), axis=0)
        builder.emit_func_output(R.concat([hidden + total, y], axis=0))
    executable = rx.build(builder.get(), Target("cpu", num_threads=2), cache=False)
    assert len(compiled) >= (2 if part_ops == 400 else 6)
    for n, m in ((1, 1), (5, 0), (0, 3), (200, 7)):
        a, b = np.random.default_rng(n).normal(size=(n, 8)), np.random.default_rng(m).normal(size=(m, 8))
        z = np.exp(a @ weight - np.max(a @ weight, axis=1, keepdims=True, initial=-np.inf))
        z /= z.sum(axis=1, keepdims=True)
        expected = np.concatenate([z + np.exp(z).sum(0), b])
        result = np.from_dlpack(executable["main"](a.astype("f4"), b.astype("f4")))
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="main"):
        executable["main"](np.zeros((2, 9), "f4"), np.zeros((2, 8), "f4"))


def test_no_function_has_the_packed_interface() -> None:
    """The execution engine would create one for each function that others call."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse("""
func.func private @leaf(%a: f32) -> f32 attributes {llvm.linkage = #llvm.linkage<internal>} {
  %b = arith.addf %a, %a : f32
  %c = func.call @leaf.body(%b) : (f32) -> f32
  return %c : f32
}
func.func private @leaf.body(%a: f32) -> f32 attributes {llvm.linkage = #llvm.linkage<internal>} {
  return %a : f32
}
func.func @main(%a: f32) -> f32 {
  %b = func.call @leaf(%a) : (f32) -> f32
  return %b : f32
}""")
        parts = split_module(module, part_ops=1)
    assert [part.exported for part in parts] == [("leaf",), ("leaf.body",), ("main",)]
    objects = [object_code(lowered_part(part, False), part.exported[0], part.external, (), 2) for part in parts]
    assert not any(b"_mlir_" in each for each in objects)
    code = ObjectCode(objects)
    assert ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(code.address("main"))(1.5) == 3.0


def test_what_is_not_lowered_is_an_error() -> None:
    """LLVM would crash, or report that it cannot translate it."""
    text = """
func.func @f(%i: index) -> index {
  %j = affine.apply affine_map<(d0) -> (d0 mod 3)>(%i)
  return %j : index
}"""
    with ir.Context(), ir.Location.unknown():
        (part,) = split_module(ir.Module.parse(text))
    with pytest.raises(CompileError, match=r"affine\.apply, .* is left over"):
        lowered_part(part, False)


@pytest.mark.slow
def test_several_threads_compile_at_once() -> None:
    scales = [2.0, 3.0, 4.0, 5.0]
    with ThreadPoolExecutor(4) as executor:
        executables = list(executor.map(lambda scale: rx.build(product(scale), cache=False), scales))
    for executable, scale in zip(executables, scales, strict=True):
        check(executable, scale)


def test_objects_begin_loops_on_cache_lines() -> None:
    """LLVM is configured for this (`LLVM_OPTIONS`): code with loops is aligned to 64 bytes."""
    text = """
llvm.func @sum(%p: !llvm.ptr, %n: i64) -> f32 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %start = llvm.mlir.constant(0.0 : f32) : f32
  llvm.br ^loop(%zero, %start : i64, f32)
^loop(%i: i64, %s: f32):
  %at = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %at : !llvm.ptr -> f32
  %t = llvm.fadd %s, %x : f32
  %j = llvm.add %i, %one : i64
  %more = llvm.icmp "slt" %j, %n : i64
  llvm.cond_br %more, ^loop(%j, %t : i64, f32), ^end
^end:
  llvm.return %t : f32
}"""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (data,) = compile_units.compile_module(module, 2, low_precision=False)[1]
    sections = elf._parse(data).sections
    assert max(sections["align"][(sections["flags"] & 4) != 0]) == 64
    assert ObjectCode([data]).address("sum")


def test_what_llvm_cannot_translate_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse('llvm.func @f() { llvm.call_intrinsic "llvm.no.such"() : () -> ()\n llvm.return }')
        with pytest.raises(CompileError, match="LLVM cannot compile the module"):
            compile_units.compile_module(module, 2, low_precision=False)


def test_nothing_of_llvm_is_left() -> None:
    """A fork waits for the thread that destroys LLVM's objects."""
    for scale in (2.0, 3.0):
        executable = rx.build(product(scale), cache=False)
        child = os.fork()
        if child == 0:
            os._exit(len(machine_code._used_engines))
        compiling = [thread for thread in threading.enumerate() if thread.name.startswith("relax-mlir-compile")]
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not compiling
        assert not machine_code._used_engines
        check(executable, scale)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", ""])
def test_threads_that_are_no_number(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(compile_units.THREADS, text)
    with pytest.raises(ArgumentError, match=f"RELAX_MLIR_COMPILE_THREADS is '{text}', expected a whole number"):
        compile_units.PartCompiler((), 2, False, False)


def test_there_is_a_thread_for_each_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compile_units.THREADS, raising=False)
    assert compile_units.compile_threads() == usable_cpus()


def fail() -> None:
    raise MemoryError("whoever needs it finds out")


def other_threads(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setenv(compile_units.THREADS, str(number + 1))


def waiting_chore() -> tuple[threading.Event, threading.Event, Callable[[], None]]:
    """An event for its start, an event that lets it end, and the chore."""
    busy, go = threading.Event(), threading.Event()

    def wait() -> None:
        busy.set()
        assert go.wait(60)

    return busy, go, wait


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_chores_are_done_once_and_may_fail(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    other_threads(monkeypatch, threads)
    done: list[int] = []
    with compile_units.PartCompiler((), 2, False, False) as compiler:
        compiler.meanwhile([fail, *(lambda number=number: done.append(number) for number in range(20)), fail])
        compiler.add([early_support()])
        (code,) = compiler.objects()
    assert code.startswith(b"\x7fELF")
    assert sorted(done) == list(range(20))


def test_parts_come_before_chores_on_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """During lowering, available units are more urgent; at the end, chores and units have equal priority."""
    other_threads(monkeypatch, 1)
    busy, go, wait = waiting_chore()
    order: list[str] = []

    def compile_part(*_: object) -> bytes:
        order.append("part")
        return b"code"

    monkeypatch.setattr(compile_units, "compile_part", compile_part)
    with compile_units.PartCompiler((), 2, False, False) as compiler:
        compiler.meanwhile([wait, lambda: order.append("chore")])
        assert busy.wait(60)
        compiler.add([early_support()])
        go.set()
        compiler._others[1].result()
        assert order[0] == "part"
        assert compiler.objects() == [b"code"]
    assert order == ["part", "chore"]


def test_an_error_leaves_no_chores(monkeypatch: pytest.MonkeyPatch) -> None:
    other_threads(monkeypatch, 1)
    busy, go, wait = waiting_chore()
    done: list[int] = []

    with pytest.raises(ZeroDivisionError), compile_units.PartCompiler((), 2, False, False) as compiler:
        compiler.meanwhile([wait, lambda: done.append(1)])
        assert busy.wait(60)
        threading.Timer(0.2, go.set).start()
        raise ZeroDivisionError
    assert not done
