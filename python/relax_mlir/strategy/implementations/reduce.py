"""Reductions of several steps, by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor


@by_expression
def logsumexp(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """logsumexp; 16-bit floats are computed in float32."""
    (x,) = inputs
    if x.dtype not in ("float16", "bfloat16"):
        return topi.logsumexp(x, attrs.axis, attrs.keepdims)
    return topi.cast(topi.logsumexp(topi.cast(x, "float32"), attrs.axis, attrs.keepdims), x.dtype)
