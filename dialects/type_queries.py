"""Queries on struct infos: dimensions, defined symbols, and unknown parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple
from relax_mlir.symbolic import Dim


def all_dims(info: StructInfo) -> Iterator[Dim | None]:
    """The dimensions of tensors and shape values anywhere in `info`, in order; None for unknown ones."""
    if isinstance(info, Tensor):
        yield from info.shape or ()
    elif isinstance(info, Shape):
        yield from info.values or ()
    elif isinstance(info, Tuple):
        for item in info.fields:
            yield from all_dims(item)


def parameter_symbols(params: Sequence[StructInfo]) -> list[str]:
    """The symbols that parameters with these struct infos define, in the order of `symbolic.definitions`."""
    dims = [dim for info in params for dim in all_dims(info)]
    return [definition.symbol for definition in symbolic.definitions(dims)]


def contains_unknown(info: StructInfo) -> bool:
    """True if a rank, a dimension or a dtype anywhere in `info` is unknown."""
    if isinstance(info, Tensor):
        return info.known_shape is None or info.dtype is None
    if isinstance(info, Shape):
        return info.values is None or None in info.values
    return isinstance(info, Tuple) and any(map(contains_unknown, info.fields))
