"""Adaptive pooling in one to three dimensions against torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
from harness import TOLERANCE, Array
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy

PLAIN = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
Case = tuple[str, tuple[int | str, ...], dict[str, Any]]


def reference(kind: str, x: Array, options: dict[str, Any], sizes: dict[str, int]) -> Array:
    count = x.ndim - 2
    layout = options.get("layout", PLAIN[count])
    data = torch.tensor(x.transpose([layout.index(c) for c in PLAIN[count]]).astype(np.float64))
    given = options.get("output_size")
    if given is None:
        given = list(data.shape[2:])
    given = [sizes.get(n, n) for n in (given if isinstance(given, list | tuple) else [given] * count)]
    found = getattr(torch.nn.functional, f"adaptive_{kind}_pool{count}d")(data, given).numpy()
    return np.asarray(found.transpose([PLAIN[count].index(c) for c in options.get("out_layout", layout)]))


def run(cases: Sequence[Case], sizes: Sequence[dict[str, int]], dtype: str = "float32") -> None:
    bb = rx.BlockBuilder()
    for number, (kind, shape, options) in enumerate(cases):
        x = rx.Var("x", Tensor(shape, dtype))
        k = rx.Var("k", Tensor(("k",), "int8"))
        with bb.function(f"pool_{number}", [x, k]):
            bb.emit_func_output(getattr(R.nn, f"adaptive_{kind}_pool{len(shape) - 2}d")(x, **options))
    executable = rx.build(bb.get())
    rng = np.random.default_rng(3)
    for number, (kind, shape, options) in enumerate(cases):
        for one in sizes:
            drawn = rng.uniform(-9, 9, [one.get(d, d) if isinstance(d, str) else d for d in shape])
            x = drawn.astype(dtypes.dtype(dtype).numpy)
            found = to_numpy(executable[f"pool_{number}"](x, np.zeros(one["k"], np.int8)))
            want = reference(kind, x, options, one)
            assert (found.dtype, found.shape) == (x.dtype, want.shape), (kind, options, one)
            tolerance = TOLERANCE.get(dtype, 0)
            np.testing.assert_allclose(
                found.astype(np.float64), want, tolerance, tolerance, err_msg=f"{kind} {options} {one}"
            )


SIZES = [
    {"n": n, "h": h, "w": w, "k": k}
    for n, h, w, k in ((1, 1, 1, 1), (2, 7, 5, 3), (0, 4, 4, 2), (3, 14, 33, 7), (1, 2, 3, 9))
]
IMAGE: tuple[int | str, ...] = ("n", 3, "h", "w")
CASES: list[Case] = [
    (kind, IMAGE, {"output_size": size}) for kind in ("avg", "max") for size in (1, (3, 2), ("k", 4), None)
]


def test_images() -> None:
    run(CASES, SIZES)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_floats(dtype: str) -> None:
    run([CASES[0], CASES[1], CASES[5]], SIZES[:2], dtype)


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_integers(dtype: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", 1, "w"), dtype))
    with bb.function("main", [x]):
        bb.emit_func_output(R.nn.adaptive_max_pool1d(x, 2))
    limits = np.iinfo(dtype)
    data = np.random.default_rng(1).integers(limits.min, limits.max, (2, 1, 6), dtype=dtype, endpoint=True)
    want = data.reshape(2, 1, 2, 3).max(-1)
    np.testing.assert_array_equal(to_numpy(rx.build(bb.get())["main"](data)), want)


def test_layouts_and_other_ranks() -> None:
    run(
        [
            ("avg", ("n", "h", "w", 3), {"output_size": (2, 3), "layout": "NHWC"}),
            ("max", ("n", "h", "w", 3), {"output_size": 2, "layout": "NHWC", "out_layout": "CNHW"}),
            ("avg", ("n", 2, "w"), {"output_size": 4}),
            ("max", ("n", 2, "w"), {"output_size": ["k"]}),
            ("avg", ("n", 2, "h", 4, "w"), {"output_size": (1, 3, 2)}),
            ("max", (1, 2, "h", "w", 3), {"output_size": 2}),
        ],
        SIZES,
    )


def test_means_of_large_halves() -> None:
    """The sum of a window is more than float16 holds."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor((1, 1, "w"), "float16"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.nn.adaptive_avg_pool1d(x, 1))
    found = to_numpy(rx.build(bb.get())["main"](np.full((1, 1, 100), 6e4, np.float16)))
    assert found.ravel()[0] == np.float16(6e4)


def test_empty_and_special() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor((1, 1, "w"), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.make_tuple(R.nn.adaptive_avg_pool1d(x, 2), R.nn.adaptive_max_pool1d(x, 2)))
    main = rx.build(bb.get())["main"]
    mean, best = (to_numpy(r).ravel() for r in main(np.zeros((1, 1, 0), np.float32)))
    np.testing.assert_array_equal(mean, [np.nan, np.nan])
    np.testing.assert_array_equal(best, [-np.inf, -np.inf])
    data = np.array([1, np.nan, 3, -np.inf], np.float32).reshape(1, 1, 4)
    mean, best = (to_numpy(r).ravel() for r in main(data))
    np.testing.assert_array_equal(mean, [np.nan, -np.inf])
    np.testing.assert_array_equal(best, [np.nan, 3])


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda x: R.nn.adaptive_avg_pool2d(x, (1, 2, 3)), ArgumentError, "expected 2 sizes"),
        (lambda x: R.nn.adaptive_avg_pool2d(x, -1), ArgumentError, "expected sizes from 0 on"),
        (lambda x: R.nn.adaptive_avg_pool2d(x, 1.5), ArgumentError, "'output_size'.* is 1.5"),
        (lambda x: R.nn.adaptive_avg_pool1d(x, 1), ShapeError, "expected 3 dimensions"),
        (lambda x: R.nn.adaptive_avg_pool2d(R.astype(x, "int32"), 1), DTypeError, "expected a float"),
        (lambda x: R.nn.adaptive_max_pool2d(R.astype(x, "bool"), 1), DTypeError, "expected a number"),
        (lambda x: R.nn.adaptive_max_pool2d(x, 1, layout="NHW"), ArgumentError, "layout is 'NHW'"),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(IMAGE, "float32"))
    with pytest.raises(error, match=message), bb.function("main", [x]):
        bb.emit_func_output(build(x))
