"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall, constant
from relax_mlir.frontend.torch.registry import rule
from relax_mlir.frontend.torch.rules.convolution import every
from relax_mlir.frontend.torch.torch_types import Argument

_MAX = {1: R.nn.max_pool1d, 2: R.nn.max_pool2d, 3: R.nn.max_pool3d}
_AVERAGE = {1: R.nn.avg_pool1d, 2: R.nn.avg_pool2d, 3: R.nn.avg_pool3d}
_ADAPTIVE = {1: topi.nn.adaptive_pool1d, 2: topi.nn.adaptive_pool, 3: topi.nn.adaptive_pool3d}


def _count(call: OpCall) -> int:
    name = str(call.node.target)
    return next(count for count in (1, 2, 3) if f"{count}d" in name)


@rule("max_pool1d.default", "max_pool2d.default", "max_pool3d.default")
def max_pool(
    call: OpCall,
    x: Value,
    kernel: Argument,
    stride: Argument = (),
    padding: Argument = 0,
    dilation: Argument = 1,
    ceil_mode: bool = False,
) -> Value:
    count = _count(call)
    window = every(kernel, count)
    steps = every(stride, count) if stride else window
    single = call.rank == count + 1
    data = R.expand_dims(x, 0) if single else x
    found = _MAX[count](data, window, steps, every(padding, count), every(dilation, count), ceil_mode)
    return R.squeeze(found, [0]) if single else found


@rule("max_pool2d_with_indices.default", "max_pool3d_with_indices.default")
def max_pool_with_indices(call: OpCall, x: Value, *rest: Argument) -> list[Value | None]:
    if any(user.args[1] == 1 and user.users for user in call.node.users if len(user.args) > 1):
        raise call.unsupported("the indices of a max pool")
    return [max_pool(call, x, *rest), None]


@rule("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def avg_pool(
    call: OpCall,
    x: Value,
    kernel: Argument,
    stride: Argument = (),
    padding: Argument = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor: int | None = None,
) -> Value:
    count = _count(call)
    window = every(kernel, count)
    steps = every(stride, count) if stride else window
    single = call.rank == count + 1
    data = R.expand_dims(x, 0) if single else x
    sides = every(padding, count)
    if divisor is not None and ceil_mode:
        raise call.unsupported("divisor_override with ceil_mode")
    found = _AVERAGE[count](
        data, window, steps, sides, 1, ceil_mode, count_include_pad or divisor is not None
    )
    if divisor is not None:
        size = 1
        for length in window:
            size *= length
        found = R.multiply(found, constant(size / divisor, call.dtype))
    return R.squeeze(found, [0]) if single else found


@rule(
    "adaptive_avg_pool1d.default",
    "adaptive_avg_pool2d.default",
    "adaptive_avg_pool3d.default",
    "_adaptive_avg_pool2d.default",
    "_adaptive_avg_pool3d.default",
)
def adaptive_avg_pool(call: OpCall, x: Value, size: Sequence[Argument]) -> Value:
    count = _count(call)
    if all(isinstance(s, int) and s == 1 for s in size):
        return R.mean(x, list(range(call.rank - count, call.rank)), True)
    return _adaptive(call, x, size, "avg")


@rule("adaptive_max_pool1d.default", "adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def adaptive_max_pool(call: OpCall, x: Value, size: Sequence[Argument]) -> list[Value | None]:
    if any(user.args[1] == 1 and user.users for user in call.node.users if len(user.args) > 1):
        raise call.unsupported("the indices of a max pool")
    return [_adaptive(call, x, size, "max"), None]


def _adaptive(call: OpCall, x: Value, size: Sequence[Argument], kind: str) -> Value:
    count = _count(call)
    single = call.rank == count + 1
    data = R.expand_dims(x, 0) if single else x
    found = call.te(_ADAPTIVE[count], data, tuple(size), kind)
    return R.squeeze(found, [0]) if single else found
