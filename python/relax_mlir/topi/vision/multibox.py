"""Decode the predictions of a network for anchor boxes."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, require, require_equal, require_float
from relax_mlir.topi.nn.activation import softmax
from relax_mlir.topi.tag import INJECTIVE


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
