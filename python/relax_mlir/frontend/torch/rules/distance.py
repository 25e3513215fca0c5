"""Distances between rows."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall, constant
from relax_mlir.frontend.torch.registry import rule


@rule("_cdist_forward.default", "cdist.default")
def cdist(call: OpCall, x: Value, y: Value, p: float = 2, mode: int | None = None) -> Value:
    """Return the p-norm distance of every row of `x` to every row of `y`."""
    dtype = call.dtype
    apart = R.abs(R.subtract(R.expand_dims(x, -2), R.expand_dims(y, (y.ndim or 2) - 2)))
    if p == 2:
        return R.sqrt(R.sum(R.square(apart), [-1]))
    if p == 1:
        return R.sum(apart, [-1])
    if p == float("inf"):
        return R.max(apart, [-1])
    if p == 0:
        return R.sum(R.astype(R.not_equal(apart, constant(0, dtype)), dtype), [-1])
    return R.power(R.sum(R.power(apart, constant(p, dtype)), [-1]), constant(1 / p, dtype))
