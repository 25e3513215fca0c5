"""Inputs of the uses of ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from reference import OPS
from relax_mlir import op as R

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


def builder(name: str) -> Callable[..., Any]:
    """The builder of an op, also of ``nn.*``."""
    found: Any = R
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def use(
    name: str, inputs: Sequence[Sequence[Array]], *attributes: Any, joined: bool = False, **more: Any
) -> Spec:
    """A use of an op with these attributes; `joined`: the inputs are the elements of one operand."""

    def on(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *xs: function(*([[*xs]] if joined else xs), *attributes, **more)

    return on(builder(name)), on(OPS[name]), inputs
