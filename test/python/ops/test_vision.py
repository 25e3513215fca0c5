"""Ops of object detection against ONNX's reference implementation and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
import relax_mlir as rx
from harness import Array
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, BoundsError, DTypeError, RelaxError, ShapeError, UnsupportedError
from relax_mlir.runtime import to_numpy

KINDS = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}


def by_onnx(op: str, *arrays: Array, **attributes: Any) -> Array:
    names = [f"i{n}" for n in range(len(arrays))]
    inputs = [
        helper.make_tensor_value_info(name, KINDS[str(array.dtype)], None)
        for name, array in zip(names, arrays, strict=True)
    ]
    output = helper.make_tensor_value_info("o", KINDS["float32"], None)
    graph = helper.make_graph([helper.make_node(op, names, ["o"], **attributes)], "g", inputs, [output])
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return np.asarray(ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))[0])


def built(params: dict[str, Tensor], *builds: Callable[..., Any]) -> list[Callable[..., Any]]:
    """A function with the same parameters for each."""
    bb = rx.BlockBuilder()
    for number, build in enumerate(builds):
        variables = [rx.Var(name, info) for name, info in params.items()]
        with bb.function(f"f{number}", variables):
            bb.emit_func_output(build(*variables))
    executable = rx.build(bb.get())
    return [executable[f"f{number}"] for number in range(len(builds))]


def regions(rng: np.random.Generator, count: int, batch: int, size: int) -> Array:
    corners = rng.uniform(-2, size + 2, (count, 2, 2))
    boxes = np.concatenate([corners.min(1), corners.max(1)], 1)
    return np.concatenate([rng.integers(0, batch, (count, 1)), boxes], 1).astype(np.float32)


def pooled_regions(x: Array, rois: Array, rows: int, columns: int, scale: float) -> Array:
    """The specification in Fast R-CNN."""
    found = np.zeros((len(rois), x.shape[1], rows, columns))
    for number, region in enumerate(rois):
        left, top, right, bottom = np.floor(region[1:].astype(np.float32) * np.float32(scale) + 0.5).astype(
            int
        )
        image = x[int(region[0])]
        for index in np.ndindex(rows, columns):
            spans = []
            for at, count, first, last, size in (
                (index[0], rows, top, bottom, x.shape[2]),
                (index[1], columns, left, right, x.shape[3]),
            ):
                cell = np.float32(max(last - first + 1, 1)) / np.float32(count)
                begin, end = int(np.floor(at * cell)) + first, int(np.ceil((at + 1) * cell)) + first
                spans.append(slice(*np.clip([begin, end], 0, size)))
            part = image[:, spans[0], spans[1]]
            found[number, :, index[0], index[1]] = part.max((1, 2)) if part.size else 0
    return found


def test_regions() -> None:
    params = {"x": Tensor(("n", 2, "h", "w"), "float32"), "rois": Tensor(("r", 5), "float32")}
    align, half, pool, last = built(
        params,
        lambda x, r: R.vision.roi_align(x, r, (3, 2), 0.5),
        lambda x, r: R.vision.roi_align(x, r, 2, 1.0, 2, True, mode="avg"),
        lambda x, r: R.vision.roi_pool(x, r, (2, 3), 0.5),
        lambda x, r: R.vision.roi_align(R.permute_dims(x, [0, 2, 3, 1]), r, (3, 2), 0.5, layout="NHWC"),
    )
    rng = np.random.default_rng(8)
    for n, h, w, count in ((2, 9, 7, 6), (1, 1, 1, 3), (1, 4, 5, 0)):
        x, rois = rng.uniform(-1, 1, (n, 2, h, w)).astype(np.float32), regions(rng, count, n, max(h, w))
        found = [to_numpy(function(x, rois)) for function in (align, half, pool, last)]
        if not count:
            assert [f.shape for f in found] == [(0, 2, 3, 2), (0, 2, 2, 2), (0, 2, 2, 3), (0, 3, 2, 2)]
            continue
        options = {"output_height": 3, "output_width": 2, "spatial_scale": 0.5, "sampling_ratio": 0}
        given = (x, rois[:, 1:], rois[:, 0].astype(np.int64))
        mode = "coordinate_transformation_mode"
        want = by_onnx("RoiAlign", *given, **options, **{mode: "output_half_pixel"})
        np.testing.assert_allclose(found[0], want, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found[3], want.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-4)
        options = {"output_height": 2, "output_width": 2, "spatial_scale": 1.0, "sampling_ratio": 2}
        want = by_onnx("RoiAlign", *given, **options, **{mode: "half_pixel"})
        np.testing.assert_allclose(found[1], want, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found[2], pooled_regions(x, rois, 2, 3, 0.5), rtol=1e-6)
    with pytest.raises(BoundsError, match=r"vision_roi_align.*index 7 is out of range"):
        align(np.ones((2, 2, 3, 3), np.float32), np.array([[7, 0, 0, 1, 1]], np.float32))


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_regions_of_other_floats(dtype: str) -> None:
    kind = dtypes.dtype(dtype).numpy
    params = {"x": Tensor(("n", 1, "h", "w"), dtype), "rois": Tensor(("r", 5), dtype)}
    (pool,) = built(params, lambda x, r: R.vision.roi_pool(x, r, 2, 1.0))
    rng = np.random.default_rng(8)
    x = rng.uniform(-1, 1, (2, 1, 5, 6)).astype(kind)
    rois = np.round(regions(rng, 4, 2, 5)).astype(kind)
    want = pooled_regions(x.astype(np.float64), rois.astype(np.float64), 2, 2, 1.0)
    np.testing.assert_array_equal(to_numpy(pool(x, rois)).astype(np.float64), want)


def valid(data: Array, threshold: float, class_: int, score: int) -> tuple[Array, Array, Array]:
    counts = np.zeros(len(data), np.int32)
    boxes, places = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
    for b, rows in enumerate(data):
        kept = [
            i for i, row in enumerate(rows) if row[score] > threshold and (class_ < 0 or row[class_] >= 0)
        ]
        counts[b] = len(kept)
        boxes[b, : len(kept)], places[b, : len(kept)] = rows[kept], kept
    return counts, boxes, places


def overlap(a: Array, b: Array) -> float:
    low, high = np.minimum(a[:2], a[2:]), np.maximum(a[:2], a[2:])
    least, greatest = np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])
    common = np.prod(np.maximum(np.minimum(high, greatest) - np.maximum(low, least), 0))
    union = np.prod(high - low) + np.prod(greatest - least) - common
    return float(common / union) if union > 0 else 0.0


def chosen(rows: Array, count: int, most: int, top: int, forced: bool, least: float) -> list[int]:
    """The indices of the kept boxes: class, score, and corners are the values of a box."""
    order = sorted(range(count), key=lambda i: -rows[i, 1])[: top if top > 0 else None]
    left: list[int] = []
    for i in order:
        if rows[i, 1] <= least or (0 < most <= len(left)):
            continue
        rivals = [j for j in left if forced or rows[i, 0] == rows[j, 0]]
        if all(overlap(rows[i, 2:], rows[j, 2:]) < 0.5 for j in rivals):
            left.append(i)
    return left


def test_boxes_that_overlap() -> None:
    cases = [(-1, -1, False, 0.0), (2, -1, True, 0.0), (-1, 4, False, 0.3), (-1, -1, True, -5.0)]

    def suppressed(data: Any, case: Any, indices: bool, last: bool = False) -> Any:
        most, top, forced, least = case
        counts, boxes, places = R.vision.get_valid_counts(data, -2.0)
        return R.vision.non_max_suppression(
            boxes,
            counts,
            places,
            most,
            0.5,
            forced,
            top,
            return_indices=indices,
            invalid_to_bottom=last,
            score_threshold=least,
        )

    params = {"data": Tensor(("n", "b", 6), "float32")}
    functions = built(
        params,
        lambda d: R.vision.get_valid_counts(d, 0.4),
        lambda d: R.vision.get_valid_counts(d, 0.4, -1, 1),
        *(lambda d, case=case: suppressed(d, case, True) for case in cases),
        lambda d: suppressed(d, cases[0], False, True),
    )
    rng = np.random.default_rng(9)
    for n, count in ((2, 12), (1, 1), (3, 0), (0, 4)):
        data = rng.uniform(0, 4, (n, count, 6)).astype(np.float32)
        data[..., 0], data[..., 1] = rng.integers(-1, 2, (n, count)), rng.uniform(0, 1, (n, count))
        for function, class_ in zip(functions[:2], (0, -1), strict=True):
            for have, want in zip(function(data), valid(data, 0.4, class_, 1), strict=True):
                np.testing.assert_array_equal(to_numpy(have), want)
        _, boxes, stood = valid(data, -2.0, 0, 1)
        counts = valid(data, -2.0, 0, 1)[0]
        for case, function in zip(cases, functions[2:6], strict=True):
            places, left = map(to_numpy, function(data))
            assert (places.shape, left.shape) == ((n, count), (n, 1))
            for b in range(n):
                want = [int(stood[b, i]) for i in chosen(boxes[b], counts[b], *case)]
                assert left[b, 0] == len(want), case
                assert places[b].tolist() == want + [-1] * (count - len(want)), case
        kept = to_numpy(functions[6](data))
        for b in range(n):
            rows = boxes[b][chosen(boxes[b], counts[b], *cases[0])]
            np.testing.assert_array_equal(kept[b, : len(rows)], rows)
            assert (kept[b, len(rows) :] == -1).all()


def test_boxes_of_all_classes() -> None:
    params = {
        "boxes": Tensor(("n", "b", 4), "float32"),
        "scores": Tensor(("n", "c", "b"), "float32"),
        "most": Tensor((1,), "int64"),
        "overlap": Tensor((), "float32"),
    }
    (function,) = built(params, lambda b, s, m, o: R.vision.all_class_non_max_suppression(b, s, m, o, 0.2))
    rng = np.random.default_rng(9)
    for n, classes, count, most in ((1, 1, 6, 3), (2, 3, 9, 100), (1, 2, 5, 0), (1, 2, 0, 3)):
        boxes = rng.uniform(0, 3, (n, count, 4)).astype(np.float32)
        scores = rng.uniform(0, 1, (n, classes, count)).astype(np.float32)
        limits = np.array([most]), np.array(0.4, np.float32)
        rows, number = map(to_numpy, function(boxes, scores, *limits))
        assert rows.shape == (n * classes * count, 3) and number.shape == (1,)
        if not count:
            assert number[0] == 0
            continue
        given = boxes, scores, limits[0], limits[1].reshape(1), np.array([0.2], np.float32)
        want = by_onnx("NonMaxSuppression", *given).reshape(-1, 3)
        np.testing.assert_array_equal(rows[: number[0]], want)
        assert (rows[number[0] :] == -1).all()


def test_anchors() -> None:
    params = {
        "classes": Tensor(("n", "c", "a"), "float32"),
        "moves": Tensor(("n", "4*a"), "float32"),
        "anchors": Tensor((1, "a", 4), "float32"),
    }
    (function,) = built(
        params,
        lambda c, m, a: R.vision.multibox_transform_loc(c, m, a, True, 0.2, (0.1, 0.1, 0.2, 0.2), False),
    )
    rng = np.random.default_rng(9)
    for n, count, classes in ((2, 5, 3), (1, 1, 1), (0, 2, 2)):
        c = rng.uniform(-1, 1, (n, classes, count)).astype(np.float32)
        m = rng.uniform(-1, 1, (n, 4 * count)).astype(np.float32)
        corners = rng.uniform(0, 1, (count, 2, 2))
        a = np.concatenate([corners.min(1), corners.max(1)], 1).astype(np.float32)[None]
        left, top, right, bottom = a[0].T
        x, y, w, h = (m.reshape(n, count, 4) * (0.1, 0.1, 0.2, 0.2)).transpose(2, 0, 1)
        middle_x, middle_y = x * (right - left) + (left + right) / 2, y * (bottom - top) + (top + bottom) / 2
        wide, high = np.exp(w) * (right - left) / 2, np.exp(h) * (bottom - top) / 2
        boxes = np.stack([middle_y - high, middle_x - wide, middle_y + high, middle_x + wide], -1).clip(0, 1)
        share = np.exp(c) / np.exp(c).sum(1, keepdims=True)
        share = np.where(share >= 0.2, share, 0)
        share[:, 0] = 0
        for have, want in zip(function(c, m, a), (boxes, share), strict=True):
            np.testing.assert_allclose(to_numpy(have), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda x, b, i: R.vision.roi_align(x, b, 2, 1.0), ShapeError, "'rois' is .*, expected"),
        (lambda x, b, i: R.vision.roi_align(x, R.ones((1, 5)), 0, 1.0), ArgumentError, "pooled_size is"),
        (
            lambda x, b, i: R.vision.roi_align(x, R.ones((1, 5)), 2, 1.0, mode="sum"),
            ArgumentError,
            "mode is 'sum'",
        ),
        (
            lambda x, b, i: R.vision.roi_pool(x, R.ones((1, 5)), 2, 1.0, "NHWC"),
            ArgumentError,
            "layout is 'NHWC'",
        ),
        (lambda x, b, i: R.vision.get_valid_counts(b, 0.0, 0, 6), ShapeError, "7 numbers or more"),
        (lambda x, b, i: R.vision.get_valid_counts(b, 0.0, 0, -1), ArgumentError, "score_index is -1"),
        (lambda x, b, i: R.vision.non_max_suppression(b, i, i), ShapeError, "operand 'indices' has shape"),
        (
            lambda x, b, i: R.vision.non_max_suppression(b, i, R.ones(("n", 8), "int32"), soft_nms_sigma=0.5),
            UnsupportedError,
            "soft_nms_sigma is 0.5",
        ),
        (
            lambda x, b, i: R.vision.all_class_non_max_suppression(b, b, 1, 0.5, 0.0),
            ShapeError,
            r"expected \(batch, boxes, 4\)",
        ),
        (
            lambda x, b, i: R.vision.multibox_transform_loc(b, b, b),
            ShapeError,
            "operand 'loc_pred' has shape",
        ),
        (lambda x, b, i: R.vision.get_valid_counts(R.astype(b, "int32")), DTypeError, "expected a float"),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    infos = {
        "x": Tensor(("n", 3, "h", "w"), "float32"),
        "b": Tensor(("n", 8, 6), "float32"),
        "i": Tensor(("n",), "int32"),
    }
    params = [rx.Var(name, info) for name, info in infos.items()]
    with pytest.raises(error, match=message), bb.function("main", params):
        bb.emit_func_output(build(*params))
