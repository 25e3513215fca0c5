"""`fuse-ops` on contractions of permuted tensors: which of them are copied, and the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from fusion_cases import Case, check_calls, check_values, f16, f32, module_of
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor


def turn(x: Any, *axes: int) -> Any:
    return R.permute_dims(x, list(axes) or None)


def softmax_scores(x: Any, y: Any) -> Any:
    scores = R.matmul(turn(x, 0, 2, 1, 3), turn(y, 0, 2, 3, 1))
    return R.multiply(scores, R.const(np.float32(0.125)))


CASES: dict[str, Case] = {
    "right operand": (
        lambda x, w: R.matmul(x, turn(w)),
        lambda x, w: x @ w.T,
        [f32("m", "k"), f32("n", "k")],
        1,
    ),
    "left operand": (
        lambda x, w: R.matmul(turn(x), w),
        lambda x, w: x.T @ w,
        [f32("k", "m"), f32("k", "n")],
        1,
    ),
    "both": (
        lambda x, w: R.nn.relu(R.matmul(turn(x), turn(w))),
        lambda x, w: np.maximum(x.T @ w.T, 0),
        [f32("k", "m"), f32("n", "k")],
        1,
    ),
    "a matrix and itself": (lambda x: R.matmul(x, turn(x)), lambda x: x @ x.T, [f32("m", "k")], 1),
    "twice the same": (lambda x: R.matmul(turn(x), turn(x)), lambda x: x.T @ x.T, [f32("m", "m")], 1),
    "two products": (
        lambda x, w, v: R.subtract(R.matmul(x, turn(w)), R.matmul(v, turn(w))),
        lambda x, w, v: x @ w.T - v @ w.T,
        [f32("m", "k"), f32("n", "k"), f32("m", "k")],
        2,
    ),
    "batches": (
        lambda x, y: R.matmul(x, turn(y, 0, 2, 1)),
        lambda x, y: x @ y.transpose(0, 2, 1),
        [f32("h", "m", "k"), f32("h", "n", "k")],
        1,
    ),
    "heads": (
        softmax_scores,
        lambda x, y: x.transpose(0, 2, 1, 3) @ y.transpose(0, 2, 3, 1) * 0.125,
        [f32("n", "m", "h", "k"), f32("n", "m", "h", "k")],
        1,
    ),
    "16-bit floats": (
        lambda x, w: R.matmul(x, turn(w)),
        lambda x, w: x @ w.T,
        [f16("m", "k"), f16("n", "k")],
        1,
    ),
    "double": (
        lambda x, w: R.matmul(x, turn(w)),
        lambda x, w: x @ w.T,
        [Tensor(("m", "k"), "float64"), Tensor(("n", "k"), "float64")],
        1,
    ),
    "a vector": (lambda x, w: R.matmul(x, turn(w)), lambda x, w: x @ w.T, [f32("k"), f32("n", "k")], 1),
    "computed first": (
        lambda x, w: R.matmul(x, turn(R.exp(w))),
        lambda x, w: x @ np.exp(w).T,
        [f32("m", "k"), f32("n", "k")],
        2,
    ),
    "also used as it is": (
        lambda x, w: R.add(R.matmul(x, turn(w)), R.sum(turn(w), axis=[0])),
        lambda x, w: x @ w.T + w.T.sum(axis=0),
        [f32("m", "k"), f32("n", "k")],
        2,
    ),
    "the copy is needed anyway": (
        lambda x, w: (lambda t: R.concat([R.matmul(x, t), t], axis=0))(turn(w)),
        lambda x, w: np.concatenate([x @ w.T, w.T]),
        [f32("m", "k"), f32("n", "k")],
        3,
    ),
    "rows of several batches lie apart": (
        lambda x, w: R.matmul(turn(x, 1, 0, 2), w),
        lambda x, w: x.transpose(1, 0, 2) @ w,
        [f32("m", "h", "k"), f32("k", "n")],
        2,
    ),
    "its last axis counts matrices": (
        lambda x, y: R.matmul(turn(x, 2, 0, 1), y),
        lambda x, y: x.transpose(2, 0, 1) @ y,
        [f32("m", "k", "h"), f32("h", "k", "n")],
        2,
    ),
}


def test_what_becomes_one() -> None:
    check_calls(CASES)


@pytest.fixture(scope="module")
def executable() -> Any:
    return rx.build(module_of(CASES))


@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
def test_values(number: int, executable: Any) -> None:
    check_values(CASES, number, executable)


def test_integers_are_copied() -> None:
    """No kernel supports them, and their loops need contiguous elements."""
    ints = [Tensor(("m", "k"), "int32"), Tensor(("n", "k"), "int32")]
    cases: dict[str, Case] = {"": (lambda x, w: R.matmul(x, turn(w)), lambda x, w: x @ w.T, ints, 2)}
    check_calls(cases)
    x, w = np.arange(12, dtype="int32").reshape(3, 4), np.arange(20, dtype="int32").reshape(5, 4) - 7
    np.testing.assert_array_equal(np.from_dlpack(rx.build(module_of(cases))["case0"](x, w)), x @ w.T)
