"""Operators of object detection, against ONNX's reference and NumPy implementations of their specifications."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, BoundsError, DTypeError, ShapeError, UnsupportedError
from topi_cases import check, random

N, C, H, W, R, B = (te.var(name) for name in ("n", "c", "h", "w", "r", "b"))
LOOSE = {"float16": 5e-3, "bfloat16": 4e-2}


def onnx_of(op: str, kinds: Any, result: int, arrays: Any, **attributes: Any) -> Any:
    """ONNX's reference of one node."""
    names = [f"i{n}" for n in range(len(kinds))]
    inputs = [helper.make_tensor_value_info(n, k, None) for n, k in zip(names, kinds, strict=True)]
    output = helper.make_tensor_value_info("o", result, None)
    graph = helper.make_graph([helper.make_node(op, names, ["o"], **attributes)], "g", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))[0]


def regions(count: int, batch: int, height: int, width: int, seed: int = 0) -> Any:
    """Boxes, some partly outside, some almost empty."""
    rng = np.random.default_rng([seed, count])
    corners = rng.uniform(-2, max(height, width) + 2, (count, 2, 2))
    boxes = np.concatenate([corners.min(1), corners.max(1)], 1)
    return np.concatenate([rng.integers(0, batch, (count, 1)), boxes], 1).astype("f4")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_roi_align(dtype: str) -> None:
    x, r = te.placeholder((N, C, H, W), dtype, "x"), te.placeholder((R, 5), name="r")
    cases: dict[str, Any] = {}
    for ratio in (0, 2):
        for aligned in (False, True):
            cases[f"avg {ratio} {aligned}"] = (
                lambda x, r, ratio=ratio, a=aligned: topi.vision.roi_align(
                    x, r, (3, 2), 0.5, "avg", ratio, a
                ),
                lambda x, r, ratio=ratio, a=aligned: _onnx_align(x, r, ratio, a),
            )
            cases[f"max {ratio} {aligned}"] = (
                lambda x, r, ratio=ratio, a=aligned: topi.vision.roi_align(
                    x, r, (3, 2), 0.5, "max", ratio, a
                ),
                lambda x, r, ratio=ratio, a=aligned: _aligned(x, r, ratio, a, np.max),
            )
    cases["NHWC"] = (
        lambda x, r: topi.vision.roi_align_nhwc(topi.transpose(x, (0, 2, 3, 1)), r, (3, 2), 0.5),
        lambda x, r: _onnx_align(x, r, 0, False).transpose(0, 2, 3, 1),
    )
    arrays = [
        [random((n, c, h, w), dtype), regions(k, n, h, w)]
        for n, c, h, w, k in ((2, 3, 9, 7, 6), (1, 1, 1, 1, 3), (1, 2, 4, 5, 0))
    ]
    check(
        [x, r],
        cases,
        arrays,
        rtol=LOOSE.get(dtype, 1e-4),
        atol=LOOSE.get(dtype, 1e-4),
        turn=(dtype, ("float32", "float64", "float16", "bfloat16")),
    )


def _onnx_align(x: Any, r: Any, ratio: int, aligned: bool) -> Any:
    if not len(r):
        return np.zeros((0, x.shape[1], 3, 2))
    return onnx_of(
        "RoiAlign",
        [TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.INT64],
        TensorProto.FLOAT,
        [x.astype("f4"), r[:, 1:], r[:, 0].astype("i8")],
        mode="avg",
        output_height=3,
        output_width=2,
        sampling_ratio=ratio,
        spatial_scale=0.5,
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
    )


def _aligned(x: Any, r: Any, ratio: int, aligned: bool, combine: Any) -> Any:
    """The description in the paper (Mask R-CNN), with the samples of a cell combined."""
    found = np.zeros((len(r), x.shape[1], 3, 2))
    for number, region in enumerate(r.astype("f8")):
        begin = region[[2, 1]] * 0.5 - 0.5 * aligned
        span = region[[4, 3]] * 0.5 - 0.5 * aligned - begin
        cell = (span if aligned else np.maximum(span, 1)) / (3, 2)
        counts = [ratio] * 2 if ratio else np.ceil(cell).astype(int)
        for ph in range(3):
            for pw in range(2):
                samples = [
                    _linear(
                        x[int(region[0])].astype("f8"),
                        begin + ((ph, pw) + (np.array([iy, ix]) + 0.5) / counts) * cell,
                    )
                    for iy in range(counts[0])
                    for ix in range(counts[1])
                ]
                found[number, :, ph, pw] = combine(samples, 0)
    return found


def _linear(image: Any, place: Any) -> Any:
    sizes = np.array(image.shape[1:])
    if (place < -1).any() or (place > sizes).any():
        return np.zeros(len(image))
    place = np.clip(place, 0, sizes - 1)
    low = np.minimum(place.astype(int), sizes - 1)
    high, (y, x) = np.minimum(low + 1, sizes - 1), place - low
    upper = image[:, low[0], low[1]] * (1 - x) + image[:, low[0], high[1]] * x
    lower = image[:, high[0], low[1]] * (1 - x) + image[:, high[0], high[1]] * x
    return upper * (1 - y) + lower * y


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_roi_pool(dtype: str) -> None:
    x, r = te.placeholder((N, C, H, W), dtype, "x"), te.placeholder((R, 5), name="r")
    arrays = [
        [random((n, c, h, w), dtype), regions(k, n, h, w)]
        for n, c, h, w, k in ((2, 3, 9, 7, 8), (1, 1, 1, 1, 3), (1, 2, 4, 5, 0))
    ]
    check([x, r], {"pool": (lambda x, r: topi.vision.roi_pool(x, r, (3, 2), 0.7), _pooled)}, arrays)


def _pooled(x: Any, r: Any) -> Any:
    found = np.zeros((len(r), x.shape[1], 3, 2))
    sizes = x.shape[2:]
    for number, region in enumerate(r):
        first = np.floor(region[[2, 1]] * np.float32(0.7) + np.float32(0.5))
        last = np.floor(region[[4, 3]] * np.float32(0.7) + np.float32(0.5))
        cell = np.maximum(last - first + 1, 1) / np.array((3, 2), "f4")
        for ph in range(3):
            for pw in range(2):
                at = np.array((ph, pw), "f4")
                begin = np.clip(np.floor(at * cell) + first, 0, sizes).astype(int)
                end = np.clip(np.ceil((at + 1) * cell) + first, 0, sizes).astype(int)
                part = x[int(region[0]), :, begin[0] : end[0], begin[1] : end[1]].astype("f8")
                if part.size:
                    found[number, :, ph, pw] = part.max((1, 2))
    return found


def test_regions_of_no_entry_of_the_batch_are_errors() -> None:
    x, r = te.placeholder((N, C, H, W), name="x"), te.placeholder((R, 5), name="r")
    for found in (topi.vision.roi_align(x, r, 2, 1.0), topi.vision.roi_pool(x, r, 2, 1.0)):
        main = rx.build(te.create_prim_func([x, r, found]), opt_level=0)["main"]
        for bad in (2.0, -1.0, 1e30):
            with pytest.raises(BoundsError):
                main(random((2, 1, 4, 4)), np.array([[bad, 0, 0, 3, 3]], "f4"), np.zeros((1, 1, 2, 2), "f4"))


def boxes(batch: int, count: int, seed: int = 0) -> Any:
    """Class, score and two corners, in any order; many boxes overlap."""
    rng = np.random.default_rng([seed, batch, count])
    corners = rng.uniform(0, 4, (batch, count, 4))
    kinds, scores = (
        rng.integers(-1, 2, (batch, count, 1)),
        rng.permutation(batch * count).reshape(batch, count, 1),
    )
    return np.concatenate([kinds, scores / 10 - 0.3, corners], 2).astype("f4")


def overlap(a: Any, b: Any) -> float:
    """The intersection over the union of two boxes."""
    low = np.maximum(np.minimum(a[:2], a[2:]), np.minimum(b[:2], b[2:]))
    high = np.minimum(np.maximum(a[:2], a[2:]), np.maximum(b[:2], b[2:]))
    common = np.prod(np.maximum(high - low, 0))
    both = np.prod(np.abs(a[2:] - a[:2])) + np.prod(np.abs(b[2:] - b[:2])) - common
    return common / both if both > 0 else 0.0


def _valid(x: Any, threshold: float, id_index: int) -> Any:
    counts, out = np.zeros(len(x), "i4"), np.full_like(x, -1)
    places = np.full(x.shape[:2], -1, "i4")
    for b, rows in enumerate(x):
        chosen = [
            i for i, row in enumerate(rows) if row[1] > threshold and (id_index < 0 or row[id_index] >= 0)
        ]
        counts[b] = len(chosen)
        out[b, : len(chosen)], places[b, : len(chosen)] = rows[chosen], chosen
    return [counts, out, places]


def _suppressed(
    x: Any, counts: Any, most: int = -1, force: bool = False, top: int = -1, id_index: int = 0
) -> Any:
    """The boxes by decreasing score, padded with -1, and the indices of the kept ones."""
    out, left = np.full_like(x, -1), []
    for b, rows in enumerate(x):
        order = np.argsort(-rows[: counts[b], 1], kind="stable")
        order = order[:top] if top > 0 else order
        kept: list[int] = []
        for i in order:
            clashes = [
                j
                for j in kept
                if (force or id_index < 0 or rows[i, id_index] == rows[j, id_index])
                and overlap(rows[i, 2:6], rows[j, 2:6]) >= 0.3
            ]
            if rows[i, 1] > 0 and not clashes and (most <= 0 or len(kept) < most):
                kept.append(i)
        for rank, i in enumerate(order):
            if i in kept:
                out[b, rank] = rows[i]
        left.append(kept)
    return out, left


def _places(x: Any, **options: Any) -> Any:
    counts, valid, places = _valid(x, 0.0, 0)
    _, left = _suppressed(valid, counts, **options)
    found = np.full(x.shape[:2], -1, "i4")
    for b, kept in enumerate(left):
        found[b, : len(kept)] = places[b][kept]
    return [found, np.array([[len(kept)] for kept in left], "i4").reshape(len(x), 1)]


def _up(x: Any) -> Any:
    out = np.full_like(x, -1)
    for b, rows in enumerate(x):
        kept = rows[rows[:, 1] >= 0]
        out[b, : len(kept)] = kept
    return out


def test_boxes_that_count() -> None:
    x = te.placeholder((B, N, 6), name="x")
    cases: dict[str, Any] = {
        "classes": (lambda x: topi.vision.get_valid_counts(x, 0.2), lambda x: _valid(x, np.float32(0.2), 0)),
        "no classes": (lambda x: topi.vision.get_valid_counts(x, 0, -1), lambda x: _valid(x, 0, -1)),
    }
    check([x], cases, [[boxes(*size)] for size in ((2, 9), (1, 1), (3, 0), (0, 4))])


def test_suppression() -> None:
    x = te.placeholder((B, N, 6), name="x")

    def nms(x: Any, **options: Any) -> Any:
        counts, valid, places = topi.vision.get_valid_counts(x, 0.0)
        return topi.vision.non_max_suppression(valid, counts, places, iou_threshold=0.3, **options)

    def kept(x: Any) -> Any:
        counts, valid, _ = _valid(x, 0.0, 0)
        return _suppressed(valid, counts)[0]

    cases: dict[str, Any] = {
        "indices": (lambda x: nms(x), _places),
        "few": (lambda x: nms(x, max_output_size=2), lambda x: _places(x, most=2)),
        "forced": (lambda x: nms(x, force_suppress=True), lambda x: _places(x, force=True)),
        "top": (lambda x: nms(x, top_k=3), lambda x: _places(x, top=3)),
        "boxes": (lambda x: nms(x, return_indices=False), kept),
        "boxes up": (lambda x: nms(x, return_indices=False, invalid_to_bottom=True), lambda x: _up(kept(x))),
    }
    sizes = ((2, 9), (1, 1), (3, 0), (0, 4), (1, 40))
    check([x], cases, [[boxes(*size, seed)] for size in sizes for seed in range(3)])


def test_suppression_of_all_classes() -> None:
    x, s = te.placeholder((B, N, 4), name="x"), te.placeholder((B, C, N), name="s")

    def onnx(x: Any, s: Any, most: int) -> Any:
        found = np.full((s.size, 3), -1)
        if s.size:
            kinds = [
                TensorProto.FLOAT,
                TensorProto.FLOAT,
                TensorProto.INT64,
                TensorProto.FLOAT,
                TensorProto.FLOAT,
            ]
            args = [x, s, np.array([most]), np.array([0.3], "f4"), np.array([0.1], "f4")]
            chosen = onnx_of("NonMaxSuppression", kinds, TensorProto.INT64, args)
            found[: len(chosen)] = chosen
        return [found, np.array([(found[:, 0] >= 0).sum()])]

    cases: dict[str, Any] = {
        f"{most}": (
            lambda x, s, most=most: topi.vision.all_class_non_max_suppression(x, s, most, 0.3, 0.1),
            lambda x, s, most=most: onnx(x, s, most),
        )
        for most in (3, 100)
    }
    arrays = []
    for b, c, n in ((2, 3, 9), (1, 1, 1), (1, 2, 20), (0, 1, 2), (1, 1, 0)):
        scores = np.random.default_rng(n).permutation(b * c * n).reshape(b, c, n) / 20
        arrays.append([boxes(b, n)[:, :, 2:], scores.astype("f4")])
    check([x, s], cases, arrays)


def test_boxes_of_anchors() -> None:
    c, m = te.placeholder((B, C, N), name="c"), te.placeholder((B, 4 * N), name="m")
    a = te.placeholder((1, N, 4), name="a")

    def reference(c: Any, m: Any, a: Any, clip: bool, threshold: float, background: bool) -> Any:
        moves = m.reshape(len(c), -1, 4) * np.array([0.1, 0.2, 0.3, 0.4], "f4")
        size = a[..., 2:] - a[..., :2]
        middle = (a[..., :2] + a[..., 2:]) / 2 + moves[..., :2] * size
        half = np.exp(moves[..., 2:]) * size / 2
        places = np.concatenate([(middle - half)[..., ::-1], (middle + half)[..., ::-1]], -1)
        shares = np.exp(c - c.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        shares[shares < threshold] = 0
        if not background:
            shares[:, 0] = 0
        return [np.clip(places, 0, 1) if clip else places, shares]

    cases: dict[str, Any] = {
        str(how): (
            lambda c, m, a, how=how: topi.vision.multibox_transform_loc(c, m, a, (0.1, 0.2, 0.3, 0.4), *how),
            lambda c, m, a, how=how: reference(c, m, a, *how),
        )
        for how in ((False, 0.0, True), (True, 0.3, False))
    }
    arrays = [
        [random((b, k, n)), random((b, 4 * n)) / 4, np.abs(random((1, n, 4))) / 4]
        for b, k, n in ((2, 3, 5), (1, 1, 1))
    ]
    check([c, m, a], cases, arrays, rtol=1e-4, atol=1e-5)


def test_mistakes() -> None:
    x, r = te.placeholder((N, C, H, W), name="x"), te.placeholder((R, 5), name="r")
    d, v, i = (
        te.placeholder((B, N, 6), name="d"),
        te.placeholder((B,), "int32", "v"),
        te.placeholder((B, N), "int32", "i"),
    )
    vision = topi.vision
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: vision.roi_align(x, r, 2, 1.0, "sum"), ArgumentError, "'mode' is 'sum'"),
        (lambda: vision.roi_align(x, r, 2, 1.0, layout="HWNC"), ArgumentError, "the layout is 'HWNC'"),
        (lambda: vision.roi_align(x, x, 2, 1.0), ShapeError, r"are not images and \(regions, 5\)"),
        (lambda: vision.roi_align(x, r, (1, 2, 3), 1.0), ArgumentError, "'pooled_size' is"),
        (lambda: vision.roi_pool(topi.cast(x, "int32"), r, 2, 1.0), DTypeError, "does not hold floats"),
        (lambda: vision.roi_pool(x, r, 2, 1.0, "NHWC"), ArgumentError, "expected 'NCHW'"),
        (lambda: vision.get_valid_counts(x), ShapeError, r"is not \(batch, boxes"),
        (lambda: vision.non_max_suppression(d, d, i), DTypeError, "does not hold integers"),
        (
            lambda: vision.non_max_suppression(d, v, i, soft_nms_sigma=0.5),
            UnsupportedError,
            "only 0 is supported",
        ),
        (lambda: vision.non_max_suppression(d, v, v), ShapeError, "'indices': the shapes"),
        (lambda: vision.non_max_suppression(d, v, i, 1.5), ArgumentError, "are integers"),
        (lambda: vision.all_class_non_max_suppression(d, d, 1, 0.5, 0), ShapeError, "are not"),
        (lambda: vision.multibox_transform_loc(d, d, d, (1,) * 4), ShapeError, "'loc_pred': the shapes"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
