"""Filter boxes by score, and suppress overlapping ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.error import ArgumentError, ShapeError, UnsupportedError, expect
from relax_mlir.te import functions
from relax_mlir.te.own_loops import Fresh, LoopOp
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, index_tensor_of, require, require_equal, require_float
from relax_mlir.topi.sort import argsort

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

    return LoopOp(
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

    found = LoopOp([chosen, places], [chosen.shape], ["int32"], body, "T_box_indices", BOXES).outputs[0]
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
