"""Transposed convolutions in one to three dimensions against torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import TOLERANCE, Array
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError, UnsupportedError
from relax_mlir.runtime import to_numpy

PLAIN = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
Case = tuple[tuple[int | str, ...], tuple[int | str, ...], dict[str, Any]]


def reference(x: Array, w: Array, options: dict[str, Any]) -> Array:
    """The result of torch in float64 (exact for integers), in the layouts of the options."""
    count = x.ndim - 2
    plain, kernel = PLAIN[count], PLAIN[count].replace("NC", "IO")
    layout, weights = options.get("data_layout", plain), options.get("kernel_layout", kernel)
    data = torch.tensor(x.transpose([layout.index(c) for c in plain]).astype(np.float64))
    weight = torch.tensor(w.transpose([weights.index(c) for c in kernel]).astype(np.float64))
    names = ("padding", "output_padding", "dilation", "groups")
    given = {name: options[name] for name in names if name in options}
    function = getattr(torch.nn.functional, f"conv_transpose{count}d")
    found = function(data, weight, stride=options.get("strides", 1), **given).numpy()
    return np.asarray(found.transpose([plain.index(c) for c in options.get("out_layout", layout)]))


def run(cases: Sequence[Case], sizes: Sequence[dict[str, int]], dtype: str = "float32") -> None:
    bb = rx.BlockBuilder()
    for number, (data, weight, options) in enumerate(cases):
        params = [rx.Var("x", Tensor(data, dtype)), rx.Var("w", Tensor(weight, dtype))]
        builder = getattr(R.nn, f"conv{len(data) - 2}d_transpose")
        with bb.function(f"conv_{number}", params):
            bb.emit_func_output(builder(*params, **options))
    executable = rx.build(bb.get())
    rng = np.random.default_rng(7)
    kind = dtypes.dtype(dtype)
    for number, (data, weight, options) in enumerate(cases):
        for one in sizes:
            shapes = [[one.get(d, d) if isinstance(d, str) else d for d in s] for s in (data, weight)]
            drawn = [rng.uniform(-2, 2, s) if kind.is_float else rng.integers(0, 5, s) for s in shapes]
            x, w = (np.asarray(array).astype(kind.numpy) for array in drawn)
            found = to_numpy(executable[f"conv_{number}"](x, w))
            want = reference(x, w, options)
            assert (found.dtype, found.shape) == (x.dtype, want.shape), (options, one)
            if not kind.is_float:
                np.testing.assert_array_equal(found, want.astype(kind.numpy), err_msg=f"{options} {one}")
                continue
            tolerance = TOLERANCE[dtype] * 4
            np.testing.assert_allclose(
                found.astype(np.float64), want, tolerance, tolerance, err_msg=f"{options} {one}"
            )


IMAGE: tuple[int | str, ...] = ("n", 4, "h", "w")
CASES: tuple[Case, ...] = (
    (IMAGE, (4, 3, 3, 3), {}),
    (IMAGE, (4, 3, 4, 4), {"strides": 2, "padding": 1}),
    (IMAGE, (4, 3, 2, 2), {"strides": (2, 2)}),
    (IMAGE, (4, 3, 3, 2), {"strides": (2, 3), "padding": (1, 0), "output_padding": (1, 2)}),
    (IMAGE, (4, 2, 3, 3), {"strides": 2, "padding": 1, "output_padding": 1, "groups": 2}),
    (IMAGE, (4, 1, 3, 3), {"strides": 2, "padding": (1, 1), "groups": 4}),
    (IMAGE, (4, 3, 3, 3), {"dilation": 2, "strides": (1, 3), "padding": (2, 1)}),
    (IMAGE, (4, 5, 1, 1), {}),
)
IMAGES = [{"n": n, "h": h, "w": w} for n, h, w in ((1, 1, 1), (2, 5, 4), (0, 3, 2), (1, 7, 19))]


def test_images() -> None:
    run(CASES, IMAGES)


DTYPES = ("float64", "float16", "bfloat16", "int32", "int8", "uint8")


@pytest.mark.parametrize("dtype", sweep.quick(DTYPES, "float64", "bfloat16", "int8"))
def test_dtypes(dtype: str) -> None:
    run(sweep.turn(dtype, DTYPES, CASES[1:5:3]), IMAGES[:2], dtype)


def test_layouts() -> None:
    nhwc: tuple[int | str, ...] = ("n", "h", "w", 4)
    cases: list[Case] = [
        (nhwc, (3, 3, 2, 4), {"data_layout": "NHWC", "kernel_layout": "HWOI", "strides": 2}),
        (nhwc, (4, 3, 3, 3), {"data_layout": "NHWC", "out_layout": "CNWH", "padding": 1}),
        (("w", "n", 2), (3, 2, 5), {"data_layout": "WNC", "kernel_layout": "WIO", "strides": 2}),
    ]
    run(cases, IMAGES)


def test_one_and_three_dimensions() -> None:
    cases: list[Case] = [
        (("n", 6, "w"), (6, 2, 5), {"strides": 3, "padding": 2, "output_padding": 1, "groups": 3}),
        (("n", 2, "w"), (2, 1, 4), {"dilation": 2}),
        (("n", 2, "h", 3, "w"), (2, 3, 2, 1, 3), {"strides": (2, 1, 2), "padding": (0, 0, 1)}),
        ((1, 2, "h", "h", "w"), (2, 1, 2, 2, 2), {"strides": 2, "output_padding": 1, "groups": 2}),
    ]
    run(cases, IMAGES)


def test_symbolic_channels_and_kernels() -> None:
    run([(("n", "c", "w"), ("c", 3, "k"), {"strides": 2, "padding": 1})], [{"n": 2, "c": 5, "w": 3, "k": 4}])


def test_shapes() -> None:
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", Tensor(("n", 8, "h", "w"), "float16")), rx.Var("w", Tensor((8, 16, 4, 4), "float16"))
    with bb.function("main", [x, w]):
        y = R.nn.conv2d_transpose(x, w, 2, 1, out_dtype="float32")
        assert y.struct_info == Tensor(("n", 16, "2*h", "2*w"), "float32")
        bb.emit_func_output(y)


def test_no_rows() -> None:
    """torch refuses them: empty sums are 0."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor((1, 2, "h", "w"), "float32"))
    cases = ((4, 2, 1), (3, 1, 0))
    for number, (size, stride, padding) in enumerate(cases):
        w = rx.Var("w", Tensor((2, 3, size, size), "float32"))
        with bb.function(f"conv_{number}", [x, w]):
            bb.emit_func_output(R.nn.conv2d_transpose(x, w, stride, padding))
    executable = rx.build(bb.get())
    for number, shape in enumerate(((1, 3, 0, 6), (1, 3, 2, 5))):
        size = cases[number][0]
        found = executable[f"conv_{number}"](
            np.ones((1, 2, 0, 3), np.float32), np.ones((2, 3, size, size), np.float32)
        )
        np.testing.assert_array_equal(to_numpy(found), np.zeros(shape, np.float32))


def test_sizes_below_zero() -> None:
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", Tensor((1, 1, "w"), "float32")), rx.Var("w", Tensor((1, 1, 1), "float32"))
    with bb.function("main", [x, w]):
        bb.emit_func_output(R.nn.conv1d_transpose(x, w, padding=2))
    main = rx.build(bb.get())["main"]
    with pytest.raises(ShapeError, match="the dimension 'w - 4' is -1"):
        main(np.ones((1, 1, 3), np.float32), np.ones((1, 1, 1), np.float32))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda x, w: R.nn.conv2d_transpose(x, R.ones((3, 3, 2, 2))),
            ShapeError,
            "has 4 channels, but 'weight' takes 3",
        ),
        (
            lambda x, w: R.nn.conv2d_transpose(x, w, groups=3),
            ShapeError,
            "not provably a multiple of groups, 3",
        ),
        (lambda x, w: R.nn.conv2d_transpose(x, w, groups=0), ArgumentError, "groups is 0"),
        (lambda x, w: R.nn.conv2d_transpose(x, w, strides=0), ArgumentError, r"strides is \[0, 0\]"),
        (lambda x, w: R.nn.conv2d_transpose(x, w, output_padding=-1), ArgumentError, "output_padding is"),
        (lambda x, w: R.nn.conv2d_transpose(x, w, kernel_layout="OIHWx"), ArgumentError, "kernel_layout is"),
        (lambda x, w: R.nn.conv2d_transpose(x, w, data_layout="NCHW4c"), UnsupportedError, "blocks"),
        (lambda x, w: R.nn.conv2d_transpose(x, R.astype(w, "float64")), DTypeError, "float64"),
        (
            lambda x, w: R.nn.conv2d_transpose(R.ones((1, 4, 1, 1)), w, padding=2),
            ShapeError,
            "padding takes 4",
        ),
        (lambda x, w: R.nn.conv1d_transpose(x, w), ShapeError, "expected 3 dimensions"),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", Tensor(("n", 4, "h", "w"), "float32")), rx.Var("w", Tensor((4, 2, 3, 3), "float32"))
    with pytest.raises(error, match=message), bb.function("main", [x, w]):
        bb.emit_func_output(build(x, w))
