"""conv1d, conv2d and conv3d against torch, on every layout, with padding, strides, dilation and groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import TOLERANCE
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, CheckError, DTypeError, RelaxError, ShapeError, UnsupportedError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

Array = np.ndarray[Any, Any]
BUILDERS: dict[int, Callable[..., rx.Value]] = {1: R.nn.conv1d, 2: R.nn.conv2d, 3: R.nn.conv3d}
PLAIN = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}


@dataclass
class Case:
    """A convolution, the shapes of its parameters, and sizes to run it on."""

    data: tuple[int | str, ...]
    weight: tuple[int | str, ...]
    sizes: Sequence[dict[str, int]]
    options: dict[str, Any]
    dtype: str = "float32"

    @property
    def count(self) -> int:
        return len(self.data) - 2


def expected(case: Case, data: Array, weight: Array) -> Array:
    """The result of torch in float64 (exact for integers), in the layout and dtype of the case."""
    count, options = case.count, case.options
    images, kernels = PLAIN[count]
    layouts = options.get("data_layout", images), options.get("kernel_layout", kernels)
    x, w = (
        torch.tensor(array.transpose([layout.index(c) for c in plain]).astype(np.float64))
        for array, layout, plain in zip((data, weight), layouts, (images, kernels), strict=True)
    )
    padding = options.get("padding", 0)
    padding = [padding] if isinstance(padding, int) else list(padding)
    padding = padding * count if len(padding) == 1 else padding
    padding = padding * 2 if len(padding) == count else padding
    sides = [side for axis in reversed(range(count)) for side in (padding[axis], padding[count + axis])]
    found = getattr(torch.nn.functional, f"conv{count}d")(
        torch.nn.functional.pad(x, sides),
        w,
        stride=options.get("strides", 1),
        dilation=options.get("dilation", 1),
        groups=options.get("groups", 1),
    ).numpy()
    out = options.get("out_layout", layouts[0])
    dtype = dtypes.dtype(options.get("out_dtype", case.dtype))
    found = found.transpose([images.index(c) for c in out])
    return (found.astype(np.int64) if dtype.is_integer else found).astype(dtype.numpy)


def draw(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    kind = dtypes.dtype(dtype)
    if kind.is_integer:
        return rng.integers(0 if kind.kind == "uint" else -5, 6, shape).astype(kind.numpy)
    return rng.uniform(-1, 1, shape).astype(kind.numpy)


def check(cases: Sequence[Case]) -> None:
    bb = rx.BlockBuilder()
    for number, case in enumerate(cases):
        x = rx.Var("x", Tensor(case.data, case.dtype))
        w = rx.Var("w", Tensor(case.weight, case.dtype))
        with bb.function(f"conv_{number}", [x, w]):
            bb.emit_func_output(BUILDERS[case.count](x, w, **case.options))
    executable = rx.build(bb.get())
    rng = np.random.default_rng(5)
    for number, case in enumerate(cases):
        for sizes in case.sizes:
            shapes = [[sizes.get(str(d), d) for d in shape] for shape in (case.data, case.weight)]
            data, weight = (draw(rng, shape, case.dtype) for shape in shapes)
            found = to_numpy(executable[f"conv_{number}"](data, weight))
            want = expected(case, data, weight)
            assert (found.dtype, found.shape) == (want.dtype, want.shape), (case, sizes)
            tolerance = TOLERANCE.get(str(want.dtype), 0)
            np.testing.assert_allclose(
                found.astype(np.float64),
                want.astype(np.float64),
                rtol=4 * tolerance,
                atol=8 * tolerance,
                err_msg=f"{case} on {sizes}",
            )


IMAGES = [{"n": n, "h": h, "w": w} for n, h, w in ((1, 3, 3), (2, 8, 5), (0, 4, 4), (3, 5, 17))]


def test_images() -> None:
    data = ("n", 3, "h", "w")
    check(
        [
            Case(data, (4, 3, 3, 3), IMAGES, {}),
            Case(data, (5, 3, 3, 3), IMAGES, {"padding": 1}),
            Case(data, (2, 3, 1, 1), IMAGES, {}),
            Case(data, (2, 3, 1, 1), IMAGES, {"strides": 2}),
            Case(data, (4, 3, 3, 2), IMAGES, {"strides": (2, 1), "padding": (1, 0, 2, 3)}),
            Case(data, (4, 3, 3, 3), IMAGES, {"padding": 2, "dilation": (2, 1), "strides": (1, 3)}),
            Case(
                ("n", "c", "h", "w"),
                ("o", "c", "k", "k"),
                [
                    s | {"c": c, "o": o, "k": k}
                    for s in IMAGES[:2]
                    for c, o, k in ((1, 1, 1), (7, 3, 3), (4, 2, 2))
                ],
                {},
            ),
        ]
    )


def test_groups() -> None:
    check(
        [
            Case(("n", 6, "h", "w"), (4, 3, 3, 3), IMAGES, {"groups": 2, "padding": 1}),
            Case(("n", 5, "h", "w"), (5, 1, 3, 3), IMAGES, {"groups": 5, "padding": (1, 1)}),
            Case(("n", 5, "h", "w"), (10, 1, 2, 2), IMAGES, {"groups": 5, "strides": 2}),
            Case(
                ("n", "h", "w", 6),
                (3, 3, 3, 6),
                IMAGES,
                {"groups": 2, "data_layout": "NHWC", "kernel_layout": "IHWO", "dilation": 1},
            ),
            Case(("n", "2 * c", "h", "w"), ("2 * o", "c", 1, 1), [], {"groups": 2}),
        ]
    )


def test_layouts() -> None:
    data, weight = {"N": "n", "C": 3, "H": "h", "W": "w"}, {"O": 4, "I": 3, "H": 3, "W": 2}
    check(
        [
            Case(
                tuple(data[c] for c in first),
                tuple(weight[c] for c in second),
                IMAGES,
                {
                    "data_layout": first,
                    "kernel_layout": second,
                    "out_layout": third,
                    "padding": (1, 0, 1, 1),
                    "strides": (1, 2),
                },
            )
            for first, second, third in (
                ("NHWC", "OHWI", "NHWC"),
                ("NHWC", "HWIO", "NCHW"),
                ("NCHW", "OIHW", "NHWC"),
                ("CHWN", "IHWO", "WCNH"),
            )
        ]
    )


DTYPES = ("float16", "bfloat16", "float64", "int32", "uint8")


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    other = {"out_dtype": "float32"} if dtypes.dtype(dtype).is_float else {"out_dtype": "int64"}
    data, weight = ("n", 4, "h", "w"), (6, 4, 3, 3)
    cases = [
        Case(data, weight, IMAGES[:2], {"padding": 1}, dtype),
        Case(data, weight, IMAGES[:2], {"padding": 1, **other}, dtype),
        Case(data, (6, 2, 3, 3), IMAGES[:2], {"padding": 1, "groups": 2}, dtype),
    ]
    check(sweep.turn(dtype, DTYPES, cases))


def test_one_and_three_dimensions() -> None:
    lines = [{"n": 2, "w": w} for w in (3, 4, 19)]
    volumes = [{"n": 1, "d": d, "h": 3, "w": 5} for d in (2, 5)]
    check(
        [
            Case(("n", 4, "w"), (3, 4, 3), lines, {"padding": (1, 2), "dilation": 1}),
            Case(
                ("n", "w", 4),
                (4, 3, 1),
                lines,
                {"data_layout": "NWC", "kernel_layout": "OWI", "groups": 4, "strides": 2},
            ),
            Case(("n", 3, "d", "h", "w"), (2, 3, 2, 3, 1), volumes, {"padding": (1, 0, 0, 0, 1, 2)}),
        ]
    )


def test_nothing_to_add_and_nothing_to_compute() -> None:
    """Without channels the result is zero, without kernels it is empty."""
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", Tensor(("n", "c", 4, 4), "float32")), rx.Var("w", Tensor(("o", "c", 3, 3), "float32"))
    with bb.function("main", [x, w]):
        bb.emit_func_output(R.nn.conv2d(x, w))
    main = rx.build(bb.get())["main"]
    found = to_numpy(main(np.ones((2, 0, 4, 4), "f4"), np.ones((3, 0, 3, 3), "f4")))
    np.testing.assert_array_equal(found, np.zeros((2, 3, 2, 2), "f4"))
    assert main(np.ones((2, 5, 4, 4), "f4"), np.ones((0, 5, 3, 3), "f4")).shape == (2, 0, 2, 2)


def test_infinities_and_nan() -> None:
    """Padding zeros are multiplied with them, too: 0 times infinity is NaN, as in torch."""
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", Tensor((1, 1, 3, 3), "float32")), rx.Var("w", Tensor((1, 1, 2, 2), "float32"))
    with bb.function("main", [x, w]):
        bb.emit_func_output(R.nn.conv2d(x, w, padding=1))
    data = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    data[0, 0, 0, 0], data[0, 0, 2, 1] = np.nan, np.inf
    weight = np.array([[1.0, np.inf], [-1.0, 0.5]], np.float32).reshape(1, 1, 2, 2)
    found = to_numpy(rx.build(bb.get())["main"](data, weight))
    want = torch.nn.functional.conv2d(torch.tensor(data), torch.tensor(weight), padding=1).numpy()
    np.testing.assert_array_equal(found, want)


def test_kernels_that_run_time_finds_too_large() -> None:
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", Tensor((1, 2, "h", 5), "float32")), rx.Var("w", Tensor((3, 2, 4, 1), "float32"))
    with bb.function("main", [x, w]):
        bb.emit_func_output(R.nn.conv2d(x, w))
    executable = rx.build(bb.get())
    assert executable["main"](np.ones((1, 2, 4, 5), "f4"), np.ones((3, 2, 4, 1), "f4")).shape == (1, 3, 1, 5)
    with pytest.raises(ShapeError, match="dimensions are zero or more"):
        executable["main"](np.ones((1, 2, 2, 5), "f4"), np.ones((3, 2, 4, 1), "f4"))


@pytest.mark.parametrize(
    ("data", "weight", "options", "error", "message"),
    [
        (
            (1, 3, 5, 5),
            (4, 2, 3, 3),
            {},
            ShapeError,
            "'data' has 3 channels, but 'weight' takes 2 in each of 1 groups",
        ),
        ((1, "c", 5, 5), (4, 2, 3, 3), {}, ShapeError, "match_shape one of them first"),
        ((1, 4, 5, 5), (3, 2, 3, 3), {"groups": 2}, ShapeError, "not provably a multiple of groups, 2"),
        ((1, 2, 2, 5), (4, 2, 3, 3), {}, ShapeError, "in dimension H the kernel reaches over 3"),
        (
            (1, 2, 5, 4),
            (4, 2, 3, 3),
            {"dilation": 2},
            ShapeError,
            "in dimension H|in dimension W the kernel reaches over 5",
        ),
        ((1, 2, 5), (4, 2, 3, 3), {}, ShapeError, "expected 4 dimensions"),
        ((1, 2, 5, 5), (4, 2, 3, 3), {"strides": 0}, ArgumentError, "strides is"),
        ((1, 2, 5, 5), (4, 2, 3, 3), {"strides": (1, 2, 3)}, ArgumentError, "strides is"),
        ((1, 2, 5, 5), (4, 2, 3, 3), {"padding": -1}, ArgumentError, "padding is"),
        ((1, 2, 5, 5), (4, 2, 3, 3), {"padding": (1, 2, 3)}, ArgumentError, "padding is"),
        ((1, 2, 5, 5), (4, 2, 3, 3), {"groups": 0}, ArgumentError, "groups is 0"),
        ((1, 2, 5, 5), (4, 2, 3, 3), {"groups": 1.5}, ArgumentError, "groups"),
        ((1, 2, 5, 5), (4, 2, 3, 3), {"data_layout": "NCHX"}, ArgumentError, "an order of the letters NCHW"),
        ((1, 2, 5, 5), (4, 2, 3, 3), {"data_layout": "NCHW4c"}, UnsupportedError, "dimensions in blocks"),
        ((1, 2, 5, 5), (4, 2, 3, 3), {"out_dtype": "bool"}, ArgumentError, "out_dtype is bool"),
    ],
)
def test_wrong_arguments(
    data: tuple[int | str, ...],
    weight: tuple[int, ...],
    options: dict[str, Any],
    error: type[RelaxError],
    message: str,
) -> None:
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", Tensor(data, "float32")), rx.Var("w", Tensor(weight, "float32"))
    with pytest.raises(error, match=message), bb.function("main", [x, w]):
        bb.emit_func_output(R.nn.conv2d(x, w, **options))


@pytest.mark.parametrize(("first", "second"), [("float32", "float16"), ("bool", "bool")])
def test_wrong_dtypes(first: str, second: str) -> None:
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", Tensor((1, 2, 5, 5), first)), rx.Var("w", Tensor((4, 2, 3, 3), second))
    with pytest.raises(DTypeError), bb.function("main", [x, w]):
        bb.emit_func_output(R.nn.conv2d(x, w))


def test_kernels_larger_than_the_data_are_errors() -> None:
    """Errors at run time if the computed size is 0, in each form that convolutions are legalised to."""
    bb = rx.BlockBuilder()
    cases = {
        "product": ("int32", 1),
        "windows": ("float32", 1),
        "depthwise": ("float32", 2),
        "grouped": ("int32", 2),
    }
    for name, (dtype, groups) in cases.items():
        x = rx.Var("x", Tensor((1, 2, "h", 4), dtype))
        w = rx.Var("w", Tensor((2, 2 // groups, "k", 2), dtype))
        with bb.function(name, [x, w]):
            bb.emit_func_output(R.nn.conv2d(x, w, strides=3, padding=(1, 0), groups=groups))
    executable = rx.build(bb.get())
    for name, (dtype, groups) in cases.items():
        data, kernel = np.ones((1, 2, 2, 4), dtype), np.ones((2, 2 // groups, 5, 2), dtype)
        with pytest.raises(
            CheckError, match="nn_conv2d: in dimension H the window is larger than the padded data"
        ):
            executable[name](data, kernel)
        assert to_numpy(executable[name](data, kernel[:, :, :4])).shape == (1, 2, 1, 1)


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
