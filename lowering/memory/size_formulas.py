"""Sizes as formulas of a function's arguments, in the arithmetic of the machine.

Equal formulas have equal values. They are not dimensions of `symbolic`: what is computed here may wrap around, divide
without a sign or choose, and is emitted again as it was. `report` says what it is as a dimension, where it is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Argument:
    """An argument of the function, an integer."""

    number: int


@dataclass(frozen=True)
class DimOf:
    """A dimension of an argument that is a memref."""

    argument: int
    axis: int


@dataclass(frozen=True)
class Constant:
    """An integer; `attribute` is the text of its attribute, which has the type."""

    attribute: str

    @staticmethod
    def index(value: int) -> Constant:
        return Constant(f"{value} : index")

    @property
    def value(self) -> int:
        return int(self.attribute.split(":")[0])


@dataclass(frozen=True)
class Computed:
    """The result of a pure op of one result."""

    op: str
    attributes: tuple[tuple[str, str], ...]
    """Names, and texts of the attributes."""
    type: str
    operands: tuple[Formula, ...]


Formula = Union[Argument, DimOf, Constant, Computed]  # noqa: UP007 - evaluated before `Computed` is a class


@dataclass(frozen=True)
class Bytes:
    """The size of a buffer: a number of bytes times the sizes that are not static."""

    factor: int
    sizes: tuple[Formula, ...] = ()

    @property
    def is_static(self) -> bool:
        return not self.sizes
