"""Generated GEMM kernels against float64 NumPy: all sizes, strides and element types, with canaries."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest
import sweep
from gemm_check import DTYPES, LAYOUTS, HostKernels, check, module_of, operand
from jit import Compiled, lower
from relax_mlir.lowering.kernels.gemm import gemm_pack
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_gemm, emit_gemm_row
from relax_mlir.lowering.kernels.gemm.gemm_small_n import MAX_COLUMNS, max_read
from relax_mlir.lowering.kernels.gemm.gemm_tiling import tiling
from relax_mlir.lowering.kernels.gemm.gemv import LONG_DOTS
from relax_mlir.mlir import ir
from relax_mlir.target import Target

TRIALS = 300 if sweep.ALL else 120
KERNELS = [
    GemmKernel("f32", "f32"),
    GemmKernel("f64", "f64"),
    GemmKernel("f16", "f32"),
    GemmKernel("f16", "f16"),
    GemmKernel("bf16", "f32"),
    GemmKernel("bf16", "bf16"),
]
OTHERS_LOWERED = [
    (cpu, kernel) for cpu in ("haswell", "skylake-avx512") for kernel in (KERNELS[1], KERNELS[3], KERNELS[5])
]


@pytest.fixture(scope="module")
def compiled() -> Iterator[dict[GemmKernel, Compiled]]:
    """The kernels, compiled for the host."""
    with ir.Context(), ir.Location.unknown():
        yield HostKernels()


SIZES = [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 23, 31, 32, 33, 48, 61, 64, 65, 100]
BIG = [129, 255, 257, 300, 511, 520]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_random_products(compiled: dict[GemmKernel, Compiled], kernel: GemmKernel) -> None:
    rng = np.random.default_rng(0)
    for trial in range(TRIALS):
        m, n, depth = (int(rng.choice(SIZES)) for _ in range(3))
        if trial % 10 == 0:
            m = int(rng.choice(BIG))
        if trial % 10 == 1:
            n = int(rng.choice(BIG))
        if trial % 5 == 2:
            depth = int(rng.choice(BIG))
        dtype = DTYPES[kernel.operand]
        a = operand(rng, (m, depth), dtype, str(rng.choice(LAYOUTS)))
        b = operand(rng, (depth, n), dtype, str(rng.choice(LAYOUTS)))
        check(compiled[kernel], kernel, a, b, bool(trial % 3 == 0), int(rng.choice([0, 0, 1, 7])))


@pytest.mark.parametrize("layout_b", ["plain", "columns", "strided"])
@pytest.mark.parametrize("layout_a", ["plain", "columns", "strided"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 40, 70), (70, 1, 40), (4, 33, 19), (5, 33, 19), (1, 1, 300)])
def test_thin_products(
    compiled: dict[GemmKernel, Compiled], layout_a: str, layout_b: str, shape: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng(3)
    m, n, depth = shape
    for kernel in KERNELS[:2]:
        for accumulate in (False, True):
            for pitch in (0, 3):
                a = operand(rng, (m, depth), DTYPES[kernel.operand], layout_a)
                b = operand(rng, (depth, n), DTYPES[kernel.operand], layout_b)
                check(compiled[kernel], kernel, a, b, accumulate, pitch)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_dot_products(compiled: dict[GemmKernel, Compiled], kernel: GemmKernel) -> None:
    """Rows of A times rows of B: sizes around the interleaved numbers of rows and columns, and the packing limit."""
    rng = np.random.default_rng(10)
    dtype = DTYPES[kernel.operand]
    for trial in range(2 * TRIALS // 5):
        m, n = int(rng.integers(1, 41)), int(rng.integers(1, 41))
        if trial % 6 == 0:
            m = int(rng.integers(100, 120))
        depth = int(rng.choice([1, 15, 64, 127, 128, 129, 200, 257, 300]))
        a, b = operand(rng, (m, depth), dtype, "plain"), operand(rng, (depth, n), dtype, "columns")
        check(compiled[kernel], kernel, a, b, bool(trial % 2), int(rng.choice([0, 1, 7])))


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda kernel: kernel.name)
def test_narrow_products(compiled: dict[GemmKernel, Compiled], kernel: GemmKernel) -> None:
    """Small-N GEMM: every small number of columns, and one more; rows around the tile heights; several depth blocks."""
    rng = np.random.default_rng(12)
    dtype = DTYPES[kernel.operand]
    for n in range(1, MAX_COLUMNS + 2):
        for layout_a, layout_b in (("plain", "plain"), ("columns", "rows"), ("rows", "columns")):
            m, depth = int(rng.integers(5, 38)), int(rng.choice([2, 3, 17, 64, 600]))
            a, b = operand(rng, (m, depth), dtype, layout_a), operand(rng, (depth, n), dtype, layout_b)
            check(compiled[kernel], kernel, a, b, bool(rng.integers(2)), int(rng.choice([0, 1, 7])))
    for m in range(5, 40):
        a, b = operand(rng, (m, 7), dtype, "strided"), operand(rng, (7, 2 * m), dtype, "plain")
        check(compiled[kernel], kernel, a, b[:, : m % 5 + 30], bool(m % 2), 0)


@pytest.mark.parametrize("cpu", ["", "haswell"])
@pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda kernel: kernel.name)
def test_columns_beyond_whole_vectors(compiled: dict[GemmKernel, Compiled], kernel: GemmKernel, cpu: str) -> None:
    """A few remaining columns are dot products if the rows of A are contiguous and long; depths around block sizes."""
    target = Target(f"cpu -mcpu={cpu}") if cpu else Target.host()
    lanes, rng, dtype = (
        target.lanes(int(kernel.operand[1:])),
        np.random.default_rng(14),
        DTYPES[kernel.operand],
    )
    if cpu:
        with ir.Context(), ir.Location.unknown():
            functions = Compiled(module_of(kernel, target))
    else:
        functions = compiled[kernel]
    for whole in range(lanes, MAX_COLUMNS, lanes):
        for beyond in range(lanes // 2):
            for depth in (LONG_DOTS * lanes - 1, LONG_DOTS * lanes, 257, 600, 1200):
                m, n = int(rng.integers(5, 38)), min(whole + beyond, MAX_COLUMNS)
                layout_a, layout_b = str(rng.choice(["plain", "rows", "strided"])), str(rng.choice(LAYOUTS))
                a, b = operand(rng, (m, depth), dtype, layout_a), operand(rng, (depth, n), dtype, layout_b)
                check(functions, kernel, a, b, bool(rng.integers(2)), int(rng.choice([0, 1, 7])))


@pytest.mark.parametrize("kernel", sweep.quick(KERNELS[:2], KERNELS[1]), ids=lambda kernel: kernel.name)
def test_narrow_products_of_a_large_left(kernel: GemmKernel) -> None:
    """With contiguous columns: A is transposed block by block, unless there are enough rows for tall tiles."""
    rng, dtype = np.random.default_rng(15), DTYPES[kernel.operand]
    target = Target("cpu", l2_bytes=64 << 10)
    sizes = tiling(target, int(kernel.operand[1:]))
    with ir.Context(), ir.Location.unknown():
        compiled = Compiled(module_of(kernel, target))
    for m in (5, 31, 131, 700):
        depth = max_read(sizes) // m + int(rng.integers(1, 100))
        for n in (2, 16, 17, 33, MAX_COLUMNS):
            a = operand(rng, (m, depth), dtype, "columns")
            b = operand(rng, (depth, n), dtype, str(rng.choice(["plain", "rows", "columns"])))
            check(compiled, kernel, a, b, bool(rng.integers(2)), int(rng.choice([0, 1, 7])))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_outer_products(compiled: dict[GemmKernel, Compiled], kernel: GemmKernel) -> None:
    """Depth 1: rows shorter and longer than a vector, with and without gaps between those of the result."""
    rng = np.random.default_rng(13)
    dtype = DTYPES[kernel.operand]
    for n in (*range(40), 64, 67, 131):
        for m in (1, 2, 3, 7, 19, 130):
            a = operand(rng, (m, 1), dtype, str(rng.choice(LAYOUTS)))
            b = operand(rng, (1, n), dtype, "rows")
            check(compiled[kernel], kernel, a, b, m % 3 == 0, int(rng.choice([0, 0, 1, 7])))


@pytest.mark.parametrize("kernel", [x for x in KERNELS if x.result == x.accumulator], ids=lambda kernel: kernel.name)
def test_products_of_one_row(kernel: GemmKernel) -> None:
    """The entry for one row: all layouts, which select the code path, and sizes."""
    rng = np.random.default_rng(7)
    dtype = DTYPES[kernel.operand]
    with ir.Context(), ir.Location.unknown():
        compiled = Compiled(module_of(kernel, Target.host(), emit_gemm_row))
    for layout_a in dict.fromkeys(LAYOUTS):
        for layout_b in dict.fromkeys(LAYOUTS):
            for n, depth in ((0, 3), (1, 1), (1, 70), (5, 0), (7, 33), (40, 1), (67, 130)):
                a = operand(rng, (1, depth), dtype, layout_a)
                b = operand(rng, (depth, n), dtype, layout_b)
                check(compiled, kernel, a, b, bool(rng.integers(2)), int(rng.choice([0, 3])))


@pytest.mark.parametrize("kernel", sweep.quick(KERNELS, *KERNELS[::2]), ids=lambda kernel: kernel.name)
def test_more_than_one_block_each_way(compiled: dict[GemmKernel, Compiled], kernel: GemmKernel) -> None:
    rng = np.random.default_rng(4)
    sizes = tiling(Target.host(), 64 if kernel.accumulator == "f64" else 32)
    m, n, depth = 2 * sizes.block_rows + 5, sizes.kept_columns + sizes.columns + 3, 2 * sizes.depth + 1
    dtype = DTYPES[kernel.operand]
    a, b = operand(rng, (m, depth), dtype, "plain"), operand(rng, (depth, n), dtype, "columns")
    check(compiled[kernel], kernel, a, b, True, 1)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_one_block_of_rows_and_several_of_columns(compiled: dict[GemmKernel, Compiled], kernel: GemmKernel) -> None:
    rng = np.random.default_rng(6)
    sizes = tiling(Target.host(), 64 if kernel.accumulator == "f64" else 32)
    for m in (sizes.rows + 1, sizes.block_rows // 2 + 1):
        n, depth = 2 * int(sizes.packed_columns(sizes.depth)) + 5, 2 * sizes.depth + 3
        a = operand(rng, (m, depth), DTYPES[kernel.operand], "plain")
        check(compiled[kernel], kernel, a, operand(rng, (depth, n), DTYPES[kernel.operand], "plain"), True, 1)


@pytest.mark.parametrize("kernel", sweep.quick(KERNELS[:2], KERNELS[0]), ids=lambda kernel: kernel.name)
def test_rows_that_share_sets_of_the_cache(compiled: dict[GemmKernel, Compiled], kernel: GemmKernel) -> None:
    """Rows of A with a stride that is a multiple of 4096 bytes are packed, all others are read in place."""
    rng = np.random.default_rng(8)
    dtype = DTYPES[kernel.operand]
    for apart in (4096 // dtype.itemsize, 8192 // dtype.itemsize):
        for m, n, depth in ((7, 33, apart), (130, 17, apart), (6, 16, 100), (61, 40, 3)):
            for first, pitch in ((0, 0), (5, 1), (0, -1)):
                whole = rng.uniform(-1, 1, (m, apart + pitch)).astype(dtype)
                a = whole[:, first : min(first + depth, apart + pitch)]
                b = operand(rng, (a.shape[1], n), dtype, "plain")
                check(compiled[kernel], kernel, a, b, bool(first), pitch + 1)


@pytest.mark.parametrize("kernel", sweep.quick(KERNELS[:2], KERNELS[0]), ids=lambda kernel: kernel.name)
def test_rows_that_are_always_packed(kernel: GemmKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for rows that share cache sets, but with all sizes and layouts."""
    monkeypatch.setattr(gemm_pack, "_SETS", DTYPES[kernel.operand].itemsize)
    rng = np.random.default_rng(9)
    with ir.Context(), ir.Location.unknown():
        compiled = Compiled(module_of(kernel, Target.host()))
    for trial in range(60):
        m, n, depth = (int(rng.choice(BIG if trial % 7 == i else SIZES)) for i in range(3))
        a = operand(rng, (m, depth), DTYPES[kernel.operand], str(rng.choice(LAYOUTS)))
        b = operand(rng, (depth, n), DTYPES[kernel.operand], str(rng.choice(LAYOUTS)))
        check(compiled, kernel, a, b, bool(trial % 2), int(rng.choice([0, 3])))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("rows", [1, 3, 20])
def test_nan_and_infinity(compiled: dict[GemmKernel, Compiled], kernel: GemmKernel, rows: int) -> None:
    """Special values reach exactly the results that depend on them; the old content of C is not read."""
    dtype = DTYPES[kernel.operand]
    a, b = np.ones((rows, 37), dtype), np.ones((37, 21), dtype)
    a[0, 30], b[5, 20], b[6, 4] = np.nan, np.inf, -np.inf
    c = np.full((rows, 21), np.nan, DTYPES[kernel.result])
    compiled[kernel]("gemm", a, b, c, False)
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(c.astype(np.float64), expected)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_result_is_rounded_once(compiled: dict[GemmKernel, Compiled], name: str) -> None:
    """Accumulators are f32 across all blocks: 600 ones and a half ulp would be lost in the narrow type."""
    kernel = GemmKernel(name, name)
    rng = np.random.default_rng(5)
    a = operand(rng, (9, 600), DTYPES[name], "plain")
    b = operand(rng, (600, 18), DTYPES[name], "plain")
    wide, narrow = np.zeros((9, 18), np.float32), np.zeros((9, 18), DTYPES[name])
    compiled[GemmKernel(name, "f32")]("gemm", a, b, wide, False)
    compiled[kernel]("gemm", a, b, narrow, False)
    np.testing.assert_array_equal(narrow, wide.astype(DTYPES[name]))


def test_rounding_of_special_values(compiled: dict[GemmKernel, Compiled]) -> None:
    """Sums of two bf16 numbers of any bits: ties, overflow, denormals, infinities, NaN."""
    values = np.random.default_rng(6).integers(0, 1 << 16, (2, 20_003), dtype=np.uint16)
    values[1, ::3] = values[0, ::3] - 0x0400  # exponents that differ by 8: the sums are often ties
    operand = values.view(ml_dtypes.bfloat16)
    c = np.zeros((1, operand.shape[1]), ml_dtypes.bfloat16)
    compiled[GemmKernel("bf16", "bf16")]("gemm", np.ones((1, 2), ml_dtypes.bfloat16), operand, c, False)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = operand.astype(np.float32).sum(axis=0, keepdims=True).astype(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(c.astype(np.float32), expected.astype(np.float32))


def features(cpu: str) -> tuple[int, int, frozenset[str]]:
    """The target properties that a generator reads."""
    target = Target(f"cpu -mcpu={cpu}")
    return target.vector_bytes, target.num_vector_registers, frozenset(target.features)


@pytest.mark.parametrize(
    ("cpu", "kernel"),
    [(cpu, KERNELS[0]) for cpu in sweep.part(Target.presets(), features)]
    + sweep.quick(OTHERS_LOWERED, *OTHERS_LOWERED[::2], unpack=True),
    ids=str,
)
def test_every_target_lowers(cpu: str, kernel: GemmKernel) -> None:
    """The generator gives valid IR for every target, down to the LLVM dialect, in its vector width.

    In part, for one of those with equal features.
    """
    target = Target(f"cpu -mcpu={cpu}")
    with ir.Context(), ir.Location.unknown():
        module = module_of(kernel, target)
        module.operation.verify()
        element = kernel.accumulator
        assert f"vector<{target.lanes(int(element[1:]))}x{element}>" in str(module)
        assert ("vector.fma" in str(module)) == target.has_fma
        lower(module)
        module.operation.verify()


@pytest.mark.parametrize(
    ("cpu", "tile"),
    [("haswell", (6, 16)), ("skylake-avx512", (14, 32)), ("neoverse-n1", (12, 8)), ("x86-64", (6, 8))],
)
def test_register_tile(cpu: str, tile: tuple[int, int]) -> None:
    sizes = tiling(Target(f"cpu -mcpu={cpu}"), 32)
    assert (sizes.rows, sizes.columns) == tile
    assert sizes.depth % sizes.lanes == 0 and sizes.block_rows % sizes.rows == 0


def test_kernels_are_shared() -> None:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        for kernel in (KERNELS[3], KERNELS[2], KERNELS[3]):
            emit_gemm(module.body, kernel, Target.host())
        names = [op.name.value for op in module.body.operations]
        assert len(names) == len(set(names))
        module.operation.verify()
