"""Reference semantics of the ops on NumPy arrays: floats are float64, other dtypes are unchanged."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from difference import Array, Inexact, is_float, numpy_dtype, saturated
from scipy import special  # type: ignore[import-untyped]

Reference = Callable[..., Any]
SMALLEST_NORMAL = 2.0**-126
"""Of float32."""


def _round_trip(function: Reference) -> Reference:
    return lambda x: np.asarray(function(np.asarray(x)))


def _silu(x: Array) -> Inexact:
    """Its second factor is rounded like a subnormal where it is one."""
    power = np.exp(-np.abs(x))
    value = x * np.where(x < 0, power, 1) / (1 + power)
    return Inexact(value, np.abs(value) + np.abs(x) * SMALLEST_NORMAL)


def _gelu(x: Array) -> Array:
    return x / 2 * (1 + special.erf(x / np.sqrt(2)))


def _gelu_inexact(x: Array) -> Inexact:
    return Inexact(_gelu(x), np.abs(x))


def _erf(x: Array) -> Array:
    """erf in longdouble, which distinguishes large results that are not quite 1."""
    large = np.copysign(np.longdouble(1) - special.erfc(np.abs(x)), x)
    return np.asarray(np.where(np.abs(x) < 1, special.erf(x), large))


def _gelu_tanh(x: Array) -> Inexact:
    return Inexact(x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), np.abs(x))


FLOAT_UNARY: dict[str, Reference] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: special.expit(x.astype(np.longdouble)),
    "tanh": lambda x: np.tanh(x.astype(np.longdouble)),
    "erf": _erf,
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "nn.gelu": _gelu_inexact,
    "nn.gelu_tanh": _gelu_tanh,
    "nn.silu": _silu,
}
NUMBER_UNARY: dict[str, Reference] = {
    "abs": np.abs,
    "negative": np.negative,
    "square": np.square,
    "sign": np.sign,
    "floor": _round_trip(np.floor),
    "ceil": _round_trip(np.ceil),
    "round": _round_trip(np.round),
    "trunc": _round_trip(np.trunc),
    "nn.relu": lambda x: np.maximum(x, np.zeros((), x.dtype)),
}
PREDICATES: dict[str, Reference] = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "logical_not": np.logical_not,
}
COMPARISONS: dict[str, Reference] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}


def _sum_of(function: Reference) -> Reference:
    def compute(x: Array, y: Array) -> Any:
        value = function(x, y)
        return Inexact(value, np.abs(value)) if value.dtype == np.float64 else value

    return compute


def _divided(x: Array, y: Array, quotient: bool) -> Array:
    function = np.floor_divide if quotient else np.mod
    if x.dtype == np.float64:
        return function(x, y)
    safe = np.where(y == 0, np.ones((), y.dtype), y)
    return np.where(y == 0, np.zeros((), x.dtype), function(x, safe))


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
    "floor_divide": lambda x, y: _divided(x, y, True),
    "floor_mod": lambda x, y: _divided(x, y, False),
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
BOOL_BINARY: dict[str, Reference] = {
    "add": np.logical_or,
    "multiply": np.logical_and,
    "maximum": np.maximum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}


def convert(x: Array, dtype: str) -> Array:
    """`astype`: saturating from floats to integers."""
    if dtype == "bool":
        return np.asarray(x != 0)
    if is_float(dtype):
        return x.astype(np.float64)
    return saturated(x, dtype) if x.dtype == np.float64 else x.astype(numpy_dtype(dtype))


def reduce(name: str, x: Array, axes: tuple[int, ...], keepdims: bool) -> Any:
    """A reduction over `axes`."""
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


def softmax(x: Array, axis: int) -> Array:
    """Softmax."""
    if x.shape[axis] == 0:
        return x
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return np.asarray(powers / np.sum(powers, axis=axis, keepdims=True))


def log_softmax(x: Array, axis: int) -> Any:
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


def take(x: Array, indices: Array, axis: int, mode: str) -> Array:
    """`take` with out-of-range indices clipped or wrapped; zeros from a dimension without elements."""
    size = x.shape[axis]
    if size == 0:
        return np.zeros((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)
    wide = indices.astype(object) if indices.dtype == np.uint64 else indices.astype(np.int64)
    inside = np.clip(wide, 0, size - 1) if mode == "clip" else wide % size
    return np.asarray(np.take(x, inside.astype(np.int64), axis=axis))


def sliced(x: Array, axis: int, begin: int, end: int, stride: int) -> Array:
    """A slice along one axis."""
    return x[(slice(None),) * axis + (slice(begin, end, stride),)]


def split(x: Array, sections: int | Sequence[int], axis: int) -> tuple[Array, ...]:
    """Parts along an axis: of equal length but for the last ones, or between positions."""
    size = x.shape[axis]
    if isinstance(sections, int):
        length = -(-size // sections)
        cuts = [min(length * i, size) for i in range(sections + 1)]
    else:
        cuts = [0, *(min(p, size) for p in sections), size]
    return tuple(sliced(x, axis, a, b, 1) for a, b in itertools.pairwise(cuts))
