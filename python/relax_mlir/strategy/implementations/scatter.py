"""Scatter updates by tensors of indices, by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor
from relax_mlir.topi.indexing import scatter_vectors


@by_expression
def scatter_elements(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """One update for each index, along an axis."""
    data, indices, updates = inputs
    return topi.scatter_elements(data, indices, updates, attrs.axis, attrs.reduction)


@by_expression
def scatter_nd(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Updates of elements or slices selected by index vectors."""
    data, indices, updates = inputs
    return scatter_vectors(data, indices, updates, attrs.reduction)


@by_expression
def index_put(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Write values, which are broadcast, at index tensors."""
    data, *places, values = inputs
    return topi.index_put(data, places, values, attrs.accumulate)
