"""Gather elements by tensors of indices, by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor
from relax_mlir.topi.indexing import gather_vectors


@by_expression
def gather_elements(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """One element for each index, along an axis."""
    return topi.gather(inputs[0], attrs.axis, inputs[1])


@by_expression
def gather_nd(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Elements or slices selected by index vectors."""
    return gather_vectors(inputs[0], inputs[1], attrs.batch_dims)


@by_expression
def index_tensor(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Elements or slices selected by broadcast index tensors."""
    return topi.index_tensor(inputs[0], inputs[1:])
