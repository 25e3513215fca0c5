"""`fuse-ops` on contractions and their epilogues: which ops are fused, and the values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from fusion_cases import check_calls, module_of
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor

Array = np.ndarray[Any, Any]
Build = Callable[..., Any]


def f(array: Array) -> Array:
    return array.astype(np.float64)


CASES: dict[str, tuple[Build, Callable[..., Array], Sequence[Tensor], int]] = {
    "bias and activation": (
        lambda x, w, b: R.nn.silu(R.add(R.matmul(x, w), b)),
        lambda x, w, b: (x @ w + b) / (1 + np.exp(-(x @ w + b))),
        [Tensor(("n", 8), "float32"), Tensor((8, 12), "float32"), Tensor((12,), "float32")],
        1,
    ),
    "residual sum": (
        lambda x, w: R.add(R.nn.relu(x), R.multiply(R.matmul(x, w), R.const(np.float32(0.5)))),
        lambda x, w: np.maximum(x, 0) + 0.5 * (x @ w),
        [Tensor(("n", "m"), "float32"), Tensor(("m", "m"), "float32")],
        1,
    ),
    "batches, a bias per row": (
        lambda x, y, b: R.exp(R.add(R.matmul(x, y), b)),
        lambda x, y, b: np.exp(x @ y + b),
        [
            Tensor(("n", "m", 3), "float32"),
            Tensor(("n", 3, "m"), "float32"),
            Tensor(("m", 1), "float32"),
        ],
        1,
    ),
    "both factors are the product": (
        lambda x, y: R.subtract(R.multiply(R.matmul(x, y), R.matmul(y, x)), R.matmul(x, x)),
        lambda x, y: (x @ y) * (y @ x) - x @ x,
        [Tensor(("n", "n"), "float32"), Tensor(("n", "n"), "float32")],
        3,
    ),
    "16-bit floats, summed up as 32 bits": (
        lambda x, w, b: R.nn.relu(R.add(R.matmul(x, w), b)),
        lambda x, w, b: np.maximum(x @ w + b, 0),
        [Tensor(("n", 8), "float16"), Tensor((8, 12), "float16"), Tensor((12,), "float16")],
        1,
    ),
    "batches of 16-bit floats": (
        lambda x, w: R.negative(R.matmul(x, w)),
        lambda x, w: -(x @ w),
        [Tensor(("m", "n", 8), "float16"), Tensor(("m", 8, "n"), "float16")],
        1,
    ),
    "a vector, rounded": (
        lambda x, w: R.astype(R.matmul(x, w), "float16"),
        lambda x, w: x @ w,
        [Tensor(("n", 8), "float32"), Tensor((8,), "float32")],
        1,
    ),
    "a comparison": (
        lambda x, w: R.greater(R.matmul(x, w), R.const(np.float32(0.25))),
        lambda x, w: x @ w > 0.25,
        [Tensor(("n", 8), "float32"), Tensor((8, "m"), "float32")],
        1,
    ),
    "another element type": (
        lambda x, w: R.astype(R.matmul(x, w), "float64"),
        lambda x, w: x @ w,
        [Tensor(("n", 8), "float32"), Tensor((8, "m"), "float32")],
        1,
    ),
    "integers as floats, which have no kernel": (
        lambda x, w: R.astype(R.matmul(x, w), "float32"),
        lambda x, w: x @ w,
        [Tensor(("n", "n"), "int32"), Tensor(("n", "n"), "int32")],
        2,
    ),
    "integers": (
        lambda x, w: R.add(R.matmul(x, w), x),
        lambda x, w: x @ w + x,
        [Tensor(("n", "n"), "int32"), Tensor(("n", "n"), "int32")],
        1,
    ),
    "vectors": (
        lambda x, w, b: R.tanh(R.add(R.matmul(x, w), b)),
        lambda x, w, b: np.tanh(x @ w + b),
        [Tensor(("n",), "float32"), Tensor(("n", "m"), "float32"), Tensor(("m",), "float32")],
        1,
    ),
}


SQUARE = [
    number for number, case in enumerate(CASES.values()) if "n" in map(str, case[2][1].known_shape or ())
]
"""Cases whose work grows with n²."""


def test_what_becomes_one() -> None:
    check_calls(CASES)


@pytest.fixture(scope="module")
def executable() -> Any:
    return rx.build(module_of(CASES))


@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
def test_values(number: int, executable: Any) -> None:
    _, reference, params, _ = list(CASES.values())[number]
    rng = np.random.default_rng(number)
    for n, m in ((1, 1), (0, 3), (3, 0), (5, 17), (33, 9), (1200, 3)):
        if n > 100 and number in SQUARE:
            continue
        sizes = {"n": n, "m": m}
        inputs = []
        for info in params:
            shape = [d if isinstance(d, int) else sizes[str(d)] for d in info.known_shape or ()]
            whole = str(info.dtype).startswith("int")
            numbers = rng.integers(-9, 9, shape) if whole else rng.uniform(-1, 1, shape)
            inputs.append(numbers.astype(np.dtype(str(info.dtype))))
        result = np.from_dlpack(executable[f"case{number}"](*inputs))
        expected = reference(*(inputs if result.dtype.kind == "i" else map(f, inputs)))
        if result.dtype == np.bool_:
            result, expected = result.astype("int8"), expected.astype("int8")
        tolerance = 1e-2 if result.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(f(result), f(expected), rtol=tolerance, atol=tolerance)
