"""Lowering of losses and gradients as tensor expressions, whose 16-bit floats are computed in float32, and of marks."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.losses import (
    AvgPool2dBackwardOp,
    CrossEntropyWithLogitsOp,
    EndCheckpointOp,
    MaxPool2dBackwardOp,
    NllLossBackwardOp,
    NllLossOp,
    NoGradOp,
    StartCheckpointOp,
    TakeBackwardOp,
)
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, expression, lower, narrowed, widened
from relax_mlir.te import Tensor, functions
from relax_mlir.te.expressions import Expr
from relax_mlir.topi.common import computed, flattened, held, product
from relax_mlir.topi.indexing import scatter_vectors
from relax_mlir.topi.manipulate import reordered
from relax_mlir.topi.tag import INJECTIVE


@expression(CrossEntropyWithLogitsOp)
def cross_entropy(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The cross entropy of log probabilities."""
    predictions, labels = inputs
    return narrowed(topi.nn.cross_entropy_with_logits(widened(predictions), widened(labels)), predictions.dtype)


@expression(NllLossOp)
def nll_loss(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The negative log likelihood."""
    predictions, targets, weights = inputs
    found = topi.nn.nll_loss(widened(predictions), targets, widened(weights), attrs.reduction, attrs.ignore_index)
    return narrowed(found, predictions.dtype)


# Lowering of gradients as tensor expressions, whose 16-bit floats are accumulated in float32, and of marks.


@lower(NoGradOp, StartCheckpointOp, EndCheckpointOp)
def legalize_mark(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    return op.operands


def _pool_grad(attrs: Attrs, inputs: Sequence[Tensor], kind: str) -> Tensor:
    what = f"{kind}_pool2d_backward"
    grad = reordered(what, widened(inputs[0]), attrs.out_layout, "NCHW")
    data = reordered(what, widened(inputs[1]), attrs.layout, "NCHW")
    found = topi.nn.pool_grad(
        grad,
        data,
        attrs.pool_size,
        attrs.strides,
        attrs.padding,
        kind,
        attrs.ceil_mode,
        attrs.count_include_pad,
        dilation=attrs.dilation,
        counts=grad.shape[2:],
    )
    return reordered(what, narrowed(found, inputs[1].dtype), "NCHW", attrs.layout)


@expression(MaxPool2dBackwardOp)
def max_pool2d_backward(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Add each gradient to the maximum of its window."""
    return _pool_grad(attrs, inputs, "max")


@expression(AvgPool2dBackwardOp)
def avg_pool2d_backward(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Distribute each gradient evenly over its window."""
    return _pool_grad(attrs, inputs, "avg")


@expression(NllLossBackwardOp)
def nll_loss_backward(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The gradient of the predictions; only those of the targets are not zero."""
    grad, predictions, targets, weights = inputs
    given, factors = widened(grad), widened(weights)
    place = 0 if predictions.ndim == 1 else 1
    zero, ignored = functions.const(0, factors.dtype), attrs.ignore_index

    def weight(*i: Expr) -> Expr:
        own = targets(*i).astype("int64")
        return functions.if_then_else(own != ignored, factors(own), zero)

    counted = computed(targets.shape, weight, "T_nll_weights", INJECTIVE)
    total = topi.sum(counted) if attrs.reduction == "mean" else None

    def value(*i: Expr) -> Expr:
        at = [*i[:place], *i[place + 1 :]]
        amount = given(*at) if attrs.reduction == "none" else given()
        if total is not None:
            amount = amount / total()
        return functions.select(targets(*at).astype("int64") == i[place], -counted(*at) * amount, zero)

    found = computed(predictions.shape, value, "T_nll_loss_backward", INJECTIVE)
    return narrowed(found, predictions.dtype)


@expression(TakeBackwardOp)
def take_backward(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Scatter-add the gradients to the elements that were taken, with the axis moved to the front."""
    grad, data, indices = inputs
    axis = None if attrs.axis is None else attrs.axis % data.ndim
    before, after = ([], []) if axis is None else (list(data.shape[:axis]), list(data.shape[axis + 1 :]))
    length = product(data.shape) if axis is None else data.shape[axis]
    given, rank, count = widened(grad), indices.ndim, len(before)
    zeros = computed((length, *before, *after), lambda *i: functions.const(0, given.dtype), "T_zeros", INJECTIVE)
    places = computed(
        (*indices.shape, 1), lambda *i: held(indices(*i[:-1]).astype("int64"), length), "T_places", INJECTIVE
    )
    moved = computed(
        (*indices.shape, *before, *after),
        lambda *i: given(*i[rank : rank + count], *i[:rank], *i[rank + count :]),
        "T_moved",
        INJECTIVE,
    )
    sums = scatter_vectors(zeros, places, moved, "add")

    def back(*i: Expr) -> Expr:
        if axis is None:
            return sums(flattened(i, data.shape))
        return sums(i[axis], *i[:axis], *i[axis + 1 :])

    found = computed(data.shape, back, "T_take_backward", INJECTIVE)
    return narrowed(found, data.dtype)
