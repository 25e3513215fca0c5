"""Window functions, by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic, topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor


@by_expression
def hamming_window(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The Hamming window."""
    size = symbolic.to_dim(attrs.window_size)
    return topi.hamming_window(size, attrs.periodic, attrs.alpha, attrs.beta, attrs.dtype)
