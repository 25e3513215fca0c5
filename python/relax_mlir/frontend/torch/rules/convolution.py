"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall
from relax_mlir.frontend.torch.registry import rule
from relax_mlir.frontend.torch.torch_types import Argument

_OPS = {1: R.nn.conv1d, 2: R.nn.conv2d, 3: R.nn.conv3d}


def every(values: Argument, count: int) -> list[int]:
    """Return one value per spatial dimension; a single value applies to all."""
    found = list(values) if isinstance(values, list | tuple) else [values]
    return found * count if len(found) == 1 else found


@rule("conv1d.default", "conv2d.default", "conv3d.default")
def conv(
    call: OpCall,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Argument = 1,
    padding: Argument = 0,
    dilation: Argument = 1,
    groups: int = 1,
) -> Value:
    count = len(call.argument(1).shape) - 2
    sides = every(padding, count)
    return convolved(
        call, x, weight, bias, every(stride, count), [*sides, *sides], every(dilation, count), groups
    )


@rule("conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv_named_padding(
    call: OpCall,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Argument = 1,
    padding: str = "valid",
    dilation: Argument = 1,
    groups: int = 1,
) -> Value:
    sizes = call.argument(1).shape[2:]
    count = len(sizes)
    gaps = every(dilation, count)
    both = [0] * (2 * count)
    if padding == "same":
        totals = [gap * (int(size) - 1) for gap, size in zip(gaps, sizes, strict=True)]
        both = [total // 2 for total in totals] + [total - total // 2 for total in totals]
    return convolved(call, x, weight, bias, every(stride, count), both, gaps, groups)


@rule("convolution.default")
def convolution(
    call: OpCall,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    is_transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    count = len(call.argument(1).shape) - 2
    stride, padding, dilation = (every(v, count) for v in (stride, padding, dilation))
    if is_transposed:
        return transposed(
            call, x, weight, bias, stride, padding, every(output_padding, count), groups, dilation
        )
    return convolved(call, x, weight, bias, stride, [*padding, *padding], dilation, groups)


@rule("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(
    call: OpCall,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Argument = 1,
    padding: Argument = 0,
    output_padding: Argument = 0,
    groups: int = 1,
    dilation: Argument = 1,
) -> Value:
    count = len(call.argument(1).shape) - 2
    steps, sides, more, gaps = (every(v, count) for v in (stride, padding, output_padding, dilation))
    return transposed(call, x, weight, bias, steps, sides, more, groups, gaps)


def convolved(
    call: OpCall,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> Value:
    """Emit a convolution; `padding` lists all sides before, then all sides after."""
    count = len(stride)
    single = call.rank == count + 1
    data = R.expand_dims(x, 0) if single else x
    found = _OPS[count](data, weight, stride, padding, dilation, groups)
    return _finished(call, found, bias, single=single, count=count)


def transposed(
    call: OpCall,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: list[int],
    padding: list[int],
    output_padding: list[int],
    groups: int,
    dilation: list[int],
) -> Value:
    count = len(stride)
    single = call.rank == count + 1
    data = R.expand_dims(x, 0) if single else x
    found = call.te(topi.nn.conv_transpose, data, weight, stride, padding, output_padding, dilation, groups)
    return _finished(call, found, bias, single=single, count=count)


def _finished(call: OpCall, found: Value, bias: Value | None, *, single: bool, count: int) -> Value:
    if bias is not None:
        channels = call.importer.dim(call.node.args[2].meta["val"].shape[0])
        found = R.add(found, R.reshape(bias, [channels, *[1] * count]))
    return R.squeeze(found, [0]) if single else found
