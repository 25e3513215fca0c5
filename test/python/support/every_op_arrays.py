"""Inputs of the uses of ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Spec = tuple[Callable[..., Any], Callable[..., Any], Sequence[Sequence[Array]]]
"""Builder, reference, and inputs."""
RNG = np.random.default_rng(3)


def floats(*shape: int, dtype: Any = np.float32) -> Array:
    return np.asarray(RNG.uniform(0.1, 0.9, shape)).astype(dtype)


def integers(*shape: int, dtype: Any = np.int32) -> Array:
    return RNG.integers(1, 7, shape).astype(dtype)


def flags(*shape: int) -> Array:
    return RNG.integers(0, 2, shape).astype(bool)
