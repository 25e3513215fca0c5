"""Delinearised indices of a fused loop: quotients and remainders of its induction variable."""

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
    """One index of a delinearised value: ``value // by % below``; without `below` only the quotient."""

    value: ir.Value
    by: Dim
    below: Dim | None


def digit_of(index: ir.Value, ranges: Ranges, sure: bool = False) -> Digit | None:
    """The digit that an index is; a value that is no quotient or remainder is its own digit. None if a size is unknown.

    `sure`: require that no divisor is 0 (a division by 0 gives 0, whatever the value).
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
    """Merge two adjacent digits; None if there are others between them, or they are of different values."""
    if left is None or right is None or right.below is None or left.value != right.value:
        return None
    if not prove_equal(left.by, right.by * right.below):
        return None
    return Digit(left.value, right.by, None if left.below is None else left.below * right.below)


def number_of_digits(digits: Iterable[Digit]) -> ir.Value | None:
    """The value that is delinearised to some of the digits, in any order; None if there is none."""
    given = list(digits)
    for last in given:
        total: Digit | None = last if last.by == 1 else None
        while total is not None and total.below is not None:
            total = next((more for left in given if (more := joined(left, total)) is not None), None)
        if total is not None:
            return total.value
    return None


def _quotient(total: Dim, by: Dim) -> Dim | None:
    """``total / by`` if that is exact; else None."""
    if isinstance(total, int) or isinstance(by, int):
        exact = isinstance(total, int) and isinstance(by, int) and by > 0 and total % by == 0
        return total // by if exact else None
    return exact_quotient(total, by)
