"""Convolutions and poolings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir import op as R
from relax_mlir import symbolic, topi
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.registry import OpCall, constant, rule
from relax_mlir.frontend.torch.torch_types import Argument
from relax_mlir.symbolic import Dim

# Convolutions.


_OPS = {1: R.nn.conv1d, 2: R.nn.conv2d, 3: R.nn.conv3d}


def every(values: Argument, count: int) -> list[int]:
    """Return one value per spatial dimension; a single value applies to all."""
    found = list(values) if isinstance(values, list | tuple) else [values]
    return found * count if len(found) == 1 else found


@rule(*(f"conv{rank}d.{overload}" for rank in (1, 2, 3) for overload in ("default", "padding")))
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
    """Emit a convolution; `padding` is "same", "valid", or the elements at both sides of each dimension."""
    sizes = call.argument(1).shape[2:]
    count = len(sizes)
    gaps = every(dilation, count)
    if padding == "same":
        totals = [gap * (int(size) - 1) for gap, size in zip(gaps, sizes, strict=True)]
        both = [total // 2 for total in totals] + [total - total // 2 for total in totals]
    else:
        both = every(0 if padding == "valid" else padding, count) * 2
    steps = every(stride, count)
    return _emitted(call, x, bias, count, lambda data: _OPS[count](data, weight, steps, both, gaps, groups))


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
    if is_transposed:
        return conv_transpose(call, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(call, x, weight, bias, stride, padding, dilation, groups)


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
    return _emitted(
        call,
        x,
        bias,
        count,
        lambda data: call.te(topi.nn.conv_transpose, data, weight, steps, sides, more, gaps, groups),
    )


def _emitted(call: OpCall, x: Value, bias: Value | None, count: int, build: Callable[[Value], Value]) -> Value:
    """Emit a convolution of `x`, which may have no batch axis, and add the bias of each channel."""
    single = call.rank == count + 1
    found = build(R.expand_dims(x, 0) if single else x)
    if bias is not None:
        channels = call.importer.dim(call.node.args[2].meta["val"].shape[0])
        found = R.add(found, R.reshape(bias, [channels, *[1] * count]))
    return R.squeeze(found, [0]) if single else found


# Pooling.


_MAX = {1: R.nn.max_pool1d, 2: R.nn.max_pool2d, 3: R.nn.max_pool3d}
_AVERAGE = {1: R.nn.avg_pool1d, 2: R.nn.avg_pool2d, 3: R.nn.avg_pool3d}
_ADAPTIVE = {1: topi.nn.adaptive_pool1d, 2: topi.nn.adaptive_pool, 3: topi.nn.adaptive_pool3d}


def _count(call: OpCall) -> int:
    name = str(call.node.target)
    return next(count for count in (1, 2, 3) if f"{count}d" in name)


@dataclass(frozen=True)
class _Windows:
    """The windows of a pooling over the last dimensions of `data`, which has a batch axis; `single`: `x` has none."""

    single: bool
    data: Value
    size: Sequence[int]
    strides: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    ceil: bool

    @classmethod
    def of(cls, call: OpCall, x: Value, *numbers: Argument, ceil: bool) -> _Windows:
        kernel, stride, padding, dilation = numbers
        count = _count(call)
        size = every(kernel, count)
        strides = every(stride, count) if stride else size
        single = call.rank == count + 1
        data = R.expand_dims(x, 0) if single else x
        return cls(single, data, size, strides, every(padding, count), every(dilation, count), ceil)

    def result(self, pooled: Value) -> Value:
        """Convert `pooled` to PyTorch's result, which omits a last window that begins in the padding at the end."""
        found = self._without_empty(pooled) if self.ceil else pooled
        return R.squeeze(found, [0]) if self.single else found

    def _without_empty(self, pooled: Value) -> Value:
        counts: dict[int, Dim] = {}
        for axis, (stride, before) in enumerate(zip(self.strides, self.padding, strict=True), start=2):
            length, count = dims_of(self.data)[axis], dims_of(pooled)[axis]
            beginning = symbolic.floordiv(length + before - 1, stride) + 1
            if not symbolic.prove_less_equal(count, beginning):
                counts[axis] = symbolic.minimum(count, beginning)
        if not counts:
            return pooled
        return R.strided_slice(pooled, list(counts), [0] * len(counts), list(counts.values()), assume_inbound=True)


def dims_of(value: Value) -> tuple[Dim, ...]:
    """Return the shape of a tensor, which must be known."""
    info = value.struct_info
    assert isinstance(info, Tensor) and info.known_shape is not None
    return info.known_shape


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
    at = _Windows.of(call, x, kernel, stride, padding, dilation, ceil=ceil_mode)
    return at.result(_MAX[_count(call)](at.data, at.size, at.strides, at.padding, at.dilation, ceil_mode))


@rule("max_pool1d_with_indices.default", "max_pool2d_with_indices.default", "max_pool3d_with_indices.default")
def max_pool_with_indices(
    call: OpCall,
    x: Value,
    kernel: Argument,
    stride: Argument = (),
    padding: Argument = 0,
    dilation: Argument = 1,
    ceil_mode: bool = False,
) -> list[Value | None]:
    if not _uses_indices(call):
        return [max_pool(call, x, kernel, stride, padding, dilation, ceil_mode), None]
    count = _count(call)
    size = every(kernel, count)
    numbers = (every(stride, count) if stride else size, every(dilation, count), every(padding, count))
    return list(call.builder.emit_te(topi.nn.max_pool_with_indices, x, count, size, *numbers, ceil_mode))


def _uses_indices(call: OpCall) -> bool:
    return any(user.args[1] == 1 and user.users for user in call.node.users if len(user.args) > 1)


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
    at = _Windows.of(call, x, kernel, stride, padding, 1, ceil=ceil_mode)
    pool = _AVERAGE[_count(call)]
    if divisor is None:
        return at.result(pool(at.data, at.size, at.strides, at.padding, 1, ceil_mode, count_include_pad))
    data, padding = at.data, at.padding
    if ceil_mode:  # pad with zeros up to the last window, so that all have the same size
        sides = [(pad, pad + step - 1) for pad, step in zip(at.padding, at.strides, strict=True)]
        data, padding = R.nn.pad(data, [(0, 0), (0, 0), *sides]), [0] * len(at.padding)
    means = pool(data, at.size, at.strides, padding, 1, False, True)
    return at.result(R.multiply(means, constant(math.prod(at.size) / divisor, call.dtype)))


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
    if _uses_indices(call):
        raise call.unsupported("the indices of a max pool")
    return [_adaptive(call, x, size, "max"), None]


def _adaptive(call: OpCall, x: Value, size: Sequence[Argument], kind: str) -> Value:
    count = _count(call)
    single = call.rank == count + 1
    data = R.expand_dims(x, 0) if single else x
    found = call.te(_ADAPTIVE[count], data, tuple(size), kind)
    return R.squeeze(found, [0]) if single else found
