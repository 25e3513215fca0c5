"""Elements of images at positions that are data, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from topi_cases import check, random

N, C, H, W, D, K, L = (te.var(name) for name in ("n", "c", "h", "w", "d", "k", "l"))
F = torch.nn.functional


def sampled(data: Any, grid: Any, mode: str, padding: str, corners: bool) -> Any:
    """torch's, whose grids have the coordinates last."""
    wide = "f8" if data.dtype == "f8" else "f4"
    places = torch.tensor(np.moveaxis(grid.astype(wide), 1, -1))
    return F.grid_sample(torch.tensor(data.astype(wide)), places, mode, padding, corners).numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_samples_of_two_dimensions(dtype: str) -> None:
    x, g = te.placeholder((N, C, H, W), dtype, "x"), te.placeholder((N, 2, K, L), dtype, "g")
    ways = [
        (m, p, c)
        for m in ("nearest", "bilinear", "bicubic")
        for p in ("zeros", "border", "reflection")
        for c in (False, True)
    ]
    if dtype != "float32":
        ways = [("nearest", "zeros", True), ("bilinear", "reflection", False), ("bicubic", "border", False)]
    cases: dict[str, Any] = {
        str(how): (
            lambda x, g, h=how: topi.image.grid_sample(x, g, h[0], "NCHW", h[1], h[2]),
            lambda x, g, h=how: sampled(x, g, *h),
        )
        for how in ways
    }
    arrays = [
        [
            random((n, c, h, w), dtype),
            (random((n, 2, k, m), dtype, 1) * 0.8).astype(random((1,), dtype).dtype),
        ]
        for n, c, h, w, k, m in (
            (2, 3, 5, 4, 6, 7),
            (1, 1, 1, 1, 3, 1),
            (1, 2, 3, 1, 2, 2),
            (2, 1, 2, 3, 0, 2),
        )
    ]
    loose = {"float16": 4e-3, "bfloat16": 4e-2}.get(dtype, 2e-4)
    check(
        [x, g],
        cases,
        arrays,
        rtol=loose,
        atol=loose,
        turn=(dtype, ("float32", "float64", "float16", "bfloat16")),
    )


@pytest.mark.slow
def test_samples_of_three_dimensions() -> None:
    x, g = te.placeholder((N, C, D, H, W), name="x"), te.placeholder((N, 3, K, L, 2), name="g")
    cases: dict[str, Any] = {}
    for mode in ("nearest", "bilinear"):
        for padding, corners in (
            ("zeros", False),
            ("border", True),
            ("reflection", False),
            ("reflection", True),
        ):
            how = mode, padding, corners
            cases[str(how)] = (
                lambda x, g, h=how: topi.image.grid_sample(x, g, h[0], "NCDHW", h[1], h[2]),
                lambda x, g, h=how: sampled(x, g, *h),
            )
    arrays = [
        [random((n, c, d, h, w)), random((n, 3, k, m, 2), seed=1) * np.float32(0.7)]
        for n, c, d, h, w, k, m in ((2, 2, 3, 5, 4, 3, 2), (1, 1, 1, 1, 1, 1, 1))
    ]
    check([x, g], cases, arrays, rtol=2e-4, atol=2e-4)


def test_places_that_are_no_numbers_read_nothing_outside() -> None:
    """The result of such a position is unspecified; other elements are correct, and no call fails."""
    x, g = te.placeholder((1, 1, H, W), name="x"), te.placeholder((1, 2, 1, K), name="g")
    bad = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0], "f4")
    grid = np.stack([bad, bad]).reshape(1, 2, 1, 6)
    cases: dict[str, Any] = {
        f"{mode} {padding}": (
            lambda x, g, m=mode, p=padding: topi.strided_slice(
                topi.image.grid_sample(x, g, m, "NCHW", p, True), (5,), (6,), axes=(3,)
            ),
            lambda x, g: x[:, :, 1:2, 1:2],
        )
        for mode, padding in (
            ("nearest", "zeros"),
            ("bilinear", "border"),
            ("bicubic", "reflection"),
            ("bilinear", "zeros"),
        )
    }
    check([x, g], cases, [[random((1, 1, 3, 3)), grid]], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_grids(dtype: str) -> None:
    x, z = te.placeholder((N, 2, 3), dtype, "x"), te.placeholder((H, W), name="z")
    y = te.placeholder((N, 3, 4), dtype, "y")
    cases: dict[str, Any] = {}
    for corners in (False, True):
        cases[f"two {corners}"] = (
            lambda x, z, y, c=corners: topi.image.affine_grid(x, (H, W), c),
            lambda x, z, y, c=corners: _grid(x, z.shape, c),
        )
        cases[f"two static {corners}"] = (
            lambda x, z, y, c=corners: topi.image.affine_grid(x, (1, 3), c),
            lambda x, z, y, c=corners: _grid(x, (1, 3), c),
        )
        cases[f"three {corners}"] = (
            lambda x, z, y, c=corners: topi.image.affine_grid(y, (2, H, W), c),
            lambda x, z, y, c=corners: _grid(y, (2, *z.shape), c),
        )
    arrays = [
        [random((n, 2, 3), dtype), random((h, w)), random((n, 3, 4), dtype)]
        for n, h, w in ((2, 3, 4), (1, 1, 1), (3, 1, 5))
    ]
    loose = {"float16": 4e-3, "bfloat16": 4e-2}.get(dtype, 1e-5)
    check(
        [x, z, y],
        cases,
        arrays,
        rtol=loose,
        atol=loose,
        turn=(dtype, ("float32", "float64", "float16", "bfloat16")),
    )


def _grid(x: Any, sizes: Any, corners: bool) -> Any:
    found = F.affine_grid(torch.tensor(x.astype("f8")), (len(x), 1, *sizes), corners).numpy()
    return np.moveaxis(found, -1, 1)


def test_mistakes() -> None:
    x, g = te.placeholder((N, C, H, W), name="x"), te.placeholder((N, 2, K, L), name="g")
    sample = topi.image.grid_sample
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: sample(topi.cast(x, "int32"), g), DTypeError, "does not hold floats"),
        (lambda: sample(x, x), ShapeError, "does not fit"),
        (lambda: sample(x, g, "area"), ArgumentError, "'method' is 'area'"),
        (lambda: sample(x, g, layout="NHWC"), ArgumentError, "expected NCHW or NCDHW"),
        (lambda: sample(x, g, padding_mode="wrap"), ArgumentError, "'padding_mode' is 'wrap'"),
        (lambda: sample(x, topi.expand_dims(g, 2)), ShapeError, "does not fit"),
        (lambda: sample(topi.cast(x, "float64"), g), DTypeError, "the grid has dtype float32"),
        (
            lambda: sample(topi.expand_dims(x, 2), te.placeholder((N, 3, 1, 1, 1)), "bicubic", "NCDHW"),
            ArgumentError,
            "for two dimensions",
        ),
        (lambda: topi.image.affine_grid(g, (2, 3)), ShapeError, "2 sizes for"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
