"""Cumulative sums and products."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall
from relax_mlir.frontend.torch.registry import rule
from relax_mlir.frontend.torch.torch_types import Argument


@rule("cumsum.default")
def cumsum(call: OpCall, x: Value, axis: int, **rest: Argument) -> Value:
    value = call.tensor(x)
    return R.cumsum(value, call.axis(axis, call.rank)) if call.rank else value


@rule("cumprod.default")
def cumprod(call: OpCall, x: Value, axis: int, **rest: Argument) -> Value:
    value = call.tensor(x)
    return R.cumprod(value, call.axis(axis, call.rank)) if call.rank else value
