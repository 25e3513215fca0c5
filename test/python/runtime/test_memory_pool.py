"""The pool of a process: blocks are returned, cached up to the limit, and never have two owners."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import cold_process
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.lowering.base.support import (
    ALIGNMENT,
    CLASSES,
    HUGE_BYTES,
    PAGE_BYTES,
    PAGED_BYTES,
    class_bytes,
    size_class,
)
from relax_mlir.runtime import Executable, memory
from relax_mlir.runtime.memory import memory_stats, poison_memory, release_memory, set_memory_limit

TAKE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)
GIVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    gc.collect()
    release_memory()
    limit = memory_stats().limit
    yield
    set_memory_limit(limit)
    poison_memory(False)


def functions() -> tuple[TAKE, GIVE]:
    state = memory._state()
    return TAKE(state.take), GIVE(state.give)


@pytest.fixture(scope="module")
def square() -> Executable:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        a = bb.emit(op.nn.softmax(x))
        b = bb.emit(op.nn.softmax(bb.emit(op.multiply(a, x))))
        bb.emit_func_output(bb.emit(op.add(b, a)))
    return rx.build(bb.get())


@pytest.mark.parametrize("rows", [1, PAGED_BYTES // 16 - 1, PAGED_BYTES // 16, HUGE_BYTES // 4])
def test_large_results_begin_with_a_page(square: Executable, rows: int) -> None:
    result = np.from_dlpack(square["main"](np.ones((rows, 4), np.float32)))
    np.testing.assert_array_equal(result, np.full((rows, 4), 0.5, np.float32))
    assert result.ctypes.data % (PAGE_BYTES if result.nbytes >= PAGED_BYTES else ALIGNMENT) == 0


def test_size_classes() -> None:
    for number in range(CLASSES):
        size = class_bytes(number)
        assert size_class(size) == max(number, 3)
        assert size_class(size + 1) == max(number, 3) + (number >= 3)
        assert number < 4 or size <= 1.25 * (class_bytes(number - 1) + 1)
    assert class_bytes(size_class(1 << 47)) == 1 << 47


@pytest.mark.parametrize("size", [1, 128, 129, 5000, PAGED_BYTES, PAGED_BYTES + 1, HUGE_BYTES, 3 * HUGE_BYTES + 1])
def test_blocks(size: int) -> None:
    take, give = functions()
    before = memory_stats()
    block = take(size)
    alignment = HUGE_BYTES if size >= HUGE_BYTES else PAGE_BYTES if size >= PAGED_BYTES else ALIGNMENT
    assert block % alignment == 0
    assert ctypes.c_int64.from_address(block + 8).value == size_class(size)
    expected = class_bytes(size_class(size))
    assert memory_stats().used_bytes - before.used_bytes == expected
    ctypes.memset(block + 16, 1, expected - 16)
    give(block)
    assert memory_stats().kept_bytes == expected
    assert take(size) == block
    assert memory_stats().allocated == before.allocated + 1
    give(block)
    assert release_memory() == expected
    assert memory_stats().kept_blocks == 0
    assert memory_stats().freed == before.freed + 1


def test_no_allocation_in_the_steady_state(square: Executable) -> None:
    inputs = [np.random.default_rng(n).random((n, 4), np.float32) for n in (1, 100, 7, 3000)]
    strided = [x.repeat(2, axis=0)[::2] for x in inputs]
    for x in [*inputs, *strided]:
        square["main"](x)
    before = memory_stats()
    for _ in range(50):
        for x in [*inputs, *strided]:
            square["main"](x)
    after = memory_stats()
    assert after.taken >= before.taken + 2 * 50 * 8
    assert (after.allocated, after.freed, after.used_blocks) == (
        before.allocated,
        before.freed,
        before.used_blocks,
    )


def test_call_into(square: Executable) -> None:
    x, out = np.random.default_rng(1).random((50, 4), np.float32), np.full((50, 4), np.nan, np.float32)
    expected = np.from_dlpack(square["main"](x)).copy()
    for given in (out, (out,), [out], tvm_ffi.from_dlpack(out)):
        out.fill(np.nan)
        before = memory_stats()
        assert square["main"].call_into(given, x) is None
        np.testing.assert_array_equal(out, expected)
        assert memory_stats().allocated == before.allocated
    with pytest.raises(ArgumentError, match="main: call_into takes out and 1 arguments; got 2"):
        square["main"].call_into(out, x, x)
    with pytest.raises(ArgumentError, match="main: takes 1 argument"):
        square["main"].call_into((out, out), x)
    with pytest.raises(ShapeError, match="has dimension 0 of 49"):
        square["main"].call_into(out[:49], x)


def test_limit(square: Executable) -> None:
    x = np.ones((1000, 4), np.float32)
    set_memory_limit(0)
    before = memory_stats()
    square["main"](x)
    assert memory_stats().kept_bytes == 0
    assert memory_stats().freed - before.freed == memory_stats().allocated - before.allocated > 0
    assert set_memory_limit(40_000) == 0
    for n in (100, 400, 800, 1500, 2000):
        square["main"](np.ones((n, 4), np.float32))
        assert memory_stats().kept_bytes <= 40_000
    assert memory_stats().kept_bytes > 0
    set_memory_limit(100)
    assert memory_stats().kept_bytes == 0


@pytest.mark.parametrize("bad", [-1, 1.5, True, "1G", 1 << 62])
def test_bad_limits(bad: Any) -> None:
    with pytest.raises(ArgumentError, match="set_memory_limit: 'limit' is "):
        set_memory_limit(bad)


def test_results_outlive_their_executable() -> None:
    def result() -> object:
        bb = rx.BlockBuilder()
        x = rx.Var("x", rx.Tensor(("n",), "float32"))
        with bb.function("main", [x]):
            bb.emit_func_output(bb.emit(op.add(x, x)))
        return rx.build(bb.get())["main"](np.arange(5, dtype=np.float32))

    kept = result()
    gc.collect()
    release_memory()
    assert np.array_equal(np.from_dlpack(kept), 2 * np.arange(5, dtype=np.float32))
    before = memory_stats()
    del kept
    gc.collect()
    assert memory_stats().used_blocks < before.used_blocks
    assert memory_stats().kept_blocks > before.kept_blocks


def test_one_owner_per_block() -> None:
    """Threads allocate, mark, check and free blocks of few size classes, while one of them empties the cache."""
    take, give = functions()
    before = memory_stats()
    wrong: list[int] = []

    def work(seed: int) -> None:
        numbers = random.Random(seed)
        mine: list[tuple[int, int]] = []
        for step in range(4000):
            if len(mine) < 8 and numbers.random() < 0.55:
                size = numbers.choice((100, 150, 200, 5000))
                block = take(size)
                ctypes.memset(block + 16, seed, 84)
                ctypes.c_int64.from_address(block).value = seed
                mine.append((block, size))
            elif mine:
                block, size = mine.pop(numbers.randrange(len(mine)))
                seen = ctypes.string_at(block + 16, 84)
                if seen != bytes([seed]) * 84 or ctypes.c_int64.from_address(block).value != seed:
                    wrong.append(block)
                give(block)
            if seed == 1 and step % 500 == 0:
                release_memory()
        for block, _ in mine:
            give(block)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = memory_stats()
    assert not wrong
    assert (after.used_blocks, after.used_bytes) == (before.used_blocks, before.used_bytes)
    assert after.allocated - after.freed == after.kept_blocks + after.used_blocks
    release_memory()
    assert (memory_stats().kept_bytes, memory_stats().kept_blocks) == (0, 0)


def test_results_of_threads_are_their_own(square: Executable) -> None:
    wrong: list[int] = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).random((50 + seed, 4), np.float32)
        first = np.from_dlpack(square["main"](x)).copy()
        held = [square["main"](x) for _ in range(100)]
        for _ in range(100):
            held.pop(0)
            held.append(square["main"](x))
        wrong.extend(seed for y in held if not np.array_equal(np.from_dlpack(y), first))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_poison(square: Executable) -> None:
    x = np.random.default_rng(0).random((33, 4), np.float32)
    expected = np.from_dlpack(square["main"](x)).copy()
    poison_memory()
    for _ in range(3):
        np.testing.assert_array_equal(np.from_dlpack(square["main"](x)), expected)
    take, give = functions()
    block = take(1000)
    assert ctypes.string_at(block + 16, 984) == b"\xff" * 984
    assert np.isnan((ctypes.c_float * 4).from_address(block + 16)).all()
    give(block)


def test_environment_and_exit() -> None:
    """The limit of the environment is used; results that are alive at interpreter exit cause no error."""
    program = (
        "import numpy as np, relax_mlir as rx\n"
        "from relax_mlir.runtime import memory\n"
        "from relax_mlir.script import relax as R, ir_module\n"
        "bb = rx.BlockBuilder()\n"
        "x = rx.Var('x', rx.Tensor(('n',), 'float32'))\n"
        "with bb.function('main', [x]):\n"
        "    bb.emit_func_output(bb.emit(rx.op.add(x, x)))\n"
        "y = rx.build(bb.get())['main'](np.ones(9, 'f4'))\n"
        "rx.kept_for_the_end = [y, np.from_dlpack(y)]\n"
        "print(memory.memory_stats().limit)\n"
    )

    def run(limit: str) -> subprocess.CompletedProcess[str]:
        return cold_process.run(["-c", program], env={**os.environ, "RELAX_MLIR_MEMORY_LIMIT": limit})

    good = run("12345")
    assert (good.returncode, good.stdout, good.stderr) == (0, "12345\n", "")
    bad = run("1G")
    assert "RELAX_MLIR_MEMORY_LIMIT is '1G', expected a number of bytes" in bad.stderr
