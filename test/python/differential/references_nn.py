"""Reference semantics of scans, channel norms and attention in NumPy: floats are float64, other dtypes unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from difference import Array, Inexact, is_float, numpy_dtype
from references import convert


def scan(name: str, x: Array, axis: int | None, dtype: str, exclusive: bool) -> Any:
    """Sums or products of the elements up to each position, in `dtype`."""
    data = convert(x, dtype) if axis is not None else convert(x, dtype).reshape(-1)
    if is_float(dtype):  # a value too large for it is infinite before the summation
        with np.errstate(over="ignore"):
            data = data.astype(numpy_dtype(dtype)).astype(np.float64)
    place = 0 if axis is None else axis
    kind = np.dtype(np.float64) if is_float(dtype) else numpy_dtype(dtype)
    initial = 0 if name == "cumsum" else 1

    def run(values: Array) -> Array:
        found = (np.cumsum if name == "cumsum" else np.cumprod)(values, axis=place, dtype=kind)
        if not exclusive or values.shape[place] == 0:
            return found
        first = np.full_like(found.take([0], place), initial)
        return np.concatenate([first, found], place).take(range(values.shape[place]), place)

    value = run(data)
    if not is_float(dtype):
        return value
    steps = 1 + data.shape[place] / 8
    return Inexact(value, run(np.abs(data)) if name == "cumsum" else np.abs(value) * steps)


def group_norm(
    x: Array, gamma: Array, beta: Array, groups: int, channel: int, axes: tuple[int, ...], epsilon: float
) -> Inexact:
    """Normalisation over `axes` and groups of channels."""
    if x.size == 0:
        return Inexact(x, x)
    shape = [groups, x.shape[channel] // groups]
    parts = x.reshape(*x.shape[:channel], *shape, *x.shape[channel + 1 :])
    over = (channel + 1, *(axis + (axis > channel) for axis in axes))
    mean = np.mean(parts, axis=over, keepdims=True)
    deviation = np.sqrt(np.var(parts, axis=over, keepdims=True) + epsilon)
    size = _size(parts, over, deviation)
    normal = ((parts - mean) / deviation).reshape(x.shape)
    sizes = np.broadcast_to(size + size**3, parts.shape).reshape(x.shape)
    wide = [1] * x.ndim
    wide[channel] = -1
    weight, shift = gamma.reshape(wide), beta.reshape(wide)
    return Inexact(normal * weight + shift, sizes * np.abs(weight) + np.abs(shift))


SQUARABLE = 1e17
"""The sum of the squares of larger numbers may overflow f32; the result of a norm is undefined then."""


def _size(x: Array, axes: tuple[int, ...], deviation: Array) -> Array:
    """The maximum absolute value over axes, in deviations; very large if the deviation is not representable in f32."""
    largest = np.max(np.abs(x), axis=axes, keepdims=True)
    return np.where(largest > SQUARABLE, 1e30, largest / deviation)


def norm(x: Array, weights: tuple[Array, ...], count: int, epsilon: float) -> Inexact:
    """Layer norm (weight and bias) or RMS norm (weight alone) over the last `count` dimensions."""
    axes = tuple(range(x.ndim - count, x.ndim))
    if x.size == 0:
        return Inexact(x, x)
    centred = x - np.mean(x, axis=axes, keepdims=True) if len(weights) == 2 else x
    deviation = np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + epsilon)
    size = _size(x, axes, deviation)
    bias = weights[1] if len(weights) == 2 else np.zeros_like(weights[0])
    return Inexact(
        centred / deviation * weights[0] + bias, (size + size**3) * np.abs(weights[0]) + np.abs(bias)
    )


def attention(
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None,
    scale: float,
    mask: str | None,
    noisy: bool,
) -> Inexact:
    """Attention on ``(batch, sequence, heads, size)``; with `noisy`, masked values that are not finite become NaN."""
    group = query.shape[2] // max(key.shape[2], 1)
    q, k, v = (
        np.moveaxis(array, 2, 1) for array in (query, np.repeat(key, group, 2), np.repeat(value, group, 2))
    )
    queries, keys = q.shape[2], k.shape[2]
    if keys == 0:
        zeros = np.zeros((*query.shape[:3], value.shape[3]))
        return Inexact(zeros, zeros)
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * scale
    size = np.matmul(np.abs(q), np.swapaxes(np.abs(k), -1, -2)) * scale
    if bias is not None:
        scores, size = scores + bias, size + np.abs(bias)
    if mask is not None:
        seen = np.tri(queries, keys, 0 if mask == "TopLeft" else keys - queries, dtype=bool)
        scores, size = np.where(seen, scores, -np.inf), np.where(seen, size, 0)
    top = np.max(scores, axis=-1, keepdims=True)
    powers = np.exp(scores - top)
    shares = powers / np.sum(powers, axis=-1, keepdims=True)
    used = v if noisy else np.where(np.isfinite(v), v, 0)
    result = np.matmul(shares, used)
    if not noisy:
        broken = np.matmul(shares, np.where(np.isfinite(v), 0.0, 1.0)) > 0
        result = np.where(broken, np.nan, result)
    largest = 1 + np.max(np.where(np.isfinite(size), size, 0), axis=-1, keepdims=True)
    sizes = np.abs(np.where(np.isfinite(v), v, 0))
    # Weights are divided by a power of two above the number of keys: the smallest ones are subnormal.
    subnormal = 2.0**-123 * keys * np.max(sizes, axis=-2, keepdims=True)
    magnitude = np.matmul(shares, sizes) * largest + subnormal
    return Inexact(np.moveaxis(result, 1, 2), np.moveaxis(magnitude, 1, 2))


def convolution(
    x: Array,
    weight: Array,
    layouts: tuple[str, str, str],
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """A convolution in any number of dimensions; `layouts` are those of data, kernels and result."""
    spatial = sorted(set(layouts[0]) - set("NC"))
    data = x.transpose([layouts[0].index(c) for c in ("N", "C", *spatial)])
    kernels = weight.transpose([layouts[1].index(c) for c in ("O", "I", *spatial)])
    order = [layouts[0].replace("N", "").replace("C", "").index(c) for c in spatial]
    sides = [(padding[axis], padding[len(order) + axis]) for axis in order]
    data = np.pad(data, [(0, 0), (0, 0), *sides])
    size = [
        (data.shape[2 + i] - (kernels.shape[2 + i] - 1) * dilation[axis] - 1) // strides[axis] + 1
        for i, axis in enumerate(order)
    ]
    for i, axis in enumerate(order):
        room = 1 + sum(sides[i]) - (kernels.shape[2 + i] - 1) * dilation[axis] - 1
        if size[i] < 0 or (size[i] == 0 and room < 0):  # the length 0 alone may have no window
            raise ValueError("a kernel is larger than the data")
    found, magnitude = [], []
    for part, kernel in zip(np.split(data, groups, 1), np.split(kernels, groups, 0), strict=True):
        sums = np.zeros((len(data), len(kernel), *size), data.dtype)
        bound = np.zeros_like(sums)
        for place in np.ndindex(*kernel.shape[2:]):
            at = tuple(
                slice(u * dilation[axis], u * dilation[axis] + (n - 1) * strides[axis] + 1, strides[axis])
                for u, n, axis in zip(place, size, order, strict=True)
            )
            window = part[(slice(None), slice(None), *at)]
            taps = kernel[(slice(None), slice(None), *place)]
            sums = sums + np.einsum("nc...,oc->no...", window, taps)
            bound = bound + np.einsum("nc...,oc->no...", np.abs(window), np.abs(taps))
        found.append(sums)
        magnitude.append(bound)
    back = [("N", "C", *spatial).index(c) for c in layouts[2]]
    value, error = (np.concatenate(parts, 1).transpose(back) for parts in (found, magnitude))
    return value if value.dtype.kind != "f" else Inexact(value, error)
