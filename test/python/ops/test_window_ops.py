"""Convolutions, transposed convolutions, poolings and their gradients: layouts, padding, strides, dilation, groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sweep
import torch
from harness import TOLERANCE, Array, Suite, compiled, functions, numbers, tensor
from reference import OPS
from reference_values import plain
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.error import CheckError, ShapeError
from relax_mlir.script import parse
from torch.nn import functional as F

IMAGES = [{"n": n, "h": h, "w": w} for n, h, w in ((1, 3, 3), (2, 8, 5), (0, 4, 4), (3, 5, 17))]


def convolve(suite: Suite, data: str, weight: str, sizes: Any = IMAGES, op: str = "", **options: Any) -> None:
    """A convolution of any number of dimensions; floats from -1 to 1, small integers."""
    count = len(data.split()) - 2
    kind = dtypes.dtype(suite.dtype)
    result = options.get("out_dtype", suite.dtype)
    suite.use(
        op or f"nn.conv{count}d",
        *(data, weight),
        draw=numbers(-1, 1) if kind.is_float else numbers(-5, 5),
        tolerance=8 * TOLERANCE[result] if result in TOLERANCE else None,
        sizes=sizes,
        **options,
    )


def test_convolutions_of_images() -> None:
    suite = Suite()
    convolve(suite, "n 3 h w", "4 3 3 3")
    convolve(suite, "n 3 h w", "5 3 3 3", padding=1)
    convolve(suite, "n 3 h w", "2 3 1 1")
    convolve(suite, "n 3 h w", "2 3 1 1", strides=2)
    convolve(suite, "n 3 h w", "4 3 3 2", strides=(2, 1), padding=(1, 0, 2, 3))
    convolve(suite, "n 3 h w", "4 3 3 3", padding=2, dilation=(2, 1), strides=(1, 3))
    kernels = ((1, 1, 1), (7, 3, 3), (4, 2, 2))
    sizes = [s | {"c": c, "o": o, "k": k} for s in IMAGES[:2] for c, o, k in kernels]
    convolve(suite, "n c h w", "o c k k", sizes)
    suite.run()


def test_groups() -> None:
    suite = Suite()
    convolve(suite, "n 6 h w", "4 3 3 3", groups=2, padding=1)
    convolve(suite, "n 5 h w", "5 1 3 3", groups=5, padding=(1, 1))
    convolve(suite, "n 5 h w", "10 1 2 2", groups=5, strides=2)
    convolve(suite, "n h w 6", "3 3 3 6", groups=2, data_layout="NHWC", kernel_layout="IHWO", dilation=1)
    convolve(suite, "n 2*c h w", "2*o c 1 1", [], groups=2)
    suite.run()


def test_layouts_of_convolutions() -> None:
    suite = Suite()
    data, weight = {"N": "n", "C": "3", "H": "h", "W": "w"}, {"O": "4", "I": "3", "H": "3", "W": "2"}
    for first, second, third in (
        ("NHWC", "OHWI", "NHWC"),
        ("NHWC", "HWIO", "NCHW"),
        ("NCHW", "OIHW", "NHWC"),
        ("CHWN", "IHWO", "WCNH"),
    ):
        layouts = {"data_layout": first, "kernel_layout": second, "out_layout": third}
        shapes = " ".join(data[c] for c in first), " ".join(weight[c] for c in second)
        convolve(suite, *shapes, padding=(1, 0, 1, 1), strides=(1, 2), **layouts)
    suite.run()


OTHERS = ("float16", "bfloat16", "float64", "int32", "uint8")


@pytest.mark.parametrize("dtype", OTHERS)
def test_dtypes_of_convolutions(dtype: str) -> None:
    suite = Suite((dtype, OTHERS), dtype=dtype)
    convolve(suite, "n 4 h w", "6 4 3 3", IMAGES[:2], padding=1)
    wide = "float32" if dtypes.dtype(dtype).is_float else "int64"
    convolve(suite, "n 4 h w", "6 4 3 3", IMAGES[:2], padding=1, out_dtype=wide)
    convolve(suite, "n 4 h w", "6 2 3 3", IMAGES[:2], padding=1, groups=2)
    suite.run()


def test_convolutions_in_one_and_three_dimensions() -> None:
    suite = Suite()
    lines = [{"n": 2, "w": w} for w in (3, 4, 19)]
    volumes = [{"n": 1, "d": d, "h": 3, "w": 5} for d in (2, 5)]
    convolve(suite, "n 4 w", "3 4 3", lines, padding=(1, 2), dilation=1)
    convolve(suite, "n w 4", "4 3 1", lines, data_layout="NWC", kernel_layout="OWI", groups=4, strides=2)
    convolve(suite, "n 3 d h w", "2 3 2 3 1", volumes, padding=(1, 0, 0, 0, 1, 2))
    suite.run()


def test_nothing_to_add_and_nothing_to_compute() -> None:
    """Without channels the result is zero, without kernels it is empty."""
    main = compiled(R.nn.conv2d, "n c 4 4", "o c 3 3")
    found = main(np.ones((2, 0, 4, 4), "f4"), np.ones((3, 0, 3, 3), "f4"))
    np.testing.assert_array_equal(found, np.zeros((2, 3, 2, 2), "f4"))
    assert main(np.ones((2, 5, 4, 4), "f4"), np.ones((0, 5, 3, 3), "f4")).shape == (2, 0, 2, 2)


def test_infinities_and_nan() -> None:
    """Padding zeros are multiplied with them, too: 0 times infinity is NaN, as in torch."""
    data = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    data[0, 0, 0, 0], data[0, 0, 2, 1] = np.nan, np.inf
    weight = np.array([[1.0, np.inf], [-1.0, 0.5]], np.float32).reshape(1, 1, 2, 2)
    found = compiled(lambda x, w: R.nn.conv2d(x, w, padding=1), "1 1 3 3", "1 1 2 2")(data, weight)
    want = F.conv2d(torch.tensor(data), torch.tensor(weight), padding=1).numpy()
    np.testing.assert_array_equal(found, want)


def test_windows_that_run_time_finds_too_large() -> None:
    conv, pool = functions(
        {0: (R.nn.conv2d, "1 2 h 5", "3 2 4 1"), 1: (lambda x: R.nn.max_pool1d(x, 4), "1 2 h")}
    ).values()
    weight = np.ones((3, 2, 4, 1), "f4")
    assert conv(np.ones((1, 2, 4, 5), "f4"), weight).shape == (1, 3, 1, 5)
    assert pool(np.ones((1, 2, 4), "f4")).shape == (1, 2, 1)
    with pytest.raises(ShapeError, match="dimensions are zero or more"):
        conv(np.ones((1, 2, 2, 5), "f4"), weight)
    with pytest.raises(ShapeError, match="dimensions are zero or more"):
        pool(np.ones((1, 2, 2), "f4"))


def test_kernels_larger_than_the_data_are_errors() -> None:
    """Errors at run time if the computed size is 0, in each form that convolutions are legalised to."""
    cases = {
        "product": ("int32", 1),
        "windows": ("float32", 1),
        "depthwise": ("float32", 2),
        "grouped": ("int32", 2),
    }

    def build(x: Any, w: Any, groups: int) -> Any:
        return R.nn.conv2d(x, w, strides=3, padding=(1, 0), groups=groups)

    made = functions(
        {
            name: (lambda x, w, g=groups: build(x, w, g), f"1 2 h 4 {dtype}", f"2 {2 // groups} k 2 {dtype}")
            for name, (dtype, groups) in cases.items()
        }
    )
    for name, (dtype, groups) in cases.items():
        data, kernel = np.ones((1, 2, 2, 4), dtype), np.ones((2, 2 // groups, 5, 2), dtype)
        with pytest.raises(CheckError, match="nn_conv2d: in dimension H the window is larger than the padded data"):
            made[name](data, kernel)
        assert made[name](data, kernel[:, :, :4]).shape == (1, 2, 1, 1)


def test_script() -> None:
    text = """@R.function
def main(x: R.Tensor(("n", "h", "w", 3), "float32"), w: R.Tensor((8, 3, 3, 3), "float32")):
    return R.nn.conv2d(x, w, padding=(1, 1), data_layout="NHWC", kernel_layout="OHWI", out_dtype="float32")
"""
    mod = parse(text)
    assert parse(mod.script()).script() == mod.script()
    assert (
        'R.Tensor(("n", "h", "w", 8), "float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1, 1, 1]'
        in mod.script()
    )


TRANSPOSED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("4 3 3 3", {}),
    ("4 3 4 4", {"strides": 2, "padding": 1}),
    ("4 3 2 2", {"strides": (2, 2)}),
    ("4 3 3 2", {"strides": (2, 3), "padding": (1, 0), "output_padding": (1, 2)}),
    ("4 2 3 3", {"strides": 2, "padding": 1, "output_padding": 1, "groups": 2}),
    ("4 1 3 3", {"strides": 2, "padding": (1, 1), "groups": 4}),
    ("4 3 3 3", {"dilation": 2, "strides": (1, 3), "padding": (2, 1)}),
    ("4 5 1 1", {}),
)
SMALL = [{"n": n, "h": h, "w": w} for n, h, w in ((1, 1, 1), (2, 5, 4), (0, 3, 2), (1, 7, 19))]


def transpose(suite: Suite, data: str, weight: str, sizes: Any = SMALL, **options: Any) -> None:
    convolve(suite, data, weight, sizes, f"nn.conv{len(data.split()) - 2}d_transpose", **options)


def test_transposed_convolutions() -> None:
    suite = Suite()
    for weight, options in TRANSPOSED:
        transpose(suite, "n 4 h w", weight, **options)
    transpose(suite, "n h w 4", "3 3 2 4", data_layout="NHWC", kernel_layout="HWOI", strides=2)
    transpose(suite, "n h w 4", "4 3 3 3", data_layout="NHWC", out_layout="CNWH", padding=1)
    transpose(suite, "w n 2", "3 2 5", data_layout="WNC", kernel_layout="WIO", strides=2)
    transpose(suite, "n 6 w", "6 2 5", strides=3, padding=2, output_padding=1, groups=3)
    transpose(suite, "n 2 w", "2 1 4", dilation=2)
    transpose(suite, "n 2 h 3 w", "2 3 2 1 3", strides=(2, 1, 2), padding=(0, 0, 1))
    transpose(suite, "1 2 h h w", "2 1 2 2 2", strides=2, output_padding=1, groups=2)
    transpose(suite, "n c w", "c 3 k", [{"n": 2, "c": 5, "w": 3, "k": 4}], strides=2, padding=1)
    suite.run()


TRANSPOSED_DTYPES = ("float64", "float16", "bfloat16", "int32", "int8", "uint8")


@pytest.mark.parametrize("dtype", sweep.quick(TRANSPOSED_DTYPES, "float64", "bfloat16", "int8"))
def test_dtypes_of_transposed_convolutions(dtype: str) -> None:
    suite = Suite((dtype, TRANSPOSED_DTYPES), dtype=dtype)
    for weight, options in TRANSPOSED[1:5:3]:
        transpose(suite, "n 4 h w", weight, SMALL[:2], **options)
    suite.run()


def test_sizes_of_transposed_convolutions() -> None:
    """torch refuses data without rows: empty sums are 0."""
    infos: list[Any] = []

    def build(x: Any, w: Any) -> Any:
        infos.append(R.nn.conv2d_transpose(x, w, 2, 1, out_dtype="float32").struct_info)
        return x

    cases = (((4, 2, 1), (1, 3, 0, 6)), ((3, 1, 0), (1, 3, 2, 5)))
    made = functions(
        {
            **{
                size: (
                    lambda x, w, s=step, p=pad: R.nn.conv2d_transpose(x, w, s, p),
                    "1 2 h w",
                    f"2 3 {size} {size}",
                )
                for (size, step, pad), _ in cases
            },
            "below zero": (lambda x, w: R.nn.conv1d_transpose(x, w, padding=2), "1 1 w", "1 1 1"),
            "info": (build, "n 8 h w float16", "8 16 4 4 float16"),
        }
    )
    assert infos == [tensor("n 16 2*h 2*w float32")]
    for (size, _, _), shape in cases:
        found = made[size](np.ones((1, 2, 0, 3), np.float32), np.ones((2, 3, size, size), np.float32))
        np.testing.assert_array_equal(found, np.zeros(shape, np.float32))
    with pytest.raises(ShapeError, match="the dimension 'w - 4' is -1"):
        made["below zero"](np.ones((1, 1, 3), np.float32), np.ones((1, 1, 1), np.float32))


POOL_SIZES = [{"n": n, "h": h, "w": w} for n, h, w in ((1, 3, 3), (2, 8, 7), (0, 6, 6), (3, 5, 19))]
THREE = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1)}
POOLINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("max", {"pool_size": (2, 2), "strides": (2, 2)}),
    ("avg", {"pool_size": (2, 2), "strides": (2, 2)}),
    ("max", {"pool_size": (3, 2), "strides": (2, 1), "padding": (1, 1)}),
    ("avg", {"pool_size": (3, 2), "strides": (2, 1), "padding": (1, 1)}),
    ("avg", {**THREE, "count_include_pad": True}),
    ("max", {**THREE, "ceil_mode": True}),
    ("avg", {**THREE, "ceil_mode": True}),
    ("avg", {**THREE, "ceil_mode": True, "count_include_pad": True}),
    ("max", {"pool_size": (2, 2), "dilation": (2, 1)}),
    ("max", {"pool_size": 1}),
)


def pool(suite: Suite, kind: str, shape: str, sizes: Any = POOL_SIZES, **options: Any) -> None:
    suite.use(f"nn.{kind}_pool{len(shape.split()) - 2}d", shape, sizes=sizes, draw=numbers(-9, 9), **options)


def test_poolings() -> None:
    suite = Suite()
    for kind, options in POOLINGS:
        pool(suite, kind, "n 2 h w", **options)
    channels = [{**size, "c": 3} for size in POOL_SIZES]
    last = {"pool_size": (2, 3), "padding": (1, 1), "layout": "NHWC"}
    pool(suite, "max", "n h w c", channels, **last)
    pool(suite, "avg", "n h w c", channels, **last)
    pool(suite, "avg", "n h w c", channels, **{**last, "padding": (1, 0)}, out_layout="CNWH")
    lines, volumes = [{"n": 2, "w": w} for w in (2, 5, 33)], [{"c": 2, "d": d, "w": 5} for d in (2, 4)]
    pool(suite, "max", "n 2 w", lines, pool_size=3, strides=2, padding=1)
    pool(suite, "avg", "n 2 w", lines, pool_size=3, padding=1)
    pool(suite, "max", "1 c d 3 w", volumes, pool_size=(1, 2, 2))
    pool(suite, "avg", "1 c d 3 w", volumes, pool_size=2, strides=(1, 2, 1), padding=(1, 1, 0))
    suite.run()


FLOATS = ("float64", "float16", "bfloat16")


@pytest.mark.parametrize("dtype", FLOATS)
def test_poolings_of_floats(dtype: str) -> None:
    suite = Suite((dtype, FLOATS), dtype=dtype)
    for kind, options in POOLINGS[:4]:
        pool(suite, kind, "n 2 h w", POOL_SIZES[:2], **options)
    suite.run()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "int32"])
def test_poolings_of_integers(dtype: str) -> None:
    limits = np.iinfo(dtype)
    shape = (2, 1, 4, 7)
    data = np.random.default_rng(1).integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    made = functions(
        {
            "windows": lambda x: R.nn.max_pool2d(x, (3, 3), (1, 2), (1, 1)),
            "adaptive": lambda x: R.nn.adaptive_max_pool2d(x, (2, 1)),
        },
        f"n 1 4 w {dtype}",
    )
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=limits.min)
    want = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3)).max((-1, -2))[:, :, :, ::2]
    np.testing.assert_array_equal(made["windows"](data), want)
    np.testing.assert_array_equal(made["adaptive"](data), data.reshape(2, 1, 2, 14).max(-1)[..., None])


def test_windows_of_padding_alone() -> None:
    """Their maximum is the lowest finite value, and their mean 0; NaN and infinity are propagated."""

    def build(x: Any) -> list[Any]:
        return [
            R.nn.max_pool1d(x, 1, 3, 1, ceil_mode=True),
            R.nn.avg_pool1d(x, 1, 3, 1, ceil_mode=True),
            R.nn.max_pool1d(x, 3),
            R.nn.avg_pool1d(x, 3),
            R.nn.max_pool1d(x, 2, 1, 4, 4),
            R.nn.max_pool1d(R.astype(x, "float16"), 1, 2, 2),
        ]

    data = np.array([1, np.nan, 3, -np.inf, 5], np.float32).reshape(1, 1, 5)
    found = [each.ravel().tolist() for each in compiled(build, "1 1 5")(data)]
    lowest = float(np.finfo(np.float32).min)
    assert found[0] == [lowest, 3, lowest]
    np.testing.assert_array_equal(found[4], [1, np.nan, 3, -np.inf, 5, np.nan, 3, -np.inf, 5])
    assert found[5] == [-65504, 1, 3, 5, -65504]
    assert found[1] == [0, 3, 0]
    np.testing.assert_array_equal(found[2], [np.nan, np.nan, 5])
    np.testing.assert_array_equal(found[3], [np.nan, np.nan, -np.inf])


def test_data_without_a_window_is_an_error() -> None:
    """The computed size is 0, of which a mean would be NaN."""
    layouts = {"layout": "NHWC", "out_layout": "NCHW"}
    options = {
        "max": (R.nn.max_pool2d, {"pool_size": 2, "strides": 2}),
        "avg": (R.nn.avg_pool2d, {"pool_size": (1, 3), "strides": (1, 3), **layouts}),
        "ceil": (R.nn.max_pool2d, {"pool_size": 3, "strides": 2, "ceil_mode": True}),
        "same": (R.nn.max_pool2d, {"pool_size": 3, "padding": 1}),
    }
    builds = {name: lambda x, b=build, g=given: R.mean(b(x, **g)) for name, (build, given) in options.items()}
    made = functions(builds, "1 2 h w")
    for name, shape in (("max", (1, 4)), ("max", (4, 1)), ("avg", (2, 5)), ("ceil", (1, 4))):
        with pytest.raises(CheckError, match=r"pool2d: in dimension [HW] the window is larger than the padded data"):
            made[name](np.ones((1, 2, *shape), "f4"))
    for name, shape in (("max", (2, 3)), ("ceil", (2, 2)), ("same", (1, 1))):
        assert made[name](np.ones((1, 2, *shape), "f4")) == 1


ADAPTIVE = [
    {"n": n, "h": h, "w": w, "k": k}
    for n, h, w, k in ((1, 1, 1, 1), (2, 7, 5, 3), (0, 4, 4, 2), (3, 14, 33, 7), (1, 2, 3, 9))
]


def adapt(suite: Suite, kind: str, shape: str, size: Any, sizes: Any = ADAPTIVE, **options: Any) -> None:
    """`size` may be a formula of the length of another parameter."""
    name = f"adaptive_{kind}_pool{len(shape.split()) - 2}d"
    suite.both(
        lambda R, x, k: getattr(R.nn, name)(x, size, **options),
        *(shape, "k int8"),
        sizes=sizes,
        draw=numbers(-9, 9),
    )


def test_adaptive_poolings() -> None:
    suite = Suite()
    for kind in ("avg", "max"):
        for size in (1, (3, 2), ("k", 4), None):
            adapt(suite, kind, "n 3 h w", size)
    adapt(suite, "avg", "n h w 3", (2, 3), layout="NHWC")
    adapt(suite, "max", "n h w 3", 2, layout="NHWC", out_layout="CNHW")
    adapt(suite, "avg", "n 2 w", 4)
    adapt(suite, "max", "n 2 w", ["k"])
    adapt(suite, "avg", "n 2 h 4 w", (1, 3, 2))
    adapt(suite, "max", "1 2 h w 3", 2)
    suite.run()


@pytest.mark.parametrize("dtype", FLOATS)
def test_adaptive_poolings_of_floats(dtype: str) -> None:
    suite = Suite(dtype=dtype)
    for kind, size in (("avg", 1), ("avg", (3, 2)), ("max", (3, 2))):
        adapt(suite, kind, "n 3 h w", size, ADAPTIVE[:2])
    suite.run()


def test_special_values_in_adaptive_poolings() -> None:
    """Empty data; NaN and infinities; the sum of a window is more than float16 holds."""
    main = compiled(lambda x: [R.nn.adaptive_avg_pool1d(x, 2), R.nn.adaptive_max_pool1d(x, 2)], "1 1 w")
    mean, best = (each.ravel() for each in main(np.zeros((1, 1, 0), np.float32)))
    np.testing.assert_array_equal(mean, [np.nan, np.nan])
    np.testing.assert_array_equal(best, [-np.inf, -np.inf])
    mean, best = (each.ravel() for each in main(np.array([1, np.nan, 3, -np.inf], np.float32).reshape(1, 1, 4)))
    np.testing.assert_array_equal(mean, [np.nan, -np.inf])
    np.testing.assert_array_equal(best, [np.nan, 3])
    halves = compiled(lambda x: R.nn.adaptive_avg_pool1d(x, 1), "1 1 w float16")
    assert halves(np.full((1, 1, 100), 6e4, np.float16)).ravel()[0] == np.float16(6e4)


GRADIENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("max", {"pool_size": 2, "strides": 2}),
    ("avg", {"pool_size": 2, "strides": 2}),
    ("max", {"pool_size": (3, 2), "strides": (2, 1), "padding": 1}),
    ("avg", {"pool_size": (3, 2), "strides": (2, 1), "padding": 1}),
    ("avg", {"pool_size": 3, "strides": 2, "padding": 1, "count_include_pad": True}),
    ("max", {"pool_size": 3, "strides": 2, "padding": 1, "ceil_mode": True}),
    ("avg", {"pool_size": 3, "strides": 2, "padding": 1, "ceil_mode": True}),
    ("max", {"pool_size": (2, 3), "dilation": (2, 1), "padding": (0, 1)}),
    ("max", {"pool_size": 2, "layout": "NHWC"}),
    ("avg", {"pool_size": (1, 3), "dilation": (1, 2), "padding": (0, 2)}),
    ("avg", {"pool_size": (1, 3), "dilation": (1, 2), "padding": (0, 2), "count_include_pad": True}),
)


def distinct(rng: np.random.Generator, info: Any, shape: tuple[int, ...]) -> Array:
    """Elements that differ, also in 16 bits."""
    size = int(np.prod(shape))
    return np.asarray((rng.permutation(size) - size / 2) / 32).reshape(shape).astype(info.dtype.numpy)


@pytest.mark.parametrize("dtype", ["float32", *FLOATS])
def test_gradients_of_poolings(dtype: str) -> None:
    """The gradient of the result is any tensor of its shape."""
    suite = Suite(dtype=dtype)
    cases = GRADIENTS if dtype == "float32" else sweep.turn(dtype, FLOATS, GRADIENTS[2:4])
    for kind, options in cases:

        def build(ops: Any, x: Any, kind: str = kind, options: Any = options) -> Any:
            y = getattr(ops.nn, f"{kind}_pool2d")(x, **options)
            squares = ops.multiply(y, y)
            if ops is not R:  # the compiled gradient is rounded
                squares = squares.astype(dtypes.dtype(dtype).numpy).astype(np.float64)
            return getattr(ops.grad, f"{kind}_pool2d_backward")(squares, x, **options)

        shape = "n h w 2" if "layout" in options else "n 2 h w"
        sizes = [{"n": n, "h": h, "w": w} for n, h, w in ((1, 3, 5), (2, 8, 7), (0, 6, 6))]
        suite.both(build, shape, sizes=sizes, draw=distinct, tolerance=3 * TOLERANCE[dtype])
    suite.run()


def test_references_are_those_of_torch() -> None:
    """Convolutions and gradients of the reference, which NumPy computes; `test_op_semantics` compares poolings."""
    rng = np.random.default_rng(5)
    x, w = rng.uniform(-1, 1, (2, 6, 8, 7)), rng.uniform(-1, 1, (4, 3, 3, 2))
    for options in (
        {},
        {"stride": (2, 1), "padding": (1, 2)},
        {"dilation": (2, 3), "padding": 2, "stride": 3},
    ):
        ours = {"strides" if name == "stride" else name: value for name, value in options.items()}
        (found,) = plain(OPS["nn.conv2d"](x, w, groups=2, **ours))
        want = F.conv2d(torch.tensor(x), torch.tensor(w), groups=2, **options).numpy()
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)
    data = torch.tensor(distinct(rng, tensor("n float64"), (2, 3, 8, 7)), requires_grad=True)
    for kind, options in GRADIENTS[:8]:
        names = {"pool_size": "kernel_size", "strides": "stride"}
        given = {"stride": 1} | {names.get(name, name): value for name, value in options.items()}
        given |= {"count_include_pad": options.get("count_include_pad", False)} if kind == "avg" else {}
        result = getattr(F, f"{kind}_pool2d")(data, **given)
        (want,) = torch.autograd.grad(result, data, result.detach() ** 2)
        grad = result.detach().numpy() ** 2
        found = OPS[f"grad.{kind}_pool2d_backward"](
            *(grad, data.detach().numpy(), options["pool_size"], options.get("strides", 1)),
            *(options.get("padding", 0), options.get("dilation", 1), options.get("ceil_mode", False)),
            options.get("count_include_pad", False),
        )
        np.testing.assert_allclose(found, want.numpy(), rtol=1e-12)
