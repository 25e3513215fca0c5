"""`fuse-ops` through slices, concatenations and into reductions: which ops are fused, and the values."""

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


def f32(*shape: int | str) -> Tensor:
    return Tensor(shape, "float32")


def c(number: float) -> rx.Value:
    return R.const(np.float32(number))


def cut(x: rx.Value, axis: int, begin: Any, end: Any, step: int = 1) -> rx.Value:
    return R.strided_slice(x, axes=[axis], begin=[begin], end=[end], strides=[step])


def rotary(x: rx.Value, cos: rx.Value, sin: rx.Value) -> rx.Value:
    halves = R.split(x, 2, axis=-1)
    turned = R.concat([R.negative(halves[1]), halves[0]], axis=-1)
    return R.add(R.multiply(x, cos), R.multiply(turned, sin))


def rotary_numpy(x: Array, cos: Array, sin: Array) -> Array:
    left, right = np.split(x, 2, axis=-1)
    return x * cos + np.concatenate([-right, left], axis=-1) * sin


def two_halves(x: rx.Value) -> rx.Value:
    parts = R.split(x, 2, axis=1)
    return R.multiply(R.exp(parts[0]), parts[1])


Case = tuple[Callable[..., Any], Callable[..., Array], Sequence[Tensor], int]
CASES: dict[str, Case] = {
    "a concatenation between": (
        lambda a, b: R.nn.relu(R.concat([R.multiply(a, c(2)), b], axis=1)),
        lambda a, b: np.maximum(np.concatenate([a * 2, b], axis=1), 0),
        [f32("n", "m"), f32("n", "k")],
        1,
    ),
    "along the first axis, with a row and a column": (
        lambda a, b, r, s: R.multiply(R.add(R.concat([a, R.exp(b), a], axis=0), r), s),
        lambda a, b, r, s: (np.concatenate([a, np.exp(b), a], axis=0) + r) * s,
        [f32("n", "m"), f32("k", "m"), f32("m"), f32("k + 2*n", 1)],
        1,
    ),
    "turned": (
        lambda a, b, y: R.add(R.permute_dims(R.concat([a, b], axis=1)), y),
        lambda a, b, y: np.concatenate([a, b], axis=1).T + y,
        [f32("n", "m"), f32("n", "k"), f32("k + m", "n")],
        1,
    ),
    "a slice before": (
        lambda x, y: R.add(R.exp(cut(x, 1, 1, 5)), y),
        lambda x, y: np.exp(x[:, 1:5]) + y,
        [f32("n", 7), f32("n", 4)],
        1,
    ),
    "a slice of a result": (
        lambda x, r: cut(R.exp(R.add(x, r)), 1, 2, 6),
        lambda x, r: np.exp(x + r)[:, 2:6],
        [f32("n", 9), f32(9)],
        1,
    ),
    "slices in both directions": (
        lambda x: R.subtract(cut(cut(R.multiply(x, x), 0, 1, 8), 1, 0, 10, 3), c(1)),
        lambda x: (x * x)[1:8, 0:10:3] - 1,
        [f32(8, 10)],
        1,
    ),
    "steps keep exponentials apart": (
        lambda x: R.exp(cut(x, 1, 0, 10, 2)),
        lambda x: np.exp(x[:, 0:10:2]),
        [f32("n", 10)],
        2,
    ),
    "both halves": (
        two_halves,
        lambda x: np.exp(x[:, : x.shape[1] // 2]) * x[:, x.shape[1] // 2 :],
        [f32("n", "2*m")],
        1,
    ),
    "rotary embedding": (rotary, rotary_numpy, [f32("n", "m", 8)] * 3, 1),
    "rotary embedding of any width": (
        rotary,
        rotary_numpy,
        [f32("n", "k", "2*m"), f32("k", "2*m"), f32("k", "2*m")],
        1,
    ),
    "heavy work read in two slices": (
        lambda x: (lambda y: R.add(cut(y, 1, 0, 4), cut(y, 1, 3, 7)))(R.exp(x)),
        lambda x: np.exp(x)[:, 0:4] + np.exp(x)[:, 3:7],
        [f32("n", 7)],
        2,
    ),
    "cheap work read in two slices": (
        lambda x: (lambda y: R.add(cut(y, 1, 0, 4), cut(y, 1, 3, 7)))(R.negative(x)),
        lambda x: -x[:, 0:4] - x[:, 3:7],
        [f32("n", 7)],
        1,
    ),
    "a slice of a concatenation": (
        lambda a, b: cut(R.concat([a, b], axis=1), 1, 2, 5),
        lambda a, b: np.concatenate([a, b], axis=1)[:, 2:5],
        [f32("n", 4), f32("n", 3)],
        2,
    ),
    "a concatenation of concatenations": (
        lambda a, b: R.nn.relu(R.concat([R.concat([a, b], axis=1), a], axis=1)),
        lambda a, b: np.maximum(np.concatenate([a, b, a], axis=1), 0),
        [f32("n", "m"), f32("n", "k")],
        2,
    ),
    "sum of squares": (
        lambda x: R.sum(R.multiply(x, x), axis=[1]),
        lambda x: np.sum(x * x, axis=1),
        [f32("n", "m")],
        1,
    ),
    "mean distance": (
        lambda x, y: R.mean(R.abs(R.subtract(x, y))),
        lambda x, y: np.mean(np.abs(x - y)) if x.size else np.float32("nan"),
        [f32("n", "m"), f32("n", "m")],
        1,
    ),
    "columns, with a row": (
        lambda x, r: R.sum(R.exp(R.add(x, r)), axis=[0], keepdims=True),
        lambda x, r: np.sum(np.exp(x + r), axis=0, keepdims=True),
        [f32("n", "m"), f32("m")],
        1,
    ),
    "an outer sum": (
        lambda x, y: R.sum(R.multiply(x, y), axis=[0, 2]),
        lambda x, y: np.sum(x * y, axis=(0, 2)),
        [f32("n", "m", 1), f32("m", "k")],
        1,
    ),
    "a slice of a product": (
        lambda x, y: R.sum(cut(R.multiply(x, y), 1, 1, 6), axis=[1]),
        lambda x, y: np.sum((x * y)[:, 1:6], axis=1),
        [f32("n", 7), f32("n", 7)],
        1,
    ),
    "another element type": (
        lambda x: R.sum(R.astype(R.greater(x, c(0)), "float32"), axis=[1]),
        lambda x: np.sum((x > 0).astype(np.float32), axis=1),
        [f32("n", "m")],
        1,
    ),
    "a deviation reads twice": (
        lambda x: R.std(R.negative(x), axis=[1]),
        lambda x: np.std(-x, axis=1),
        [f32("n", 5)],
        2,
    ),
    "the place of the largest": (
        lambda x: R.astype(R.argmax(R.negative(x), axis=1), "float32"),
        lambda x: np.argmax(-x, axis=1).astype(np.float32),
        [f32("n", 5)],
        3,
    ),
    "a reduction before": (
        lambda x: R.nn.relu(R.sum(x, axis=[1])),
        lambda x: np.maximum(np.sum(x, axis=1), 0),
        [f32("n", "m")],
        2,
    ),
    "a concatenation before a reduction": (
        lambda a, b: R.sum(R.concat([R.exp(a), b], axis=1), axis=[1]),
        lambda a, b: np.sum(np.concatenate([np.exp(a), b], axis=1), axis=1),
        [f32("n", "m"), f32("n", "k")],
        2,
    ),
    "a product before a slice": (
        lambda x, w: R.nn.relu(cut(R.matmul(x, w), 1, 1, 4)),
        lambda x, w: np.maximum((x @ w)[:, 1:4], 0),
        [f32("n", 3), f32(3, 6)],
        2,
    ),
}


def test_what_becomes_one() -> None:
    check_calls(CASES)


@pytest.fixture(scope="module")
def executable() -> Any:
    return rx.build(module_of(CASES))


SIZES = [
    (1, 1, 1),
    (0, 3, 2),
    (3, 0, 5),
    (3, 5, 0),
    (0, 0, 0),
    (2, 1, 9),
    (5, 17, 8),
    (33, 9, 31),
    (7, 40, 3),
]


@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
def test_values(number: int, executable: Any) -> None:
    _, reference, params, _ = list(CASES.values())[number]
    rng = np.random.default_rng(number)
    for n, m, k in SIZES:
        sizes = {"n": n, "m": m, "k": k, "2*m": 2 * m, "k + m": k + m, "k + 2*n": k + 2 * n}
        shapes = [[d if isinstance(d, int) else sizes[str(d)] for d in p.known_shape or ()] for p in params]
        inputs = [rng.uniform(-2, 2, shape).astype(np.float32) for shape in shapes]
        wide = [np.full((*x.shape[:-1], 2 * x.shape[-1]), np.nan, np.float32)[..., ::2] for x in inputs]
        for view, x in zip(wide, inputs, strict=True):
            view[...] = x
        expected = reference(*inputs)
        for given in (inputs, [np.ascontiguousarray(x) for x in wide]):
            result = np.from_dlpack(executable[f"case{number}"](*given))
            assert result.shape == np.shape(expected)
            np.testing.assert_allclose(result, expected, rtol=3e-5, atol=3e-5)
