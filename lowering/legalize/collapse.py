"""Legalisation of collapse_sum_like and collapse_sum_to: a sum, reshaped to the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relax_mlir.dialects.collapse import summed_axes
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.dialects.views import reshape
from relax_mlir.lowering.legalize.reduce import summed
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, legalization


@legalization("relax.collapse_sum_like", "relax.collapse_sum_to")
def legalize_collapse(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    data, result = op.operands[0], op.results[0]
    target = result.known_shape
    assert target is not None
    axes = summed_axes(data.shape, target)
    if not axes:
        return [data]
    kept = Tensor([dim for axis, dim in enumerate(data.shape) if axis not in axes], result.dtype)
    (total,) = summed(lz, replace(op, operands=(data,), results=(kept,)), axes)
    view = reshape(Value(total.ssa), target)
    return [Arg(view.ssa, result)]
