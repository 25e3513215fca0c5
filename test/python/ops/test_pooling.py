"""max_pool and avg_pool in one to three dimensions against torch."""

from __future__ import annotations

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

Array = np.ndarray[Any, Any]
PLAIN = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
IMAGES = ((1, 3, 3), (2, 8, 7), (0, 6, 6), (3, 5, 19))


def reference(kind: str, x: Array, options: dict[str, Any]) -> Array:
    """The result of torch in float64, in the layout of the options."""
    count = x.ndim - 2
    layout = options.get("layout", PLAIN[count])
    data = torch.tensor(x.transpose([layout.index(c) for c in PLAIN[count]]).astype(np.float64))
    function = getattr(torch.nn.functional, f"{kind}_pool{count}d")
    given = {
        "stride": options.get("strides", 1),
        "padding": options.get("padding", 0),
        "ceil_mode": options.get("ceil_mode", False),
    }
    if kind == "avg":
        given["count_include_pad"] = options.get("count_include_pad", False)
    else:
        given["dilation"] = options.get("dilation", 1)
    found = function(data, options["pool_size"], **given).numpy()
    return found.transpose([PLAIN[count].index(c) for c in options.get("out_layout", layout)])


CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("max", {"pool_size": (2, 2), "strides": (2, 2)}),
    ("avg", {"pool_size": (2, 2), "strides": (2, 2)}),
    ("max", {"pool_size": (3, 2), "strides": (2, 1), "padding": (1, 1)}),
    ("avg", {"pool_size": (3, 2), "strides": (2, 1), "padding": (1, 1)}),
    ("avg", {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1), "count_include_pad": True}),
    ("max", {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1), "ceil_mode": True}),
    ("avg", {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1), "ceil_mode": True}),
    (
        "avg",
        {
            "pool_size": (3, 3),
            "strides": (2, 2),
            "padding": (1, 1),
            "ceil_mode": True,
            "count_include_pad": True,
        },
    ),
    ("max", {"pool_size": (2, 2), "dilation": (2, 1)}),
    ("max", {"pool_size": 1}),
)


def run(cases: Any, shape: tuple[int | str, ...], sizes: Any, dtype: str = "float32") -> None:
    bb = rx.BlockBuilder()
    count = len(shape) - 2
    for number, (kind, options) in enumerate(cases):
        x = rx.Var("x", Tensor(shape, dtype))
        with bb.function(f"pool_{number}", [x]):
            bb.emit_func_output(getattr(R.nn, f"{kind}_pool{count}d")(x, **options))
    executable = rx.build(bb.get())
    rng = np.random.default_rng(2)
    for number, (kind, options) in enumerate(cases):
        for one in sizes:
            given = [one.get(d, d) if isinstance(d, str) else d for d in shape]
            drawn = rng.uniform(-9, 9, given)
            x = drawn.astype(dtypes.dtype(dtype).numpy)
            found = to_numpy(executable[f"pool_{number}"](x))
            want = reference(kind, x, options)
            assert (found.dtype, found.shape) == (x.dtype, want.shape), (kind, options, one)
            tolerance = TOLERANCE.get(dtype, 0)
            np.testing.assert_allclose(
                found.astype(np.float64), want, tolerance, tolerance, err_msg=f"{kind} {options} {one}"
            )


def test_images() -> None:
    run(CASES, ("n", 2, "h", "w"), [{"n": n, "h": h, "w": w} for n, h, w in IMAGES])


def test_layouts() -> None:
    cases = [
        ("max", {"pool_size": (2, 3), "padding": (1, 1), "layout": "NHWC"}),
        ("avg", {"pool_size": (2, 3), "padding": (1, 1), "layout": "NHWC"}),
        ("avg", {"pool_size": (2, 3), "padding": (1, 0), "layout": "NHWC", "out_layout": "CNWH"}),
    ]
    run(cases, ("n", "h", "w", "c"), [{"n": n, "h": h, "w": w, "c": 3} for n, h, w in IMAGES])


def test_one_and_three_dimensions() -> None:
    line = [("max", {"pool_size": 3, "strides": 2, "padding": 1}), ("avg", {"pool_size": 3, "padding": 1})]
    run(line, ("n", 2, "w"), [{"n": 2, "w": w} for w in (2, 5, 33)])
    volume = [
        ("max", {"pool_size": (1, 2, 2)}),
        ("avg", {"pool_size": 2, "strides": (1, 2, 1), "padding": (1, 1, 0)}),
    ]
    run(volume, (1, "c", "d", 3, "w"), [{"c": 2, "d": d, "w": 5} for d in (2, 4)])


OTHERS = ("float64", "float16", "bfloat16")


@pytest.mark.parametrize("dtype", OTHERS)
def test_floats(dtype: str) -> None:
    run(
        sweep.turn(dtype, OTHERS, CASES[:4]),
        ("n", 2, "h", "w"),
        [{"n": n, "h": h, "w": w} for n, h, w in IMAGES[:2]],
        dtype,
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_integers(dtype: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", 1, 4, "w"), dtype))
    with bb.function("main", [x]):
        bb.emit_func_output(R.nn.max_pool2d(x, (3, 3), (1, 2), (1, 1)))
    main = rx.build(bb.get())["main"]
    limits = np.iinfo(dtype)
    data = np.random.default_rng(1).integers(limits.min, limits.max, (2, 1, 4, 7), dtype=dtype, endpoint=True)
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=limits.min)
    want = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3)).max((-1, -2))[:, :, :, ::2]
    np.testing.assert_array_equal(to_numpy(main(data)), want)


def test_windows_of_padding_alone() -> None:
    """Their maximum is the lowest finite value, and their mean 0; NaN and infinity are propagated."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor((1, 1, 5), "float32"))
    with bb.function("main", [x]):
        pools = [
            R.nn.max_pool1d(x, 1, 3, 1, ceil_mode=True),
            R.nn.avg_pool1d(x, 1, 3, 1, ceil_mode=True),
            R.nn.max_pool1d(x, 3),
            R.nn.avg_pool1d(x, 3),
            R.nn.max_pool1d(x, 2, 1, 4, 4),
            R.nn.max_pool1d(R.astype(x, "float16"), 1, 2, 2),
        ]
        bb.emit_func_output(R.make_tuple(*pools))
    data = np.array([1, np.nan, 3, -np.inf, 5], np.float32).reshape(1, 1, 5)
    found = [to_numpy(r).ravel().tolist() for r in rx.build(bb.get())["main"](data)]
    lowest = float(np.finfo(np.float32).min)
    assert found[0] == [lowest, 3, lowest]
    np.testing.assert_array_equal(found[4], [1, np.nan, 3, -np.inf, 5, np.nan, 3, -np.inf, 5])
    assert found[5] == [-65504, 1, 3, 5, -65504]
    assert found[1] == [0, 3, 0]
    np.testing.assert_array_equal(found[2], [np.nan, np.nan, 5])
    np.testing.assert_array_equal(found[3], [np.nan, np.nan, -np.inf])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"pool_size": (6, 1)}, ShapeError, "in dimension H the window reaches over 6"),
        ({"pool_size": (3, 1), "dilation": (3, 1)}, ShapeError, "in dimension H the window reaches over 7"),
        ({"pool_size": (0, 1)}, ArgumentError, "pool_size is"),
        ({"pool_size": (2, 2), "strides": 0}, ArgumentError, "strides is"),
        ({"pool_size": (2, 2), "padding": -1}, ArgumentError, "padding is"),
        ({"pool_size": (2, 2), "layout": "NCHW8c"}, UnsupportedError, "dimensions in blocks"),
        ({"pool_size": (2, 2), "out_layout": "NCWX"}, ArgumentError, "an order of the letters NCHW"),
        ({"pool_size": (2, 2), "ceil_mode": 3}, ArgumentError, "ceil_mode"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor((1, 2, 5, 5), "float32"))
    with pytest.raises(error, match=message), bb.function("main", [x]):
        bb.emit_func_output(R.nn.max_pool2d(x, **options))


@pytest.mark.parametrize(("kind", "dtype"), [("avg", "int32"), ("max", "bool")])
def test_wrong_dtypes(kind: str, dtype: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor((1, 2, 5, 5), dtype))
    with pytest.raises(DTypeError), bb.function("main", [x]):
        bb.emit_func_output(getattr(R.nn, f"{kind}_pool2d")(x))


def test_windows_that_run_time_finds_too_large() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor((1, 2, "h"), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.nn.max_pool1d(x, 4))
    main = rx.build(bb.get())["main"]
    assert main(np.ones((1, 2, 4), "f4")).shape == (1, 2, 1)
    with pytest.raises(ShapeError, match="dimensions are zero or more"):
        main(np.ones((1, 2, 2), "f4"))


def test_data_without_a_window_is_an_error() -> None:
    """The computed size is 0, of which a mean would be NaN."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor((1, 2, "h", "w"), "float32"))
    options = {
        "max": (R.nn.max_pool2d, {"pool_size": 2, "strides": 2}),
        "avg": (
            R.nn.avg_pool2d,
            {"pool_size": (1, 3), "strides": (1, 3), "layout": "NHWC", "out_layout": "NCHW"},
        ),
        "ceil": (R.nn.max_pool2d, {"pool_size": 3, "strides": 2, "ceil_mode": True}),
        "same": (R.nn.max_pool2d, {"pool_size": 3, "padding": 1}),
    }
    for name, (build, given) in options.items():
        with bb.function(name, [x]):
            bb.emit_func_output(R.mean(build(x, **given)))
    executable = rx.build(bb.get())
    for name, shape in (("max", (1, 4)), ("max", (4, 1)), ("avg", (2, 5)), ("ceil", (1, 4))):
        with pytest.raises(
            CheckError, match=r"pool2d: in dimension [HW] the window is larger than the padded data"
        ):
            executable[name](np.ones((1, 2, *shape), "f4"))
    for name, shape in (("max", (2, 3)), ("ceil", (2, 2)), ("same", (1, 1))):
        assert to_numpy(executable[name](np.ones((1, 2, *shape), "f4"))) == 1
