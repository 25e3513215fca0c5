"""NumPy references of poolings and batch norm, window by window and channel by channel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from difference import Array, Inexact


def pooling(
    x: Array,
    mean: bool,
    size: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil: bool,
    counts_padding: bool,
    layouts: tuple[str, str],
    nothing: float = -np.inf,
) -> Any:
    """The maximum or the mean of each window; raises ValueError where a window is larger than the data.

    `nothing`: the maximum of a window without elements.
    """
    letters = ("N", "C", *(letter for letter in "DHW" if letter in layouts[0]))
    data = x.transpose([layouts[0].index(letter) for letter in letters])
    count = len(letters) - 2
    places = [
        _places(data.shape[2 + i], size[i], strides[i], padding[i], padding[count + i], dilation[i], ceil)
        for i in range(count)
    ]
    shape = (*data.shape[:2], *(len(axis) for axis in places))
    value, magnitude = np.zeros(shape, data.dtype), np.zeros(shape, data.dtype)
    axes = tuple(range(2, 2 + count))
    for window in np.ndindex(*shape[2:]):
        given = [axis[number] for axis, number in zip(places, window, strict=True)]
        inside = np.ix_(
            *[[at for at in ats if 0 <= at < n] for ats, n in zip(given, data.shape[2:], strict=True)]
        )
        found = data[(slice(None), slice(None), *inside)]
        at = (slice(None), slice(None), *window)
        if not mean:
            value[at] = np.max(found, axes) if math.prod(found.shape[2:]) else nothing
            continue
        padded = [
            sum(-before <= at < n + after for at in ats)
            for ats, n, before, after in zip(
                given, data.shape[2:], padding[:count], padding[count:], strict=True
            )
        ]
        divisor = int(np.prod(padded if counts_padding else found.shape[2:]))
        value[at] = np.sum(found, axes) / divisor if divisor else 0
        magnitude[at] = np.sum(np.abs(found), axes) / max(divisor, 1)
    back = [letters.index(letter) for letter in layouts[1]]
    return Inexact(value.transpose(back), magnitude.transpose(back)) if mean else value.transpose(back)


def _places(
    length: int, size: int, stride: int, before: int, after: int, dilation: int, ceil: bool
) -> list[list[int]]:
    """The positions of each window in one dimension, which may be outside of the data."""
    room = length + before + after - (size - 1) * dilation - 1 + (stride - 1 if ceil else 0)
    windows = room // stride + 1
    if windows < 0 or (windows == 0 and room + 1 - length < 0):  # the length 0 alone may have no window
        raise ValueError(f"a window reaches over more than {length + before + after}")
    return [[first * stride - before + i * dilation for i in range(size)] for first in range(windows)]


def batch_norm(
    x: Array,
    weights: Sequence[Array],
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    momentum: float,
    training: bool,
) -> tuple[Any, Any, Any]:
    """The normalised data and both moving averages; `weights`: gamma, beta, moving mean, moving variance."""
    gamma, beta, moving_mean, moving_variance = weights
    moved = np.moveaxis(x, axis, -1)
    channels = moved.reshape(math.prod(moved.shape[:-1]), x.shape[axis])
    mean, variance = moving_mean, moving_variance
    means: Any = moving_mean
    variances: Any = moving_variance
    if training:
        with np.errstate(all="ignore"):
            count = len(channels)
            mean = channels.sum(0) / count if count else np.full(x.shape[axis], np.nan)
            variance = ((channels - mean) ** 2).sum(0) / count if count else np.full(x.shape[axis], np.nan)
        largest = np.max(np.abs(channels), 0, initial=0)
        means = Inexact((1 - momentum) * moving_mean + momentum * mean, np.abs(moving_mean) + largest)
        variances = Inexact(
            (1 - momentum) * moving_variance + momentum * variance, np.abs(moving_variance) + largest**2
        )
    deviation = np.sqrt(variance + epsilon)
    factor = gamma if scale else np.ones_like(gamma)
    shift = beta if center else np.zeros_like(beta)
    size = (np.abs(channels) + np.abs(mean)) / deviation
    value = (channels - mean) / deviation * factor + shift
    error = (size + size**3 * training) * np.abs(factor) + np.abs(shift)
    moved = tuple(n for i, n in enumerate(x.shape) if i != axis % x.ndim)

    def placed(rows: Array) -> Array:
        return np.moveaxis(rows.reshape(*moved, x.shape[axis]), -1, axis)

    return Inexact(placed(value), placed(error)), means, variances
