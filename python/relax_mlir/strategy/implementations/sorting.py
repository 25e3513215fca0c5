"""Sort, argsort and topk by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor


@by_expression
def sort(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The elements sorted along an axis."""
    return topi.sort(inputs[0], attrs.axis, is_ascend=not attrs.descending)


@by_expression
def argsort(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The indices that sort along an axis."""
    return topi.argsort(inputs[0], attrs.axis, not attrs.descending, attrs.dtype)


@by_expression
def topk(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor] | Tensor:
    """The first elements in sorted order along an axis, and their indices."""
    return topi.topk(inputs[0], attrs.k, attrs.axis, attrs.ret_type, not attrs.largest, attrs.dtype)
