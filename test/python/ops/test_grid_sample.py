"""grid_sample and affine_grid against torch."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy

SIZES = ((1, 3, 4, 2, 5), (2, 1, 1, 3, 1), (0, 2, 3, 2, 2), (3, 5, 2, 0, 4))
CASES = [
    (method, padding, corners)
    for number, (method, padding) in enumerate(
        itertools.product(("nearest", "bilinear", "bicubic"), ("zeros", "border", "reflection"))
    )
    for corners in (True, False)
    if sweep.ALL or corners == bool(number % 2)
]


@pytest.mark.parametrize("dtype", sweep.quick(["float32", "float16"], "float32"))
def test_images(dtype: str) -> None:
    cases = CASES if dtype == "float32" else sweep.part(CASES, lambda case: case[0], lambda case: case[1])
    bb = rx.BlockBuilder()
    for number, (method, padding, corners) in enumerate(cases):
        x, grid = (
            rx.Var("x", Tensor(("n", 2, "h", "w"), dtype)),
            rx.Var("g", Tensor(("n", 2, "p", "q"), dtype)),
        )
        with bb.function(f"sample_{number}", [x, grid]):
            bb.emit_func_output(R.image.grid_sample(x, grid, method, "NCHW", padding, corners))
    executable = rx.build(bb.get())
    rng, kind = np.random.default_rng(6), dtypes.dtype(dtype).numpy
    for number, (method, padding, corners) in enumerate(cases):
        for n, h, w, p, q in SIZES:
            x = rng.uniform(-1, 1, (n, 2, h, w)).astype(kind)
            grid = rng.uniform(-1.7, 1.7, (n, 2, p, q)).astype(kind)
            if dtype == "float16":
                grid = (np.round(grid.astype(np.float64) * 8) / 8 + 1 / 32).astype(kind)  # no ties
            found = to_numpy(executable[f"sample_{number}"](x, grid))
            assert (found.dtype, found.shape) == (x.dtype, (n, 2, p, q))
            if not found.size:
                continue
            places = torch.tensor(grid.astype(np.float64)).permute(0, 2, 3, 1)
            want = torch.nn.functional.grid_sample(
                torch.tensor(x.astype(np.float64)), places, method, padding, corners
            )
            tolerance = 2e-5 if dtype == "float32" else 4e-3
            np.testing.assert_allclose(
                found.astype(np.float64),
                want,
                tolerance,
                tolerance,
                err_msg=f"{cases[number]} {(n, h, w, p, q)}",
            )


@pytest.mark.slow
def test_volumes() -> None:
    bb = rx.BlockBuilder()
    kinds = [case for case in CASES if case[0] != "bicubic"]
    kinds = sweep.part(kinds, lambda case: (case[0], case[2]), lambda case: case[1])
    for number, (method, padding, corners) in enumerate(kinds):
        x = rx.Var("x", Tensor(("n", "c", "d", 3, "w"), "float32"))
        grid = rx.Var("g", Tensor(("n", 3, "p", 2, "q"), "float32"))
        with bb.function(f"sample_{number}", [x, grid]):
            bb.emit_func_output(R.image.grid_sample(x, grid, method, "NCDHW", padding, corners))
    executable = rx.build(bb.get())
    rng = np.random.default_rng(6)
    for number, (method, padding, corners) in enumerate(kinds):
        x = rng.uniform(-1, 1, (2, 3, 4, 3, 5)).astype(np.float32)
        grid = rng.uniform(-1.5, 1.5, (2, 3, 3, 2, 4)).astype(np.float32)
        want = torch.nn.functional.grid_sample(
            torch.tensor(x), torch.tensor(grid).permute(0, 2, 3, 4, 1), method, padding, corners
        )
        found = to_numpy(executable[f"sample_{number}"](x, grid))
        np.testing.assert_allclose(found, want.numpy(), 2e-5, 2e-5, err_msg=str(kinds[number]))


def test_places_that_are_nan() -> None:
    bb = rx.BlockBuilder()
    x, g = rx.Var("x", Tensor((1, 1, 2, 2), "float32")), rx.Var("g", Tensor((1, 2, 1, "q"), "float32"))
    with bb.function("main", [x, g]):
        bb.emit_func_output(R.image.grid_sample(x, g))
    grid = np.array([[np.nan, 0, np.inf], [0, -np.inf, 0]], np.float32).reshape(1, 2, 1, 3)
    found = to_numpy(rx.build(bb.get())["main"](np.ones((1, 1, 2, 2), np.float32), grid))
    np.testing.assert_array_equal(np.nan_to_num(found.ravel()), 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_affine_grid(dtype: str) -> None:
    bb = rx.BlockBuilder()
    a, b = rx.Var("a", Tensor(("n", 2, 3), dtype)), rx.Var("b", Tensor(("n", 3, 4), dtype))
    like = rx.Var("like", Tensor(("h", "w"), "int8"))
    with bb.function("main", [a, b, like]):
        results = [
            *(R.image.affine_grid(a, ("h", "w"), corners) for corners in (True, False)),
            *(R.image.affine_grid(b, (2, "h", "w"), corners) for corners in (True, False)),
        ]
        bb.emit_func_output(R.make_tuple(*results))
    main = rx.build(bb.get())["main"]
    rng, kind = np.random.default_rng(6), dtypes.dtype(dtype).numpy
    for n, h, w in ((1, 3, 4), (2, 1, 1), (0, 2, 2), (3, 5, 2)):
        flat, deep = (rng.uniform(-1, 1, (n, r, r + 1)).astype(kind) for r in (2, 3))
        found = main(flat, deep, np.zeros((h, w), np.int8))
        for number, have in enumerate(map(to_numpy, found)):
            size = (h, w) if number < 2 else (2, h, w)
            assert (have.dtype, have.shape) == (kind, (n, len(size), *size))
            if n == 0:
                continue
            matrix = torch.tensor((flat if number < 2 else deep).astype(np.float64))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # one element alone, at 0 since torch 1.3
                want = torch.nn.functional.affine_grid(matrix, [n, 1, *size], number % 2 == 0)
            want = want.movedim(-1, 1).numpy()
            tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 2e-6)
            np.testing.assert_allclose(have.astype(np.float64), want, tolerance, tolerance)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda x, g: R.image.grid_sample(x, x), ShapeError, "'grid' has 3 as coordinates of NCHW"),
        (lambda x, g: R.image.grid_sample(x, g, "cubic"), ArgumentError, "method is 'cubic'"),
        (
            lambda x, g: R.image.grid_sample(x, g, padding_mode="wrap"),
            ArgumentError,
            "padding_mode is 'wrap'",
        ),
        (lambda x, g: R.image.grid_sample(x, g, layout="NHWC"), ArgumentError, "layout is 'NHWC'"),
        (lambda x, g: R.image.grid_sample(x, g, layout="NCDHW"), ShapeError, "expected 5 dimensions"),
        (lambda x, g: R.image.grid_sample(x, g, "bicubic", "NCDHW"), ArgumentError, "which is for images"),
        (lambda x, g: R.image.grid_sample(x, R.astype(g, "int8")), DTypeError, "expected a float"),
        (lambda x, g: R.image.affine_grid(g, (1, 2)), ShapeError, "expected 3 dimensions"),
        (
            lambda x, g: R.image.affine_grid(R.ones((1, 3, 3)), (1, 2)),
            ShapeError,
            r"expected \(batch, 2, 3\)",
        ),
        (
            lambda x, g: R.image.affine_grid(R.ones((1, 3, 3)), (1, 2, 3, 4)),
            ShapeError,
            "expected 2 or 3 sizes",
        ),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    x, g = rx.Var("x", Tensor(("n", 3, "h", "w"), "float32")), rx.Var("g", Tensor(("n", 2, 4, 4), "float32"))
    with pytest.raises(error, match=message), bb.function("main", [x, g]):
        bb.emit_func_output(build(x, g))
