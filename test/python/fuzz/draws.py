"""Arrays for the arguments of calls; `repro_file` copies these functions into its files."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


def draw(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Random elements: small ones, whole ones, or some extremes."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        limits = np.iinfo(kind)
        low, high = (limits.min, limits.max) if seed % 5 == 0 else (max(-5, limits.min), 9)
        return np.asarray(rng.integers(low, high, shape, dtype=kind, endpoint=True))
    values = np.asarray(rng.uniform(-3, 3, shape))
    if seed % 4 == 0:
        values = np.asarray(np.round(values))
    elif seed % 4 == 1:
        special = rng.choice(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e4, -1e-6]), shape)
        values = np.where(rng.random(shape) < 0.2, special, values)
    return values.astype(kind)


def frozen(array: Any) -> Any:
    """Read-only."""
    array.flags.writeable = False
    return array


def unaligned(array: Any) -> Any:
    """The same elements, misaligned by one byte."""
    block = np.empty(array.nbytes + 1, np.uint8)
    found = block[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def strided(array: Any) -> Any:
    """The same elements with gaps between them."""
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype) if array.ndim else array
    found = wide[..., ::2] if array.ndim else wide
    found[...] = array
    return found


def backwards(array: Any) -> Any:
    """The same elements with a negative stride."""
    return np.ascontiguousarray(array[::-1])[::-1] if array.ndim else array


def columns(array: Any) -> Any:
    """The same elements in column-major order."""
    return np.asfortranarray(array)
