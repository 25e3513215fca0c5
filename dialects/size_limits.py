"""Limits of shapes: 64-bit sizes in bytes, and ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from relax_mlir.error import (
    ShapeError,
    expect,
)

MAX_BYTES = 2**63 - 1
"""Maximum size of a tensor in bytes: sizes and offsets are 64-bit integers."""

MAX_RANK = 1024
"""Maximum rank that can be given as a number, without dimensions."""


def check_bytes(dims: Iterable[object], itemsize: int, text: Callable[[], str]) -> None:
    """Raise `ShapeError` if the static dimensions, except those of size 0, exceed `MAX_BYTES`."""
    size = itemsize
    for dim in dims:
        if isinstance(dim, int) and dim > 1:
            size *= dim
    if size > MAX_BYTES:
        raise ShapeError(f"Tensor: shape {text()} has more bytes than 64 bits count, which no memory holds")


def unknown_dims(what: str, ndim: int) -> tuple[None, ...]:
    """`ndim` unknown dimensions; raises `ShapeError` for an invalid rank."""
    expect(f"{what}: 'ndim'", ndim, int, "a number of dimensions")
    if not 0 <= ndim <= MAX_RANK:
        raise ShapeError(f"{what}: ndim is {ndim}, expected 0 to {MAX_RANK}")
    return (None,) * ndim
