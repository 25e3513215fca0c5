"""Where the slots of a workspace lie: computed once, as code for the function and as formulas for the report alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from relax_mlir.lowering.memory.size_formulas import Bytes

ALIGNMENT = 64
"""Slots begin at multiples of that many bytes."""

Size = TypeVar("Size")


class Arithmetic(Protocol[Size]):
    """What a layout is computed in; numbers known now are `int`."""

    def bytes(self, size: Bytes) -> Size | int: ...

    def maximum(self, a: Size | int, b: Size | int) -> Size | int: ...

    def aligned(self, size: Size | int) -> Size | int:
        """The least multiple of `ALIGNMENT` that is not less."""
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
    """The place of each slot, and the size of the workspace; a slot is as large as the largest of its sizes."""
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
