"""GEMM with few columns or rows that does not pack B, against float64 NumPy.

Sizes and strides select the code path, on several targets.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from gemm_check import DTYPES, check, module_of, operand
from jit import Compiled
from relax_mlir import op
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel
from relax_mlir.lowering.kernels.gemm.gemm_small_m import MAX_FEW_ROWS
from relax_mlir.lowering.kernels.gemm.gemm_small_n import MAX_COLUMNS
from relax_mlir.mlir import ir
from relax_mlir.target import Target

KERNELS = [GemmKernel("f32", "f32"), GemmKernel("f64", "f64")]
CPUS = ["", "haswell", "x86-64"]
"""With AVX-512 if the host has it, with AVX2, and with SSE2, which has no tiles but dot products."""
on_cpus = pytest.mark.parametrize(
    ("kernel", "cpu"), sweep.product(KERNELS, CPUS), ids=lambda value: getattr(value, "name", value)
)


@cache
def compiled(kernel: GemmKernel, cpu: str) -> Compiled:
    with ir.Context(), ir.Location.unknown():
        return Compiled(module_of(kernel, Target(f"cpu -mcpu={cpu}" if cpu else "cpu")))


@on_cpus
def test_rows_beside_each_other_in_memory(kernel: GemmKernel, cpu: str) -> None:
    """Columns of A have unit stride: vectors go along the rows of C; the last ones recompute some rows."""
    rng, dtype = np.random.default_rng(20), DTYPES[kernel.operand]
    for m in (1, 5, 23, 24, 25, 32, 47, 63, 64, 65, 66, 67, 95, 129, 200):
        for n in (1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 19, 28, 33, 36, 44, 47):
            depth = int(rng.choice([1, 2, 7, 16, 33, 100, 400]))
            a = operand(rng, (m, depth), dtype, "columns")
            b = operand(rng, (depth, n), dtype, str(rng.choice(["plain", "rows", "columns"])))
            check(compiled(kernel, cpu), kernel, a, b, bool(rng.integers(2)), int(rng.choice([0, 1, 7])))


@on_cpus
def test_few_columns(kernel: GemmKernel, cpu: str) -> None:
    """Dot products of up to the interleaved number of columns, and a few more; rows that are not whole blocks."""
    rng, dtype = np.random.default_rng(21), DTYPES[kernel.operand]
    for n in range(1, 10):
        for layout in ("plain", "columns", "rows", "strided"):
            for m in (5, 8, 11, 33, 70):
                depth = int(rng.choice([1, 31, 32, 64, 65, 300, 1025, 2100]))
                a, b = operand(rng, (m, depth), dtype, "rows"), operand(rng, (depth, n), dtype, layout)
                check(compiled(kernel, cpu), kernel, a, b, bool(rng.integers(2)), int(rng.choice([0, 1, 7])))


@on_cpus
def test_few_rows_of_much_depth(kernel: GemmKernel, cpu: str) -> None:
    """Depth blocks are unlimited if each row of B is used once."""
    rng, dtype = np.random.default_rng(22), DTYPES[kernel.operand]
    for m in (5, 7, 8, 9, 16, 17, 24, 25):
        for n in (3, 16, 17, 33, MAX_COLUMNS):
            for layout_a, layout_b in (("rows", "plain"), ("columns", "plain"), ("plain", "columns")):
                depth = int(rng.choice([255, 257, 1500, 3000]))
                a, b = operand(rng, (m, depth), dtype, layout_a), operand(rng, (depth, n), dtype, layout_b)
                check(compiled(kernel, cpu), kernel, a, b, bool(rng.integers(2)), int(rng.choice([0, 1])))


@on_cpus
def test_few_rows_and_many_columns(kernel: GemmKernel, cpu: str) -> None:
    """Tiles of 6 or 8 rows and three vectors, and the remaining columns, in depth blocks."""
    rng, dtype = np.random.default_rng(23), DTYPES[kernel.operand]
    for m in (5, 6, 7, 8, 9, 10, 13, 16, 17, 21, 24, 33, 41, MAX_FEW_ROWS, MAX_FEW_ROWS + 1):
        for n in (MAX_COLUMNS + 1, 64, 72, 96, 97, 145, 200):
            depth = int(rng.choice([1, 7, 95, 96, 97, 200, 300]))
            a = operand(rng, (m, depth), dtype, str(rng.choice(["plain", "rows", "columns", "strided"])))
            b = operand(rng, (depth, n), dtype, str(rng.choice(["plain", "rows"])))
            check(compiled(kernel, cpu), kernel, a, b, bool(rng.integers(2)), int(rng.choice([0, 1, 7])))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_what_is_not_finite_stays_in_its_row_and_column(kernel: GemmKernel) -> None:
    """Idle lanes and rows that are computed twice do not propagate values."""
    dtype = DTYPES[kernel.operand]
    for m, depth, n in (
        (70, 100, 3),
        (70, 100, 7),
        (70, 100, 12),
        (65, 40, 33),
        (9, 300, 17),
        (64, 64, 47),
        (9, 99, 97),
        (46, 33, 60),
    ):
        rng = np.random.default_rng([m, depth, n])
        for layout_a, layout_b in (("plain", "plain"), ("columns", "plain"), ("plain", "columns")):
            a, b = operand(rng, (m, depth), dtype, layout_a), operand(rng, (depth, n), dtype, layout_b)
            a[m - 1, depth - 1], a[m // 2, 0], b[depth // 2, n - 1] = np.nan, np.inf, -np.inf
            result = np.empty((m, n), dtype)
            compiled(kernel, "")("gemm", a, b, result, False)
            with np.errstate(invalid="ignore"):
                wanted = a.astype("float64") @ b.astype("float64")
            np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-3)


def build(dtype: str, target: str) -> rx.Executable:
    bb = rx.BlockBuilder()
    for name, left, right in (
        ("plain", "nk", "km"),
        ("right", "nk", "mk"),
        ("left", "kn", "km"),
        ("both", "kn", "mk"),
    ):
        x, y = rx.Var("x", rx.Tensor(tuple(left), dtype)), rx.Var("y", rx.Tensor(tuple(right), dtype))
        with bb.function(name, [x, y]):
            a = x if left == "nk" else bb.emit(op.permute_dims(x))
            b = y if right == "km" else bb.emit(op.permute_dims(y))
            bb.emit_func_output(bb.emit(op.matmul(a, b)))
    return rx.build(bb.get(), target)


@pytest.mark.parametrize(("dtype", "cpu"), sweep.product(["float32", "float64"], ["haswell", "native"]))
def test_sums_do_not_depend_on_threads(dtype: str, cpu: str) -> None:
    """Bit for bit: each thread computes a part of the rows, in the same blocks as a single thread."""
    alone, *several = (build(dtype, f"cpu -mcpu={cpu} -num-threads={threads}") for threads in (1, 2, 7))
    sizes = [(2000, 100, 33), (1111, 300, 7), (4001, 65, 12), (300, 1025, 3), (999, 257, 17), (65, 2000, 36)]
    sizes += [(16, 300, 5000), (33, 97, 1999), (6, 1025, 700)]
    for rows, depth, columns in sizes:
        rng = np.random.default_rng([rows, depth, columns])
        x, y = (
            rng.standard_normal((rows, depth)).astype(dtype),
            rng.standard_normal((depth, columns)).astype(dtype),
        )
        for name in ("plain", "right", "left", "both"):
            given: list[Any] = [x if name in ("plain", "right") else np.ascontiguousarray(x.T)]
            given.append(y if name in ("plain", "left") else np.ascontiguousarray(y.T))
            wanted = np.from_dlpack(alone[name](*given))
            for executable in several:
                np.testing.assert_array_equal(np.from_dlpack(executable[name](*given)), wanted, f"{name} {rows}")
