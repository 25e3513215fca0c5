"""Operators of object detection, with the names and argument orders of TVM's `topi.vision`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.error import ArgumentError, ShapeError, UnsupportedError, expect
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar, Term, cast
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import LoopOp, Tensor
from relax_mlir.topi.common import computed, index_tensor_of, listed, require, require_equal, require_float
from relax_mlir.topi.manipulate import in_layout
from relax_mlir.topi.nn.activation import softmax
from relax_mlir.topi.sort import argsort
from relax_mlir.topi.tag import INJECTIVE

__all__ = [
    "all_class_non_max_suppression", "get_valid_counts", "multibox_transform_loc", "non_max_suppression",
    "roi_align", "roi_align_nchw", "roi_align_nhwc", "roi_pool", "roi_pool_nchw",
]  # fmt: skip

BOXES = "boxes"
"""The tag of selected boxes."""


def get_valid_counts(data: Tensor, score_threshold: float = 0, id_index: int = 0, score_index: int = 1) -> list[Tensor]:
    """The boxes with a score above a threshold, in order, followed by rows of -1.

    Args:
        data: ``(batch, boxes, numbers)``.
        score_threshold: valid boxes have larger scores.
        id_index: the index of the class in a box; valid boxes have a class of 0 or more; -1: no class.
        score_index: the index of the score.

    Returns:
        The number of valid boxes (int32, per entry of the batch), the boxes, and their original indices (int32, -1 for
        the rest).
    """
    what = "topi.vision.get_valid_counts"
    expect(f"{what}: 'score_index'", score_index, int, "an index of a number in a box")
    tensor = _boxes(what, data, score_index + 1)
    batch, count, width = tensor.shape

    def body(b: LoopBuilder, boxes: Buffer, valid: Buffer, out: Buffer, places: Buffer) -> None:
        with b.loop(batch) as n:
            valid[n] = 0
            with b.loop(count) as i:
                places[n, i] = -1
                with b.loop(width) as k:
                    out[n, i, k] = -1
            with b.loop(count) as i:
                counts = boxes[n, i, score_index] > float(score_threshold)
                if id_index >= 0:
                    counts = counts & (boxes[n, i, id_index] >= 0)
                with b.when(counts):
                    to = valid[n].index()
                    places[n, to] = i.astype("int32")
                    with b.loop(width) as k:
                        out[n, to, k] = boxes[n, i, k]
                    valid[n] = valid[n] + 1

    return LoopOp(
        [tensor],
        [(batch,), tensor.shape, (batch, count)],
        ["int32", tensor.dtype, "int32"],
        body,
        "T_valid_counts",
        BOXES,
    ).outputs


@dataclass(frozen=True)
class _Rules:
    """The parameters of the suppression."""

    max_output_size: int
    iou_threshold: float
    force_suppress: bool
    top_k: int
    coord_start: int
    score_index: int
    id_index: int
    score_threshold: float


def non_max_suppression(
    data: Tensor,
    valid_count: Tensor,
    indices: Tensor,
    max_output_size: int = -1,
    iou_threshold: float = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
    soft_nms_sigma: float = 0.0,
    score_threshold: float = 0.0,
) -> Tensor | list[Tensor]:
    """The boxes in order of decreasing score whose overlap with every better box is less than `iou_threshold`.

    Args:
        data, valid_count, indices: the boxes, their number, and their original indices, from `get_valid_counts`.
        max_output_size: the maximum number of boxes; 0 or less: all.
        iou_threshold: the intersection over union.
        force_suppress: boxes of other classes (at `id_index`) also suppress each other.
        top_k: only consider this number of boxes with the largest scores; 0 or less: all.
        coord_start: the index of the first of four coordinates, which are two corners.
        score_index, id_index: as for `get_valid_counts`.
        score_threshold: boxes need larger scores.
        return_indices: return the original indices of the remaining boxes, followed by -1, and their number, of the
            shape ``(batch, 1)``; otherwise the boxes in order of decreasing score, with -1 for suppressed ones.
        invalid_to_bottom: without indices: suppressed boxes are last.
    """
    what = "topi.vision.non_max_suppression"
    expect(f"{what}: 'coord_start'", coord_start, int, "an index of a number in a box")
    expect(f"{what}: 'score_index'", score_index, int, "an index of a number in a box")
    tensor = _boxes(what, data, max(coord_start + 4, score_index + 1))
    counts, places = (
        index_tensor_of(f"{what}: 'valid_count'", valid_count),
        index_tensor_of(f"{what}: 'indices'", indices),
    )
    require_equal(f"{what}: 'valid_count'", counts.shape, tensor.shape[:1])
    require_equal(f"{what}: 'indices'", places.shape, tensor.shape[:2])
    if soft_nms_sigma:
        raise UnsupportedError(f"{what}: 'soft_nms_sigma' is {soft_nms_sigma}, and only 0 is supported")
    if not all(isinstance(n, int) for n in (max_output_size, top_k, id_index)):
        raise ArgumentError(f"{what}: sizes and places of numbers are integers")
    rules = _Rules(
        max_output_size,
        float(iou_threshold),
        force_suppress,
        top_k,
        coord_start,
        score_index,
        id_index,
        float(score_threshold),
    )
    scores = _valid_scores(tensor, counts, score_index)
    order = argsort(scores, 1, False, "int64")
    kept, chosen, number = _chosen(tensor, counts, order, rules)
    if return_indices:
        return _compacted(chosen, places, number)
    return _moved_up(kept, score_index) if invalid_to_bottom else kept


def _valid_scores(tensor: Tensor, counts: Tensor, score_index: int) -> Tensor:
    """The scores, and -inf for invalid boxes, so that these are last in order."""
    least = -functions.infinity(tensor.dtype)
    return computed(
        tensor.shape[:2],
        lambda b, i: functions.select(i < counts(b).astype("int64"), tensor(b, i, score_index), least),
        "T_valid_scores",
        BOXES,
    )


def _chosen(tensor: Tensor, counts: Tensor, order: Tensor, rules: _Rules) -> list[Tensor]:
    """The boxes by decreasing score, -1 if suppressed; their positions, or -1; and the number of boxes left."""
    batch, count, width = tensor.shape
    kind = tensor.dtype

    def body(
        b: LoopBuilder,
        boxes: Buffer,
        valid: Buffer,
        sorted_: Buffer,
        out: Buffer,
        places: Buffer,
        number: Buffer,
    ) -> None:
        kept = _Kept(b, rules, width, out, places)
        with b.loop(batch) as n:
            keep = b.max(b.min(valid[n].index(), count), 0)
            top = b.min(keep, rules.top_k) if rules.top_k > 0 else keep
            number[n, 0] = 0
            with b.loop(count) as i:
                kept.drop(n, i)
            with b.loop(top) as i:
                places[n, i] = sorted_[n, i].astype("int32")
                at = sorted_[n, i].index()
                with b.loop(width) as k:
                    out[n, i, k] = boxes[n, at, k]
            with b.loop(top) as i:
                is_chosen = kept.is_left(n, i)
                if rules.max_output_size > 0:
                    is_chosen = is_chosen & (number[n, 0] < rules.max_output_size)
                with b.when(is_chosen):
                    number[n, 0] = number[n, 0] + 1
                    with b.loop(i + 1, top) as j:
                        kept.suppress(n, i, j)
                with b.otherwise():
                    kept.drop(n, i)

    return LoopOp(
        [tensor, counts, order],
        [tensor.shape, (batch, count), (batch, 1)],
        [kind, "int32", "int32"],
        body,
        "T_non_max_suppression",
        BOXES,
    ).outputs


@dataclass(frozen=True)
class _Kept:
    """The boxes by decreasing score, of which some are dropped."""

    b: LoopBuilder
    rules: _Rules
    width: Dim
    out: Buffer
    places: Buffer

    def drop(self, n: Scalar, i: Scalar) -> None:
        """Fill box `i` of entry `n` of the batch with -1."""
        self.places[n, i] = -1
        with self.b.loop(self.width) as k:
            self.out[n, i, k] = -1

    def is_left(self, n: Scalar, i: Scalar) -> Scalar:
        """True if a box has a large enough score and is not dropped."""
        return (self.out[n, i, self.rules.score_index] > self.rules.score_threshold) & (self.places[n, i] >= 0)

    def suppress(self, n: Scalar, i: Scalar, j: Scalar) -> None:
        """Drop box `j` if it overlaps box `i`."""
        b, out, rules = self.b, self.out, self.rules
        may_overlap = self.is_left(n, j)
        if rules.id_index >= 0 and not rules.force_suppress:
            may_overlap = may_overlap & (out[n, i, rules.id_index] == out[n, j, rules.id_index])
        with b.when(may_overlap):
            common, union = overlap(b, self._corners(n, i), self._corners(n, j))
            with b.when(b.select(union > 0, common / union, 0) >= rules.iou_threshold):
                self.drop(n, j)

    def _corners(self, n: Scalar, i: Scalar) -> list[Scalar]:
        return [self.out[n, i, self.rules.coord_start + side] for side in range(4)]


def overlap(b: LoopBuilder, first: Sequence[Scalar], second: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
    """The areas of intersection and union of two boxes, each of two corners in any order."""
    sides: list[Scalar] = []
    lengths: list[tuple[Scalar, Scalar]] = []
    for axis in range(2):
        (begin, end), (other_begin, other_end) = (
            (b.min(box[axis], box[axis + 2]), b.max(box[axis], box[axis + 2])) for box in (first, second)
        )
        sides.append(b.max(b.min(end, other_end) - b.max(begin, other_begin), 0))
        lengths.append((end - begin, other_end - other_begin))
    common = sides[0] * sides[1]
    return common, lengths[0][0] * lengths[1][0] + lengths[0][1] * lengths[1][1] - common


def _compacted(chosen: Tensor, places: Tensor, number: Tensor) -> list[Tensor]:
    """The original indices of the remaining boxes, followed by -1."""
    batch, count = chosen.shape

    def body(b: LoopBuilder, left: Buffer, original: Buffer, out: Buffer) -> None:
        to = b.alloc((1,), "int64", "to")
        with b.loop(batch) as n:
            to[0] = 0
            with b.loop(count) as i:
                out[n, i] = -1
            with b.loop(count) as i:
                at = left[n, i].index()
                with b.when(at >= 0):
                    out[n, to[0].index()] = original[n, at].astype("int32")
                    to[0] = to[0] + 1

    found = LoopOp([chosen, places], [chosen.shape], ["int32"], body, "T_box_indices", BOXES).outputs[0]
    return [found, number]


def _moved_up(kept: Tensor, score_index: int) -> Tensor:
    """The remaining boxes, followed by rows of -1."""
    batch, count, width = kept.shape

    def body(b: LoopBuilder, boxes: Buffer, out: Buffer) -> None:
        to = b.alloc((1,), "int64", "to")
        with b.loop(batch) as n:
            to[0] = 0
            with b.grid((count, width)) as (i, k):
                out[n, i, k] = -1
            with b.loop(count) as i, b.when(boxes[n, i, score_index] >= 0):
                with b.loop(width) as k:
                    out[n, to[0].index(), k] = boxes[n, i, k]
                to[0] = to[0] + 1

    return LoopOp([kept], [kept.shape], [kept.dtype], body, "T_boxes", BOXES).outputs[0]


def all_class_non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    max_output_boxes_per_class: int | Tensor,
    iou_threshold: float | Tensor,
    score_threshold: float | Tensor,
) -> list[Tensor]:
    """ONNX's NonMaxSuppression: for every class, the boxes in order of decreasing score that do not overlap a better
    one.

    Args:
        boxes: ``(batch, boxes, 4)``: two corners.
        scores: ``(batch, classes, boxes)``; valid ones are above `score_threshold`.
        max_output_boxes_per_class: the maximum number of boxes per class.
        iou_threshold: boxes with a larger intersection over union are suppressed.

    The last three may be tensors of one element.

    Returns:
        ``(batch * classes * boxes, 3)``, int64: the entry of the batch, the class and the box, followed by rows of -1;
        and their number, of the shape ``(1,)``.
    """
    what = "topi.vision.all_class_non_max_suppression"
    tensor, weight = _boxes(what, boxes, 4), require(f"{what}: 'scores'", scores)
    require_float(what, weight)
    if tensor.shape[2] != 4 or weight.ndim != 3:
        raise ShapeError(f"{what}: {tensor} and {weight} are not (batch, boxes, 4) and (batch, classes, boxes)")
    require_equal(f"{what}: 'scores'", (weight.shape[0], weight.shape[2]), tensor.shape[:2])
    most = max_output_boxes_per_class
    if isinstance(most, bool) or not isinstance(most, int | Tensor):
        raise ArgumentError(f"{what}: 'max_output_boxes_per_class' is {most!r}, expected an integer")
    limits = [
        item if isinstance(item, int | float) else _one(what, item, dtype)
        for item, dtype in ((most, "int64"), (iou_threshold, tensor.dtype), (score_threshold, weight.dtype))
    ]
    return _best_of_classes(tensor, weight, limits)


def _best_of_classes(tensor: Tensor, weight: Tensor, limits: Sequence[Tensor | float]) -> list[Tensor]:
    """The chosen boxes of all classes, by the maximum number, overlap and the minimum score."""
    order = argsort(weight, 2, False, "int64")
    batch, classes, count = weight.shape
    given = [item for item in limits if isinstance(item, Tensor)]

    def body(b: LoopBuilder, box: Buffer, score: Buffer, sorted_: Buffer, *buffers: Buffer) -> None:
        *numbers, found, number = buffers
        rest = iter(numbers)
        most, most_overlap, least = (next(rest)[0] if isinstance(item, Tensor) else item for item in limits)

        def corners(n: Scalar, i: Scalar) -> list[Scalar]:
            return [box[n, i, side] for side in range(4)]

        alive, before = b.alloc((1,), "int64", "alive"), b.alloc((1,), "int64", "before")
        number[0] = 0
        with b.grid((batch * classes * count, 3)) as (i, k):
            found[i, k] = -1
        with b.grid((batch, classes)) as (n, c):
            before[0] = number[0]
            with b.loop(count) as i:
                own = sorted_[n, c, i].index()
                alive[0] = 1
                with b.when(~(score[n, c, own] > least)):
                    alive[0] = 0
                with b.when(number[0] - before[0] >= most):
                    alive[0] = 0
                with b.when(alive[0] == 1), b.loop(before[0].index(), number[0].index()) as j:
                    common, union = overlap(b, corners(n, own), corners(n, found[j, 2].index()))
                    with b.when((union > 0) & (common / union > most_overlap)):
                        alive[0] = 0
                with b.when(alive[0] == 1):
                    to = number[0].index()
                    for field, place in enumerate((n, c, own)):
                        found[to, field] = place.astype("int64")
                    number[0] = number[0] + 1

    return LoopOp(
        [tensor, weight, order, *given],
        [(batch * classes * count, 3), (1,)],
        ["int64", "int64"],
        body,
        "T_all_class_nms",
        BOXES,
    ).outputs


def _boxes(what: str, data: Tensor, least: int) -> Tensor:
    tensor = require(f"{what}: the boxes", data)
    require_float(what, tensor)
    width = tensor.shape[2] if tensor.ndim == 3 else 0
    if tensor.ndim != 3 or not isinstance(width, int) or width < least:
        raise ShapeError(f"{what}: {tensor} is not (batch, boxes, {least} numbers or more)")
    return tensor


def _one(what: str, tensor: Tensor, dtype: str) -> Tensor:
    """A tensor of one element as a vector of the given dtype."""
    if tensor.ndim > 1 or (tensor.ndim == 1 and tensor.shape[0] != 1):
        raise ShapeError(f"{what}: {tensor} is not one number")
    return computed((1,), lambda i: (tensor(0) if tensor.ndim else tensor()).astype(dtype), "T_nms_number", BOXES)


def multibox_transform_loc(
    cls_pred: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    variances: Sequence[float],
    clip: bool = False,
    threshold: float = 0.0,
    keep_background: bool = True,
) -> list[Tensor]:
    """The shifted and scaled anchor boxes, and their scores.

    Args:
        cls_pred: ``(batch, classes, anchors)``; the scores are its softmax along the classes.
        loc_pred: ``(batch, 4 * anchors)``: the shift of each anchor, ``(x, y)`` relative to its size, and the
            logarithms of the scale, ``(w, h)``.
        anchor: ``(1, anchors, 4)``: left, top, right, bottom.
        variances: four factors of `loc_pred`.
        clip: clamp corners to [0, 1].
        threshold: scores below it become 0.
        keep_background: if false, scores of class 0 become 0.

    Returns:
        ``(batch, anchors, 4)``: top, left, bottom, right; and ``(batch, classes, anchors)``.
    """
    what = "topi.vision.multibox_transform_loc"
    classes, moves, boxes = (
        require(f"{what}: '{n}'", t) for n, t in (("cls_pred", cls_pred), ("loc_pred", loc_pred), ("anchor", anchor))
    )
    require_float(what, classes)
    if classes.ndim != 3 or boxes.ndim != 3:
        raise ShapeError(f"{what}: {classes} and {boxes} are not of three dimensions")
    batch, _, count = classes.shape
    require_equal(f"{what}: 'loc_pred'", moves.shape, (batch, count * 4))
    require_equal(f"{what}: 'anchor'", boxes.shape, (1, count, 4))
    if len(variances) != 4 or not all(isinstance(v, int | float) for v in variances):
        raise ArgumentError(f"{what}: 'variances' is {variances!r}, expected four numbers")
    vx, vy, vw, vh = map(float, variances)

    def corner(b: Expr, a: Expr, k: Expr) -> Expr:
        left, top, right, bottom = (boxes(0, a, n) for n in range(4))
        ex, ey, ew, eh = (moves(b, a * 4 + n) for n in range(4))
        height, width = bottom - top, right - left
        y, x = ey * vy * height + (top + bottom) * 0.5, ex * vx * width + (left + right) * 0.5
        h, w = functions.exp(eh * vh) * height * 0.5, functions.exp(ew * vw) * width * 0.5
        found = functions.select(k == 0, y - h, functions.select(k == 1, x - w, functions.select(k == 2, y + h, x + w)))
        return functions.maximum(functions.minimum(found, 1.0), 0.0) if clip else found

    places = computed((batch, count, 4), corner, "T_multibox_boxes", INJECTIVE)
    shares = softmax(classes, 1)
    zero = functions.const(0, classes.dtype)

    def score(b: Expr, c: Expr, a: Expr) -> Expr:
        item = shares(b, c, a)
        held = functions.select(item >= float(threshold), item, zero)
        return held if keep_background else functions.select(c == 0, zero, held)

    return [places, computed(classes.shape, score, "T_multibox_scores", INJECTIVE)]


REGIONS = "roi"
"""The tag of pooled regions."""


def roi_align(
    data: Tensor,
    rois: Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str = "avg",
    sample_ratio: int = -1,
    aligned: bool = False,
    layout: str = "NCHW",
) -> Tensor:
    """The mean or the maximum of bilinear samples of each cell of a region.

    Args:
        data: floats.
        rois: ``(regions, 5)`` floats: the entry of the batch, which must exist (an error at run time), and two
            corners, column before row.
        pooled_size: rows and columns of cells.
        spatial_scale: the factor of the corners.
        mode: "avg" or "max".
        sample_ratio: samples of a cell along each dimension; 0 or less: the number of elements of a cell, rounded up.
        aligned: positions are centres of elements, and regions may be smaller than an element.
        layout: "NCHW" or "NHWC".
    """
    what = "topi.vision.roi_align"
    if layout not in ("NCHW", "NHWC"):
        raise ArgumentError(f"{what}: the layout is {layout!r}, expected 'NCHW' or 'NHWC'")
    return in_layout(
        what,
        data,
        layout,
        "NCHW",
        lambda x: roi_align_nchw(x, rois, pooled_size, spatial_scale, mode, sample_ratio, aligned),
    )


def roi_align_nhwc(
    data: Tensor,
    rois: Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str = "avg",
    sample_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """`roi_align` for the layout NHWC."""
    return roi_align(data, rois, pooled_size, spatial_scale, mode, sample_ratio, aligned, "NHWC")


def roi_align_nchw(
    data: Tensor,
    rois: Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str = "avg",
    sample_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """`roi_align` for the layout NCHW."""
    what = "topi.vision.roi_align"
    tensor, regions, (rows, columns) = _checked(what, data, rois, pooled_size)
    if mode not in ("avg", "max"):
        raise ArgumentError(f"{what}: 'mode' is {mode!r}, expected 'avg' or 'max'")
    _, channels, height, width = tensor.shape
    kind, scale = "float64" if tensor.dtype == "float64" else "float32", float(spatial_scale)

    def body(b: LoopBuilder, image: Buffer, region: Buffer, out: Buffer) -> None:
        total = b.alloc((1,), kind, "total")
        with b.loop(regions.shape[0]) as r:
            n = region[r, 0].astype("int64").index()

            def cells_of(number: int, first: int, last: int) -> _Cells:
                corners = [region[r, at].astype(kind) * scale for at in (first, last)]
                return _Cells(b, corners, number, sample_ratio, aligned)

            y_cells, x_cells = cells_of(rows, 2, 4), cells_of(columns, 1, 3)
            with b.grid((channels, rows, columns)) as (c, py, px):
                total[0] = 0 if mode == "avg" else -math.inf
                with b.loop(y_cells.samples) as iy, b.loop(x_cells.samples) as ix:
                    y, x = y_cells.place(py, iy), x_cells.place(px, ix)
                    inside = [(p >= -1) & (p <= cast(b.size(d), p.dtype)) for p, d in ((y, height), (x, width))]
                    with b.when(inside[0] & inside[1]):
                        sample = bilinear(b, image, (n, c), (y, x), (height, width))
                        if mode == "avg":
                            total[0] = total[0] + sample / cast(y_cells.samples * x_cells.samples, sample.dtype)
                        else:
                            total[0] = b.max(total[0], sample)
                    if mode == "max":
                        with b.otherwise():
                            total[0] = b.max(total[0], 0)
                out[r, c, py, px] = total[0].astype(tensor.dtype)

    return LoopOp(
        [tensor, regions],
        [(regions.shape[0], channels, rows, columns)],
        [tensor.dtype],
        body,
        "T_roi_align",
        REGIONS,
    ).outputs[0]


class _Cells:
    """The cells of a region along a dimension, and their samples."""

    def __init__(
        self, b: LoopBuilder, corners: Sequence[Scalar], number: int, sample_ratio: int, aligned: bool
    ) -> None:
        begin, end = (corner - 0.5 for corner in corners) if aligned else corners
        span = end - begin if aligned else b.max(end - begin, 1)
        self.begin, self.length = begin, span / number
        given: Term = sample_ratio
        if sample_ratio <= 0:
            given = b.max(b.call("ceil", self.length).astype("int64").index(), 0)
        self.samples = given
        """The number of samples of a cell."""

    def place(self, cell: Scalar, sample: Scalar) -> Scalar:
        """The position of a sample."""
        kind = self.length.dtype.name
        share = (sample.astype(kind) + 0.5) * self.length / cast(self.samples, self.length.dtype)
        return self.begin + cell.astype(kind) * self.length + share


def bilinear(
    b: LoopBuilder, image: Buffer, at: Sequence[Scalar], places: Sequence[Scalar], sizes: Sequence[Dim]
) -> Scalar:
    """The value between the four elements around a position, which is clamped to the image."""
    kind = places[0].dtype.name
    lows: list[Scalar] = []
    highs: list[Scalar] = []
    weights: list[Scalar] = []
    for place, dim in zip(places, sizes, strict=True):
        last = b.size(dim) - 1
        held = b.max(b.min(place, cast(last, place.dtype)), 0)
        low = b.max(b.min(b.call("floor", held).astype("int64").index(), last), 0)
        lows.append(low)
        highs.append(b.max(b.min(low + 1, last), 0))
        weights.append(held - low.astype(kind))

    def row(y: Scalar) -> Scalar:
        left, right = (image[at, y, x].astype(kind) for x in (lows[1], highs[1]))
        return left * (1 - weights[1]) + right * weights[1]

    return row(lows[0]) * (1 - weights[0]) + row(highs[0]) * weights[0]


def roi_pool(
    data: Tensor, rois: Tensor, pooled_size: int | Sequence[int], spatial_scale: float, layout: str = "NCHW"
) -> Tensor:
    """The maximum of each cell of a region, whose corners are rounded to elements; 0 for an empty cell.

    It is ONNX's MaxRoiPool; for `rois` and `pooled_size` see `roi_align`.
    """
    if layout != "NCHW":
        raise ArgumentError(f"topi.vision.roi_pool: the layout is {layout!r}, expected 'NCHW'")
    return roi_pool_nchw(data, rois, pooled_size, spatial_scale)


def roi_pool_nchw(data: Tensor, rois: Tensor, pooled_size: int | Sequence[int], spatial_scale: float) -> Tensor:
    """`roi_pool` for the layout NCHW."""
    tensor, regions, (rows, columns) = _checked("topi.vision.roi_pool", data, rois, pooled_size)
    _, channels, height, width = tensor.shape
    kind, scale = "float64" if tensor.dtype == "float64" else "float32", float(spatial_scale)

    def body(b: LoopBuilder, image: Buffer, region: Buffer, out: Buffer) -> None:
        best = b.alloc((1,), tensor.dtype, "best")

        def spans(r: Scalar, number: int, first: int, last: int) -> tuple[Scalar, Scalar]:
            """The first element of a region, and the length of a cell."""
            begin, end = (b.call("floor", region[r, at].astype(kind) * scale + 0.5) for at in (first, last))
            return begin, b.max(end - begin + 1, 1) / number

        def span(spans: tuple[Scalar, Scalar], cell: Scalar, dim: Dim) -> tuple[Scalar, Scalar]:
            """The range of the elements of a cell."""
            begin, length = spans
            edges = (
                b.call(function, at.astype(kind) * length) + begin
                for function, at in (("floor", cell), ("ceil", cell + 1))
            )
            low, high = (b.max(b.min(edge.astype("int64").index(), dim), 0) for edge in edges)
            return low, high

        with b.loop(regions.shape[0]) as r:
            n = region[r, 0].astype("int64").index()
            y_spans, x_spans = spans(r, rows, 2, 4), spans(r, columns, 1, 3)
            with b.grid((channels, rows, columns)) as (c, py, px):
                y_span, x_span = span(y_spans, py, height), span(x_spans, px, width)
                best[0] = -math.inf
                with b.loop(*y_span) as y, b.loop(*x_span) as x:
                    best[0] = b.max(best[0], image[n, c, y, x])
                with b.when((y_span[0] >= y_span[1]) | (x_span[0] >= x_span[1])):
                    best[0] = 0
                out[r, c, py, px] = best[0]

    return LoopOp(
        [tensor, regions],
        [(regions.shape[0], channels, rows, columns)],
        [tensor.dtype],
        body,
        "T_roi_pool",
        REGIONS,
    ).outputs[0]


def _checked(
    what: str, data: Tensor, rois: Tensor, pooled_size: int | Sequence[int]
) -> tuple[Tensor, Tensor, tuple[int, int]]:
    tensor, regions = require(f"{what}: 'data'", data), require(f"{what}: 'rois'", rois)
    require_float(what, tensor)
    require_float(what, regions)
    sizes = [pooled_size] * 2 if isinstance(pooled_size, int) else listed(f"{what}: 'pooled_size'", pooled_size)
    if tensor.ndim != 4 or regions.ndim != 2 or regions.shape[1] != 5:
        raise ShapeError(f"{what}: {tensor} and {regions} are not images and (regions, 5)")
    if len(sizes) != 2 or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise ArgumentError(f"{what}: 'pooled_size' is {pooled_size!r}, expected one or two integers from 1 on")
    return tensor, regions, (sizes[0], sizes[1])
