"""The reference of ops of neural networks, images and detection; some are computed by torch or ONNX."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from reference_values import (
    Array,
    Axes,
    Inexact,
    Reference,
    axes_of,
    held_dtype,
    per_axis,
)
from scipy import special


def torch_function(name: str, *arrays: Array, **options: Any) -> Array:
    """A function of ``torch.nn.functional`` in float64, exact for small integers; the result in the first dtype."""
    import torch  # most programs of tests do not need it

    tensors = [torch.tensor(array.astype(np.float64)) for array in arrays]
    return np.asarray(getattr(torch.nn.functional, name)(*tensors, **options).numpy()).astype(arrays[0].dtype)


def onnx_node(op: str, inputs: dict[str, Array | None], opset: int = 19, **attributes: Any) -> Array:
    """The result of ONNX's reference implementation of a node; None: an input that is left out."""
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    given = {name: array for name, array in inputs.items() if array is not None}
    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in given.items()}
    infos = [helper.make_tensor_value_info(name, kind, None) for name, kind in kinds.items()]
    result = helper.make_tensor_value_info("result", next(iter(kinds.values())), None)
    node = helper.make_node(op, [name if name in given else "" for name in inputs], ["result"], **attributes)
    graph = helper.make_graph([node], "graph", infos, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return np.asarray(ReferenceEvaluator(model).run(None, given)[0])


def letters(count: int) -> str:
    """The usual layout of data with this number of spatial dimensions."""
    return "NC" + "DHW"[3 - count :]


def laid_out(x: Array, layout: str, target: str) -> Array:
    """An array with the dimensions of one layout in the order of another one."""
    return x.transpose([layout.index(letter) for letter in target])


def softmax(x: Array, axis: int = -1) -> Any:
    """Softmax: values below the smallest normal f32 may be rounded to anything."""
    if x.shape[axis] == 0:
        return x
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    value = powers / np.sum(powers, axis=axis, keepdims=True)
    return Inexact(value, np.abs(value) + 2.0**-100)


def log_softmax(x: Array, axis: int = -1) -> Any:
    """Logarithm of softmax."""
    if x.shape[axis] == 0:
        return x
    shifted = x - np.max(x, axis=axis, keepdims=True)
    total = np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
    # The sum is 1 or more; its rounding changes the logarithm by a comparable part of 1.
    return Inexact(shifted - total, np.abs(x) + np.abs(shifted) + total + 1)


def group_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    groups: int,
    channel: int,
    axes: Axes,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Inexact:
    """Normalisation over `axes` and groups of channels."""
    gamma, beta = gamma if scale else np.ones_like(gamma), beta if center else np.zeros_like(beta)
    if x.size == 0:
        return Inexact(x, x)
    channel %= x.ndim
    shape = [groups, x.shape[channel] // groups]
    parts = x.reshape(*x.shape[:channel], *shape, *x.shape[channel + 1 :])
    over = (channel + 1, *(axis + (axis > channel) for axis in axes_of(x, axes)))
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


def norm(x: Array, weights: tuple[Array, ...], dimensions: Axes, epsilon: float) -> Inexact:
    """Layer norm (weight and bias) or RMS norm (weight alone); the weights have the dimensions `dimensions`."""
    axes = axes_of(x, dimensions)
    if x.size == 0:
        return Inexact(x, x)
    given = [axis % x.ndim for axis in ([dimensions] if isinstance(dimensions, int) else dimensions or axes)]
    shape = [x.shape[axis] if axis in axes else 1 for axis in range(x.ndim)]
    weights = tuple(weight.transpose(np.argsort(given)).reshape(shape) for weight in weights)
    centred = x - np.mean(x, axis=axes, keepdims=True) if len(weights) == 2 else x
    deviation = np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + epsilon)
    size = _size(x, axes, deviation)
    bias = weights[1] if len(weights) == 2 else np.zeros_like(weights[0])
    return Inexact(centred / deviation * weights[0] + bias, (size + size**3) * np.abs(weights[0]) + np.abs(bias))


def layer_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    axes: Axes = -1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Inexact:
    """Layer norm."""
    gamma, beta = gamma if scale else np.ones_like(gamma), beta if center else np.zeros_like(beta)
    return norm(x, (gamma, beta), axes, epsilon)


def rms_norm(x: Array, weight: Array, axes: Axes = -1, epsilon: float = 1e-5) -> Inexact:
    """RMS norm."""
    return norm(x, (weight,), axes, epsilon)


def attention(
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None = None,
    scale: float | None = None,
    mask: str | None = None,
    noisy: bool = False,
) -> Inexact:
    """Attention on ``(batch, sequence, heads, size)``; with `noisy`, masked values that are not finite become NaN."""
    scale = max(query.shape[3], 1) ** -0.5 if scale is None else scale
    group = query.shape[2] // max(key.shape[2], 1)
    q, k, v = (np.moveaxis(array, 2, 1) for array in (query, np.repeat(key, group, 2), np.repeat(value, group, 2)))
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
    strides: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    data_layout: str | None = None,
    kernel_layout: str | None = None,
    out_layout: str | None = None,
    out_dtype: str | None = None,
) -> Any:
    """A convolution in any number of dimensions; integers in `out_dtype`."""
    if x.dtype.kind != "f" and out_dtype is not None:
        x, weight = x.astype(out_dtype), weight.astype(out_dtype)
    count = x.ndim - 2
    letters = "DHW"[3 - count :]
    data_layout = data_layout or f"NC{letters}"
    layouts = data_layout, kernel_layout or f"OI{letters}", out_layout or data_layout
    strides, dilation = per_axis(strides, count), per_axis(dilation, count)
    padding = per_axis(padding, 2 * count)
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


def pooling(
    kind: str,
    x: Array,
    size: int | Sequence[int] = 1,
    strides: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil: bool = False,
    counts_padding: bool = False,
    layout: str | None = None,
    out_layout: str | None = None,
    nothing: float = -np.inf,
) -> Any:
    """The maximum or the mean (`kind`: max, avg) of each window; ValueError where a window is larger than the data.

    `nothing`: the maximum of a window without elements.
    """
    mean, count = kind == "avg", x.ndim - 2
    letters = "NC" + "DHW"[3 - count :]
    layout = layout or letters
    data = x.transpose([layout.index(letter) for letter in letters])
    size, strides, dilation = (per_axis(each, count) for each in (size, strides, dilation))
    padding = per_axis(padding, 2 * count)
    places = [
        _places(data.shape[2 + i], size[i], strides[i], padding[i], padding[count + i], dilation[i], ceil)
        for i in range(count)
    ]
    shape = (*data.shape[:2], *(len(axis) for axis in places))
    value, magnitude = np.zeros(shape, data.dtype), np.zeros(shape, data.dtype)
    axes = tuple(range(2, 2 + count))
    for window in np.ndindex(*shape[2:]):
        given = [axis[number] for axis, number in zip(places, window, strict=True)]
        inside = np.ix_(*[[at for at in ats if 0 <= at < n] for ats, n in zip(given, data.shape[2:], strict=True)])
        found = data[(slice(None), slice(None), *inside)]
        at = (slice(None), slice(None), *window)
        if not mean:
            value[at] = np.max(found, axes) if math.prod(found.shape[2:]) else nothing
            continue
        padded = [
            sum(-before <= at < n + after for at in ats)
            for ats, n, before, after in zip(given, data.shape[2:], padding[:count], padding[count:], strict=True)
        ]
        divisor = int(np.prod(padded if counts_padding else found.shape[2:]))
        value[at] = np.sum(found, axes) / divisor if divisor else 0
        magnitude[at] = np.sum(np.abs(found), axes) / max(divisor, 1)
    back = [letters.index(letter) for letter in out_layout or layout]
    return Inexact(value.transpose(back), magnitude.transpose(back)) if mean else value.transpose(back)


def _places(length: int, size: int, stride: int, before: int, after: int, dilation: int, ceil: bool) -> list[list[int]]:
    """The positions of each window in one dimension, which may be outside of the data."""
    room = length + before + after - (size - 1) * dilation - 1 + (stride - 1 if ceil else 0)
    windows = room // stride + 1
    if windows < 0 or (windows == 0 and room + 1 - length < 0):  # the length 0 alone may have no window
        raise ValueError(f"a window reaches over more than {length + before + after}")
    return [[first * stride - before + i * dilation for i in range(size)] for first in range(windows)]


def batch_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Array,
    moving_variance: Array,
    axis: int,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    momentum: float = 0.1,
    training: bool = True,
) -> tuple[Any, Any, Any]:
    """The normalised data and both moving averages."""
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


def adaptive_pool(
    kind: str,
    data: Array,
    output_size: Any = None,
    layout: str | None = None,
    out_layout: str | None = None,
) -> Array:
    """The mean or maximum of as many windows as `output_size` says."""
    count = data.ndim - 2
    plain, layout = letters(count), layout or letters(count)
    x = laid_out(data, layout, plain)
    size = x.shape[2:] if output_size is None else per_axis(output_size, count)
    found = torch_function(f"adaptive_{kind}_pool{count}d", x, output_size=tuple(size))
    return laid_out(found, plain, out_layout or layout)


def transposed_convolution(
    data: Array,
    weight: Array,
    strides: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str | None = None,
    kernel_layout: str | None = None,
    out_layout: str | None = None,
    out_dtype: str | None = None,
) -> Array:
    """A transposed convolution in any number of dimensions."""
    count = data.ndim - 2
    plain = letters(count)
    kernel, layout = plain.replace("NC", "IO"), data_layout or plain
    numbers = {"stride": strides, "padding": padding, "output_padding": output_padding, "dilation": dilation}
    found = torch_function(
        f"conv_transpose{count}d",
        laid_out(data, layout, plain),
        laid_out(weight, kernel_layout or kernel, kernel),
        **{name: tuple(per_axis(value, count)) for name, value in numbers.items()},
        groups=groups,
    )
    return laid_out(found, plain, out_layout or layout)


def pool_gradient(
    kind: str,
    grad: Array,
    data: Array,
    size: Any = 1,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    ceil: bool = False,
    counts_padding: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Array:
    """The gradient of the data: a window's goes to its first maximum, or in equal parts to its elements."""
    x = laid_out(data, layout, "NCHW")
    grads, found = laid_out(grad, out_layout or layout, "NCHW"), np.zeros(x.shape, x.dtype)
    sizes, steps, apart, pads = (
        per_axis(size, 2),
        per_axis(strides, 2),
        per_axis(dilation, 2),
        per_axis(padding, 4),
    )
    axes = [_places(x.shape[2 + i], sizes[i], steps[i], pads[i], pads[2 + i], apart[i], ceil) for i in (0, 1)]
    ends = [x.shape[2 + i] + pads[2 + i] for i in (0, 1)]
    for (h, rows), (w, columns) in itertools.product(*map(enumerate, axes)):
        places = [*itertools.product(rows, columns)]
        inside = [(r, c) for r, c in places if 0 <= r < x.shape[2] and 0 <= c < x.shape[3]]
        padded = sum(-pads[0] <= r < ends[0] and -pads[1] <= c < ends[1] for r, c in places)
        for n, channel in np.ndindex(x.shape[:2]):
            share = grads[n, channel, h, w]
            if kind == "max" and inside:
                values = [x[n, channel, r, c] for r, c in inside]
                found[(n, channel, *inside[int(np.argmax(values))])] += share
            elif kind == "avg":
                for r, c in inside:
                    found[n, channel, r, c] += share / (padded if counts_padding else len(inside))
    return laid_out(found, "NCHW", layout)


def cross_entropy(predictions: Array, labels: Array) -> Array:
    """Cross entropy with logits, per row."""
    total = np.asarray(-(predictions * labels).sum())
    return total / predictions.shape[0] if predictions.ndim > 1 else total


def nll_loss(
    predictions: Array,
    targets: Array,
    weights: Array | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Array:
    """Negative log likelihood."""
    axis = min(predictions.ndim - 1, 1)
    kept = targets.astype(np.int64) != ignore_index
    labels = np.clip(targets.astype(np.int64), 0, predictions.shape[axis] - 1)
    factors = np.where(kept, 1.0 if weights is None else weights[labels], 0)
    picked = np.take_along_axis(predictions, np.expand_dims(labels, axis), axis).squeeze(axis)
    losses = np.asarray(-picked * factors)
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / factors.sum()


def nll_loss_gradient(
    grad: Array,
    predictions: Array,
    targets: Array,
    weights: Array | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Array:
    """The gradient of the predictions."""
    axis = min(predictions.ndim - 1, 1)
    kept = targets.astype(np.int64) != ignore_index
    labels = np.clip(targets.astype(np.int64), 0, predictions.shape[axis] - 1)
    factors = np.where(kept, 1.0 if weights is None else weights[labels], 0)
    shares = -grad * factors / (factors.sum() if reduction == "mean" else 1)
    found = np.zeros_like(predictions)
    np.put_along_axis(found, np.expand_dims(labels, axis), np.expand_dims(shares, axis), axis)
    return found


def take_gradient(grad: Array, x: Array, indices: Array, axis: int | None = None) -> Array:
    """The sum of the gradients of all copies of an element."""
    found = np.zeros(x.shape if axis is not None else x.size, x.dtype)
    moved = np.moveaxis(found, axis or 0, 0)
    place = 0 if axis is None else axis % x.ndim
    np.add.at(moved, indices, np.moveaxis(grad, range(place, place + indices.ndim), range(indices.ndim)))
    return found.reshape(x.shape)


def quantize(data: Array, scale: Array, zero: Array, axis: int = -1, dtype: str = "int8") -> Array:
    """Integers; the quotient has the precision of float32, or of float64 for int32."""
    wide, limits = np.float64 if dtype == "int32" else np.float32, np.iinfo(dtype)
    number = np.rint(data.astype(wide) / along(scale, data, axis).astype(wide)).astype(np.float64)
    found = np.where(np.isnan(number), 0, number) + along(zero, data, axis)
    return np.clip(found, limits.min, limits.max).astype(dtype)


def dequantize(data: Array, scale: Array, zero: Array, axis: int = -1, dtype: str = "float32") -> Array:
    """Floats."""
    return (data.astype(np.float64) - along(zero, data, axis)) * along(scale, data, axis)


def along(parameter: Any, x: Array, axis: int) -> Array:
    """A number, or numbers along an axis of `x`."""
    parameter = np.asarray(parameter)
    shape = [-1 if i == axis % max(x.ndim, 1) else 1 for i in range(x.ndim)]
    return parameter.reshape(shape) if parameter.size != 1 else parameter.reshape(())


def resize(
    data: Array,
    size: Any,
    roi: Sequence[float] | None = None,
    layout: str | None = None,
    method: str = "linear",
    mode: str = "half_pixel",
    rounding: str = "",
    cubic_alpha: float = -0.75,
    cubic_exclude: bool = False,
    extrapolation: float = 0.0,
    out_dtype: str | None = None,
    scales: Sequence[float] | None = None,
) -> Array:
    """ONNX's Resize; torch's rounding is that of ``floor`` for ``asymmetric``."""
    count = data.ndim - 2
    plain, layout = letters(count), layout or letters(count)
    x = laid_out(data, layout, plain).astype(np.float64)
    new = per_axis(size, count)
    if 0 in x.shape[2:] and 0 not in new:
        raise IndexError("an image without elements")
    if 0 in (*x.shape, *new):
        found = np.zeros((*x.shape[:2], *new))
    else:
        default = "floor" if mode == "asymmetric" else "round_prefer_floor"
        region = [0, 0, *(roi or [0] * count)[:count], 1, 1, *(roi or [1] * count)[-count:]]
        found = onnx_node(
            "Resize",
            {
                "x": x,
                "roi": np.array(region, np.float32),
                "scales": None if scales is None else np.array([1, 1, *scales], np.float32),
                **({"sizes": np.array([*x.shape[:2], *new])} if scales is None else {}),
            },
            mode={"nearest_neighbor": "nearest"}.get(method, method),
            coordinate_transformation_mode=mode,
            nearest_mode=rounding if rounding not in ("", "round") else default,
            cubic_coeff_a=cubic_alpha,
            exclude_outside=int(cubic_exclude),
            extrapolation_value=extrapolation,
        )
    return laid_out(found, plain, layout).astype(held_dtype(out_dtype) if out_dtype else data.dtype)


def grid_sample(
    data: Array,
    grid: Array,
    method: str = "bilinear",
    layout: str | None = None,
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Array:
    """Elements at coordinates from -1 to 1, which are in the second dimension of the grid."""
    if 0 in (*data.shape, *grid.shape):
        return np.zeros((*data.shape[:2], *grid.shape[2:]))
    places = np.moveaxis(grid, 1, -1)
    options = {"mode": method, "padding_mode": padding_mode, "align_corners": align_corners}
    return torch_function("grid_sample", data, places, **options)


def affine_grid(data: Array, size: Sequence[int], align_corners: bool = True) -> Array:
    """The coordinates that a matrix gives."""
    if not len(data):
        return np.zeros((0, len(size), *size))
    found = torch_function("affine_grid", data, size=[len(data), 1, *map(int, size)], align_corners=align_corners)
    return np.moveaxis(found, -1, 1)


def roi_align(
    x: Array,
    rois: Array,
    pooled: Any,
    scale: float,
    ratio: int = -1,
    aligned: bool = False,
    layout: str = "NCHW",
    mode: str = "avg",
) -> Array:
    """The description in the paper (Mask R-CNN), with the samples of a cell combined."""
    x, size = laid_out(x, layout, "NCHW"), per_axis(pooled, 2)
    found = np.zeros((len(rois), x.shape[1], *size))
    for number, region in enumerate(rois.astype(np.float64)):
        begin = region[[2, 1]] * scale - 0.5 * aligned
        span = region[[4, 3]] * scale - 0.5 * aligned - begin
        cell = (span if aligned else np.maximum(span, 1)) / size
        counts = [ratio] * 2 if ratio > 0 else np.ceil(cell).astype(int)
        for at in np.ndindex(*size):
            samples = [
                _linear(x[int(region[0])], begin + (at + (np.array(sample) + 0.5) / counts) * cell)
                for sample in np.ndindex(*counts)
            ]
            found[(number, slice(None), *at)] = (np.mean if mode == "avg" else np.max)(samples, 0)
    return laid_out(found, "NCHW", layout)


def _linear(image: Array, place: Array) -> Array:
    sizes = np.array(image.shape[1:])
    if (place < -1).any() or (place > sizes).any():
        return np.zeros(len(image))
    place = np.clip(place, 0, sizes - 1)
    low = np.minimum(place.astype(int), sizes - 1)
    high, (y, x) = np.minimum(low + 1, sizes - 1), place - low
    upper = image[:, low[0], low[1]] * (1 - x) + image[:, low[0], high[1]] * x
    lower = image[:, high[0], low[1]] * (1 - x) + image[:, high[0], high[1]] * x
    return np.asarray(upper * (1 - y) + lower * y)


def roi_pool(x: Array, rois: Array, pooled: Any, scale: float, layout: str = "NCHW") -> Array:
    """The specification in Fast R-CNN."""
    size = np.array(per_axis(pooled, 2), np.float32)
    found = np.zeros((len(rois), x.shape[1], *size.astype(int)))
    for number, region in enumerate(rois.astype(np.float32)):
        first, last = (np.floor(region[at] * np.float32(scale) + np.float32(0.5)) for at in ([2, 1], [4, 3]))
        cell = np.maximum(last - first + 1, 1) / size
        for at in np.ndindex(*size.astype(int)):
            place = np.array(at, np.float32)
            begin = np.clip(np.floor(place * cell) + first, 0, x.shape[2:]).astype(int)
            end = np.clip(np.ceil((place + 1) * cell) + first, 0, x.shape[2:]).astype(int)
            part = x[int(region[0]), :, begin[0] : end[0], begin[1] : end[1]]
            found[(number, slice(None), *at)] = part.max((1, 2)) if part.size else 0
    return found


def valid_counts(data: Array, threshold: float = 0.0, id_index: int = 0, score_index: int = 1) -> list[Array]:
    """The number of boxes above a score, these boxes, and their indices."""
    counts, out = np.zeros(len(data), np.int32), np.full_like(data, -1)
    places = np.full(data.shape[:2], -1, np.int32)
    for b, rows in enumerate(data):
        kept = [
            i for i, row in enumerate(rows) if row[score_index] > threshold and (id_index < 0 or row[id_index] >= 0)
        ]
        counts[b] = len(kept)
        out[b, : len(kept)], places[b, : len(kept)] = rows[kept], kept
    return [counts, out, places]


def overlap(a: Array, b: Array) -> float:
    """The intersection over the union of two boxes with corners in any order."""
    low = np.maximum(np.minimum(a[:2], a[2:]), np.minimum(b[:2], b[2:]))
    high = np.minimum(np.maximum(a[:2], a[2:]), np.maximum(b[:2], b[2:]))
    common = np.prod(np.maximum(high - low, 0))
    both = np.prod(np.abs(a[2:] - a[:2])) + np.prod(np.abs(b[2:] - b[:2])) - common
    return float(common / both) if both > 0 else 0.0


def non_max_suppression(
    data: Array,
    counts: Array,
    indices: Array,
    most: int = -1,
    iou_threshold: float = 0.5,
    force: bool = False,
    top: int = -1,
    coord_start: int = 2,
    score: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
    sigma: float = 0.0,
    least: float = 0.0,
) -> Any:
    """The kept boxes by decreasing score, or their indices and number."""
    out, places = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
    numbers = np.zeros((len(data), 1), np.int32)
    for b, rows in enumerate(data):
        order = np.argsort(-rows[: counts[b], score], kind="stable")[: top if top > 0 else None]
        kept: list[int] = []
        for i in order:
            rivals = [j for j in kept if force or id_index < 0 or rows[i, id_index] == rows[j, id_index]]
            boxes = slice(coord_start, coord_start + 4)
            near = any(overlap(rows[i, boxes], rows[j, boxes]) >= iou_threshold for j in rivals)
            if rows[i, score] > least and not near and (most <= 0 or len(kept) < most):
                kept.append(int(i))
        ranks = range(len(kept)) if invalid_to_bottom else [r for r, i in enumerate(order) if i in kept]
        out[b, list(ranks)] = rows[kept]
        places[b, : len(kept)], numbers[b] = indices[b][kept], len(kept)
    return [places, numbers] if return_indices else out


def all_class_non_max_suppression(boxes: Array, scores: Array, most: Any, iou: Any, least: Any) -> list[Array]:
    """ONNX's NonMaxSuppression, padded, and the number of rows."""
    found = np.full((scores.size, 3), -1)
    if scores.size:
        limits = [np.asarray(v, d).reshape(1) for v, d in ((most, np.int64), (iou, np.float32), (least, np.float32))]
        given = [boxes.astype(np.float32), scores.astype(np.float32), *limits]
        kept = onnx_node("NonMaxSuppression", dict(zip("bsmil", given, strict=True)), 17).reshape(-1, 3)
        found[: len(kept)] = kept
    return [found, np.array([(found[:, 0] >= 0).sum()])]


def multibox_transform(
    classes: Array,
    moves: Array,
    anchors: Array,
    clip: bool = False,
    threshold: float = 0.0,
    variances: Sequence[float] = (1.0,) * 4,
    keep_background: bool = True,
) -> list[Array]:
    """Boxes (top, left, bottom, right) from anchors, and the probabilities of classes."""
    shift = moves.reshape(len(classes), classes.shape[2], 4) * np.array(variances)
    size, middle = anchors[..., 2:] - anchors[..., :2], (anchors[..., 2:] + anchors[..., :2]) / 2
    middle, half = middle + shift[..., :2] * size, np.exp(shift[..., 2:]) * size / 2
    boxes = np.concatenate([(middle - half)[..., ::-1], (middle + half)[..., ::-1]], -1)
    shares = np.exp(classes) / np.exp(classes).sum(1, keepdims=True)
    shares = np.where(shares < threshold, 0, shares)
    if not keep_background:
        shares[:, 0] = 0
    return [np.clip(boxes, 0, 1) if clip else boxes, shares]


def attention_var_len(
    q: Array,
    k: Array,
    v: Array,
    starts: Array,
    longest: Any,
    key_starts: Array | None = None,
    longest_key: Any = None,
    scale: float | None = None,
    mask: str | None = None,
) -> Array:
    """Attention of each sequence; 0 for queries that see no key, or are in no sequence."""
    key_starts = starts if key_starts is None else key_starts
    found = np.zeros((*q.shape[:3], v.shape[3]))
    for n in range(len(starts) - 1):
        rows, columns = (slice(*np.clip(s[n : n + 2].astype(np.int64), 0, None)) for s in (starts, key_starts))
        with np.errstate(invalid="ignore"):  # of queries that see no key
            result = attention(q[:, rows], k[:, columns], v[:, columns], None, scale, mask).value
        found[:, rows] = np.nan_to_num(result)
    return found


ACTIVATIONS: dict[str, Callable[..., Array]] = {
    "sigmoid": special.expit,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "leakyrelu": lambda x, a=0.01: np.where(x > 0, x, x * a),
    "thresholdedrelu": lambda x, a=1.0: np.where(x > a, x, 0),
    "affine": lambda x, a=1.0, b=0.0: a * x + b,
    "scaledtanh": lambda x, a=1.0, b=1.0: a * np.tanh(b * x),
    "hardsigmoid": lambda x, a=0.2, b=0.5: np.clip(a * x + b, 0, 1),
    "elu": lambda x, a=1.0: np.where(x > 0, x, a * np.expm1(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "softplus": lambda x: np.logaddexp(x, 0),
}
"""ONNX's activations of recurrent layers."""


def _activations(names: Sequence[Any], clip: float | None) -> list[Callable[[Array], Array]]:
    bound = np.inf if clip is None else clip
    given = [(name,) if isinstance(name, str) else tuple(name) for name in names]
    return [lambda x, n=n: ACTIVATIONS[n[0]](np.clip(x, -bound, bound), *n[1:]) for n in given]


def _steps(gates: Array, lengths: Any, reverse: bool, states: Sequence[Array], step: Any) -> list[Array]:
    """The first state of each step, and the last states; a row of the batch takes part in as many steps as it has."""
    count, found = len(gates), np.zeros((len(gates), *states[0].shape))
    given = np.full(gates.shape[1], count) if lengths is None or not np.size(lengths) else np.asarray(lengths)
    active = np.clip(given.astype(np.int64), 0, count)
    for t in reversed(range(count)) if reverse else range(count):
        runs = (t < active)[:, None]
        new = step(gates[t], *states)
        states = [np.where(runs, a, b) for a, b in zip(new, states, strict=True)]
        found[t] = np.where(runs, new[0], 0)
    return [found, *states]


def rnn_steps(
    gates: Array,
    recurrent: Array,
    hidden: Array,
    lengths: Any = None,
    activations: Sequence[Any] = ("tanh",),
    clip: float | None = None,
    reverse: bool = False,
) -> list[Array]:
    """The steps of an RNN, on its input gates."""
    (f,) = _activations(activations, clip)
    return _steps(gates, lengths, reverse, [hidden], lambda own, h: [f(own + h @ recurrent)])


def gru_steps(
    gates: Array,
    recurrent: Array,
    bias: Array,
    hidden: Array,
    lengths: Any = None,
    activations: Sequence[Any] = ("sigmoid", "tanh"),
    clip: float | None = None,
    reverse: bool = False,
    reset_after: bool = True,
) -> list[Array]:
    """The steps of a GRU, on its input gates."""
    f, g = _activations(activations, clip)
    size = hidden.shape[-1]

    def step(own: Array, h: Array) -> list[Array]:
        given, back = np.split(own, 3, -1), np.split(h @ recurrent + bias, 3, -1)
        reset, update = f(given[0] + back[0]), f(given[1] + back[1])
        before = (reset * h) @ recurrent[:, 2 * size :] + bias[2 * size :]
        return [(1 - update) * g(given[2] + (reset * back[2] if reset_after else before)) + update * h]

    return _steps(gates, lengths, reverse, [hidden], step)


def lstm_steps(
    gates: Array,
    recurrent: Array,
    hidden: Array,
    cell: Array,
    lengths: Any = None,
    peepholes: Any = None,
    activations: Sequence[Any] = ("sigmoid", "tanh", "tanh"),
    clip: float | None = None,
    reverse: bool = False,
    input_forget: bool = False,
) -> list[Array]:
    """The steps of an LSTM, on its input gates."""
    f, g = _activations(activations[:2], clip)
    (last,) = _activations(activations[2:], None)
    peep = np.zeros((3, 1)) if peepholes is None or not np.size(peepholes) else peepholes

    def step(own: Array, h: Array, c: Array) -> list[Array]:
        first, forget, inner, out = np.split(own + h @ recurrent, 4, -1)
        enter = f(first + peep[0] * c)
        stay = 1 - enter if input_forget else f(forget + peep[1] * c)
        c = stay * c + enter * g(inner)
        return [f(out + peep[2] * c) * last(c), c]

    return _steps(gates, lengths, reverse, [hidden, cell], step)


GATES = {"rnn": "h", "gru": "rzn", "lstm": "ifgo"}
WITH_ORDER = {"gru": 7, "lstm": 9}
"""The number of arguments after the biases, of which the order of gates is the last."""


def recurrent_layer(
    kind: str,
    data: Array,
    weight: Array,
    recurrent: Array,
    bias: Array | None = None,
    recurrent_bias: Array | None = None,
    *states: Any,
    **options: Any,
) -> list[Array]:
    """An RNN, GRU or LSTM, whose gates are in `gate_order`."""
    own, size = GATES[kind], recurrent.shape[-1]
    order = options.pop("gate_order", own)
    if len(states) == WITH_ORDER.get(kind):
        *states, order = states  # type: ignore[assignment]  # a list is as good
    none = np.zeros(len(weight))

    def ordered(array: Array | None) -> Array:
        parts = np.split(none if array is None else array, len(own))
        return np.concatenate([parts[order.index(letter)] for letter in own])

    w, r, b, rb = map(ordered, (weight, recurrent, bias, recurrent_bias))
    count = 2 if kind == "lstm" else 1
    given = [*states, *[None] * count][:count]
    firsts = [np.zeros((data.shape[1], size)) if state is None else state for state in given]
    rest = states[count:]
    gates = data @ w.T + b + (0 if kind == "gru" else rb)
    if kind == "gru":
        return gru_steps(gates, r.T, rb, *firsts, *rest, **options)
    return {"rnn": rnn_steps, "lstm": lstm_steps}[kind](gates, r.T, *firsts, *rest, **options)


NETWORKS: dict[str, Reference] = {
    "nn.softmax": softmax,
    "nn.log_softmax": log_softmax,
    "nn.layer_norm": layer_norm,
    "nn.rms_norm": rms_norm,
    "nn.group_norm": group_norm,
    "nn.instance_norm": lambda x, gamma, beta, *rest: group_norm(x, gamma, beta, len(gamma), *rest),
    "nn.batch_norm": batch_norm,
    "nn.attention": attention,
    "nn.attention_bias": attention,
    "nn.attention_var_len": attention_var_len,
    **{f"nn.conv{count}d": convolution for count in (1, 2, 3)},
    **{f"nn.conv{count}d_transpose": transposed_convolution for count in (1, 2, 3)},
    **{f"nn.{kind}_pool{count}d": partial(pooling, kind) for kind in ("max", "avg") for count in (1, 2, 3)},
    **{
        f"nn.adaptive_{kind}_pool{count}d": partial(adaptive_pool, kind)
        for kind in ("max", "avg")
        for count in (1, 2, 3)
    },
    "nn.cross_entropy_with_logits": cross_entropy,
    "nn.nll_loss": nll_loss,
    "quantize": quantize,
    "dequantize": dequantize,
    "image.resize2d": resize,
    "image.resize3d": resize,
    "image.grid_sample": grid_sample,
    "image.affine_grid": affine_grid,
    "vision.roi_align": roi_align,
    "vision.roi_pool": roi_pool,
    "vision.get_valid_counts": valid_counts,
    "vision.non_max_suppression": non_max_suppression,
    "vision.all_class_non_max_suppression": all_class_non_max_suppression,
    "vision.multibox_transform_loc": multibox_transform,
    "grad.max_pool2d_backward": partial(pool_gradient, "max"),
    "grad.avg_pool2d_backward": partial(pool_gradient, "avg"),
    "grad.nll_loss_backward": nll_loss_gradient,
    "grad.take_backward": take_gradient,
    "nn.rnn_steps": rnn_steps,
    "nn.gru_steps": gru_steps,
    "nn.lstm_steps": lstm_steps,
    **{f"nn.{kind}": partial(recurrent_layer, kind) for kind in GATES},
}
"""The reference of an op by its name."""
