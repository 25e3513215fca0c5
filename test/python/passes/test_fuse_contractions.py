"""`fuse-ops` on contractions, of permuted tensors, too, slices and reductions: which ops are fused, and the values."""

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
    return R.multiply(scores, c(0.125))


def c(number: float) -> rx.Value:
    return R.const(np.float32(number))


def cut(x: rx.Value, axis: int, begin: Any, end: Any, step: int = 1) -> rx.Value:
    return R.strided_slice(x, axes=[axis], begin=[begin], end=[end], strides=[step])


def rotary(x: rx.Value, cos: rx.Value, sin: rx.Value) -> rx.Value:
    halves = R.split(x, 2, axis=-1)
    turned = R.concat([R.negative(halves[1]), halves[0]], axis=-1)
    return R.add(R.multiply(x, cos), R.multiply(turned, sin))


def two_halves(x: rx.Value) -> rx.Value:
    parts = R.split(x, 2, axis=1)
    return R.multiply(R.exp(parts[0]), parts[1])


def integers(*shape: int | str) -> Tensor:
    return Tensor(shape, "int32")


PRODUCTS: dict[str, Case] = {
    "bias and activation": (
        lambda x, w, b: R.nn.silu(R.add(R.matmul(x, w), b)),
        [f32("n", 8), f32(8, 12), f32(12)],
        1,
    ),
    "residual sum": (
        lambda x, w: R.add(R.nn.relu(x), R.multiply(R.matmul(x, w), R.const(np.float32(0.5)))),
        [f32("n", "m"), f32("m", "m")],
        1,
    ),
    "batches, a bias per row": (
        lambda x, y, b: R.exp(R.add(R.matmul(x, y), b)),
        [f32("n", "m", 3), f32("n", 3, "m"), f32("m", 1)],
        1,
    ),
    "both factors are the product": (
        lambda x, y: R.subtract(R.multiply(R.matmul(x, y), R.matmul(y, x)), R.matmul(x, x)),
        [f32("n", "n"), f32("n", "n")],
        3,
    ),
    "16-bit floats, summed up as 32 bits": (
        lambda x, w, b: R.nn.relu(R.add(R.matmul(x, w), b)),
        [f16("n", 8), f16(8, 12), f16(12)],
        1,
    ),
    "batches of 16-bit floats": (
        lambda x, w: R.negative(R.matmul(x, w)),
        [f16("m", "n", 8), f16("m", 8, "n")],
        1,
    ),
    "a vector, rounded": (lambda x, w: R.astype(R.matmul(x, w), "float16"), [f32("n", 8), f32(8)], 1),
    "a comparison": (
        lambda x, w: R.greater(R.matmul(x, w), R.const(np.float32(0.25))),
        [f32("n", 8), f32(8, "m")],
        1,
    ),
    "another element type": (lambda x, w: R.astype(R.matmul(x, w), "float64"), [f32("n", 8), f32(8, "m")], 1),
    "integers as floats, which have no kernel": (
        lambda x, w: R.astype(R.matmul(x, w), "float32"),
        [integers("n", "n"), integers("n", "n")],
        2,
    ),
    "integers": (lambda x, w: R.add(R.matmul(x, w), x), [integers("n", "n"), integers("n", "n")], 1),
    "vectors": (lambda x, w, b: R.tanh(R.add(R.matmul(x, w), b)), [f32("n"), f32("n", "m"), f32("m")], 1),
}

TRANSPOSES: dict[str, Case] = {
    "right operand": (lambda x, w: R.matmul(x, turn(w)), [f32("m", "k"), f32("n", "k")], 1),
    "left operand": (lambda x, w: R.matmul(turn(x), w), [f32("k", "m"), f32("k", "n")], 1),
    "both": (lambda x, w: R.nn.relu(R.matmul(turn(x), turn(w))), [f32("k", "m"), f32("n", "k")], 1),
    "a matrix and itself": (lambda x: R.matmul(x, turn(x)), [f32("m", "k")], 1),
    "twice the same": (lambda x: R.matmul(turn(x), turn(x)), [f32("m", "m")], 1),
    "two products": (
        lambda x, w, v: R.subtract(R.matmul(x, turn(w)), R.matmul(v, turn(w))),
        [f32("m", "k"), f32("n", "k"), f32("m", "k")],
        2,
    ),
    "batches": (lambda x, y: R.matmul(x, turn(y, 0, 2, 1)), [f32("h", "m", "k"), f32("h", "n", "k")], 1),
    "heads": (softmax_scores, [f32("n", "m", "h", "k"), f32("n", "m", "h", "k")], 1),
    "16-bit floats": (lambda x, w: R.matmul(x, turn(w)), [f16("m", "k"), f16("n", "k")], 1),
    "double": (
        lambda x, w: R.matmul(x, turn(w)),
        [Tensor(("m", "k"), "float64"), Tensor(("n", "k"), "float64")],
        1,
    ),
    "a vector": (lambda x, w: R.matmul(x, turn(w)), [f32("k"), f32("n", "k")], 1),
    "computed first": (lambda x, w: R.matmul(x, turn(R.exp(w))), [f32("m", "k"), f32("n", "k")], 2),
    "also used as it is": (
        lambda x, w: R.add(R.matmul(x, turn(w)), R.sum(turn(w), axis=[0])),
        [f32("m", "k"), f32("n", "k")],
        2,
    ),
    "the copy is needed anyway": (
        lambda x, w: (lambda t: R.concat([R.matmul(x, t), t], axis=0))(turn(w)),
        [f32("m", "k"), f32("n", "k")],
        3,
    ),
    "rows of several batches lie apart": (
        lambda x, w: R.matmul(turn(x, 1, 0, 2), w),
        [f32("m", "h", "k"), f32("k", "n")],
        2,
    ),
    "its last axis counts matrices": (
        lambda x, y: R.matmul(turn(x, 2, 0, 1), y),
        [f32("m", "k", "h"), f32("h", "k", "n")],
        2,
    ),
}

SLICES: dict[str, Case] = {
    "a concatenation between": (
        lambda a, b: R.nn.relu(R.concat([R.multiply(a, c(2)), b], axis=1)),
        [f32("n", "m"), f32("n", "k")],
        1,
    ),
    "along the first axis, with a row and a column": (
        lambda a, b, r, s: R.multiply(R.add(R.concat([a, R.exp(b), a], axis=0), r), s),
        [f32("n", "m"), f32("k", "m"), f32("m"), f32("k + 2*n", 1)],
        1,
    ),
    "turned": (
        lambda a, b, y: R.add(R.permute_dims(R.concat([a, b], axis=1)), y),
        [f32("n", "m"), f32("n", "k"), f32("k + m", "n")],
        1,
    ),
    "a slice before": (lambda x, y: R.add(R.exp(cut(x, 1, 1, 5)), y), [f32("n", 7), f32("n", 4)], 1),
    "a slice of a result": (lambda x, r: cut(R.exp(R.add(x, r)), 1, 2, 6), [f32("n", 9), f32(9)], 1),
    "slices in both directions": (
        lambda x: R.subtract(cut(cut(R.multiply(x, x), 0, 1, 8), 1, 0, 10, 3), c(1)),
        [f32(8, 10)],
        1,
    ),
    "steps keep exponentials apart": (lambda x: R.exp(cut(x, 1, 0, 10, 2)), [f32("n", 10)], 2),
    "both halves": (two_halves, [f32("n", "2*m")], 1),
    "rotary embedding": (rotary, [f32("n", "m", 8)] * 3, 1),
    "rotary embedding of any width": (rotary, [f32("n", "k", "2*m"), f32("k", "2*m"), f32("k", "2*m")], 1),
    "heavy work read in two slices": (
        lambda x: (lambda y: R.add(cut(y, 1, 0, 4), cut(y, 1, 3, 7)))(R.exp(x)),
        [f32("n", 7)],
        2,
    ),
    "cheap work read in two slices": (
        lambda x: (lambda y: R.add(cut(y, 1, 0, 4), cut(y, 1, 3, 7)))(R.negative(x)),
        [f32("n", 7)],
        1,
    ),
    "a slice of a concatenation": (
        lambda a, b: cut(R.concat([a, b], axis=1), 1, 2, 5),
        [f32("n", 4), f32("n", 3)],
        2,
    ),
    "a concatenation of concatenations": (
        lambda a, b: R.nn.relu(R.concat([R.concat([a, b], axis=1), a], axis=1)),
        [f32("n", "m"), f32("n", "k")],
        2,
    ),
    "sum of squares": (lambda x: R.sum(R.multiply(x, x), axis=[1]), [f32("n", "m")], 1),
    "mean distance": (lambda x, y: R.mean(R.abs(R.subtract(x, y))), [f32("n", "m"), f32("n", "m")], 1),
    "columns, with a row": (
        lambda x, r: R.sum(R.exp(R.add(x, r)), axis=[0], keepdims=True),
        [f32("n", "m"), f32("m")],
        1,
    ),
    "an outer sum": (lambda x, y: R.sum(R.multiply(x, y), axis=[0, 2]), [f32("n", "m", 1), f32("m", "k")], 1),
    "a slice of a product": (
        lambda x, y: R.sum(cut(R.multiply(x, y), 1, 1, 6), axis=[1]),
        [f32("n", 7), f32("n", 7)],
        1,
    ),
    "another element type": (
        lambda x: R.sum(R.astype(R.greater(x, c(0)), "float32"), axis=[1]),
        [f32("n", "m")],
        1,
    ),
    "a deviation reads twice": (lambda x: R.std(R.negative(x), axis=[1]), [f32("n", 5)], 2),
    "the place of the largest": (
        lambda x: R.astype(R.argmax(R.negative(x), axis=1), "float32"),
        [f32("n", 5)],
        3,
    ),
    "a reduction before": (lambda x: R.nn.relu(R.sum(x, axis=[1])), [f32("n", "m")], 2),
    "a concatenation before a reduction": (
        lambda a, b: R.sum(R.concat([R.exp(a), b], axis=1), axis=[1]),
        [f32("n", "m"), f32("n", "k")],
        2,
    ),
    "a product before a slice": (
        lambda x, w: R.nn.relu(cut(R.matmul(x, w), 1, 1, 4)),
        [f32("n", 3), f32(3, 6)],
        2,
    ),
}

TABLES = {"products": PRODUCTS, "transposes": TRANSPOSES, "slices": SLICES}


@pytest.mark.parametrize("table", TABLES)
def test_what_becomes_one(table: str) -> None:
    check_calls(TABLES[table])


@pytest.fixture(scope="module")
def executables() -> dict[str, rx.Executable]:
    return {table: rx.build(module_of(cases)) for table, cases in TABLES.items()}


@pytest.mark.parametrize(("table", "name"), [(table, name) for table, cases in TABLES.items() for name in cases])
def test_values(table: str, name: str, executables: dict[str, rx.Executable]) -> None:
    check_values(TABLES[table], name, executables[table])


@pytest.mark.parametrize(
    "name", [n for n, (_, ts, _) in PRODUCTS.items() if "n" not in map(str, ts[1].known_shape or ())]
)
def test_many_rows(name: str, executables: dict[str, rx.Executable]) -> None:
    check_values(PRODUCTS, name, executables["products"], [(1200, 3, 3, 3)])


def test_integers_are_copied() -> None:
    """No kernel supports them, and their loops need contiguous elements."""
    cases: dict[str, Case] = {"": (lambda x, w: R.matmul(x, turn(w)), [integers("m", "k"), integers("n", "k")], 2)}
    check_calls(cases)
    check_values(cases, "", rx.build(module_of(cases)))
