"""Products with few columns of a large left operand that is transposed: threads, epilogues, both layouts of B."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op
from relax_mlir.lowering.kernels.gemm.gemm_tiling import tiling
from relax_mlir.target import Target

SIZES = [(600, 1100, 33), (131, 5000, 16), (3000, 260, 7), (1111, 700, 48), (700, 999, 17), (1500, 513, 2)]
"""Rows, depth and columns."""
TARGETS = ("cpu", "cpu -num-threads=2", "cpu -mcpu=haswell")
RIGHT = ("plain", "transposed")


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
    return rx.build(bb.get(), target)


@pytest.mark.parametrize("target", sweep.quick(TARGETS, *TARGETS[1:]))
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
                np.testing.assert_allclose(
                    result, wanted, rtol=0, atol=tolerance * 8, err_msg=f"{right} {columns}"
                )


def test_sizes_are_beyond_the_second_level_cache() -> None:
    """Else they would be products of a left operand that is read where it lies."""
    for target in (Target.host(), Target("cpu -mcpu=haswell")):
        sizes = tiling(target, 32)
        assert any(rows * depth > 4 * sizes.kept_left for rows, depth, _ in SIZES)
