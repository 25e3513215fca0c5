"""Values of the reference: floats are computed in float64, other dtypes are unchanged; results may be inexact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

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


def convert(x: Array, dtype: str) -> Array:
    """`astype`: saturating from floats to integers."""
    if dtype == "bool":
        return np.asarray(x != 0)
    if is_float(dtype):
        return x.astype(np.float64)
    return saturated(x, dtype) if x.dtype == np.float64 else x.astype(numpy_dtype(dtype))


def axes_of(x: Array, axis: Axes) -> tuple[int, ...]:
    """The axes that an argument names: all for None."""
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(sorted(each % x.ndim for each in ([axis] if isinstance(axis, int) else axis)))


def holds_floats(x: Array) -> bool:
    """True if an array holds floats."""
    return x.dtype.kind == "f"


def per_axis(value: int | Sequence[int], count: int) -> list[int]:
    """A number per axis, or per side of an axis, from one for all or for both sides."""
    numbers = [value] if isinstance(value, int) else list(value)
    return numbers * (count // len(numbers))
