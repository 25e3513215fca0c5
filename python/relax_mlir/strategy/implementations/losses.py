"""Losses by topi; 16-bit floats are computed in float32."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.scalars.arithmetic import compute_dtype
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor


def widened(tensor: Tensor) -> Tensor:
    """Convert 16-bit floats to float32."""
    wide = compute_dtype(dtypes.dtype(tensor.dtype)).name
    return tensor if wide == tensor.dtype else topi.cast(tensor, wide)


def narrowed(tensor: Tensor, dtype: str) -> Tensor:
    """Convert a tensor to `dtype`."""
    return tensor if tensor.dtype == dtype else topi.cast(tensor, dtype)


@by_expression
def cross_entropy(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The cross entropy of log probabilities."""
    predictions, labels = inputs
    return narrowed(
        topi.nn.cross_entropy_with_logits(widened(predictions), widened(labels)), predictions.dtype
    )


@by_expression
def nll_loss(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The negative log likelihood."""
    predictions, targets, weights = inputs
    found = topi.nn.nll_loss(
        widened(predictions), targets, widened(weights), attrs.reduction, attrs.ignore_index
    )
    return narrowed(found, predictions.dtype)
