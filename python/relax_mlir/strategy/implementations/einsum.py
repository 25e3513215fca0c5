"""einsum by topi, two tensors at a time."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.einsum import ELLIPSIS, parsed
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor

LOW_PRECISION = ("float16", "bfloat16")


@by_expression
def einsum(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Multiply the tensors pairwise; each step sums over the axes that neither later operands nor the result use."""
    found = parsed(attrs.subscripts, len(inputs))
    dtype = inputs[0].dtype
    is_wide = len(inputs) > 2 and dtype in LOW_PRECISION
    tensors = [topi.cast(tensor, "float32") for tensor in inputs] if is_wide else list(inputs)
    total, text = tensors[0], found.operands[0]
    for number in range(1, len(tensors) - 1):
        rest = "".join((*found.operands[number + 1 :], found.result))
        pair = text + found.operands[number]
        kept = "".join(dict.fromkeys(c for c in pair if c in rest and c != "."))
        kept = (ELLIPSIS if ELLIPSIS in pair else "") + kept
        total = topi.einsum(f"{text},{found.operands[number]}->{kept}", total, tensors[number])
        text = kept
    if len(tensors) == 1:
        return topi.einsum(f"{text}->{found.result}", total)
    total = topi.einsum(f"{text},{found.operands[-1]}->{found.result}", total, tensors[-1])
    return topi.cast(total, dtype) if is_wide else total
