"""Images: blocks of pixels, other sizes, samples at coordinates, regions, and boxes that overlap."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from reference_networks import onnx_node
from relax_mlir import te, topi
from relax_mlir.error import BoundsError
from topi_cases import check, lrn, placeholders, random

N, H, W, P, Q = (te.var(name) for name in "nhwpq")
FLOATS = ("float32", "float64", "float16", "bfloat16")
LAST = (0, 2, 3, 1)


def to_space(x: Any, r: int, mode: str) -> Any:
    """ONNX's description of DepthToSpace."""
    n, c, h, w = x.shape
    blocks = (n, r, r, c // (r * r), h, w) if mode == "DCR" else (n, c // (r * r), r, r, h, w)
    order = (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3)
    return x.reshape(blocks).transpose(order).reshape(n, c // (r * r), h * r, w * r)


def to_depth(x: Any, r: int) -> Any:
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // r, r, w // r, r).transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(n, c * r * r, h // r, w // r)


def dilated(x: Any) -> Any:
    n, c, h, w = x.shape
    found = np.ones((n, max(2 * c - 1, 0), max(3 * h - 2, 0), w), x.dtype)
    found[:, ::2, ::3] = x
    return found


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool"])
def test_pixels(dtype: str) -> None:
    nn = topi.nn
    cases: dict[str, Any] = {
        "pixel_shuffle": lambda t, x: t.nn.pixel_shuffle(x, 2),
        "of one": lambda t, x: t.nn.pixel_shuffle(x, 1),
        "DCR": (lambda x: nn.depth_to_space(x, 2), lambda x: to_space(x, 2, "DCR")),
        "CRD": (lambda x: nn.depth_to_space(x, 2, mode="CRD"), lambda x: to_space(x, 2, "CRD")),
        "NHWC": (
            lambda x: nn.depth_to_space(topi.transpose(x, LAST), 2, "NHWC"),
            lambda x: to_space(x, 2, "DCR").transpose(LAST),
        ),
        "space_to_depth": (lambda x: nn.space_to_depth(x, 2), lambda x: to_depth(x, 2)),
        "space_to_depth NHWC": (
            lambda x: nn.space_to_depth(topi.transpose(x, LAST), 2, "NHWC"),
            lambda x: to_depth(x, 2).transpose(LAST),
        ),
        "back": (lambda x: nn.space_to_depth(nn.depth_to_space(x, 2), 2), lambda x: x),
        "flatten": lambda t, x: t.nn.flatten(x),
        "dilate": (lambda x: nn.dilate(x, (1, 2, 3, 1), 1), dilated),
    }
    check(
        "x: n 4*c 2*h 2*w, z: c h w",
        cases,
        ((2, 2, 2, 3), (1, 1, 1, 1), (0, 1, 1, 1), (2, 1, 0, 1)),
        dtype=dtype,
    )


def to_batch(x: Any, blocks: Any) -> Any:
    """TensorFlow's description of SpaceToBatchND."""
    for number, block in reversed(list(enumerate(blocks))):
        parts = [np.take(x, range(first, x.shape[1 + number], block), 1 + number) for first in range(block)]
        x = np.concatenate(parts)
    return x


def test_blocks_of_batches() -> None:
    there, back = topi.nn.space_to_batch_nd, topi.nn.batch_to_space_nd
    cases: dict[str, Any] = {
        "to batch": (
            lambda x: there(x, (2, 3), (0, 1), (0, 0), 5.0),
            lambda x: to_batch(np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 0)), constant_values=5), (2, 3)),
        ),
        "one dimension": (
            lambda x: there(x, (2,), (2,), (0,)),
            lambda x: to_batch(np.pad(x, ((0, 0), (2, 0), (0, 0), (0, 0))), (2,)),
        ),
        "and back": (
            lambda x: back(there(x, (2, 3), (0, 1), (0, 0)), (2, 3), (0, 1), (0, 0)),
            lambda x: x,
        ),
        "back without edges": (
            lambda x: back(there(x, (2,), (0,), (0,)), (2,), (1,), (1,)),
            lambda x: x[:, 1:-1],
        ),
    }
    check("x: n 2*h 3*w-1 2", cases, ((2, 3, 2), (1, 1, 1), (0, 2, 1)))


def test_lrn_is_that_of_onnx() -> None:
    x = random((5, 5, 3, 4))  # the reference counts the channels by the size of the batch
    want = onnx_node("LRN", {"x": x}, 17, alpha=0.5, beta=0.75, bias=2.0, size=4)
    np.testing.assert_allclose(lrn(x, 4, 1, 0.5, 0.75, 2.0), want, rtol=1e-5)


@pytest.mark.parametrize("scale", [2, 3])
def test_upsampling(scale: int) -> None:
    nearest = {"method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric"}
    corners = {"coordinate_transformation_mode": "align_corners"}
    cases: dict[str, Any] = {
        "nearest": (lambda x: topi.nn.upsampling(x, scale, 1), lambda x: np.repeat(x, scale, 2)),
        "NHWC": (
            lambda x: topi.nn.upsampling(topi.transpose(x, LAST), scale, scale, "NHWC"),
            lambda x: np.repeat(np.repeat(x, scale, 2), scale, 3).transpose(LAST),
        ),
        "corners": lambda t, x: (
            t.nn.upsampling(x, scale, scale, method="bilinear", align_corners=True)
            if t is topi
            else t.image.resize2d(x, None, (scale * x.shape[2], scale * x.shape[3]), **corners)
        ),
        "3d": lambda t, x: (
            t.nn.upsampling3d(t.expand_dims(x, 2), 2, scale, 1, method="trilinear")
            if t is topi
            else t.image.resize3d(x[:, :, None], None, (2, scale * x.shape[2], x.shape[3]))
        ),
        "3d nearest": (
            lambda x: topi.nn.upsampling3d(
                topi.expand_dims(x, 2), 2, scale, 1, coordinate_transformation_mode="asymmetric"
            ),
            lambda x: np.repeat(np.repeat(x[:, :, None], 2, 2), scale, 3),
        ),
        "a part": lambda t, x: (
            t.nn.upsampling(x, 1.5, 1.5, output_shape=(3 * H // 2, W))
            if t is topi
            else t.image.resize2d(x, None, (3 * x.shape[2] // 2, x.shape[3]), **nearest)
        ),
    }
    check("x: n 2 h w", cases, ((2, 4, 5), (1, 2, 1), (0, 2, 2)), tolerance=1e-4)


def test_resize_modes() -> None:
    """Every coordinate mode, and every method, to sizes given by a tensor."""
    cases: dict[str, Any] = {}

    def add(method: str, mode: str, rounding: str = "", exclude: bool = False, roi: Any = None) -> None:
        options = {
            "rounding_method": rounding or ("round_prefer_floor" if method == "nearest_neighbor" else ""),
            "bicubic_exclude": exclude,
            "extrapolation_value": 7.0,
            "bicubic_alpha": -0.75,
        }
        cases[f"{method} {mode} {rounding} {exclude} {roi}"] = lambda t, x: t.image.resize2d(
            x, roi, (P, Q), "NCHW", method, mode, **options
        )

    modes = (
        *("half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"),
        *("pytorch_half_pixel", "tf_half_pixel_for_nn"),
    )
    # Coordinates do not depend on the method, and cubic ones take four times as long to build.
    for mode, method in sweep.product(modes, ("linear", "nearest_neighbor")):
        add(method, mode, "floor" if method == "nearest_neighbor" else "")
    add("cubic", "align_corners")
    for rounding in ("round_prefer_floor", "round_prefer_ceil", "ceil"):
        add("nearest_neighbor", "half_pixel", rounding)
    add("cubic", "half_pixel", exclude=True)
    for roi in ([0.2, 0.1, 0.8, 0.9], [-0.3, 0.0, 1.2, 0.5]):
        add("linear", "tf_crop_and_resize", roi=roi)
    sizes = ((2, 5, 4, 7, 9), (1, 1, 1, 3, 2), (1, 6, 8, 3, 4), (2, 4, 3, 1, 1))
    check("x: n 2 h w, like: p q", cases, sizes, tolerance=1e-3)


@pytest.mark.slow
def test_resize_of_constant_sizes() -> None:
    corners = {"coordinate_transformation_mode": "align_corners"}
    nearest = "NCHW", "nearest_neighbor", "asymmetric"
    cases: dict[str, Any] = {
        "linear": lambda t, x: t.image.resize2d(x, None, (7, 3)),
        "corners": lambda t, x: t.image.resize2d(x, None, (7, 3), **corners),
        "nearest": lambda t, x: t.image.resize2d(x, None, (7, 3), *nearest),
        "cubic": lambda t, x: t.image.resize2d(x, None, (7, 3), method="cubic", bicubic_alpha=-0.75),
        "same": lambda t, x: t.image.resize2d(x, None, (H, W)),
        "float64": lambda t, x: t.image.resize2d(x, None, (H, W), out_dtype="float64"),
    }
    check("x: n 2 h w", cases, ((2, 5, 4), (1, 1, 1), (1, 9, 2)), tolerance=1e-4)
    check("x: n 2 w", {"1": lambda t, x: t.image.resize1d(x, None, (5,))}, ((2, 8), (1, 1)), tolerance=1e-4)
    cube: dict[str, Any] = {"3": lambda t, x: t.image.resize3d(x, None, (2, 4, 5))}
    check("x: n 1 3 h w", cube, [(2, 4, 2)], tolerance=1e-4)


def sampled(layout: str, hows: Any) -> dict[str, Any]:
    return {str(h): lambda t, x, g, h=h: t.image.grid_sample(x, g, h[0], layout, h[1], h[2]) for h in hows}


@pytest.mark.parametrize("dtype", FLOATS)
def test_samples_of_two_dimensions(dtype: str) -> None:
    modes = ("nearest", "bilinear", "bicubic"), ("zeros", "border", "reflection"), (False, True)
    hows = [*itertools.product(*modes)]
    if dtype != "float32":
        hows = [("nearest", "zeros", True), ("bilinear", "reflection", False), ("bicubic", "border", False)]
    kinds = ((2, 3, 5, 4, 6, 7), (1, 1, 1, 1, 3, 1), (1, 2, 3, 1, 2, 2), (2, 1, 2, 3, 0, 2))
    inputs = []
    for n, c, h, w, k, m in kinds:
        grid = (random((n, 2, k, m), dtype, 1) * 0.8).astype(random((1,), dtype).dtype)
        inputs.append([random((n, c, h, w), dtype), grid])
    tolerance = {"float16": 4e-3, "bfloat16": 4e-2}.get(dtype, 2e-4)
    options = {"dtype": dtype, "tolerance": tolerance, "types": FLOATS}
    check("x: n c h w, g: n 2 k l", sampled("NCHW", hows), inputs=inputs, **options)


@pytest.mark.slow
def test_samples_of_three_dimensions() -> None:
    paddings = (("zeros", False), ("border", True), ("reflection", False), ("reflection", True))
    hows = [(mode, *padding) for mode in ("nearest", "bilinear") for padding in paddings]
    inputs = [
        [random((n, c, d, h, w)), random((n, 3, k, m, 2), seed=1) * np.float32(0.7)]
        for n, c, d, h, w, k, m in ((2, 2, 3, 5, 4, 3, 2), (1, 1, 1, 1, 1, 1, 1))
    ]
    check("x: n c d h w, g: n 3 k l 2", sampled("NCDHW", hows), inputs=inputs, tolerance=2e-4)


def test_places_that_are_no_numbers_read_nothing_outside() -> None:
    """The result of such a position is unspecified; other elements are correct, and no call fails."""
    bad = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0], "f4")
    grid = np.stack([bad, bad]).reshape(1, 2, 1, 6)
    ways = (("nearest", "zeros"), ("bilinear", "border"), ("bicubic", "reflection"), ("bilinear", "zeros"))
    cases: dict[str, Any] = {
        f"{mode} {padding}": (
            lambda x, g, m=mode, p=padding: topi.strided_slice(
                topi.image.grid_sample(x, g, m, "NCHW", p, True), (5,), (6,), axes=(3,)
            ),
            lambda x: x[:, :, 1:2, 1:2],
        )
        for mode, padding in ways
    }
    check("x: 1 1 h w, g: 1 2 1 k", cases, inputs=[[random((1, 1, 3, 3)), grid]], tolerance=1e-4)


@pytest.mark.parametrize("dtype", FLOATS)
def test_grids(dtype: str) -> None:
    cases: dict[str, Any] = {}
    for corners in (False, True):
        cases[f"two {corners}"] = lambda t, x, c=corners: t.image.affine_grid(x, (H, W), c)
        cases[f"two static {corners}"] = lambda t, x, c=corners: t.image.affine_grid(x, (1, 3), c)
        cases[f"three {corners}"] = lambda t, y, c=corners: t.image.affine_grid(y, (2, H, W), c)
    tolerance = {"float16": 4e-3, "bfloat16": 4e-2}.get(dtype, 1e-5)
    sizes = ((2, 3, 4), (1, 1, 1), (3, 1, 5))
    shapes = f"x: n 2 3 {dtype}, z: h w, y: n 3 4 {dtype}"
    check(shapes, cases, sizes, dtype=dtype, tolerance=tolerance, types=FLOATS)


def regions(count: int, batch: int, height: int, width: int) -> Any:
    """Boxes, some partly outside, some almost empty."""
    rng = np.random.default_rng([0, count])
    corners = rng.uniform(-2, max(height, width) + 2, (count, 2, 2))
    boxes = np.concatenate([corners.min(1), corners.max(1)], 1)
    return np.concatenate([rng.integers(0, batch, (count, 1)), boxes], 1).astype("f4")


@pytest.mark.parametrize("dtype", FLOATS)
def test_regions(dtype: str) -> None:
    cases: dict[str, Any] = {
        f"{kind} {ratio} {aligned}": lambda t, x, r, how=(kind, ratio, aligned): t.vision.roi_align(
            x, r, (3, 2), 0.5, *how
        )
        for ratio in (0, 2)
        for aligned in (False, True)
        for kind in ("avg", "max")
    }
    cases["NHWC"] = lambda t, x, r: t.vision.roi_align_nhwc(t.transpose(x, LAST), r, (3, 2), 0.5)
    sizes = ((2, 3, 9, 7, 6), (1, 1, 1, 1, 3), (1, 2, 4, 5, 0))
    inputs = [[random((n, c, h, w), dtype), regions(k, n, h, w)] for n, c, h, w, k in sizes]
    tolerance = {"float16": 5e-3, "bfloat16": 4e-2}.get(dtype, 1e-4)
    options = {"dtype": dtype, "inputs": inputs, "types": FLOATS}
    check("x: n c h w, r: r 5 float32", cases, tolerance=tolerance, **options)
    if dtype in ("float32", "bfloat16"):
        inputs = [[random((n, c, h, w), dtype), regions(k, n, h, w)] for n, c, h, w, k in sizes]
        pool: dict[str, Any] = {"pool": lambda t, x, r: t.vision.roi_pool(x, r, (3, 2), 0.7)}
        check("x: n c h w, r: r 5 float32", pool, dtype=dtype, inputs=inputs)


def test_regions_of_no_entry_of_the_batch_are_errors() -> None:
    x, r = placeholders("x: n c h w, r: r 5")
    for found in (topi.vision.roi_align(x, r, 2, 1.0), topi.vision.roi_pool(x, r, 2, 1.0)):
        main = rx.build(te.create_prim_func([x, r, found]), opt_level=0)["main"]
        for bad in (2.0, -1.0, 1e30):
            with pytest.raises(BoundsError):
                main(random((2, 1, 4, 4)), np.array([[bad, 0, 0, 3, 3]], "f4"), np.zeros((1, 1, 2, 2), "f4"))


def boxes(batch: int, count: int, seed: int = 0) -> Any:
    """Class, score and two corners, in any order; many boxes overlap."""
    rng = np.random.default_rng([seed, batch, count])
    corners = rng.uniform(0, 4, (batch, count, 4))
    kinds = rng.integers(-1, 2, (batch, count, 1))
    scores = rng.permutation(batch * count).reshape(batch, count, 1)
    return np.concatenate([kinds, scores / 10 - 0.3, corners], 2).astype("f4")


def test_boxes_that_count() -> None:
    cases: dict[str, Any] = {
        "classes": lambda t, x: t.vision.get_valid_counts(x, np.float32(0.2) if t is not topi else 0.2),
        "no classes": lambda t, x: t.vision.get_valid_counts(x, 0, -1),
    }
    check("x: b n 6", cases, inputs=[[boxes(*size)] for size in ((2, 9), (1, 1), (3, 0), (0, 4))])


def test_suppression() -> None:
    def nms(t: Any, x: Any, **options: Any) -> Any:
        counts, valid, places = t.vision.get_valid_counts(x, 0.0)
        return t.vision.non_max_suppression(valid, counts, places, iou_threshold=0.3, **options)

    cases: dict[str, Any] = {
        "indices": lambda t, x: nms(t, x),
        "few": lambda t, x: nms(t, x, max_output_size=2),
        "forced": lambda t, x: nms(t, x, force_suppress=True),
        "top": lambda t, x: nms(t, x, top_k=3),
        "boxes": lambda t, x: nms(t, x, return_indices=False),
        "boxes up": lambda t, x: nms(t, x, return_indices=False, invalid_to_bottom=True),
    }
    sizes = ((2, 9), (1, 1), (3, 0), (0, 4), (1, 40))
    check("x: b n 6", cases, inputs=[[boxes(*size, seed)] for size in sizes for seed in range(3)])


def test_suppression_of_all_classes() -> None:
    cases: dict[str, Any] = {
        f"{most}": lambda t, x, s, most=most: t.vision.all_class_non_max_suppression(x, s, most, 0.3, 0.1)
        for most in (3, 100)
    }
    inputs = []
    for b, c, n in ((2, 3, 9), (1, 1, 1), (1, 2, 20), (0, 1, 2), (1, 1, 0)):
        scores = np.random.default_rng(n).permutation(b * c * n).reshape(b, c, n) / 20
        inputs.append([np.ascontiguousarray(boxes(b, n)[:, :, 2:]), scores.astype("f4")])
    check("x: b n 4, s: b c n", cases, inputs=inputs)


def test_boxes_of_anchors() -> None:
    cases: dict[str, Any] = {
        str(how): lambda t, c, m, a, how=how: t.vision.multibox_transform_loc(c, m, a, (0.1, 0.2, 0.3, 0.4), *how)
        for how in ((False, 0.0, True), (True, 0.3, False))
    }
    inputs = [
        [random((b, k, n)), random((b, 4 * n)) / 4, np.abs(random((1, n, 4))) / 4] for b, k, n in ((2, 3, 5), (1, 1, 1))
    ]
    check("c: b c n, m: b 4*n, a: 1 n 4", cases, inputs=inputs, tolerance=1e-4)
