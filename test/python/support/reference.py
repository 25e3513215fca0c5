"""The result of each op on NumPy arrays: floats are computed in float64, other dtypes are unchanged.

`OPS` has a function per op, with the parameters of the op's builder. A result of floats may be `Inexact`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from philox import philox
from scipy import special

Array = np.ndarray[Any, Any]
Reference = Callable[..., Any]
Axes = int | Sequence[int] | None
BFLOAT = np.dtype(ml_dtypes.bfloat16)
FLOATS = ("float64", "float32", "float16", "bfloat16")
SMALLEST_NORMAL = 2.0**-126
"""Of float32."""


@dataclass(frozen=True)
class Inexact:
    """A float result whose rounding error is relative to `magnitude` (the sum of the absolute terms, say)."""

    value: Any
    magnitude: Any


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """The NumPy dtype of a Relax one."""
    return BFLOAT if dtype == "bfloat16" else np.dtype(dtype)


def is_float(dtype: str) -> bool:
    """True if `dtype` is a float."""
    return dtype in FLOATS


def held_dtype(dtype: str) -> np.dtype[Any]:
    """The dtype of the arrays that represent values of `dtype`: float64 for floats."""
    return np.dtype(np.float64) if is_float(dtype) else numpy_dtype(dtype)


def plain(result: Any) -> list[Array]:
    """The arrays of a result, without tolerances."""
    items = result if isinstance(result, list | tuple) else [result]
    arrays = [np.asarray(item.value if isinstance(item, Inexact) else item) for item in items]
    return [array.astype(np.float64) if array.dtype == np.longdouble else array for array in arrays]


def saturated(values: Array, dtype: str) -> Array:
    """Floats as integers: the integer part, limited to the range of `dtype`; NaN is 0."""
    target = numpy_dtype(dtype)
    limits = np.iinfo(target)
    whole = np.trunc(np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf))
    inside = (whole > float(limits.min)) & (whole < float(limits.max))
    ends = np.where(whole > 0, limits.max, limits.min).astype(target)
    return np.where(inside, np.where(inside, whole, 0).astype(target), ends)


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
PREDICATES: dict[str, Reference] = {
    name: getattr(np, name) for name in ("isnan", "isinf", "isfinite", "logical_not")
}
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
    return Inexact(value, np.maximum(np.abs(x), np.abs(y))) if _floats(x) else value


def _nonzero(function: Reference, x: Array, y: Array) -> Array:
    if _floats(x):
        return np.asarray(function(x, y))
    safe = np.where(y == 0, np.ones((), y.dtype), y)
    return np.where(y == 0, np.zeros((), x.dtype), function(x, safe))


def _fma(x: Array, y: Array, z: Array) -> Any:
    value = x * y + z
    return Inexact(value, np.abs(x * y) + np.abs(z)) if _floats(x) else value


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
    name: getattr(np, name)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
}
DIVISIONS: dict[str, Reference] = {
    "power": np.power,
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


def convert(x: Array, dtype: str) -> Array:
    """`astype`: saturating from floats to integers."""
    if dtype == "bool":
        return np.asarray(x != 0)
    if is_float(dtype):
        return x.astype(np.float64)
    return saturated(x, dtype) if x.dtype == np.float64 else x.astype(numpy_dtype(dtype))


REDUCTIONS = ("max", "min", "sum", "prod", "mean", "variance", "std", "logical_any", "logical_all")


def axes_of(x: Array, axis: Axes) -> tuple[int, ...]:
    """The axes that an argument names: all for None."""
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(sorted(each % x.ndim for each in ([axis] if isinstance(axis, int) else axis)))


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
        return (
            Inexact(value, growth * np.sum(np.abs(x), axis=axes, keepdims=keepdims)) if _floats(x) else value
        )
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


def _floats(x: Array) -> bool:
    return bool(x.dtype == np.float64)


def position(name: str, x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
    """`argmax` and `argmin`."""
    if x.size == 0 and (axis is None or x.shape[axis] == 0):
        nothing = np.asarray(np.sum(x, axis=axis, keepdims=keepdims))
        if nothing.size:
            raise IndexError("no elements to reduce")
        return nothing.astype(np.int64)
    return np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims), np.int64)


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


def matmul(x: Array, y: Array) -> Any:
    """Matrix product."""
    if not _floats(x):
        return np.matmul(x, y)
    return Inexact(np.matmul(x, y), np.matmul(np.abs(x), np.abs(y)))


def take(x: Array, indices: Array, axis: int | None = None, mode: str = "clip") -> Array:
    """`take` with out-of-range indices clipped or wrapped; zeros from a dimension without elements."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    size = x.shape[axis]
    if size == 0:
        return np.zeros((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)
    wide = indices.astype(object) if indices.dtype == np.uint64 else indices.astype(np.int64)
    inside = np.clip(wide, 0, size - 1) if mode == "clip" else wide % size
    return np.asarray(np.take(x, inside.astype(np.int64), axis=axis))


def strided_slice(
    x: Array,
    axes: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
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


def _eye(rows: int, columns: int | None = None, k: int = 0, dtype: str = "float32") -> Array:
    columns = rows if columns is None else columns
    return np.eye(rows, columns, max(min(k, columns), -rows)).astype(held_dtype(dtype))


def _triangle(name: str, x: Array, k: int = 0) -> Array:
    return np.asarray(getattr(np, name)(x, max(min(k, x.shape[-1]), -x.shape[-2])))


def _arange(start: int, end: int, step: int = 1, dtype: str = "int64") -> Array:
    return np.asarray(range(start, end, step), object).astype(held_dtype(dtype))


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
    if not _floats(operands[0]):
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


def _scatter_elements(
    data: Array, indices: Array, updates: Array, axis: int = 0, reduction: str = "update"
) -> Array:
    combine, found = COMBINE[reduction], data.copy()
    for at in np.ndindex(indices.shape):
        place = list(at)
        place[axis] = int(indices[at])
        found[tuple(place)] = combine(found[tuple(place)], updates[at])
    return found


def _scatter_nd(data: Array, indices: Array, updates: Array, reduction: str = "update") -> Array:
    found, combine = data.copy(), COMBINE[reduction]
    for at in np.ndindex(indices.shape[:-1]):
        place = tuple(int(index) for index in indices[at])
        found[place] = combine(found[place], updates[at])
    return found


def _index_tensor(data: Array, indices: Sequence[Array]) -> Array:
    return np.asarray(data[tuple(index.astype(np.int64) for index in indices)])


def _index_put(data: Array, indices: Sequence[Array], values: Array, accumulate: bool = False) -> Array:
    found = data.copy()
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


def _median(data: Array, axis: int | None = None) -> Any:
    """The lower one of the two elements in the middle; along an axis, with its position."""
    if axis is None:
        return np.sort(data.reshape(-1))[(data.size - 1) // 2]
    middle = _order(data, axis, False).take([(data.shape[axis] - 1) // 2], axis)
    return np.take_along_axis(data, middle, axis).squeeze(axis), middle.squeeze(axis)


def _searchsorted(boundaries: Array, values: Array, right: bool = False, dtype: str = "int64") -> Array:
    side = "right" if right else "left"
    return np.asarray(np.searchsorted(np.sort(boundaries), values, side), held_dtype(dtype))


def _bucketize(values: Array, boundaries: Array, out_int32: bool = False, right: bool = False) -> Array:
    return _searchsorted(boundaries, values, right, "int32" if out_int32 else "int64")


def _one_hot(indices: Array, on: Any, off: Any, depth: int, axis: int = -1) -> Array:
    axis %= indices.ndim + 1
    places = np.arange(depth).reshape([-1] + [1] * (indices.ndim - axis))
    return np.where(np.expand_dims(indices, axis) == places, on, off)


def _pad(x: Array, widths: Sequence[int], mode: str = "constant", value: float = 0.0) -> Array:
    options = {"constant_values": np.asarray(value).astype(x.dtype)} if mode == "constant" else {}
    sides = list(zip(widths[::2], widths[1::2], strict=True))
    return np.pad(x, sides, mode, **options) if sides else x  # type: ignore[call-overload]


def _pixel_shuffle(data: Array, upscale_factor: int) -> Array:
    r = upscale_factor
    *rest, channels, high, wide = data.shape
    parts = data.reshape(*rest, channels // (r * r), r, r, high, wide)
    n = len(rest)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return parts.transpose(order).reshape(*rest, channels // (r * r), high * r, wide * r)


def _multinomial(prob: Array, sample: Array, rows: Array, dtype: str = "int64") -> Array:
    """For each number, the first class at which the cumulative probability of its row exceeds it, else the last one."""
    sums = np.cumsum(prob, 1)[rows[:, 0]]
    return np.minimum((sums <= sample).sum(1, keepdims=True), prob.shape[1] - 1).astype(held_dtype(dtype))


def _random_words(state: Array, count: int) -> tuple[Array, Array]:
    """Random words, and the next state."""
    key, low, high = (int(word) for word in state)
    counter, blocks = low + (high << 64), -(-count // 4)
    words = [word for number in range(blocks) for word in philox(key, counter + number)]
    after = (counter + blocks) % 2**128
    return np.array(words[:count], np.uint32), np.array([key, after % 2**64, after >> 64], np.uint64)


def scan(
    name: str, x: Array, axis: int | None = None, dtype: str | None = None, exclusive: bool = False
) -> Any:
    """Sums or products of the elements up to each position, in `dtype`."""
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


def group_norm(
    x: Array, gamma: Array, beta: Array, groups: int, channel: int, axes: Axes, epsilon: float = 1e-5
) -> Inexact:
    """Normalisation over `axes` and groups of channels."""
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


def layer_norm(x: Array, gamma: Array, beta: Array, axes: Axes = -1, epsilon: float = 1e-5) -> Inexact:
    """Layer norm over the last axes."""
    return norm(x, (gamma, beta), len(axes_of(x, axes)), epsilon)


def rms_norm(x: Array, weight: Array, axes: Axes = -1, epsilon: float = 1e-5) -> Inexact:
    """RMS norm over the last axes."""
    return norm(x, (weight,), len(axes_of(x, axes)), epsilon)


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
    scale = query.shape[3] ** -0.5 if scale is None else scale
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


def per_axis(value: int | Sequence[int], count: int) -> list[int]:
    """A number per axis, or per side of an axis, from one for all or for both sides."""
    numbers = [value] if isinstance(value, int) else list(value)
    return numbers * (count // len(numbers))


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
) -> Any:
    """A convolution in any number of dimensions."""
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
    back = [letters.index(letter) for letter in out_layout or layout]
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
    "full": lambda shape, value: np.broadcast_to(value, shape),
    "full_like": lambda x, value: np.broadcast_to(value, x.shape),
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
    "nn.batch_flatten": lambda x: x.reshape(len(x), int(np.prod(x.shape[1:]))),
    "nn.dropout": lambda x: (x, np.ones_like(x)),
    "nn.softmax": softmax,
    "nn.log_softmax": log_softmax,
    "nn.layer_norm": layer_norm,
    "nn.rms_norm": rms_norm,
    "nn.group_norm": group_norm,
    "nn.instance_norm": lambda x, gamma, beta, *rest: group_norm(x, gamma, beta, len(gamma), *rest),
    "nn.batch_norm": batch_norm,
    "nn.attention": attention,
    "nn.attention_bias": attention,
    **{f"nn.conv{count}d": convolution for count in (1, 2, 3)},
    **{f"nn.{kind}_pool{count}d": partial(pooling, kind) for kind in ("max", "avg") for count in (1, 2, 3)},
}
"""The reference of each op by its name."""
