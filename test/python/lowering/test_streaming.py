"""Results written with streaming stores: the results are the same, for any alignment of the buffers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.runtime import to_numpy

SIZES = (0, 1, 15, 16, 17, 255, 256, 257, 1000, 4096, 100_003)
SMALL_CACHE = "cpu -l3=512"
"""Most results are larger than the cache of this target."""


def add(dtype: str, target: str) -> rx.runtime.Executable:
    bb = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor(("n",), dtype)) for name in "xy")
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(R.add(x, y)))
    return rx.build(bb.get(), target)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "int8"])
def test_results(dtype: str, threads: int) -> None:
    main = add(dtype, f"{SMALL_CACHE} -num-threads={threads}")["main"]
    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    for size in SIZES:
        x, y = (np.random.default_rng(seed).integers(-50, 50, size).astype(kind) for seed in (1, 2))
        np.testing.assert_array_equal(to_numpy(main(x, y)), x + y)


def test_elements_of_less_than_a_register() -> None:
    """Booleans, and results of another width than an operand."""
    bb = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor(("n",), dtype)) for name, dtype in (("x", "int8"), ("y", "bool")))
    with bb.function("main", [x, y]):
        less = bb.emit(R.less(x, R.const(np.int8(3))))
        both = bb.emit(R.logical_and(less, y))
        wide = bb.emit(R.astype(x, "float32"))
        bb.emit_func_output((both, wide))
    main = rx.build(bb.get(), SMALL_CACHE)["main"]
    for size in SIZES:
        numbers = np.random.default_rng(size)
        a, b = numbers.integers(-9, 9, size).astype(np.int8), numbers.random(size) < 0.5
        first, second = map(to_numpy, main(a, b))
        np.testing.assert_array_equal(first, (a < 3) & b)
        np.testing.assert_array_equal(second, a.astype(np.float32))


def test_parts_of_several_threads() -> None:
    """Enough elements that two threads share them."""
    main = add("float32", f"{SMALL_CACHE} -num-threads=2")["main"]
    x, y = (np.random.default_rng(seed).random(4_000_003, np.float32) for seed in (1, 2))
    for _ in range(3):
        np.testing.assert_array_equal(to_numpy(main(x, y)), x + y)


def test_given_results_at_any_address_and_in_place() -> None:
    """Elements before and after the result do not change; an input may be the result."""
    main = add("float32", SMALL_CACHE)["main"]
    size = 5000
    x, y = (np.random.default_rng(seed).random(size, np.float32) for seed in (1, 2))
    for offset in range(20):
        memory = np.full(size + 64, 7, np.float32)
        out = memory[offset : offset + size]
        main(*map(tvm_ffi.from_dlpack, (x, y, out)))
        np.testing.assert_array_equal(out, x + y)
        assert (memory[:offset] == 7).all() and (memory[offset + size :] == 7).all()
        out[:] = x
        main(*map(tvm_ffi.from_dlpack, (out, y, out)))
        np.testing.assert_array_equal(out, x + y)


def test_sizes_that_are_known() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor((48, 33), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(R.negative(x)))
    array = np.random.default_rng(0).random((48, 33), np.float32)
    np.testing.assert_array_equal(to_numpy(rx.build(bb.get(), SMALL_CACHE)["main"](array)), -array)
