"""Medians, binary searches, and samples of distributions, by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor
from relax_mlir.topi.sampling import multinomial_from_uniform as drawn


@by_expression
def median(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor] | Tensor:
    """The median and its index."""
    return topi.median(inputs[0], attrs.axis, attrs.keepdims)


@by_expression
def searchsorted(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Insertion positions by binary search."""
    return topi.searchsorted(inputs[0], inputs[1], attrs.right, attrs.dtype)


@by_expression
def bucketize(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Bucket indices by binary search."""
    assert isinstance(out_type, TensorInfo)
    return topi.bucketize(inputs[0], inputs[1], attrs.right, str(out_type.dtype))


@by_expression
def multinomial_from_uniform(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Sample by cumulative probabilities."""
    prob, sample, rows = inputs
    return drawn(prob, sample, rows, attrs.dtype)
