"""Normalization by mean and standard deviation, and local response normalization."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi import reduce
from relax_mlir.topi.common import axes_of, axis_of, computed, replaced, require, require_equal, require_float
from relax_mlir.topi.common import size as extent
from relax_mlir.topi.elementwise import add, divide, identity, multiply, rsqrt, sqrt, subtract
from relax_mlir.topi.manipulate import reshape
from relax_mlir.topi.tag import BROADCAST, COMM_REDUCE


def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    training: bool = False,
    momentum: float = 0.1,
) -> list[Tensor]:
    """``(data - mean) / sqrt(var + epsilon) * gamma + beta`` by channel, and the mean and the variance.

    Args:
        data: floats.
        gamma, beta, moving_mean, moving_var: one number per channel; `scale` and `center` enable gamma and beta.
        axis: the axis of the channels.
        epsilon: added to the variance.
        training: use the mean and the variance (without Bessel's correction) of `data`; the returned ones are then the
            moving averages, updated with `momentum`.
    """
    what = "topi.nn.batch_norm"
    tensor = require(f"{what}: 'data'", data)
    require_float(what, tensor)
    channel = axis_of(what, axis, tensor.ndim)
    wide = [dim if number == channel else 1 for number, dim in enumerate(tensor.shape)]
    parts = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    for name, part in parts.items():
        require_equal(f"{what}: '{name}'", require(f"{what}: '{name}'", part).shape, (tensor.shape[channel],))
    mean, variance = reshape(moving_mean, wide), reshape(moving_var, wide)
    new = [identity(moving_mean), identity(moving_var)]
    if training:
        others = [number for number in range(tensor.ndim) if number != channel]
        mean = reduce.mean(tensor, others, keepdims=True)
        variance = _variance(tensor, mean, others)
        new = [
            add(multiply(old, 1.0 - momentum), multiply(reshape(now, old.shape), momentum))
            for old, now in ((moving_mean, mean), (moving_var, variance))
        ]
    out = divide(subtract(tensor, mean), sqrt(add(variance, epsilon)))
    out = multiply(out, reshape(gamma, wide)) if scale else out
    out = add(out, reshape(beta, wide)) if center else out
    return [out, *new]


def layer_norm(
    data: Tensor, gamma: Tensor, beta: Tensor | None, axis: int | Sequence[int], epsilon: float = 1e-5
) -> Tensor:
    """Normalize along `axis`, multiply by `gamma` and add `beta`, which have those dimensions."""
    what = "topi.nn.layer_norm"
    tensor = require(f"{what}: 'data'", data)
    require_float(what, tensor)
    axes = axes_of(what, axis, tensor.ndim)
    return _scaled(what, tensor, _normed(tensor, axes, epsilon), gamma, beta, axes)


def rms_norm(data: Tensor, weight: Tensor, axis: int | Sequence[int], epsilon: float = 1e-5) -> Tensor:
    """Divide by the root mean square along `axis`, and multiply by `weight`, which has those dimensions."""
    what = "topi.nn.rms_norm"
    tensor = require(f"{what}: 'data'", data)
    require_float(what, tensor)
    axes = axes_of(what, axis, tensor.ndim)
    square = reduce.mean(multiply(tensor, tensor), axes, keepdims=True)
    return _scaled(what, tensor, multiply(tensor, rsqrt(add(square, epsilon))), weight, None, axes)


def group_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    num_groups: int,
    channel_axis: int,
    axes: Sequence[int],
    epsilon: float = 1e-5,
) -> Tensor:
    """Normalize each of `num_groups` groups of channels, along the channels of the group and `axes`."""
    what = "topi.nn.group_norm"
    tensor = require(f"{what}: 'data'", data)
    require_float(what, tensor)
    channel = axis_of(what, channel_axis, tensor.ndim)
    channels = tensor.shape[channel]
    if not isinstance(num_groups, int) or num_groups < 1 or not symbolic.prove_divisible(channels, num_groups):
        raise ShapeError(f"{what}: {channels} channels are not known to be divisible in {num_groups} groups")
    along = axes_of(what, axes, tensor.ndim)
    if channel in along:
        raise ArgumentError(f"{what}: 'axes' names the channels, {channel}")
    grouped = [
        *tensor.shape[:channel],
        num_groups,
        symbolic.floordiv(channels, num_groups),
        *tensor.shape[channel + 1 :],
    ]
    inner = [channel + 1, *(number if number < channel else number + 1 for number in along)]
    normed = reshape(_normed(reshape(tensor, grouped), sorted(inner), epsilon), tensor.shape)
    return _scaled(what, tensor, normed, gamma, beta, [channel])


def instance_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    channel_axis: int,
    axes: Sequence[int],
    epsilon: float = 1e-5,
) -> Tensor:
    """Normalize each channel along `axes`, then scale and shift it."""
    what = "topi.nn.instance_norm"
    tensor = require(f"{what}: 'data'", data)
    require_float(what, tensor)
    channel, along = axis_of(what, channel_axis, tensor.ndim), axes_of(what, axes, tensor.ndim)
    return _scaled(what, tensor, _normed(tensor, along, epsilon), gamma, beta, [channel])


def _normed(tensor: Tensor, axes: Sequence[int], epsilon: float) -> Tensor:
    mean = reduce.mean(tensor, axes, keepdims=True)
    normed: Tensor = multiply(subtract(tensor, mean), rsqrt(add(_variance(tensor, mean, axes), epsilon)))
    return normed


def _variance(tensor: Tensor, mean: Tensor, axes: Sequence[int]) -> Tensor:
    apart = subtract(tensor, mean)
    return reduce.mean(multiply(apart, apart), axes, keepdims=True)


def _scaled(
    what: str, tensor: Tensor, normed: Tensor, gamma: Tensor | None, beta: Tensor | None, axes: Sequence[int]
) -> Tensor:
    """`normed` times `gamma` plus `beta`, which have the dimensions `axes` of `tensor`."""
    own = [tensor.shape[number] for number in axes]
    wide = [dim if number in axes else 1 for number, dim in enumerate(tensor.shape)]

    def like(part: Tensor) -> Tensor:
        require_equal(what, require(f"{what}: a parameter", part).shape, own)
        return reshape(part, wide)

    scaled: Tensor = normed if gamma is None else multiply(normed, like(gamma))
    shifted: Tensor = scaled if beta is None else add(scaled, like(beta))
    return shifted


def lrn(data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2) -> Tensor:
    """``data / (bias + alpha / size * sum)^beta``, with the sum of the squares of `size` elements around each."""
    what = "topi.nn.lrn"
    tensor = require(f"{what}: 'data'", data)
    require_float(what, tensor)
    place = axis_of(what, axis, tensor.ndim)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ArgumentError(f"{what}: 'size' is {size!r}, expected an integer from 1 on")
    tap = reductions.reduce_axis((0, size), "r")
    before = (size - 1) // 2

    def squares(*i: Expr) -> object:
        at = i[place] + tap - before
        item = functions.if_then_else(
            functions.all(at >= 0, at < extent(tensor.shape[place])),
            tensor(*replaced(i, place, at)),
            functions.const(0, tensor.dtype),
        )
        return reductions.sum(item * item, tap)

    total = computed(tensor.shape, squares, "T_lrn_squares", COMM_REDUCE)

    def value(*i: Expr) -> Expr:
        scaled = total(*i) * (float(alpha) / size) + float(bias)
        return tensor(*i) / functions.power(scaled, functions.const(float(beta), tensor.dtype))

    return computed(tensor.shape, value, "T_lrn", BROADCAST)
