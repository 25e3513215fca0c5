"""The result of each op on NumPy arrays: floats are computed in float64, other dtypes are unchanged.

`OPS` has a function per op, with the parameters of the op's builder in their order; ops of neural networks, images and
detection are in `reference_networks`. A result of floats may be `Inexact`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from philox import philox
from reference_networks import NETWORKS
from reference_values import (
    SMALLEST_NORMAL,
    Array,
    Axes,
    Inexact,
    Reference,
    axes_of,
    convert,
    held_dtype,
    holds_floats,
    is_float,
    numpy_dtype,
)
from scipy import special


def _same_dtype(function: Reference) -> Reference:
    return lambda x: np.asarray(function(x)).astype(x.dtype)


def _silu(x: Array) -> Inexact:
    """Its second factor is rounded like a subnormal where it is one."""
    power = np.exp(-np.abs(x))
    value = x * np.where(x < 0, power, 1) / (1 + power)
    return Inexact(value, np.abs(value) + np.abs(x) * SMALLEST_NORMAL)


def _gelu(x: Array) -> Inexact:
    return Inexact(x / 2 * (1 + special.erf(x / np.sqrt(2))), np.abs(x))


def _erf(x: Array) -> Array:
    """erf in longdouble, which distinguishes large results that are not quite 1."""
    large = np.copysign(np.longdouble(1) - special.erfc(np.abs(x)), x)
    return np.asarray(np.where(np.abs(x) < 1, special.erf(x), large))


def _gelu_tanh(x: Array) -> Inexact:
    return Inexact(x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), np.abs(x))


def _elu(data: Array, alpha: float = 1.0) -> Array:
    return np.where(data > 0, data, alpha * np.expm1(np.minimum(data, 0)))


def _hardsigmoid(data: Array, alpha: float = 1 / 6, beta: float = 0.5) -> Inexact:
    return Inexact(np.clip(data * alpha + beta, 0, 1), np.abs(data * alpha) + abs(beta))


def _hardswish(data: Array) -> Inexact:
    return Inexact(data * np.clip(data + 3, 0, 6) / 6, np.abs(data) * (np.abs(data) + 3) / 6)


def _softplus(data: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    return np.where(data * beta > threshold, data, np.logaddexp(data * beta, 0) / beta)


def _prelu(data: Array, alpha: Array, axis: int = 1) -> Array:
    axis %= max(data.ndim, 1)
    shape = [-1 if number == axis else 1 for number in range(data.ndim)]
    return np.where(data > 0, data, data * (alpha.reshape(shape) if alpha.size != 1 else alpha.reshape(())))


FLOAT_UNARY: dict[str, Reference] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    **{name: getattr(np, name) for name in ("cos", "cosh", "exp", "expm1", "log", "log10", "log1p", "log2")},
    **{name: getattr(np, name) for name in ("sin", "sinh", "sqrt", "tan")},
    "erf": _erf,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: special.expit(x.astype(np.longdouble)),
    "tanh": lambda x: np.tanh(x.astype(np.longdouble)),
    "nn.gelu": _gelu,
    "nn.gelu_tanh": _gelu_tanh,
    "nn.silu": _silu,
}
NUMBER_UNARY: dict[str, Reference] = {
    "abs": np.abs,
    "negative": np.negative,
    "square": np.square,
    "sign": np.sign,
    "floor": _same_dtype(np.floor),
    "ceil": _same_dtype(np.ceil),
    "round": _same_dtype(np.round),
    "trunc": _same_dtype(np.trunc),
    "nn.relu": lambda x: np.maximum(x, np.zeros((), x.dtype)),
}
PREDICATES: dict[str, Reference] = {name: getattr(np, name) for name in ("isnan", "isinf", "isfinite", "logical_not")}
COMPARISONS: dict[str, Reference] = {
    name: getattr(np, name)
    for name in (
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("logical_and", "logical_or", "logical_xor"),
    )
}


def _sum_of(function: Reference) -> Reference:
    def compute(x: Array, y: Array) -> Any:
        value = function(x, y)
        return Inexact(value, np.abs(value)) if value.dtype == np.float64 else value

    return compute


def _floor_divide(x: Array, y: Array) -> Array:
    """An integer divided by zero is zero."""
    return _nonzero(np.floor_divide, x, y)


def _mod(x: Array, y: Array) -> Any:
    value = _nonzero(np.mod, x, y)
    return Inexact(value, np.maximum(np.abs(x), np.abs(y))) if holds_floats(x) else value


def _power(x: Array, y: Array) -> Array:
    """Of integers: it wraps around, and a negative exponent gives the truncated reciprocal."""
    x, y = np.broadcast_arrays(x, y)
    if holds_floats(x):
        return np.asarray(np.power(x, y))
    limits = np.iinfo(x.dtype)

    def scalar(base: int, exponent: int) -> int:
        if exponent < 0:
            return (1 if exponent % 2 == 0 or base == 1 else -1) if abs(base) == 1 else 0
        value = pow(base, exponent, 1 << limits.bits)
        return value - (1 << limits.bits) if value > limits.max else value

    found = [scalar(int(a), int(b)) for a, b in zip(x.flat, y.flat, strict=True)]
    return np.array(found, x.dtype).reshape(x.shape)


def _nonzero(function: Reference, x: Array, y: Array) -> Array:
    if holds_floats(x):
        return np.asarray(function(x, y))
    safe = np.where(y == 0, np.ones((), y.dtype), y)
    return np.where(y == 0, np.zeros((), x.dtype), function(x, safe))


def _fma(x: Array, y: Array, z: Array) -> Any:
    value = x * y + z
    return Inexact(value, np.abs(x * y) + np.abs(z)) if holds_floats(x) else value


FLOAT_BINARY: dict[str, Reference] = {
    "divide": np.divide,
    "atan2": np.arctan2,
    "log_add_exp": lambda x, y: Inexact(np.logaddexp(x, y), np.maximum(np.maximum(abs(x), abs(y)), 1)),
}
NUMBER_BINARY: dict[str, Reference] = {
    "add": _sum_of(np.add),
    "subtract": _sum_of(np.subtract),
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
INTEGER_BINARY: dict[str, Reference] = {
    name: getattr(np, name) for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
}
DIVISIONS: dict[str, Reference] = {
    "power": _power,
    "floor_divide": _floor_divide,
    "floor_mod": _mod,
    "mod": _mod,
}


def clip(x: Array, min: float | None = None, max: float | None = None) -> Array:
    """`clip`."""
    for bound, function in ((min, np.maximum), (max, np.minimum)):
        if bound is not None:
            x = function(x, np.asarray(bound).astype(x.dtype))
    return x


REDUCTIONS = ("max", "min", "sum", "prod", "mean", "variance", "std", "logical_any", "logical_all")


def reduce(name: str, x: Array, axis: Axes = None, keepdims: bool = False) -> Any:
    """A reduction."""
    axes = axes_of(x, axis)
    if name in ("logical_any", "logical_all"):
        return np.asarray((np.any if name == "logical_any" else np.all)(x, axis=axes, keepdims=keepdims))
    if name in ("max", "min"):
        nothing = np.sum(x, axis=axes, keepdims=keepdims)
        if nothing.size == 0:  # NumPy raises for an empty result, too, but its argmax does not
            return nothing.astype(x.dtype)
        return getattr(np, name)(x, axis=axes, keepdims=keepdims)
    count = int(np.prod([x.shape[a] for a in axes]))
    growth = 1 + count / 64  # with few distinct values, the errors of a sequential sum have the same sign
    if name == "sum":
        value = np.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype)
        return Inexact(value, growth * np.sum(np.abs(x), axis=axes, keepdims=keepdims)) if holds_floats(x) else value
    if name == "prod":
        return np.prod(x, axis=axes, keepdims=keepdims, dtype=x.dtype)
    share = 1 / (count or np.nan)
    if name == "mean":
        total = np.sum(np.abs(x), axis=axes, keepdims=keepdims) * share
        return Inexact(np.sum(x, axis=axes, keepdims=keepdims) * share, growth * total)
    squares = growth * np.sum(np.square(x), axis=axes, keepdims=keepdims) * share
    value = np.var(x, axis=axes, keepdims=keepdims)
    if name == "variance":
        return Inexact(value, squares)
    # The radicand has an error of some ulp of `squares`, and the root at most the root of that.
    most = np.sqrt(squares) * 2**12
    return Inexact(np.sqrt(value), np.minimum(squares / np.maximum(np.sqrt(value), 1e-300), most))


def position(name: str, x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
    """`argmax` and `argmin`."""
    if x.size == 0 and (axis is None or x.shape[axis] == 0):
        nothing = np.asarray(np.sum(x, axis=axis, keepdims=keepdims))
        if nothing.size:
            raise IndexError("no elements to reduce")
        return nothing.astype(np.int64)
    return np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims), np.int64)


def matmul(x: Array, y: Array, out_dtype: str | None = None) -> Any:
    """Matrix product; of integers in `out_dtype`."""
    if not holds_floats(x):
        return np.matmul(*(array if out_dtype is None else array.astype(out_dtype) for array in (x, y)))
    return Inexact(np.matmul(x, y), np.matmul(np.abs(x), np.abs(y)))


def take(x: Array, indices: Array, axis: int | None = None, mode: str = "clip") -> Array:
    """`take` with out-of-range indices clipped or wrapped, or NaN; zeros from a dimension without elements."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    size = x.shape[axis]
    if size == 0:
        return np.zeros((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)
    wide = indices.astype(object) if indices.dtype == np.uint64 else indices.astype(np.int64)
    inside = wide % size if mode in ("wrap", "check") else np.clip(wide, 0, size - 1)
    found = np.asarray(np.take(x, inside.astype(np.int64), axis=axis))
    if mode != "nan":
        return found
    is_inside = ((wide >= 0) & (wide < size)).reshape(*indices.shape, *[1] * (x.ndim - 1 - axis % x.ndim))
    return np.where(is_inside, found, np.nan)


def strided_slice(
    x: Array,
    axes: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
    assume_inbound: bool = False,
) -> Array:
    """Slices along axes."""
    for axis, *bounds in zip(axes, begin, end, strides or [1] * len(axes), strict=True):
        x = x[(slice(None),) * (axis % x.ndim) + (slice(*bounds),)]
    return x


def split(x: Array, sections: int | Sequence[int], axis: int = 0) -> tuple[Array, ...]:
    """Parts along an axis: of equal length but for the last ones, or between positions."""
    size = x.shape[axis]
    if isinstance(sections, int):
        length = -(-size // sections)
        cuts = [min(length * i, size) for i in range(sections + 1)]
    else:
        cuts = [0, *(min(p, size) for p in sections), size]
    return tuple(strided_slice(x, [axis], [a], [b]) for a, b in itertools.pairwise(cuts))


def _concat(tensors: Sequence[Array], axis: int = 0) -> Array:
    return np.concatenate(tensors, axis)


def _squeeze(x: Array, axis: Axes = None) -> Array:
    return np.squeeze(x, axis if axis is None else axes_of(x, axis))


def _expand_dims(x: Array, axis: int | Sequence[int]) -> Array:
    return np.expand_dims(x, axis if isinstance(axis, int) else tuple(axis))


def _roll(x: Array, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Array:
    shifts = (shift,) if isinstance(shift, int) else tuple(shift)
    if axis is None:
        return np.roll(x, shifts[0])
    return np.roll(x, shifts, (axis,) if isinstance(axis, int) else tuple(axis))


def _constant(value: int, shape: Sequence[int], dtype: str = "float32") -> Array:
    return np.full(tuple(shape), value, held_dtype(dtype))


def _full(shape: Sequence[int], value: Any, dtype: str | None = None) -> Array:
    value = np.asarray(value)
    return np.full(tuple(shape), value, value.dtype if dtype is None else held_dtype(dtype))


def _full_like(x: Array, value: Any, dtype: str | None = None) -> Array:
    return np.full(x.shape, convert(np.asarray(value), dtype or x.dtype.name))


def _eye(rows: int, columns: int | None = None, k: int = 0, dtype: str = "float32") -> Array:
    columns = rows if columns is None else columns
    return np.eye(rows, columns, max(min(k, columns), -rows)).astype(held_dtype(dtype))


def _triangle(name: str, x: Array, k: int = 0) -> Array:
    return np.asarray(getattr(np, name)(x, max(min(k, x.shape[-1]), -x.shape[-2])))


def _arange(start: Any, end: Any = None, step: Any = 1, dtype: str | None = None) -> Array:
    bounds = (0, start, step) if end is None else (start, end, step)
    if any(isinstance(bound, float) for bound in bounds):
        return np.arange(*bounds).astype(held_dtype(dtype or "float32"))
    return np.asarray(range(*bounds), object).astype(held_dtype(dtype or "int64"))


def _meshgrid(tensors: Sequence[Array], indexing: str = "ij") -> tuple[Array, ...]:
    return tuple(np.meshgrid(*tensors, indexing=indexing)) if tensors else ()


COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def _einsum(operands: Sequence[Array], subscripts: str) -> Any:
    value = np.einsum(subscripts, *operands)
    if not holds_floats(operands[0]):
        return np.asarray(value).astype(operands[0].dtype)
    return Inexact(value, np.einsum(subscripts, *map(np.abs, operands)))


def _gather_elements(data: Array, indices: Array, axis: int = 0) -> Array:
    axis %= data.ndim
    size, found = data.shape[axis], indices.astype(np.int64)
    if ((found < -size) | (found >= size)).any():
        raise IndexError("an index out of range")
    others = [slice(None) if number == axis else slice(count) for number, count in enumerate(indices.shape)]
    return np.take_along_axis(data[tuple(others)], np.where(found < 0, found + size, found), axis)


def _gather_nd(data: Array, indices: Array, batch_dims: int = 0) -> Array:
    rest = indices.shape[:-1]
    found = [data[at[:batch_dims]][tuple(indices[at])] for at in np.ndindex(rest)]
    return np.array(found, data.dtype).reshape((*rest, *data.shape[batch_dims + indices.shape[-1] :]))


def _scatter_elements(data: Array, indices: Array, updates: Array, axis: int = 0, reduction: str = "update") -> Array:
    """ONNX's ScatterElements, and the mean of an element and its updates."""
    combine, found = COMBINE["add" if reduction == "mean" else reduction], data.copy()
    counts = np.ones(data.shape, np.int64)
    for at in np.ndindex(indices.shape):
        place = list(at)
        place[axis] = int(indices[at])
        found[tuple(place)] = combine(found[tuple(place)], updates[at])
        counts[tuple(place)] += 1
    if reduction != "mean":
        return found
    return found / counts if holds_floats(found) else (found // counts).astype(data.dtype)


def _scatter_nd(data: Array, indices: Array, updates: Array, reduction: str = "update") -> Array:
    found, combine = data.copy(), COMBINE[reduction]
    for at in np.ndindex(indices.shape[:-1]):
        place = tuple(int(index) for index in indices[at])
        found[place] = combine(found[place], updates[at])
    return found


def _index_tensor(data: Array, indices: Sequence[Array]) -> Array:
    return np.asarray(data[tuple(index.astype(np.int64) for index in indices)])


def _index_put(data: Array, indices: Any, values: Array, accumulate: bool = False) -> Array:
    found, indices = data.copy(), [indices] if isinstance(indices, np.ndarray) else indices
    if accumulate:
        np.add.at(found, tuple(indices), values)
    else:
        found[tuple(indices)] = values
    return found


def _slice_scatter(data: Array, src: Array, start: int, end: int, step: int = 1, axis: int = 0) -> Array:
    found, places = data.copy(), [slice(None)] * data.ndim
    places[axis] = slice(start, end, step)
    if found[tuple(places)].shape != src.shape:
        raise ValueError("another shape than the slice")
    found[tuple(places)] = src
    return found


def _dynamic_strided_slice(x: Array, *bounds: Array) -> Array:
    return np.asarray(x[tuple(slice(*map(int, parts)) for parts in zip(*bounds, strict=True))])


def _reverse_sequence(data: Array, lengths: Array, seq_axis: int = 1, batch_axis: int = 0) -> Array:
    found = np.moveaxis(data, (batch_axis, seq_axis), (0, 1)).copy()
    for row, length in zip(found, lengths, strict=True):
        count = max(min(int(length), len(row)), 0)
        row[:count] = row[:count][::-1].copy()
    return np.moveaxis(found, (0, 1), (batch_axis, seq_axis))


def _order(x: Array, axis: int, descending: bool) -> Array:
    """The sorted positions; among equal elements, the first one comes first."""
    if descending:
        flipped = x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable")
        return np.flip(flipped, axis)
    return np.argsort(x, axis, kind="stable")


def _sort(data: Array, axis: int = -1, descending: bool = False) -> Array:
    found = np.sort(data, axis)
    return np.flip(found, axis) if descending else found


def _argsort(data: Array, axis: int = -1, descending: bool = False, dtype: str = "int32") -> Array:
    return _order(data, axis, descending).astype(held_dtype(dtype))


def _topk(
    data: Array,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
) -> Any:
    count = data.shape[axis] if not 0 < k <= data.shape[axis] else k
    order = np.take(_order(data, axis, largest), range(count), axis)
    found = np.take_along_axis(data, order, axis), order.astype(held_dtype(dtype))
    return found if ret_type == "both" else found[("values", "indices").index(ret_type)]


def _median(data: Array, axis: int | None = None, keepdims: bool = False) -> Any:
    """The lower one of the two elements in the middle, or the first NaN; along an axis, with its position."""
    if axis is None:
        return _median(data.reshape(-1), 0)[0].reshape([1] * data.ndim if keepdims else ())
    nans = np.isnan(data).sum(axis, keepdims=True) if holds_floats(data) else 0
    place = np.where(nans == 0, (data.shape[axis] - 1) // 2, data.shape[axis] - nans)
    place = np.broadcast_to(place, [1 if i == axis % data.ndim else n for i, n in enumerate(data.shape)])
    middle = np.take_along_axis(_order(data, axis, False), place, axis)
    found = np.take_along_axis(data, middle, axis), middle
    return found if keepdims else tuple(part.squeeze(axis) for part in found)


def _searchsorted(boundaries: Array, values: Array, right: bool = False, dtype: str = "int64") -> Array:
    side = "right" if right else "left"
    return np.asarray(np.searchsorted(np.sort(boundaries), values, side), held_dtype(dtype))


def _bucketize(values: Array, boundaries: Array, out_int32: bool = False, right: bool = False) -> Array:
    return _searchsorted(boundaries, values, right, "int32" if out_int32 else "int64")


def _one_hot(indices: Array, on: Any, off: Any, depth: int, axis: int = -1) -> Array:
    axis %= indices.ndim + 1
    places = np.arange(depth).reshape([-1] + [1] * (indices.ndim - axis))
    return np.where(np.expand_dims(indices, axis) == places, on, off)


PADDINGS = {"replicate": "edge", "circular": "wrap"}


def _pad(x: Array, widths: Any, mode: str = "constant", value: Any = 0.0) -> Array:
    """Padding by numbers before and after each dimension, in pairs or in a row; negative ones cut."""
    sides = [int(width) for width in np.ravel(widths)] if len(widths) else []
    pairs = [*zip(sides[::2], sides[1::2], strict=True)]
    x = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))]
    options = {"constant_values": np.asarray(value).astype(x.dtype)} if mode == "constant" else {}
    positive = [(max(a, 0), max(b, 0)) for a, b in pairs]
    return np.pad(x, positive, PADDINGS.get(mode, mode), **options) if pairs else x  # type: ignore[call-overload]


def _pixel_shuffle(data: Array, upscale_factor: int) -> Array:
    r = upscale_factor
    *rest, channels, high, wide = data.shape
    parts = data.reshape(*rest, channels // (r * r), r, r, high, wide)
    n = len(rest)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return parts.transpose(order).reshape(*rest, channels // (r * r), high * r, wide * r)


def _pixel_unshuffle(data: Array, downscale_factor: int) -> Array:
    r = downscale_factor
    *rest, channels, high, wide = data.shape
    parts = data.reshape(*rest, channels, high // r, r, wide // r, r)
    n = len(rest)
    order = [*range(n + 1), n + 2, n + 4, n + 1, n + 3]
    return parts.transpose(order).reshape(*rest, channels * r * r, high // r, wide // r)


def _logsumexp(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    axes = axes_of(x, axis)
    if x.size == 0:
        return np.asarray(np.log(np.sum(np.exp(x), axis=axes, keepdims=keepdims)))
    return np.asarray(special.logsumexp(x, axes, keepdims=keepdims) if axes else x)


def _collapse_sum(x: Array, shape: Sequence[int]) -> Array:
    """Sums over the dimensions that broadcasting adds to this shape, or extends."""
    first = x.ndim - len(shape)
    axes = tuple(i for i in range(x.ndim) if i < first or (shape[i - first] == 1 and x.shape[i] != 1))
    return np.asarray(x.sum(axes, dtype=x.dtype)).reshape(shape)


def _hamming(size: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, dtype: str = "") -> Array:
    period = max(size if periodic else size - 1, 1)
    found = alpha - beta * np.cos(2 * np.pi * np.arange(size) / period)
    return found if size != 1 else np.ones(1)


def _multinomial(prob: Array, sample: Array, rows: Array | None = None, dtype: str = "int64") -> Array:
    """For each number, the first class at which the cumulative probability of its row exceeds it, else the last one."""
    sums = np.cumsum(prob, 1)
    sums = sums if rows is None else sums[rows[:, 0]]
    return np.minimum((sums <= sample).sum(1, keepdims=True), prob.shape[1] - 1).astype(held_dtype(dtype))


def _random_words(state: Array, count: int) -> tuple[Array, Array]:
    """Random words, and the next state."""
    key, low, high = (int(word) for word in state)
    counter, blocks = low + (high << 64), -(-count // 4)
    words = [word for number in range(blocks) for word in philox(key, counter + number)]
    after = (counter + blocks) % 2**128
    return np.array(words[:count], np.uint32), np.array([key, after % 2**64, after >> 64], np.uint64)


def scan(
    name: str,
    x: Array,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool = False,
    reverse: bool = False,
) -> Any:
    """Sums or products of the elements up to each position, in `dtype`; `reverse`: from the end."""
    if reverse:
        x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        found = scan(name, np.flip(x, axis), axis, dtype, exclusive)
        if not isinstance(found, Inexact):
            return np.flip(found, axis)
        return Inexact(np.flip(found.value, axis), np.flip(found.magnitude, axis))
    dtype = dtype or x.dtype.name
    data = convert(x, dtype) if axis is not None else convert(x, dtype).reshape(-1)
    if is_float(dtype):  # a value too large for it is infinite before the summation
        with np.errstate(over="ignore"):
            data = data.astype(numpy_dtype(dtype)).astype(np.float64)
    place = 0 if axis is None else axis
    kind = held_dtype(dtype)
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


OPS: dict[str, Reference] = {
    **FLOAT_UNARY,
    **NUMBER_UNARY,
    **PREDICATES,
    **COMPARISONS,
    **FLOAT_BINARY,
    **NUMBER_BINARY,
    **INTEGER_BINARY,
    **DIVISIONS,
    "bitwise_not": np.invert,
    "ewise_fma": _fma,
    "where": np.where,
    "clip": clip,
    "astype": convert,
    "nn.leakyrelu": lambda data, alpha=0.01: np.where(data > 0, data, data * alpha),
    "nn.relu6": lambda data: np.clip(data, 0, 6),
    "nn.prelu": _prelu,
    "nn.elu": _elu,
    "nn.selu": lambda data: 1.0507009873554805 * _elu(data, 1.6732632423543772),
    "nn.hardsigmoid": _hardsigmoid,
    "nn.hardswish": _hardswish,
    "nn.softplus": _softplus,
    **{name: partial(reduce, name) for name in REDUCTIONS},
    "all": partial(reduce, "logical_all"),
    "any": partial(reduce, "logical_any"),
    **{name: partial(position, name) for name in ("argmax", "argmin")},
    **{name: partial(scan, name) for name in ("cumsum", "cumprod")},
    "matmul": matmul,
    "take": take,
    "strided_slice": strided_slice,
    "split": split,
    "reshape": lambda x, shape: x.reshape(tuple(shape)),
    "flatten": lambda x: x.reshape(-1),
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "permute_dims": lambda x, axes=None: np.transpose(x, axes),
    "broadcast_to": np.broadcast_to,
    "concat": _concat,
    "stack": lambda tensors, axis=0: np.stack(tensors, axis),
    "flip": np.flip,
    "tile": np.tile,
    "repeat": np.repeat,
    "roll": _roll,
    "full": _full,
    "full_like": _full_like,
    "ones": partial(_constant, 1),
    "zeros": partial(_constant, 0),
    "ones_like": lambda x, dtype=None: _constant(1, x.shape, dtype or x.dtype.name),
    "zeros_like": lambda x, dtype=None: _constant(0, x.shape, dtype or x.dtype.name),
    "arange": _arange,
    "eye": _eye,
    "eye_like": lambda x, k=0, dtype=None: _eye(*x.shape, k, dtype or x.dtype.name),
    "tril": partial(_triangle, "tril"),
    "triu": partial(_triangle, "triu"),
    "meshgrid": _meshgrid,
    "outer": np.multiply.outer,
    "size": lambda x: np.asarray(x.size, np.int64),
    "nonzero": lambda x: np.stack(np.nonzero(x)),
    "unique": np.unique,
    "einsum": _einsum,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "index_tensor": _index_tensor,
    "index_put": _index_put,
    "slice_scatter": _slice_scatter,
    "dynamic_strided_slice": _dynamic_strided_slice,
    "reverse_sequence": _reverse_sequence,
    "sort": _sort,
    "argsort": _argsort,
    "topk": _topk,
    "median": _median,
    "searchsorted": _searchsorted,
    "bucketize": _bucketize,
    "one_hot": _one_hot,
    "multinomial_from_uniform": _multinomial,
    "random.words": _random_words,
    "nn.pad": _pad,
    "nn.pixel_shuffle": _pixel_shuffle,
    "nn.pixel_unshuffle": _pixel_unshuffle,
    "nn.mish": lambda data: data * np.tanh(np.logaddexp(data, 0)),
    "logsumexp": _logsumexp,
    "collapse_sum_to": _collapse_sum,
    "collapse_sum_like": lambda x, like: _collapse_sum(x, like.shape),
    "hamming_window": _hamming,
    **{f"grad.{name}": lambda x: x for name in ("no_grad", "start_checkpoint", "end_checkpoint")},
    "shape_of": lambda x: x.shape,
    "const": lambda value, dtype=None: np.asarray(value, dtype and held_dtype(dtype)),
    "nn.batch_flatten": lambda x: x.reshape(len(x), int(np.prod(x.shape[1:]))),
    "nn.dropout": lambda x, rate=0.5: (x, np.ones_like(x)),
    **NETWORKS,
}
"""The reference of an op by its name."""
