"""The pass `pack-constants`: correct for every remainder and number of rows; shared, kept and unpacked constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op as R
from relax_mlir.ffi import to_numpy
from relax_mlir.lowering.base.constant_table import (
    HUGE_PAGE,
    Layout,
    column_panels,
    constant_table,
    in_layout,
    table_entries,
)
from relax_mlir.lowering.pipeline import pipeline

Array = np.ndarray[Any, Any]
ROWS = (0, 1, 2, 3, 4, 5, 7, 16, 29, 130)
RNG = np.random.default_rng(7)


def module_of(weight: Array, compute: Callable[[Any, Any, Any], Any], batch: bool = False) -> rx.IRModule:
    """`compute(bb, x, weight)` as `main` of x: Tensor((n, K)), or ((b, n, K)), K the depth of `weight`."""
    bb = rx.BlockBuilder()
    shape = ("b", "n", weight.shape[0]) if batch else ("n", weight.shape[0])
    x = rx.Var("x", rx.Tensor(shape, str(weight.dtype)))
    with bb.function("main", [x]):
        with bb.dataflow():
            result = bb.emit_output(compute(bb, x, bb.const(weight)))
        bb.emit_func_output(result)
    return bb.get()


def product(bb: Any, x: Any, weight: Any) -> Any:
    return bb.emit(R.matmul(x, weight))


def lowered(mod: rx.IRModule, target: str = "cpu") -> tuple[str, list[Array]]:
    """The module at level V as text, and its constants."""
    work = mod.clone()
    work.apply_(pipeline("relax-to-kernels", target))
    return work.mlir.operation.get_asm(large_resource_limit=4), constant_table(table_entries(work.mlir))


def close(result: Any, x: Array, weight: Array) -> None:
    got = to_numpy(result).astype(np.float64)
    want = x.astype(np.float64) @ weight.astype(np.float64)
    limit = np.abs(x).astype(np.float64) @ np.abs(weight).astype(np.float64)
    eps = float(ml_dtypes.finfo(weight.dtype).eps) * (weight.shape[0] + 2)
    assert got.shape == want.shape and np.all(np.abs(got - want) <= eps * limit)


def emptiness(shape: tuple[int, int]) -> tuple[bool, ...]:
    return tuple(size == 0 for size in shape)


SHAPES = [(1, 16), (7, 8), (33, 17), (64, 65), (300, 31), (531, 48), (1030, 130), (5, 3), (0, 9), (9, 0)]


@pytest.mark.parametrize(
    ("dtype", "depth", "width"),
    [
        *(("float32", *shape) for shape in sweep.part(SHAPES, lambda s: SHAPES.index(s) // 2, emptiness)),
        *((dtype, *shape) for dtype in ("float64", "float16", ml_dtypes.bfloat16) for shape in SHAPES[2:6:3]),
    ],
)
def test_against_float64(dtype: Any, depth: int, width: int) -> None:
    weight = RNG.uniform(-1, 1, (depth, width)).astype(dtype)
    mod = module_of(weight, product)
    text, _ = lowered(mod)
    if depth * width > 300:  # smaller constants may be part of the code
        by_tiles = dtype is ml_dtypes.bfloat16 and "amx_bf16" in rx.Target.host().features
        assert ("relax.constant_panels" in text) is not by_tiles
    if depth == 0 or width < 4:
        assert "relax.constant_panels" not in text
    main = rx.build(mod)["main"]
    for rows in ROWS:
        x = RNG.uniform(-1, 1, (rows, depth)).astype(dtype)
        close(main(x), x, weight)


def test_batches() -> None:
    weight = RNG.uniform(-1, 1, (70, 37)).astype("float32")
    mod = module_of(weight, product, batch=True)
    assert "relax.constant_panels" in lowered(mod)[0]
    main = rx.build(mod)["main"]
    for shape in [(1, 1), (2, 1), (3, 5), (0, 4), (2, 16), (1, 7)]:
        x = RNG.uniform(-1, 1, (*shape, 70)).astype("float32")
        close(main(x), x, weight)


@pytest.mark.parametrize("shape", [(40, 33), (16, 300), (65, 64)])
def test_constant_times_vector_is_packed_transposed(shape: tuple[int, int]) -> None:
    weight = RNG.uniform(-1, 1, shape).astype("float32")
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor((shape[1],), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(R.matmul(bb.const(weight), x)))
    mod = bb.get()
    assert "transposed = 1" in lowered(mod)[0]
    vector = RNG.uniform(-1, 1, shape[1]).astype("float32")
    close(rx.build(mod)["main"](vector), vector, weight.T)


def test_one_packed_copy_for_several_calls() -> None:
    weight = RNG.uniform(-1, 1, (40, 40)).astype("float32")
    mod = module_of(weight, lambda bb, x, w: product(bb, product(bb, x, w), w))
    text, table = lowered(mod)
    assert text.count("relax.constant_panels =") == 1 and len(table) == 1
    x = RNG.uniform(-1, 1, (3, 40)).astype("float32")
    np.testing.assert_allclose(np.from_dlpack(rx.build(mod)["main"](x)), x @ weight @ weight, rtol=1e-3, atol=1e-4)


def test_plain_copy_stays_where_it_is_read() -> None:
    weight = RNG.uniform(-1, 1, (40, 40)).astype("float32")
    mod = module_of(weight, lambda bb, x, w: bb.emit(R.add(product(bb, bb.emit(R.matmul(w, w)), w), w)))
    x = np.zeros((3, 40), "float32")
    got = np.from_dlpack(rx.build(mod)["main"](x))
    np.testing.assert_allclose(got, weight @ weight @ weight + weight, rtol=1e-3, atol=1e-3)
    other = module_of(weight, lambda bb, x, w: bb.emit(R.matmul(product(bb, x, w), bb.emit(R.exp(w)))))
    got = np.from_dlpack(rx.build(other)["main"](x + 1))
    np.testing.assert_allclose(got, (x + 1) @ weight @ np.exp(weight), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("cpu", "columns"), [("haswell", 16), ("skylake-avx512", 32)])
def test_layout_follows_the_target(cpu: str, columns: int) -> None:
    weight = RNG.uniform(-1, 1, (20, 50)).astype("float32")
    text, (packed,) = lowered(module_of(weight, product), f"cpu -mcpu={cpu}")
    assert f"relax.constant_panels = {{columns = {columns} : i64, group = 1 : i64, transposed = 0 : i64}}" in text
    np.testing.assert_array_equal(packed, column_panels(weight, columns))


def test_column_panels() -> None:
    packed = column_panels(np.arange(10.0).reshape(2, 5), 4)
    assert packed.tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 4, 0, 0, 0, 9, 0, 0, 0]
    assert packed.ctypes.data % 64 == 0


def test_rows_side_by_side() -> None:
    (packed,) = in_layout([(np.arange(1.0, 10.0).reshape(3, 3), Layout(2, group=2))])
    assert packed.tolist() == [1, 4, 2, 5, 7, 0, 8, 0, 3, 6, 0, 0, 9, 0, 0, 0]


def at_offset(array: np.ndarray, offset: int) -> np.ndarray:
    """A copy that begins `offset` bytes after a cache line."""
    memory = np.empty(array.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (1 << 18,)])
def test_small_constants_begin_on_a_cache_line(shape: tuple[int, ...]) -> None:
    plain = at_offset(RNG.uniform(-1, 1, shape).astype("float32"), 16)
    (found,) = in_layout([(plain, Layout())])
    assert found.ctypes.data % 64 == 0
    assert found.dtype == plain.dtype and found.shape == shape
    np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("size", [0, (1 << 18) + 1])
def test_empty_and_large_constants_are_not_copied(size: int) -> None:
    plain = at_offset(np.zeros(size, "float32"), 16)
    (found,) = in_layout([(plain, Layout())])
    assert found is plain


def test_packed_constants_share_a_block_of_memory() -> None:
    """A large block begins on a huge page; constants that are not packed are used in place, if they are aligned."""
    large, plain = RNG.uniform(-1, 1, (700, 1000)), at_offset(np.arange(3.0), 0)
    small = np.arange(10, dtype="float32").reshape(5, 2)
    found = in_layout([(large, Layout(16)), (plain, Layout()), (small, Layout(4, transposed=True))])
    assert found[0].ctypes.data % HUGE_PAGE == 0 and found[0].nbytes > HUGE_PAGE
    assert found[1] is plain
    assert found[2].ctypes.data == found[0].ctypes.data + found[0].nbytes
    np.testing.assert_array_equal(found[0].reshape(63, 700, 16)[62, :, :8], large[:, 992:])
    assert found[2].dtype == np.float32
    assert found[2].tolist() == [0, 2, 4, 6, 1, 3, 5, 7, 8, 0, 0, 0, 9, 0, 0, 0]


def test_equal_matrices_are_packed_once_per_layout() -> None:
    """Constants with different names that share memory or have equal bytes."""
    weight = RNG.standard_normal((40, 48), dtype="f4")
    other, signed = weight.copy(), weight.copy()
    other[20, 5] += 1
    signed[20, 5] = -0.0
    zero = np.where(signed == 0, np.float32(0), signed)
    packed, wide = Layout(16), Layout(32)
    given = [(weight, packed), (weight, packed), (weight.copy(), packed), (weight, wide), (other, packed)]
    first, same, equal, in_wide, differs = in_layout(given)
    assert first is same is equal
    for array, (source, layout) in zip((first, in_wide, differs), (given[0], *given[3:]), strict=True):
        assert np.array_equal(array, column_panels(source, layout.columns))
    minus, plus = in_layout([(signed, packed), (zero, packed)])
    assert np.signbit(minus).sum() == np.signbit(plus).sum() + 1


def test_copies_of_a_weight_in_a_program() -> None:
    """As ONNX's `Identity` makes them: one packed matrix, in native code and in the kernels of bytecode."""
    weight = RNG.uniform(-0.1, 0.1, (64, 64)).astype("f4")
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 64), "float32"))
    with bb.function("main", [x]):
        y = bb.emit(R.tanh(bb.emit(R.matmul(x, bb.const(weight, name="first")))))
        bb.emit_func_output(bb.emit(R.matmul(y, bb.const(weight.copy(), name="second"))))
    _, constants = lowered(bb.get())
    assert len(constants) == 2 and constants[0] is constants[1]
    data = RNG.standard_normal((5, 64), dtype="f4")
    expected = np.tanh(data.astype("f8") @ weight) @ weight
    native = rx.build(bb.get())["main"]
    bytecode = rx.vm.VirtualMachine(rx.build(bb.get(), exec_mode="bytecode"))["main"]
    for main in (native, bytecode):
        assert np.allclose(to_numpy(main(data)), expected, rtol=1e-5, atol=1e-6)
