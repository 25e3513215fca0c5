"""Results that begin within a cache line: elements up to the next line are written first; no memory around changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op
from relax_mlir.target import CACHE_LINE

DTYPES = ("float32", "float64", "int32", "int64")
MARK = 77
WHOLE = ((0,), (1,), (63,), (64,), (127,), (128,), (129,), (300,), (40_000,))
ROWS = ((3, 300), (5, 129), (2, 64), (0, 300), (7, 0), (200, 255))


@pytest.fixture(scope="module")
def functions() -> Mapping[str, Callable[..., object]]:
    """x + y of any size, and of slices of rows."""
    bb = rx.BlockBuilder()
    for dtype in DTYPES:
        x, y = rx.Var("x", rx.Tensor(("n",), dtype)), rx.Var("y", rx.Tensor(("n",), dtype))
        with bb.function(f"whole_{dtype}", [x, y]):
            bb.emit_func_output(bb.emit(op.add(x, y)))
        x, y = rx.Var("x", rx.Tensor(("n", "m + 2"), dtype)), rx.Var("y", rx.Tensor(("n", "m"), dtype))
        with bb.function(f"rows_{dtype}", [x, y]):
            inner = bb.emit(op.strided_slice(x, axes=[1], begin=[1], end=[-1]))
            bb.emit_func_output(bb.emit(op.add(inner, y)))
    return rx.build(bb.get())


def within(shape: tuple[int, ...], dtype: str, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """An array that begins some elements after a cache line, and all memory around it."""
    item, size = np.dtype(dtype).itemsize, int(np.prod(shape))
    memory = np.full(size + 4 * CACHE_LINE // item, MARK, dtype)
    first = -memory.ctypes.data % CACHE_LINE // item + CACHE_LINE // item + offset
    return memory[first : first + size].reshape(shape), memory


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_within_a_line(dtype: str, functions: Mapping[str, Callable[..., object]]) -> None:
    rng = np.random.default_rng(5)
    for kind, shapes in (("whole", WHOLE), ("rows", ROWS)):
        for shape in shapes:
            for offset in range(CACHE_LINE // np.dtype(dtype).itemsize):
                y = rng.integers(-99, 99, shape).astype(dtype)
                x = rng.integers(-99, 99, (*shape[:-1], shape[-1] + 2 * (kind == "rows"))).astype(dtype)
                expected = (x[:, 1:-1] if kind == "rows" else x) + y
                out, memory = within(shape, dtype, offset)
                functions[f"{kind}_{dtype}"](x, y, out)
                np.testing.assert_array_equal(out, expected, err_msg=f"{kind} {shape} +{offset}")
                assert np.sum(memory == MARK) == memory.size - out.size + np.sum(expected == MARK)


def test_a_result_in_the_memory_of_its_argument(functions: Mapping[str, Callable[..., object]]) -> None:
    for offset in range(16):
        x, memory = within((1000,), "float32", offset)
        x[:] = np.arange(1000)
        functions["whole_float32"](x, x, x)
        np.testing.assert_array_equal(x, 2 * np.arange(1000))
        assert np.sum(memory == MARK) == memory.size - 1000
