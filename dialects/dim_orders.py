"""Ops on data with permuted dimensions: the effect on their attributes and results.

An order is a permutation: dimension i of the reordered tensor is dimension ``order[i]`` of the tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.mlir import ir

Order = tuple[int, ...]


@dataclass(frozen=True)
class Reordered:
    """The call of an op that computes the same on permuted operands.

    `operands`: the indices of the operands to permute (all fields of a tuple); the others are unchanged. `results`: the
    order of the result, or one per field of a tuple; None if unchanged. `attributes`: the attributes that change.
    """

    operands: tuple[int, ...]
    results: tuple[Order | None, ...]
    attributes: Mapping[str, ir.Attribute]


def inverse(order: Sequence[int]) -> Order:
    """The inverse permutation."""
    return tuple(order.index(axis) for axis in range(len(order)))


def composed(first: Sequence[int], second: Sequence[int]) -> Order:
    """The permutation by `first`, then by `second`."""
    return tuple(first[axis] for axis in second)


def is_identity(order: Sequence[int]) -> bool:
    """True for the identity permutation."""
    return list(order) == sorted(order)


def moved_axis(attribute: ir.Attribute, order: Order) -> ir.IntegerAttr:
    """The permuted index of the dimension in an integer attribute."""
    given = ir.IntegerAttr(attribute)
    return ir.IntegerAttr.get(given.type, order.index(int(given.value) % len(order)))


def moved_axes(attribute: ir.Attribute, order: Order) -> ir.ArrayAttr:
    """The permuted indices of the dimensions in an array of integers."""
    return ir.ArrayAttr.get([moved_axis(item, order) for item in ir.ArrayAttr(attribute)])


def moved_letters(attribute: ir.Attribute, order: Order) -> ir.StringAttr:
    """A layout with permuted letters."""
    letters = ir.StringAttr(attribute).value
    return ir.StringAttr.get("".join(letters[axis] for axis in order))


def along_axis(
    attributes: Mapping[str, ir.Attribute], order: Order, operands: tuple[int, ...] = (0,)
) -> Reordered:
    """The permuted call of an op with the attribute `axis`, whose result has the dimensions of the data."""
    return Reordered(operands, (order,), {"axis": moved_axis(attributes["axis"], order)})


def with_layouts(attributes: Mapping[str, ir.Attribute], order: Order) -> Reordered | None:
    """The permuted call of an op with layouts of data and result; None if the two differ."""
    layout, out = attributes["layout"], attributes["out_layout"]
    moved = moved_letters(layout, order)
    return Reordered((0,), (order,), {"layout": moved, "out_layout": moved}) if layout == out else None
