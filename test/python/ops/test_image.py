"""resize2d and resize3d against ONNX's reference implementation and torch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import Array
from onnx import helper
from onnx.reference import ReferenceEvaluator
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, BoundsError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy

METHODS = {"nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic"}
MODES = (
    *("half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"),
    *("pytorch_half_pixel", "tf_crop_and_resize"),
)
ROI = [0.1, 0.25, 0.8, 1.2]


def by_onnx(
    x: Array,
    new: Sequence[int],
    method: str,
    mode: str,
    scales: Sequence[float] | None = None,
    rounding: str = "round_prefer_floor",
    exclude: bool = False,
) -> Array:
    """ONNX's Resize on float64."""
    node = helper.make_node(
        "Resize",
        ["x", "roi", "scales", "sizes"][: 3 if scales else 4],
        ["y"],
        mode=METHODS[method],
        coordinate_transformation_mode=mode,
        nearest_mode=rounding,
        exclude_outside=int(exclude),
        extrapolation_value=7.0,
    )
    kind = onnx.TensorProto.DOUBLE
    names = {
        "x": kind,
        "roi": onnx.TensorProto.FLOAT,
        "scales": onnx.TensorProto.FLOAT,
        "sizes": onnx.TensorProto.INT64,
    }
    inputs = [helper.make_tensor_value_info(name, names[name], None) for name in node.input]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", kind, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    roi = np.array([0, 0, *ROI[:2], 1, 1, *ROI[2:]], np.float32)
    feeds = {
        "x": x.astype(np.float64),
        "roi": roi,
        "scales": np.array([1, 1, *scales] if scales else [], np.float32),
        "sizes": np.array([*x.shape[:2], *new]),
    }
    found = ReferenceEvaluator(model).run(None, {name: feeds[name] for name in node.input})[0]
    return np.asarray(found)


def resize(x: Any, size: Any, method: str, mode: str, **options: Any) -> Any:
    roi = ROI if mode == "tf_crop_and_resize" else None
    return R.image.resize2d(
        x,
        size,
        roi,
        method=method,
        coordinate_transformation_mode=mode,
        extrapolation_value=7.0,
        **options,
    )


def functions(
    cases: Sequence[Callable[[Any, Any], Any]], dtype: str = "float32"
) -> list[Callable[[Array, int, int], Array]]:
    """Functions of an image and new sizes, which are the shape of another parameter."""
    bb = rx.BlockBuilder()
    for number, build in enumerate(cases):
        x, like = rx.Var("x", Tensor(("n", 2, "h", "w"), dtype)), rx.Var("like", Tensor(("p", "q"), "int8"))
        with bb.function(f"resize_{number}", [x, like]):
            bb.emit_func_output(build(x, ("p", "q")))
    executable = rx.build(bb.get())
    return [
        lambda x, p, q, name=f"resize_{number}": to_numpy(executable[name](x, np.zeros((p, q), np.int8)))
        for number in range(len(cases))
    ]


SIZES = ((1, 3, 4, 7, 9), (2, 5, 7, 3, 2), (1, 1, 1, 4, 3), (2, 5, 3, 5, 1), (0, 3, 3, 2, 2))


@pytest.mark.parametrize("method", sweep.quick(METHODS, "cubic"))
def test_modes(method: str) -> None:
    """All modes with the method that users choose; the other methods alternate."""
    modes = MODES if method == "linear" else sweep.turn(method, ["nearest_neighbor", "cubic"], MODES)
    cases = [lambda x, size, mode=mode: resize(x, size, method, mode) for mode in modes]
    rng = np.random.default_rng(4)
    for mode, function in zip(modes, functions(cases), strict=True):
        for n, h, w, p, q in SIZES:
            x = rng.uniform(-1, 1, (n, 2, h, w)).astype(np.float32)
            if n == 0:
                assert function(x, p, q).shape == (0, 2, p, q)
                continue
            if (method, mode, q) == ("cubic", "pytorch_half_pixel", 1):
                # ONNX's specification places a single element at 0, its implementation at -0.5: equal columns hide the
                # difference.
                x = np.repeat(x[..., :1], w, -1)
            want = by_onnx(x, (p, q), method, mode)
            np.testing.assert_allclose(
                function(x, p, q), want, rtol=2e-5, atol=2e-5, err_msg=f"{mode} {(h, w, p, q)}"
            )


@pytest.mark.slow
def test_roundings_and_cubics() -> None:
    roundings = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    cases: list[Callable[[Any, Any], Any]] = [
        lambda x, size, r=rounding: resize(x, size, "nearest_neighbor", "half_pixel", rounding_method=r)
        for rounding in roundings
    ]
    cases.append(lambda x, size: resize(x, size, "cubic", "half_pixel", cubic_exclude=True))
    found = functions(cases)
    x = np.random.default_rng(4).uniform(-1, 1, (1, 2, 5, 7)).astype(np.float32)
    for (rounding, function), (p, q) in itertools.product(
        zip(roundings, found[:4], strict=True), ((10, 3), (2, 14))
    ):
        want = by_onnx(x, (p, q), "nearest_neighbor", "half_pixel", rounding=rounding)
        np.testing.assert_allclose(function(x, p, q), want, rtol=1e-6, err_msg=rounding)
    want = by_onnx(x, (9, 4), "cubic", "half_pixel", exclude=True)
    np.testing.assert_allclose(found[4](x, 9, 4), want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("method", sweep.quick(METHODS, "nearest_neighbor", "linear"))
def test_scales(method: str) -> None:
    """A scale determines more than the sizes, which are rounded down."""
    scales = (0.6, 2.7)
    modes = sweep.turn(method, [*METHODS], [mode for mode in MODES if mode != "tf_crop_and_resize"])
    cases = [lambda x, size, mode=mode: resize(x, size, method, mode, scales=scales) for mode in modes]
    x = np.random.default_rng(4).uniform(-1, 1, (1, 2, 4, 5)).astype(np.float32)
    for mode, function in zip(modes, functions(cases), strict=True):
        for h in (4, 2):
            if (mode, h) == ("pytorch_half_pixel", 2):
                continue  # one element alone: is it 1, or 1.2 as ONNX's implementation has it?
            given = x[:, :, :h]
            p, q = int(h * scales[0]), int(5 * scales[1])
            want = by_onnx(given, (p, q), method, mode, scales)
            assert want.shape[2:] == (p, q)
            np.testing.assert_allclose(function(given, p, q), want, rtol=2e-5, atol=2e-5, err_msg=mode)


FLOATS = ("float16", "float64", "bfloat16")


@pytest.mark.parametrize("dtype", sweep.quick(FLOATS, "bfloat16"))
def test_floats(dtype: str) -> None:
    chosen = sweep.turn(dtype, FLOATS, [("bilinear", dtype), ("bicubic", "float64")])
    options = {"bilinear": {}, "bicubic": {"method": "cubic", "out_dtype": "float64"}}
    cases = [lambda x, size, mode=mode: R.image.resize2d(x, size, **options[mode]) for mode, _ in chosen]
    x = np.random.default_rng(4).uniform(-1, 1, (2, 2, 5, 7)).astype(dtypes.dtype(dtype).numpy)
    wide = torch.from_numpy(x.astype(np.float64))
    tolerance = {"float64": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    for (mode, kind), function in zip(chosen, functions(cases, dtype), strict=True):
        found = function(x, 8, 3)
        assert found.dtype == dtypes.dtype(kind).numpy
        want = torch.nn.functional.interpolate(wide, (8, 3), mode=mode).numpy()
        np.testing.assert_allclose(found.astype(np.float64), want, tolerance, tolerance)


@pytest.mark.parametrize("dtype", sweep.quick(["int8", "uint8", "int64", "bool"], "uint8", "bool"))
def test_nearest_of_any_dtype(dtype: str) -> None:
    case = [
        lambda x, size: R.image.resize2d(
            x,
            size,
            method="nearest_neighbor",
            coordinate_transformation_mode="asymmetric",
            rounding_method="floor",
        )
    ]
    (function,) = functions(case, dtype)
    x = np.random.default_rng(4).integers(0, 2 if dtype == "bool" else 100, (1, 2, 5, 7)).astype(dtype)
    rows, columns = np.arange(9) * 5 // 9, np.arange(3) * 7 // 3
    np.testing.assert_array_equal(function(x, 9, 3), x[:, :, rows][:, :, :, columns])


def test_volumes_and_layouts() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", 2, "d", "h", 3), "float32"))
    y = rx.Var("y", Tensor(("n", "h", "w", 2), "float32"))
    with bb.function("main", [x, y]):
        results = [
            R.image.resize3d(x, (4, "h + 1", 2)),
            R.image.resize3d(x, 3, method="nearest_neighbor", coordinate_transformation_mode="asymmetric"),
            R.image.resize2d(y, ("2*h", 5), layout="NHWC", coordinate_transformation_mode="align_corners"),
        ]
        assert results[2].struct_info == Tensor(("n", "2*h", 5, 2), "float32")
        bb.emit_func_output(R.make_tuple(*results))
    main = rx.build(bb.get())["main"]
    rng = np.random.default_rng(4)
    interpolate = torch.nn.functional.interpolate
    for n, d, h, w in ((1, 2, 3, 4), (2, 5, 1, 7)):
        a = rng.uniform(-1, 1, (n, 2, d, h, 3)).astype(np.float32)
        b = rng.uniform(-1, 1, (n, h, w, 2)).astype(np.float32)
        volume, image = torch.from_numpy(a), torch.from_numpy(b.transpose(0, 3, 1, 2))
        wants = [
            interpolate(volume, (4, h + 1, 2), mode="trilinear"),
            interpolate(volume, (3, 3, 3), mode="nearest"),
            interpolate(image, (2 * h, 5), mode="bilinear", align_corners=True).permute(0, 2, 3, 1),
        ]
        for have, want in zip(main(a, b), wants, strict=True):
            np.testing.assert_allclose(to_numpy(have), want.numpy(), rtol=1e-5, atol=1e-6)


def test_sizes_that_are_values() -> None:
    """A shape that is unknown until the call."""
    bb = rx.BlockBuilder()
    x, s = rx.Var("x", Tensor((1, 1, "h", "w"), "float32")), rx.Var("s", Tensor((2,), "int64"))
    with bb.function("main", [x, s]):
        bb.emit_func_output(R.image.resize2d(x, R.tensor_to_shape(s)))
    main = rx.build(bb.get())["main"]
    a = np.random.default_rng(4).uniform(-1, 1, (1, 1, 3, 4)).astype(np.float32)
    for p, q in ((2, 7), (6, 1)):
        want = torch.nn.functional.interpolate(torch.from_numpy(a), (p, q), mode="bilinear").numpy()
        np.testing.assert_allclose(to_numpy(main(a, np.array([p, q]))), want, rtol=1e-5, atol=1e-6)


def test_empty_images() -> None:
    (function,) = functions([lambda x, size: R.image.resize2d(x, size)])
    with pytest.raises(BoundsError, match=r"image_resize2d.*size 0"):
        function(np.zeros((1, 2, 0, 3), np.float32), 2, 2)
    assert function(np.zeros((1, 2, 0, 3), np.float32), 0, 2).shape == (1, 2, 0, 2)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda x, i: R.image.resize2d(x, (1, 2, 3)), ShapeError, "expected 2 sizes"),
        (lambda x, i: R.image.resize3d(x, 2), ShapeError, "expected 5 dimensions"),
        (lambda x, i: R.image.resize2d(i, 2), DTypeError, "nearest_neighbor alone takes any dtype"),
        (lambda x, i: R.image.resize2d(x, 2, method="area"), ArgumentError, "method is 'area'"),
        (lambda x, i: R.image.resize2d(x, 2, rounding_method="up"), ArgumentError, "rounding_method is 'up'"),
        (lambda x, i: R.image.resize2d(x, 2, roi=[0.0, 1.0]), ArgumentError, "roi has 2 numbers, expected 4"),
        (lambda x, i: R.image.resize2d(x, 2, scales=[1.0, 0.0]), ArgumentError, "expected numbers above 0"),
        (lambda x, i: R.image.resize2d(x, 2, layout="NHW"), ArgumentError, "layout is 'NHW'"),
        (lambda x, i: R.image.resize2d(x, -2), ShapeError, "-2 is negative"),
        (
            lambda x, i: R.image.resize2d(x, 2, coordinate_transformation_mode="corner"),
            ArgumentError,
            "coordinate_transformation_mode is 'corner'",
        ),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    params = [rx.Var(n, Tensor(("n", 2, "h", "w"), d)) for n, d in (("x", "float32"), ("i", "int32"))]
    with pytest.raises(error, match=message), bb.function("main", params):
        bb.emit_func_output(build(*params))
