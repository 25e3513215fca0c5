"""Ops on data whose dimensions stand in another order: what becomes of their attributes and results.

An order is a permutation: dimension i of the reordered tensor is dimension ``order[i]`` of the tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.mlir import ir

Order = tuple[int, ...]


@dataclass(frozen=True)
class Reordered:
    """The call of an op that computes the same of reordered operands.

    `operands`: the numbers of the operands that are reordered (all fields of a tuple are); the others stay.
    `results`: the order of the result, one for each field where it is a tuple; None for one that stays as it is.
    `attributes`: those that change.
    """

    operands: tuple[int, ...]
    results: tuple[Order | None, ...]
    attributes: Mapping[str, ir.Attribute]


def inverse(order: Sequence[int]) -> Order:
    """The order that takes a reordered tensor back."""
    return tuple(order.index(axis) for axis in range(len(order)))


def composed(first: Sequence[int], second: Sequence[int]) -> Order:
    """The order of a tensor that is reordered by `first`, then by `second`."""
    return tuple(first[axis] for axis in second)


def is_identity(order: Sequence[int]) -> bool:
    """Whether nothing moves."""
    return list(order) == sorted(order)


def moved_axis(attribute: ir.Attribute, order: Order) -> ir.IntegerAttr:
    """Where the dimension that an integer attribute names is in that order."""
    given = ir.IntegerAttr(attribute)
    return ir.IntegerAttr.get(given.type, order.index(int(given.value) % len(order)))


def moved_axes(attribute: ir.Attribute, order: Order) -> ir.ArrayAttr:
    """Where the dimensions that an array of integers names are in that order."""
    return ir.ArrayAttr.get([moved_axis(item, order) for item in ir.ArrayAttr(attribute)])


def moved_letters(attribute: ir.Attribute, order: Order) -> ir.StringAttr:
    """A layout in that order."""
    letters = ir.StringAttr(attribute).value
    return ir.StringAttr.get("".join(letters[axis] for axis in order))


def along_axis(
    attributes: Mapping[str, ir.Attribute], order: Order, operands: tuple[int, ...] = (0,)
) -> Reordered:
    """An op with the attribute `axis`, whose result has the dimensions of the data."""
    return Reordered(operands, (order,), {"axis": moved_axis(attributes["axis"], order)})


def with_layouts(attributes: Mapping[str, ir.Attribute], order: Order) -> Reordered | None:
    """An op with a layout of its data, and one of its result: where they are one, both move."""
    layout, out = attributes["layout"], attributes["out_layout"]
    moved = moved_letters(layout, order)
    return Reordered((0,), (order,), {"layout": moved, "out_layout": moved}) if layout == out else None
