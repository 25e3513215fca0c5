"""Lowering of losses by topi; 16-bit floats are computed in float32."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.losses import CrossEntropyWithLogitsOp, NllLossOp
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.legalize.expressions import narrowed, widened
from relax_mlir.lowering.legalize.rules import expression
from relax_mlir.te import Tensor


@expression(CrossEntropyWithLogitsOp)
def cross_entropy(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The cross entropy of log probabilities."""
    predictions, labels = inputs
    return narrowed(
        topi.nn.cross_entropy_with_logits(widened(predictions), widened(labels)), predictions.dtype
    )


@expression(NllLossOp)
def nll_loss(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The negative log likelihood."""
    predictions, targets, weights = inputs
    found = topi.nn.nll_loss(
        widened(predictions), targets, widened(weights), attrs.reduction, attrs.ignore_index
    )
    return narrowed(found, predictions.dtype)
