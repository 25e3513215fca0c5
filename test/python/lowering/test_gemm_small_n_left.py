"""GEMM with few columns and a large, transposed left operand: threads, epilogues, both layouts of B."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op
from relax_mlir.lowering.kernels.gemm.gemm_small_n import max_read
from relax_mlir.lowering.kernels.gemm.gemm_tiling import tiling
from relax_mlir.target import Target

SIZES = [
    (600, 140, 33),
    (131, 700, 16),
    (31, 2600, 7),
    (111, 700, 48),
    (70, 999, 17),
    (30, 2400, 2),
    (1500, 60, 3),
]
"""Rows, depth and columns."""
L2_BYTES = 64 << 10
TARGETS = ("cpu", "cpu -num-threads=2", "cpu -mcpu=haswell")
RIGHT = ("plain", "transposed")


@cache
def build(target: str) -> rx.Executable:
    bb = rx.BlockBuilder()
    for dtype in ("float32", "float64"):
        for right in RIGHT:
            shape = ("k", "m") if right == "plain" else ("m", "k")
            x, y = rx.Var("x", rx.Tensor(("k", "n"), dtype)), rx.Var("y", rx.Tensor(shape, dtype))
            bias = rx.Var("bias", rx.Tensor(("m",), dtype))
            with bb.function(f"{right}_{dtype}", [x, y, bias]):
                left = bb.emit(op.permute_dims(x))
                product = bb.emit(op.matmul(left, bb.emit(op.permute_dims(y)) if right != "plain" else y))
                bb.emit_func_output(bb.emit(op.nn.relu(bb.emit(op.add(product, bias)))))
    return rx.build(bb.get(), Target(target, l2_bytes=L2_BYTES))


@pytest.mark.parametrize("target", sweep.quick(TARGETS, TARGETS[2]))
def test_products(target: str) -> None:
    functions = build(target)
    for dtype, tolerance in (("float32", 2.0**-12), ("float64", 2.0**-40)):
        for right in RIGHT:
            for rows, depth, columns in SIZES:
                rng = np.random.default_rng([rows, depth, columns])
                x, y = (rng.standard_normal(s).astype(dtype) for s in ((depth, rows), (depth, columns)))
                bias = rng.standard_normal(columns).astype(dtype)
                given: Any = y if right == "plain" else np.ascontiguousarray(y.T)
                result = np.from_dlpack(functions[f"{right}_{dtype}"](x, given, bias))
                wanted = np.maximum(x.T.astype("float64") @ y + bias, 0)
                np.testing.assert_allclose(result, wanted, rtol=0, atol=tolerance * 8, err_msg=f"{right} {columns}")


@pytest.mark.slow
def test_sums_do_not_depend_on_threads() -> None:
    """Bit for bit: the parts of threads begin at row blocks."""
    alone, several = build("cpu"), build("cpu -num-threads=2")
    for dtype in ("float32", "float64"):
        for rows, depth, columns in SIZES:
            rng = np.random.default_rng([rows, depth, columns])
            x, y = (rng.standard_normal(s).astype(dtype) for s in ((depth, rows), (depth, columns)))
            given = (x, y, np.zeros(columns, dtype))
            results = [np.from_dlpack(each[f"plain_{dtype}"](*given)) for each in (alone, several)]
            np.testing.assert_array_equal(*results, f"{dtype} {rows}")


def test_sizes_are_beyond_what_is_read_where_it_lies() -> None:
    for target in ("cpu", "cpu -mcpu=haswell"):
        sizes = tiling(Target(target, l2_bytes=L2_BYTES), 32)
        assert all(rows * depth > max_read(sizes) for rows, depth, _ in SIZES)
