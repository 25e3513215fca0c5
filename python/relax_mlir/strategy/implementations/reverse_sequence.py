"""Reversed sequences, by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor


@by_expression
def reverse_sequence(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Reverse the first elements along an axis, as many as the length of each sequence."""
    return topi.reverse_sequence(inputs[0], inputs[1], attrs.seq_axis, attrs.batch_axis)
