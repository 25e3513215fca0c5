"""The offsets of the slots in a workspace, as code for the function or as formulas for the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from relax_mlir.lowering.memory.size_formulas import Bytes

ALIGNMENT = 64
"""Slots are aligned to this number of bytes."""

Size = TypeVar("Size")


class Arithmetic(Protocol[Size]):
    """The arithmetic of a layout; values known at compile time are `int`."""

    def bytes(self, size: Bytes) -> Size | int: ...

    def maximum(self, a: Size | int, b: Size | int) -> Size | int: ...

    def aligned(self, size: Size | int) -> Size | int:
        """Round up to a multiple of `ALIGNMENT`."""
        ...

    def add(self, a: Size | int, b: Size | int) -> Size | int: ...


@dataclass(frozen=True)
class Place(Generic[Size]):
    """A slot of the workspace, in bytes."""

    offset: Size | int
    size: Size | int


def lay_out(
    slots: Sequence[Sequence[Bytes]], arithmetic: Arithmetic[Size]
) -> tuple[list[Place[Size]], Size | int]:
    """The place of each slot, and the size of the workspace; a slot is as large as its largest size."""
    end: Size | int = 0
    places: list[Place[Size]] = []
    for sizes in slots:
        first, *others = (arithmetic.bytes(size) for size in sizes)
        largest = first
        for other in others:
            largest = arithmetic.maximum(largest, other)
        places.append(Place(end, largest))
        end = arithmetic.add(end, arithmetic.aligned(largest))
    return places, end
