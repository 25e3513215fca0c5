"""What no shape may exceed: sizes that 64 bits count, ranks that memory holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from relax_mlir.error import ShapeError

MAX_BYTES = 2**63 - 1
"""What a tensor may have: sizes and offsets are 64-bit integers."""

MAX_RANK = 1024
"""How many dimensions of which nothing is known may be asked for by their number."""


def check_bytes(dims: Iterable[object], itemsize: int, text: Callable[[], str]) -> None:
    """Raise `ShapeError` if the dimensions that are numbers, without those of length 0, make too large a tensor."""
    size = itemsize
    for dim in dims:
        if isinstance(dim, int) and dim > 1:
            size *= dim
    if size > MAX_BYTES:
        raise ShapeError(f"Tensor: shape {text()} has more bytes than 64 bits count, which no memory holds")


def unknown_dims(what: str, ndim: int) -> tuple[None, ...]:
    """As many unknown dimensions; raises `ShapeError` for a number that is no rank."""
    if not 0 <= ndim <= MAX_RANK:
        raise ShapeError(f"{what}: ndim is {ndim}, expected 0 to {MAX_RANK}")
    return (None,) * ndim
