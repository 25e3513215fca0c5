"""Linear forms of loop variables over expressions of sizes, and a test that such expressions cannot overflow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim

SMALL = 1024
"""Bound on the integers in a size formula that cannot overflow; each size is less than 2**48."""
_NUMBER, _PRODUCT = re.compile(r"\d+"), re.compile(r"[\w)]\s*\*\s*[A-Za-z_(]")


@dataclass(frozen=True)
class Linear:
    """``sum(coefficient * loop variable) + rest``; `rest` is an expression of the function's symbols."""

    terms: Mapping[ir.Value, int]
    rest: Dim

    def plus(self, other: Linear, sign: int = 1) -> Linear:
        terms = dict(self.terms)
        for value, factor in other.terms.items():
            terms[value] = terms.get(value, 0) + sign * factor
        return Linear({v: f for v, f in terms.items() if f}, self.rest + sign * other.rest)

    @property
    def has_small_factors(self) -> bool:
        return all(abs(factor) <= SMALL for factor in self.terms.values())

    def shifted(self, number: int) -> Linear:
        return Linear(self.terms, self.rest + number)

    def times(self, factor: int) -> Linear:
        return Linear({v: f * factor for v, f in self.terms.items()}, self.rest * factor)


def is_small(dim: Dim) -> bool:
    """True if a formula of sizes cannot overflow: its integers are small, and it multiplies no two sizes."""
    if isinstance(dim, int):
        return True
    return is_small_text(str(dim))


def is_small_text(text: str) -> bool:
    """The same test for the text of a formula."""
    products = _PRODUCT.search(re.sub(r"\b\d+\*", "", text))
    return products is None and all(int(number) <= SMALL for number in _NUMBER.findall(text))
