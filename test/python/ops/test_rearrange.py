"""pixel_shuffle, pixel_unshuffle, batch_flatten and dropout against torch and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
from harness import ALL, Array, Suite
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError


def shuffle(side: int) -> Callable[[Array], Array]:
    """The result of torch; for empty data, its shape differs."""

    def compute(x: Array) -> Array:
        *outer, channels, rows, columns = x.shape
        if not x.size:
            return np.zeros((*outer, channels // side**2, rows * side, columns * side), x.dtype)
        found = torch.nn.functional.pixel_shuffle(torch.tensor(x.astype(np.float64)), side).numpy()
        return np.asarray(found).astype(x.dtype)

    return compute


def unshuffle(side: int) -> Callable[[Array], Array]:
    def compute(x: Array) -> Array:
        *outer, channels, rows, columns = x.shape
        if not x.size:
            return np.zeros((*outer, channels * side**2, rows // side, columns // side), x.dtype)
        found = torch.nn.functional.pixel_unshuffle(torch.tensor(x.astype(np.float64)), side).numpy()
        return np.asarray(found).astype(x.dtype)

    return compute


PIXELS = ("float32", "float16", "bfloat16", "int8", "int64", "bool")


@pytest.mark.parametrize("dtype", PIXELS)
def test_pixels(dtype: str) -> None:
    suite = Suite.of(dtype, PIXELS)
    for side in (1, 2, 3):
        suite.add(
            "shuffle",
            lambda x, r=side: R.nn.pixel_shuffle(x, r),
            shuffle(side),
            [Tensor(("n", side * side * 2, "m", "k"), dtype)],
        )
        suite.add(
            "unshuffle",
            lambda x, r=side: R.nn.pixel_unshuffle(x, r),
            unshuffle(side),
            [Tensor(("n", 2, f"{side}*m", f"{side}*k"), dtype)],
        )
    suite.add(
        "three",
        lambda x: R.nn.pixel_shuffle(x, 2),
        shuffle(2),
        [Tensor(("4*k", "n", 3), dtype)],
    )
    suite.add(
        "five",
        lambda x: R.nn.pixel_shuffle(x, 2),
        shuffle(2),
        [Tensor((2, "n", 4, "m", 3), dtype)],
    )
    suite.run(test_pixels)


def test_batch_flatten() -> None:
    suite = Suite()
    for dtype in ALL:
        suite.add(
            dtype,
            R.nn.batch_flatten,
            lambda x: x.reshape(len(x), -1) if x.size else x.reshape(len(x), x.shape[1] * 3),
            [Tensor(("n", "m", 3), dtype)],
        )
    suite.add("vector", R.nn.batch_flatten, lambda x: x[:, None], [Tensor(("n",), "float32")])
    suite.run()


def test_dropout_changes_nothing() -> None:
    suite = Suite()
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        suite.add(
            dtype,
            lambda x: R.nn.dropout(x, 0.3),
            lambda x: [x, np.ones_like(x)],
            [Tensor(("n", "m"), dtype)],
            inputs=[[np.array([[np.nan, np.inf]], np.float32).astype(rx.dialects.dtypes.dtype(dtype).numpy)]],
        )
    suite.add("used", lambda x: R.add(R.nn.dropout(x)[0], x), lambda x: x + x, [Tensor(("n",), "float32")])
    suite.run()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda x: R.nn.pixel_shuffle(x, 2),
            ShapeError,
            "number of channels .* is 6, which is not provably a multiple of 4",
        ),
        (lambda x: R.nn.pixel_shuffle(x, 0), ArgumentError, "upscale_factor is 0"),
        (lambda x: R.nn.pixel_unshuffle(x, 2), ShapeError, "number of rows .* is h"),
        (
            lambda x: R.nn.pixel_shuffle(R.nn.batch_flatten(x), 1),
            ShapeError,
            "expected channels, rows and columns",
        ),
        (lambda x: R.nn.batch_flatten(R.sum(x)), ShapeError, "expected at least one dimension"),
        (lambda x: R.nn.dropout(x, 1.5), ArgumentError, "rate is 1.5"),
        (lambda x: R.nn.dropout(R.astype(x, "int8")), DTypeError, "expected a float"),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", 6, "h", "w"), "float32"))
    with pytest.raises(error, match=message), bb.function("main", [x]):
        bb.emit_func_output(build(x))
