"""Batched GEMM in one call: all layouts, sizes around those of tiles, with and without matrices that are too large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op
from relax_mlir.lowering.kernels.gemm import lower_contractions

LAYOUTS = ("plain", "left transposed", "right transposed", "right shared", "two batches", "added to")
SIZES = [
    *(
        (3, 8, 8, 8),
        (0, 4, 4, 4),
        (1, 1, 1, 1),
        (5, 2, 3, 4),
        (4, 9, 7, 17),
        (3, 16, 16, 16),
        (2, 17, 64, 32),
    ),
    *(
        (2, 64, 65, 32),
        (2, 65, 64, 31),
        (3, 3, 0, 5),
        (3, 0, 4, 5),
        (3, 4, 4, 0),
        (2, 7, 12, 33),
        (7, 12, 12, 12),
    ),
    *((2, 5, 1, 1), (3, 6, 9, 16), (3, 2, 64, 15), (40, 8, 8, 8), (2, 13, 5, 9), (3, 8, 300, 8)),
]
"""Products, rows, depth and columns."""


TARGETS = ("cpu", "cpu -num-threads=2", "cpu -mcpu=haswell", "cpu -mcpu=x86-64")
TOLERANCE = {"float32": 2.0**-16, "float64": 2.0**-44}


def shapes(layout: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    left = ("b", "k", "n") if layout == "left transposed" else ("b", "n", "k")
    right = ("b", "m", "k") if layout == "right transposed" else ("b", "k", "m")
    if layout == "right shared":
        right = right[1:]
    if layout == "two batches":
        left = ("h", *left)
    return left, right


def tried(dtype: str, target: str) -> list[str]:
    """The layouts for an element type; the types alternate, differently for each target."""
    types = [*TOLERANCE][:: -1 if TARGETS.index(target) % 2 else 1]
    return sweep.turn(dtype, types, LAYOUTS)


def build(target: str) -> rx.Executable:
    bb = rx.BlockBuilder()
    for dtype in TOLERANCE:
        for layout in tried(dtype, target):
            x, y = (rx.Var(n, rx.Tensor(s, dtype)) for n, s in zip("xy", shapes(layout), strict=True))
            with bb.function(f"{layout} {dtype}".replace(" ", "_"), [x, y]):
                left = bb.emit(op.permute_dims(x, [0, 2, 1])) if layout == "left transposed" else x
                right = bb.emit(op.permute_dims(y, [0, 2, 1])) if layout == "right transposed" else y
                result = bb.emit(op.matmul(left, right))
                if layout == "added to":
                    result = bb.emit(op.nn.relu(bb.emit(op.add(result, result))))
                bb.emit_func_output(result)
    return rx.build(bb.get(), target)


def operands(layout: str, dtype: str, size: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(list(size))
    known = dict(zip("bnkm", size, strict=True)) | {"h": 2}
    return [rng.standard_normal([known[d] for d in shape]).astype(dtype) for shape in shapes(layout)]


def expected(layout: str, x: Any, y: Any) -> Any:
    left, right = (each.astype("float64") for each in (x, y))
    left = left.swapaxes(-1, -2) if layout == "left transposed" else left
    right = right.swapaxes(-1, -2) if layout == "right transposed" else right
    result = left @ right
    return np.maximum(2 * result, 0) if layout == "added to" else result


@pytest.mark.parametrize("target", sweep.quick(TARGETS, TARGETS[0], TARGETS[3]))
def test_batches(target: str) -> None:
    functions = build(target)
    for dtype, tolerance in TOLERANCE.items():
        for layout in tried(dtype, target):
            function = functions[f"{layout} {dtype}".replace(" ", "_")]
            for size in SIZES:
                x, y = operands(layout, dtype, size)
                result = np.from_dlpack(function(x, y))
                wanted = expected(layout, x, y)
                assert result.shape == wanted.shape
                np.testing.assert_allclose(result, wanted, rtol=0, atol=tolerance * 16, err_msg=f"{layout} {size}")


def test_nan_and_infinity_stay_in_their_product() -> None:
    """A tile that computes a row twice, or lanes after the last column, does not read other matrices."""
    function = build("cpu")["plain_float32"]
    x, y = np.ones((5, 9, 3), "float32"), np.ones((5, 3, 7), "float32")
    x[1], y[3] = np.nan, np.inf
    result = np.from_dlpack(function(x, y))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(result, x @ y)


def test_sizes_are_on_both_sides_of_the_limits() -> None:
    """They must be changed together with the tile sizes."""
    for axis, limit in ((1, lower_contractions._MAX_ROWS), (2, lower_contractions._MAX_DEPTH)):
        assert {limit, limit + 1} <= {size[axis] for size in SIZES}
