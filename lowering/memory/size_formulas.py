"""Sizes as formulas of a function's arguments, in machine arithmetic.

Equal formulas have equal values. They differ from dimensions of `symbolic`: their arithmetic may wrap around, divide
unsigned or select, and is emitted again unchanged. `report` converts them to dimensions where that is possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Argument:
    """An integer argument of the function."""

    number: int


@dataclass(frozen=True)
class DimOf:
    """A dimension of a memref argument."""

    argument: int
    axis: int


@dataclass(frozen=True)
class Constant:
    """An integer; `attribute` is the text of its typed attribute."""

    attribute: str

    @staticmethod
    def index(value: int) -> Constant:
        return Constant(f"{value} : index")

    @property
    def value(self) -> int:
        return int(self.attribute.split(":")[0])


@dataclass(frozen=True)
class Computed:
    """The result of a pure op with one result."""

    op: str
    attributes: tuple[tuple[str, str], ...]
    """Pairs of name and attribute text."""
    type: str
    operands: tuple[Formula, ...]


Formula = Union[Argument, DimOf, Constant, Computed]  # noqa: UP007 - evaluated before `Computed` is a class


@dataclass(frozen=True)
class Bytes:
    """The size of a buffer: a number of bytes times the dynamic sizes."""

    factor: int
    sizes: tuple[Formula, ...] = ()

    @property
    def is_static(self) -> bool:
        return not self.sizes
