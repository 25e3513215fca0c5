"""Operators of object detection, with the names and argument orders of TVM's `topi.vision`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.error import ArgumentError, ShapeError, UnsupportedError, expect
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Fresh, Tensor, TextOp
from relax_mlir.topi.common import (
    computed,
    index_tensor_of,
    listed,
    require,
    require_equal,
    require_float,
)
from relax_mlir.topi.manipulate import in_layout
from relax_mlir.topi.nn.activation import softmax
from relax_mlir.topi.sort import argsort
from relax_mlir.topi.tag import INJECTIVE

__all__ = [
    "all_class_non_max_suppression",
    "get_valid_counts",
    "multibox_transform_loc",
    "non_max_suppression",
    "roi_align",
    "roi_align_nchw",
    "roi_align_nhwc",
    "roi_pool",
    "roi_pool_nchw",
]

BOXES = "boxes"
"""The tag of selected boxes."""


def get_valid_counts(
    data: Tensor, score_threshold: float = 0, id_index: int = 0, score_index: int = 1
) -> list[Tensor]:
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

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        boxes = ins[0]
        valid, out, places = outs
        b, i, k, to = fresh("b"), fresh("i"), fresh("k"), fresh("to")
        counts = f"{boxes}[{b}, {i}, {score_index}] > {_number(score_threshold, tensor.dtype)}"
        if id_index >= 0:
            counts = f"{counts} and {boxes}[{b}, {i}, {id_index}] >= {_number(0, tensor.dtype)}"
        return [
            f"for {b} in range({batch}):",
            f"    {valid}[{b}] = 0",
            f"    for {i} in range({count}):",
            f"        {places}[{b}, {i}] = -1",
            f"        for {k} in range({width}):",
            f"            {out}[{b}, {i}, {k}] = {_number(-1, tensor.dtype)}",
            f"    for {i} in range({count}):",
            f"        if {counts}:",
            f"            {to} = T.index({valid}[{b}])",
            f"            {places}[{b}, {to}] = T.cast({i}, 'int32')",
            f"            for {k} in range({width}):",
            f"                {out}[{b}, {to}, {k}] = {boxes}[{b}, {i}, {k}]",
            f"            {valid}[{b}] = {valid}[{b}] + 1",
        ]

    return TextOp(
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
    if not all(isinstance(n, int) for n in (max_output_size, top_k, coord_start, score_index, id_index)):
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

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        (boxes, valid, sorted_), (out, places, number) = ins, outs
        b, i, j, k, at = (fresh(n) for n in "bijkp")
        keep, union, common = fresh("keep"), fresh("union"), fresh("common")
        zero, minus = _number(0, kind), _number(-1, kind)
        least = _number(rules.score_threshold, kind)
        top = f"T.min({keep}, {rules.top_k})" if rules.top_k > 0 else keep
        room = f" and {number}[{b}, 0] < {rules.max_output_size}" if rules.max_output_size > 0 else ""
        own_class = rules.id_index >= 0 and not rules.force_suppress
        same = (
            f" and {out}[{b}, {i}, {rules.id_index}] == {out}[{b}, {j}, {rules.id_index}]"
            if own_class
            else ""
        )
        score = rules.score_index
        return [
            f"for {b} in range({batch}):",
            f"    {keep} = T.max(T.min(T.index({valid}[{b}]), {count}), 0)",
            f"    {number}[{b}, 0] = 0",
            f"    for {i} in range({count}):",
            f"        {places}[{b}, {i}] = -1",
            f"        for {k} in range({width}):",
            f"            {out}[{b}, {i}, {k}] = {minus}",
            f"    for {i} in range({top}):",
            f"        {at} = T.index({sorted_}[{b}, {i}])",
            f"        {places}[{b}, {i}] = T.cast({sorted_}[{b}, {i}], 'int32')",
            f"        for {k} in range({width}):",
            f"            {out}[{b}, {i}, {k}] = {boxes}[{b}, {at}, {k}]",
            f"    for {i} in range({top}):",
            f"        if {out}[{b}, {i}, {score}] > {least} and {places}[{b}, {i}] >= 0{room}:",
            f"            {number}[{b}, 0] = {number}[{b}, 0] + 1",
            f"            for {j} in range({i} + 1, {top}):",
            f"                if {out}[{b}, {j}, {score}] > {least} and {places}[{b}, {j}] >= 0{same}:",
            *(
                f"                    {line}"
                for line in overlap_lines(
                    [f"{out}[{b}, {i}, {rules.coord_start + n}]" for n in range(4)],
                    [f"{out}[{b}, {j}, {rules.coord_start + n}]" for n in range(4)],
                    common,
                    union,
                    zero,
                )
            ),
            f"                    if {_overlaps(common, union, rules.iou_threshold, zero, kind)}:",
            f"                        {places}[{b}, {j}] = -1",
            f"                        for {k} in range({width}):",
            f"                            {out}[{b}, {j}, {k}] = {minus}",
            "        else:",
            f"            {places}[{b}, {i}] = -1",
            f"            for {k} in range({width}):",
            f"                {out}[{b}, {i}, {k}] = {minus}",
        ]

    return TextOp(
        [tensor, counts, order],
        [tensor.shape, (batch, count), (batch, 1)],
        [kind, "int32", "int32"],
        body,
        "T_non_max_suppression",
        BOXES,
    ).outputs


def _overlaps(common: str, union: str, threshold: float, zero: str, kind: str) -> str:
    share = f"T.Select({union} > {zero}, {common} / {union}, {zero})"
    return f"{share} >= {_number(threshold, kind)}"


def overlap_lines(
    first: Sequence[str], second: Sequence[str], common: str, union: str, zero: str
) -> list[str]:
    """Statements that compute the areas of intersection and union of two boxes. Corners come in any order."""
    sides: list[str] = []
    areas: list[tuple[str, str]] = []
    for axis in range(2):
        a = first[axis], first[axis + 2]
        b = second[axis], second[axis + 2]
        begins, ends = (
            [f"T.{function}({pair[0]}, {pair[1]})" for pair in (a, b)] for function in ("min", "max")
        )
        sides.append(f"T.max(T.min({ends[0]}, {ends[1]}) - T.max({begins[0]}, {begins[1]}), {zero})")
        areas.append((f"({ends[0]} - {begins[0]})", f"({ends[1]} - {begins[1]})"))
    return [
        f"{common} = {sides[0]} * {sides[1]}",
        f"{union} = {areas[0][0]} * {areas[1][0]} + {areas[0][1]} * {areas[1][1]} - {common}",
    ]


def _compacted(chosen: Tensor, places: Tensor, number: Tensor) -> list[Tensor]:
    """The original indices of the remaining boxes, followed by -1."""
    batch, count = chosen.shape

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        left, stood = ins
        b, i, to, at = fresh("b"), fresh("i"), fresh("to"), fresh("p")
        return [
            f"{to} = T.alloc_buffer((1,), 'int64')",
            f"for {b} in range({batch}):",
            f"    {to}[0] = 0",
            f"    for {i} in range({count}):",
            f"        {outs[0]}[{b}, {i}] = -1",
            f"    for {i} in range({count}):",
            f"        {at} = T.index({left}[{b}, {i}])",
            f"        if {at} >= 0:",
            f"            {outs[0]}[{b}, T.index({to}[0])] = T.cast({stood}[{b}, {at}], 'int32')",
            f"            {to}[0] = {to}[0] + 1",
        ]

    found = TextOp([chosen, places], [chosen.shape], ["int32"], body, "T_box_indices", BOXES).outputs[0]
    return [found, number]


def _moved_up(kept: Tensor, score_index: int) -> Tensor:
    """The remaining boxes, followed by rows of -1."""
    batch, count, width = kept.shape

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        b, i, k, to = fresh("b"), fresh("i"), fresh("k"), fresh("to")
        return [
            f"{to} = T.alloc_buffer((1,), 'int64')",
            f"for {b} in range({batch}):",
            f"    {to}[0] = 0",
            f"    for {i}, {k} in T.grid({count}, {width}):",
            f"        {outs[0]}[{b}, {i}, {k}] = {_number(-1, kept.dtype)}",
            f"    for {i} in range({count}):",
            f"        if {ins[0]}[{b}, {i}, {score_index}] >= {_number(0, kept.dtype)}:",
            f"            for {k} in range({width}):",
            f"                {outs[0]}[{b}, T.index({to}[0]), {k}] = {ins[0]}[{b}, {i}, {k}]",
            f"            {to}[0] = {to}[0] + 1",
        ]

    return TextOp([kept], [kept.shape], [kept.dtype], body, "T_boxes", BOXES).outputs[0]


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
        raise ShapeError(
            f"{what}: {tensor} and {weight} are not (batch, boxes, 4) and (batch, classes, boxes)"
        )
    require_equal(f"{what}: 'scores'", (weight.shape[0], weight.shape[2]), tensor.shape[:2])
    if isinstance(max_output_boxes_per_class, bool) or not isinstance(
        max_output_boxes_per_class, int | Tensor
    ):
        raise ArgumentError(
            f"{what}: 'max_output_boxes_per_class' is {max_output_boxes_per_class!r}, expected an integer"
        )
    order = argsort(weight, 2, False, "int64")
    batch, classes, count = weight.shape
    kind = tensor.dtype
    limits = [
        item if isinstance(item, int | float) else _one(what, item, dtype)
        for item, dtype in (
            (max_output_boxes_per_class, "int64"),
            (iou_threshold, kind),
            (score_threshold, weight.dtype),
        )
    ]
    given = [item for item in limits if isinstance(item, Tensor)]

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        box, score, sorted_, *numbers = ins
        found, number = outs
        rest = iter(numbers)
        most, overlap, least = (
            f"{next(rest)}[0]" if isinstance(item, Tensor) else _literal(item, dtype)
            for item, dtype in zip(limits, ("", kind, weight.dtype), strict=True)
        )
        b, c, i, j, k = (fresh(n) for n in "bcijk")
        own, other, before = fresh("own"), fresh("other"), fresh("before")
        alive, common, union, to = fresh("alive"), fresh("common"), fresh("union"), fresh("to")
        zero = _number(0, kind)
        return [
            f"{alive} = T.alloc_buffer((1,), 'int64')",
            f"{before} = T.alloc_buffer((1,), 'int64')",
            f"{number}[0] = 0",
            f"for {i}, {k} in T.grid({batch * classes * count}, 3):",
            f"    {found}[{i}, {k}] = -1",
            f"for {b} in range({batch}):",
            f"    for {c} in range({classes}):",
            f"        {before}[0] = {number}[0]",
            f"        for {i} in range({count}):",
            f"            {own} = T.index({sorted_}[{b}, {c}, {i}])",
            f"            {alive}[0] = 1",
            f"            if not {score}[{b}, {c}, {own}] > {least}:",
            f"                {alive}[0] = 0",
            f"            if {number}[0] - {before}[0] >= {most}:",
            f"                {alive}[0] = 0",
            f"            if {alive}[0] == 1:",
            f"                for {j} in range(T.index({before}[0]), T.index({number}[0])):",
            f"                    {other} = T.index({found}[{j}, 2])",
            *(
                f"                    {line}"
                for line in overlap_lines(
                    [f"{box}[{b}, {own}, {n}]" for n in range(4)],
                    [f"{box}[{b}, {other}, {n}]" for n in range(4)],
                    common,
                    union,
                    zero,
                )
            ),
            f"                    if {union} > {zero} and {common} / {union} > {overlap}:",
            f"                        {alive}[0] = 0",
            f"            if {alive}[0] == 1:",
            f"                {to} = T.index({number}[0])",
            f"                {found}[{to}, 0] = T.cast({b}, 'int64')",
            f"                {found}[{to}, 1] = T.cast({c}, 'int64')",
            f"                {found}[{to}, 2] = T.cast({own}, 'int64')",
            f"                {number}[0] = {number}[0] + 1",
        ]

    return TextOp(
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


def _number(value: float, dtype: str) -> str:
    return f"T.{dtype}({float(value)!r})"


def _literal(value: float, dtype: str) -> str:
    """A number as text; an integer if there is no dtype."""
    return _number(value, dtype) if dtype else str(int(value))


def _one(what: str, tensor: Tensor, dtype: str) -> Tensor:
    """A tensor of one element as a vector of the given dtype."""
    if tensor.ndim > 1 or (tensor.ndim == 1 and tensor.shape[0] != 1):
        raise ShapeError(f"{what}: {tensor} is not one number")
    return computed(
        (1,), lambda i: (tensor(0) if tensor.ndim else tensor()).astype(dtype), "T_nms_number", BOXES
    )


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
        require(f"{what}: '{n}'", t)
        for n, t in (("cls_pred", cls_pred), ("loc_pred", loc_pred), ("anchor", anchor))
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
        found = functions.select(
            k == 0, y - h, functions.select(k == 1, x - w, functions.select(k == 2, y + h, x + w))
        )
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

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        image, region = ins
        r, c, ph, pw, iy, ix, b = (fresh(n) for n in ("r", "c", "ph", "pw", "iy", "ix", "b"))
        total = fresh("total")
        number = {"y": fresh("ny"), "x": fresh("nx")}
        begin, cell = {a: fresh(f"begin_{a}") for a in "yx"}, {a: fresh(f"cell_{a}") for a in "yx"}
        place, low, high = ({a: fresh(f"{n}_{a}") for a in "yx"} for n in ("place", "low", "high"))
        rest = {a: fresh(f"rest_{a}") for a in "yx"}
        half = f" - T.{kind}(0.5)" if aligned else ""
        lines = [
            f"{total} = T.alloc_buffer((1,), '{kind}')",
            f"for {r} in range({regions.shape[0]}):",
            f"    {b} = T.index(T.cast({region}[{r}, 0], 'int64'))",
        ]
        for axis, number_of, first, last in (("y", rows, 2, 4), ("x", columns, 1, 3)):
            corner = [
                f"T.cast({region}[{r}, {n}], '{kind}') * T.{kind}({scale!r}){half}" for n in (first, last)
            ]
            span = f"({corner[1]} - ({corner[0]}))"
            if not aligned:
                span = f"T.max({span}, T.{kind}(1))"
            count = (
                str(sample_ratio) if sample_ratio > 0 else f"T.index(T.cast(T.ceil({cell[axis]}), 'int64'))"
            )
            lines += [
                f"    {begin[axis]} = {corner[0]}",
                f"    {cell[axis]} = {span} / T.{kind}({number_of})",
                f"    {number[axis]} = T.max({count}, 0)",
            ]
        lines += [
            f"    for {c}, {ph}, {pw} in T.grid({channels}, {rows}, {columns}):",
            f"        {total}[0] = {f'T.{kind}(0)' if mode == 'avg' else f'-T.infinity({kind!r})'}",
            f"        for {iy} in range({number['y']}):",
            f"            for {ix} in range({number['x']}):",
        ]
        inner = 16 * " "
        for axis, at, sample in (("y", ph, iy), ("x", pw, ix)):
            share = f"(T.cast({sample}, '{kind}') + T.{kind}(0.5)) * {cell[axis]} / T.cast({number[axis]}, '{kind}')"
            lines += [
                f"{inner}{place[axis]} = {begin[axis]} + T.cast({at}, '{kind}') * {cell[axis]} + {share}",
            ]
        far = [
            f"{place[a]} >= T.{kind}(-1) and {place[a]} <= T.cast({dim}, '{kind}')"
            for a, dim in (("y", height), ("x", width))
        ]
        lines.append(f"{inner}if {far[0]} and {far[1]}:")
        inner += 4 * " "
        for axis, dim in (("y", height), ("x", width)):
            held = f"T.max(T.min({place[axis]}, T.cast({dim} - 1, '{kind}')), T.{kind}(0))"
            lines += [
                f"{inner}{rest[axis]} = {held}",
                f"{inner}{low[axis]} = T.max(T.min(T.index(T.cast(T.floor({rest[axis]}), 'int64')), {dim} - 1), 0)",
                f"{inner}{high[axis]} = T.max(T.min({low[axis]} + 1, {dim} - 1), 0)",
            ]

        def corner_of(y: str, x: str) -> str:
            return f"T.cast({image}[{b}, {c}, {y}, {x}], '{kind}')"

        one = f"T.{kind}(1)"
        weight = {a: f"({rest[a]} - T.cast({low[a]}, '{kind}'))" for a in "yx"}
        upper, lower = (
            f"({corner_of(y, low['x'])} * ({one} - {weight['x']}) + {corner_of(y, high['x'])} * {weight['x']})"
            for y in (low["y"], high["y"])
        )
        sample = f"({upper} * ({one} - {weight['y']}) + {lower} * {weight['y']})"
        count = f"T.cast({number['y']} * {number['x']}, '{kind}')"
        combined = f"{total}[0] + {sample} / {count}" if mode == "avg" else f"T.max({total}[0], {sample})"
        zero = f"T.{kind}(0)"
        outside = (
            [] if mode == "avg" else [f"{inner[4:]}else:", f"{inner}{total}[0] = T.max({total}[0], {zero})"]
        )
        return [
            *lines,
            f"{inner}{total}[0] = {combined}",
            *outside,
            f"        {outs[0]}[{r}, {c}, {ph}, {pw}] = T.cast({total}[0], '{tensor.dtype}')",
        ]

    return TextOp(
        [tensor, regions],
        [(regions.shape[0], channels, rows, columns)],
        [tensor.dtype],
        body,
        "T_roi_align",
        REGIONS,
    ).outputs[0]


def roi_pool(
    data: Tensor, rois: Tensor, pooled_size: int | Sequence[int], spatial_scale: float, layout: str = "NCHW"
) -> Tensor:
    """The maximum of each cell of a region, whose corners are rounded to elements; 0 for an empty cell.

    It is ONNX's MaxRoiPool; for `rois` and `pooled_size` see `roi_align`.
    """
    if layout != "NCHW":
        raise ArgumentError(f"topi.vision.roi_pool: the layout is {layout!r}, expected 'NCHW'")
    return roi_pool_nchw(data, rois, pooled_size, spatial_scale)


def roi_pool_nchw(
    data: Tensor, rois: Tensor, pooled_size: int | Sequence[int], spatial_scale: float
) -> Tensor:
    """`roi_pool` for the layout NCHW."""
    tensor, regions, (rows, columns) = _checked("topi.vision.roi_pool", data, rois, pooled_size)
    _, channels, height, width = tensor.shape
    kind, scale = "float64" if tensor.dtype == "float64" else "float32", float(spatial_scale)

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        image, region = ins
        r, c, ph, pw, y, x, b = (fresh(n) for n in ("r", "c", "ph", "pw", "y", "x", "b"))
        best = fresh("best")
        first, cell, begin, end = (
            {a: fresh(f"{n}_{a}") for a in "yx"} for n in ("first", "cell", "begin", "end")
        )
        lines = [
            f"{best} = T.alloc_buffer((1,), '{tensor.dtype}')",
            f"for {r} in range({regions.shape[0]}):",
            f"    {b} = T.index(T.cast({region}[{r}, 0], 'int64'))",
        ]
        for axis, number, one, other in (("y", rows, 2, 4), ("x", columns, 1, 3)):
            corner = [
                f"T.floor(T.cast({region}[{r}, {n}], '{kind}') * T.{kind}({scale!r}) + T.{kind}(0.5))"
                for n in (one, other)
            ]
            lines += [
                f"    {first[axis]} = {corner[0]}",
                f"    {cell[axis]} = T.max({corner[1]} - {first[axis]} + T.{kind}(1), T.{kind}(1))"
                f" / T.{kind}({number})",
            ]
        lines.append(f"    for {c}, {ph}, {pw} in T.grid({channels}, {rows}, {columns}):")
        for axis, at, dim in (("y", ph, height), ("x", pw, width)):
            edges = [
                f"T.{function}(T.cast({at}{more}, '{kind}') * {cell[axis]}) + {first[axis]}"
                for function, more in (("floor", ""), ("ceil", " + 1"))
            ]
            lines += [
                f"        {name} = T.max(T.min(T.index(T.cast({edge}, 'int64')), {dim}), 0)"
                for name, edge in zip((begin[axis], end[axis]), edges, strict=True)
            ]
        return [
            *lines,
            f"        {best}[0] = -T.infinity({tensor.dtype!r})",
            f"        for {y} in range({begin['y']}, {end['y']}):",
            f"            for {x} in range({begin['x']}, {end['x']}):",
            f"                {best}[0] = T.max({best}[0], {image}[{b}, {c}, {y}, {x}])",
            f"        if {begin['y']} >= {end['y']} or {begin['x']} >= {end['x']}:",
            f"            {best}[0] = T.{tensor.dtype}(0)",
            f"        {outs[0]}[{r}, {c}, {ph}, {pw}] = {best}[0]",
        ]

    return TextOp(
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
    sizes = (
        [pooled_size] * 2 if isinstance(pooled_size, int) else listed(f"{what}: 'pooled_size'", pooled_size)
    )
    if tensor.ndim != 4 or regions.ndim != 2 or regions.shape[1] != 5:
        raise ShapeError(f"{what}: {tensor} and {regions} are not images and (regions, 5)")
    if len(sizes) != 2 or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise ArgumentError(
            f"{what}: 'pooled_size' is {pooled_size!r}, expected one or two integers from 1 on"
        )
    return tensor, regions, (sizes[0], sizes[1])
