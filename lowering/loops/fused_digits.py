"""Quotients and remainders of the variable of a fused loop: the digits of a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relax_mlir.lowering.shapes.floor_divisions import quotient_of, remainder_of, size_of
from relax_mlir.lowering.shapes.index_ranges import Ranges
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim, prove_equal
from relax_mlir.symbolic.division import exact_quotient


@dataclass(frozen=True)
class Digit:
    """``value // by % below``; without `below` the quotient alone."""

    value: ir.Value
    by: Dim
    below: Dim | None


def digit_of(index: ir.Value, ranges: Ranges, sure: bool = False) -> Digit | None:
    """The digit that an index is, of the number that it is computed from; of itself if it is no quotient.

    `sure`: nothing is divided by 0 (which gives 0, whatever the number).
    """
    quotient, remainder = quotient_of(index), remainder_of(index)
    found = quotient or remainder
    if found is None:
        return Digit(index, 1, None)
    inner, by = digit_of(found[0], ranges, sure), ranges.exact(size_of(found[1]))
    if inner is None or by is None or (sure and not ranges.divides(*found)):
        return None
    rest = None if inner.below is None else _quotient(inner.below, by)
    if inner.below is not None and rest is None:
        return None
    if quotient is not None:
        return Digit(inner.value, inner.by * by, rest)
    return Digit(inner.value, inner.by, by)


def joined(left: Digit | None, right: Digit | None) -> Digit | None:
    """Two digits side by side as one; None if there are others between them, or they are of different numbers."""
    if left is None or right is None or right.below is None or left.value != right.value:
        return None
    if not prove_equal(left.by, right.by * right.below):
        return None
    return Digit(left.value, right.by, None if left.below is None else left.below * right.below)


def number_of_digits(digits: Iterable[Digit]) -> ir.Value | None:
    """The number that some digits tell, in whatever order they are given; None if they tell none."""
    given = list(digits)
    for last in given:
        total: Digit | None = last if last.by == 1 else None
        while total is not None and total.below is not None:
            total = next((more for left in given if (more := joined(left, total)) is not None), None)
        if total is not None:
            return total.value
    return None


def _quotient(total: Dim, by: Dim) -> Dim | None:
    """``total / by``, if that is exact."""
    if isinstance(total, int) or isinstance(by, int):
        exact = isinstance(total, int) and isinstance(by, int) and by > 0 and total % by == 0
        return total // by if exact else None
    return exact_quotient(total, by)
