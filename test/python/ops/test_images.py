"""Images and detection: resizing, sampling at coordinates, regions, and boxes that overlap."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import sweep
import torch
from harness import Array, Suite, close, compiled, numbers, tensor
from reference import OPS
from reference_networks import onnx_node
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.error import BoundsError
from torch.nn import functional as F

METHODS = ("nearest_neighbor", "linear", "cubic")
MODES = (
    *("half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"),
    *("pytorch_half_pixel", "tf_crop_and_resize"),
)
NEW = [
    dict(zip("nhwpq", sizes, strict=True))
    for sizes in ((1, 3, 4, 7, 9), (2, 5, 7, 3, 2), (1, 1, 1, 4, 3), (2, 5, 3, 5, 1), (0, 3, 3, 2, 2))
]


def resize(suite: Suite, method: str, mode: str, sizes: Any = NEW, size: Any = ("p", "q"), **options: Any) -> None:
    """A resize to the size of another parameter; nearest elements are those that ONNX takes by default."""
    given = {
        "roi": [0.1, 0.25, 0.8, 1.2] if mode == "tf_crop_and_resize" else None,
        "method": method,
        "coordinate_transformation_mode": mode,
        "extrapolation_value": 7.0,
        "rounding_method": "round_prefer_floor" if method == "nearest_neighbor" else "round",
        **options,
    }
    tolerance = given.pop("tolerance", 2e-5)
    suite.both(
        lambda R, x, like: R.image.resize2d(x, size, **given),
        *("n 2 h w", "p q int8"),
        sizes=sizes,
        draw=numbers(-1, 1) if dtypes.dtype(suite.dtype).is_float else numbers(0, 100),
        tolerance=tolerance,
    )


@pytest.mark.parametrize("method", sweep.quick(METHODS, "cubic"))
def test_modes(method: str) -> None:
    """All modes with the method that users choose; the other methods alternate."""
    suite = Suite()
    modes = MODES if method == "linear" else sweep.turn(method, ["nearest_neighbor", "cubic"], MODES)
    for mode in modes:
        # ONNX's specification places a single element at 0, its implementation at -0.5.
        single = (method, mode) == ("cubic", "pytorch_half_pixel")
        resize(suite, method, mode, [sizes for sizes in NEW if not single or sizes["q"] > 1])
    suite.run()


@pytest.mark.slow
def test_roundings_and_cubics() -> None:
    suite = Suite()
    sizes = [dict(zip("nhwpq", (1, 5, 7, p, q), strict=True)) for p, q in ((10, 3), (2, 14), (9, 4))]
    for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        resize(suite, "nearest_neighbor", "half_pixel", sizes, rounding_method=rounding, tolerance=1e-6)
    resize(suite, "cubic", "half_pixel", sizes, cubic_exclude=True)
    suite.run()


@pytest.mark.parametrize("method", sweep.quick(METHODS, "nearest_neighbor", "linear"))
def test_scales(method: str) -> None:
    """A scale determines more than the sizes, which are rounded down."""
    suite = Suite()
    scales = (0.6, 2.7)
    modes = sweep.turn(method, METHODS, [mode for mode in MODES if mode != "tf_crop_and_resize"])
    for mode in modes:
        sizes = [{"n": 1, "h": h, "w": 5, "p": int(h * scales[0]), "q": int(5 * scales[1])} for h in (4, 2)]
        # One element alone: is it 1, or 1.2 as ONNX's implementation has it?
        resize(suite, method, mode, sizes[:1] if mode == "pytorch_half_pixel" else sizes, scales=scales)
    suite.run()


FLOATS = ("float16", "float64", "bfloat16")


@pytest.mark.parametrize("dtype", sweep.quick(FLOATS, "bfloat16"))
def test_resized_floats(dtype: str) -> None:
    suite = Suite((dtype, FLOATS), dtype=dtype)
    sizes = [dict(zip("nhwpq", (2, 5, 7, 8, 3), strict=True))]
    tolerance = {"float64": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    resize(suite, "linear", "half_pixel", sizes, tolerance=tolerance)
    resize(suite, "cubic", "half_pixel", sizes, out_dtype="float64", tolerance=tolerance)
    suite.run()


@pytest.mark.parametrize("dtype", sweep.quick(["int8", "uint8", "int64", "bool"], "uint8", "bool"))
def test_nearest_of_any_dtype(dtype: str) -> None:
    suite = Suite(dtype=dtype)
    sizes = [dict(zip("nhwpq", (1, 5, 7, 9, 3), strict=True))]
    resize(suite, "nearest_neighbor", "asymmetric", sizes, rounding_method="floor", extrapolation_value=0.0)
    suite.run()


def test_volumes_layouts_and_sizes_that_are_values() -> None:
    suite = Suite()
    sizes = [dict(zip("ndhw", each, strict=True)) for each in ((1, 2, 3, 4), (2, 5, 1, 7))]
    nearest = {"method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric"}
    corners = {"layout": "NHWC", "coordinate_transformation_mode": "align_corners"}
    suite.use("image.resize3d", "n 2 d h 3", size=(4, "h + 1", 2), sizes=sizes)
    suite.use("image.resize3d", "n 2 d h 3", size=3, **nearest, sizes=sizes)
    suite.use("image.resize2d", "n h w 2", size=("2*h", 5), **corners, sizes=sizes)
    suite.run()
    infos: list[Any] = []

    def build(x: Any, y: Any, s: Any) -> Any:
        infos.append(R.image.resize2d(y, ("2*h", 5), layout="NHWC").struct_info)
        return R.image.resize2d(x, R.tensor_to_shape(s))

    function = compiled(build, "1 1 h w", "n h v 2", "2 int64")
    assert infos == [tensor("n 2*h 5 2")]
    a = np.random.default_rng(4).uniform(-1, 1, (1, 1, 3, 4)).astype(np.float32)
    for p, q in ((2, 7), (6, 1)):
        found = function(a, np.zeros((1, 3, 1, 2), "f4"), np.array([p, q]))
        close(found, OPS["image.resize2d"](a.astype("f8"), (p, q)), 1e-5)


def test_empty_images() -> None:
    function = compiled(lambda x, like: R.image.resize2d(x, ("p", "q")), "n 2 h w", "p q int8")
    with pytest.raises(BoundsError, match=r"image_resize2d.*size 0"):
        function(np.zeros((1, 2, 0, 3), np.float32), np.zeros((2, 2), np.int8))
    assert function(np.zeros((1, 2, 0, 3), np.float32), np.zeros((0, 2), np.int8)).shape == (1, 2, 0, 2)


SAMPLES = [
    (method, padding, corners)
    for number, (method, padding) in enumerate(
        itertools.product(("nearest", "bilinear", "bicubic"), ("zeros", "border", "reflection"))
    )
    for corners in (True, False)
    if sweep.ALL or corners == bool(number % 2)
]


def coordinates(rng: np.random.Generator, info: Any, shape: tuple[int, ...]) -> Array:
    """From -1.7 to 1.7; in float16, without ties."""
    grid = rng.uniform(-1.7, 1.7, shape)
    return (np.round(grid * 8) / 8 + 1 / 32 if info.dtype.name == "float16" else grid).astype(info.dtype.numpy)


def sample(suite: Suite, shapes: tuple[str, str], case: tuple[str, str, bool], sizes: Any, layout: str) -> None:
    method, padding, corners = case
    suite.use(
        "image.grid_sample",
        *shapes,
        method=method,
        layout=layout,
        padding_mode=padding,
        align_corners=corners,
        sizes=sizes,
        draw=[numbers(-1, 1), coordinates],
        tolerance=2e-5 if suite.dtype == "float32" else 4e-3,
    )


@pytest.mark.parametrize("dtype", sweep.quick(["float32", "float16"], "float32"))
def test_grid_sample(dtype: str) -> None:
    cases = SAMPLES if dtype == "float32" else sweep.part(SAMPLES, lambda case: case[0], lambda case: case[1])
    suite = Suite(dtype=dtype)
    kinds = ((1, 3, 4, 2, 5), (2, 1, 1, 3, 1), (0, 2, 3, 2, 2), (3, 5, 2, 0, 4))
    sizes = [dict(zip("nhwpq", each, strict=True)) for each in kinds]
    for case in cases:
        sample(suite, ("n 2 h w", "n 2 p q"), case, sizes, "NCHW")
    suite.run()


@pytest.mark.slow
def test_grid_sample_of_volumes() -> None:
    suite = Suite()
    kinds = [case for case in SAMPLES if case[0] != "bicubic"]
    sizes = [{"n": 2, "c": 3, "d": 4, "w": 5, "p": 3, "q": 4}]
    for case in sweep.part(kinds, lambda case: (case[0], case[2]), lambda case: case[1]):
        sample(suite, ("n c d 3 w", "n 3 p 2 q"), case, sizes, "NCDHW")
    suite.run()


def test_places_that_are_nan() -> None:
    grid = np.array([[np.nan, 0, np.inf], [0, -np.inf, 0]], np.float32).reshape(1, 2, 1, 3)
    found = compiled(R.image.grid_sample, "1 1 2 2", "1 2 1 q")(np.ones((1, 1, 2, 2), np.float32), grid)
    np.testing.assert_array_equal(np.nan_to_num(found.ravel()), 0)


@pytest.mark.filterwarnings("ignore::UserWarning")  # one element alone, at 0 since torch 1.3
@pytest.mark.parametrize("dtype", ["float32", *FLOATS])
def test_affine_grid(dtype: str) -> None:
    suite = Suite(dtype=dtype)
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 2e-6)
    sizes = [dict(zip("nhw", each, strict=True)) for each in ((1, 3, 4), (2, 1, 1), (0, 2, 2), (3, 5, 2))]
    for corners in (True, False):
        for matrix, size in (("n 2 3", ("h", "w")), ("n 3 4", (2, "h", "w"))):
            suite.both(
                lambda R, x, like, s=size, c=corners: R.image.affine_grid(x, s, c),
                *(matrix, "h w int8"),
                sizes=sizes,
                draw=numbers(-1, 1),
                tolerance=tolerance,
            )
    suite.run()


def regions(rng: np.random.Generator, count: int, batch: int, size: int) -> Array:
    """Boxes, some of them partly outside."""
    corners = rng.uniform(-2, size + 2, (count, 2, 2))
    boxes = np.concatenate([corners.min(1), corners.max(1)], 1)
    return np.concatenate([rng.integers(0, batch, (count, 1)), boxes], 1).astype(np.float32)


def test_regions() -> None:
    rng = np.random.default_rng(8)
    inputs = [
        [rng.uniform(-1, 1, (n, 2, h, w)).astype(np.float32), regions(rng, count, n, max(h, w))]
        for n, h, w, count in ((2, 9, 7, 6), (1, 1, 1, 3), (1, 4, 5, 0))
    ]
    suite = Suite()
    cases: list[tuple[Any, float]] = [
        (lambda R, x, r: R.vision.roi_align(x, r, (3, 2), 0.5), 1e-4),
        (lambda R, x, r: R.vision.roi_align(x, r, 2, 1.0, 2, True, mode="avg"), 1e-4),
        (lambda R, x, r: R.vision.roi_pool(x, r, (2, 3), 0.5), 1e-6),
        (
            lambda R, x, r: R.vision.roi_align(R.permute_dims(x, [0, 2, 3, 1]), r, (3, 2), 0.5, layout="NHWC"),
            1e-4,
        ),
    ]
    for build, tolerance in cases:
        suite.both(build, "n 2 h w", "r 5", inputs=inputs, tolerance=tolerance)
    for dtype in FLOATS:
        kind = dtypes.dtype(dtype).numpy
        given = [rng.uniform(-1, 1, (2, 1, 5, 6)).astype(kind), np.round(regions(rng, 4, 2, 5)).astype(kind)]
        options = {"pooled_size": 2, "spatial_scale": 1.0, "tolerance": 0.0}
        suite.use("vision.roi_pool", f"n 1 h w {dtype}", f"r 5 {dtype}", inputs=[given], **options)
    suite.run()
    align = compiled(lambda x, r: R.vision.roi_align(x, r, (3, 2), 0.5), "n 2 h w", "r 5")
    with pytest.raises(BoundsError, match=r"vision_roi_align.*index 7 is out of range"):
        align(np.ones((2, 2, 3, 3), np.float32), np.array([[7, 0, 0, 1, 1]], np.float32))


def test_boxes_that_overlap() -> None:
    suite = Suite()
    cases = [(-1, -1, False, 0.0), (2, -1, True, 0.0), (-1, 4, False, 0.3), (-1, -1, True, -5.0)]
    rng = np.random.default_rng(9)
    inputs = []
    for n, count in ((2, 12), (1, 1), (3, 0), (0, 4)):
        data = rng.uniform(0, 4, (n, count, 6)).astype(np.float32)
        data[..., 0], data[..., 1] = rng.integers(-1, 2, (n, count)), rng.uniform(0, 1, (n, count))
        inputs.append([data])

    def suppressed(ops: Any, data: Any, case: Any, indices: bool, last: bool = False) -> Any:
        most, top, forced, least = case
        counts, boxes, places = ops.vision.get_valid_counts(data, -2.0)
        options = {"return_indices": indices, "invalid_to_bottom": last, "score_threshold": least}
        return ops.vision.non_max_suppression(boxes, counts, places, most, 0.5, forced, top, **options)

    suite.use("vision.get_valid_counts", "n b 6", score_threshold=0.4, inputs=inputs)
    suite.use("vision.get_valid_counts", "n b 6", score_threshold=0.4, id_index=-1, inputs=inputs)
    for case in cases:
        suite.both(lambda R, d, case=case: suppressed(R, d, case, True), "n b 6", inputs=inputs)
    suite.both(lambda R, d: suppressed(R, d, cases[0], False, True), "n b 6", inputs=inputs)
    suite.run()


def test_boxes_of_all_classes_and_anchors() -> None:
    suite, rng = Suite(), np.random.default_rng(9)
    inputs = [
        [
            rng.uniform(0, 3, (n, count, 4)).astype(np.float32),
            rng.uniform(0, 1, (n, classes, count)).astype(np.float32),
            *(np.array([most]), np.array(0.4, np.float32)),
        ]
        for n, classes, count, most in ((1, 1, 6, 3), (2, 3, 9, 100), (1, 2, 5, 0), (1, 2, 0, 3))
    ]
    suite.both(
        lambda R, b, s, m, o: R.vision.all_class_non_max_suppression(b, s, m, o, 0.2),
        *("n b 4", "n c b", "1 int64", ""),
        inputs=inputs,
    )
    inputs = []
    for n, count, classes in ((2, 5, 3), (1, 1, 1), (0, 2, 2)):
        corners = rng.uniform(0, 1, (count, 2, 2))
        anchors = np.concatenate([corners.min(1), corners.max(1)], 1).astype(np.float32)[None]
        drawn = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((n, classes, count), (n, 4 * count)))
        inputs.append([*drawn, anchors])
    options = {"clip": True, "threshold": 0.2, "variances": (0.1, 0.1, 0.2, 0.2), "keep_background": False}
    suite.use("vision.multibox_transform_loc", "n c a", "n 4*a", "1 a 4", **options, inputs=inputs)
    suite.run()


def test_references_are_those_of_torch_and_onnx() -> None:
    """Regions of ONNX, and sizes of torch, whose nearest element is that of ``floor``."""
    rng = np.random.default_rng(8)
    x, rois = rng.uniform(-1, 1, (2, 2, 9, 7)).astype(np.float32), regions(rng, 6, 2, 9)
    inputs = {"x": x, "rois": rois[:, 1:], "batch": rois[:, 0].astype(np.int64)}
    for aligned, ratio in ((False, 0), (True, 2)):
        how = "half_pixel" if aligned else "output_half_pixel"
        options = {"output_height": 3, "output_width": 2, "spatial_scale": 0.5, "sampling_ratio": ratio}
        want = onnx_node("RoiAlign", inputs, 17, coordinate_transformation_mode=how, **options)
        found = OPS["vision.roi_align"](x.astype("f8"), rois, (3, 2), 0.5, ratio or -1, aligned)
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
    wide, image = x.astype(np.float64), torch.tensor(x, dtype=torch.float64)
    for ours, theirs in (
        ({}, {"mode": "bilinear"}),
        ({"method": "cubic"}, {"mode": "bicubic"}),
        ({"mode": "align_corners"}, {"mode": "bilinear", "align_corners": True}),
        ({"method": "nearest_neighbor", "mode": "asymmetric"}, {"mode": "nearest"}),
    ):
        found = OPS["image.resize2d"](wide, (8, 3), **ours)
        np.testing.assert_allclose(found, F.interpolate(image, (8, 3), **theirs).numpy(), rtol=1e-6, atol=1e-6)
