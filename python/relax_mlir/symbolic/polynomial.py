"""Factorisation of polynomials with integer coefficients.

Kronecker's substitution replaces the variables by powers of a single one, so far apart that a polynomial in many
variables can be recovered from its image in one. The image of a factor is a product of factors of the image. The image
is factored modulo a prime larger than twice any coefficient, and products of these factors are converted back and
tried.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import gcd, isqrt, prod
from typing import TypeAlias

from relax_mlir.symbolic import modular
from relax_mlir.symbolic.division import cancel, exact_quotient
from relax_mlir.symbolic.expr import Atom, Dim, Expr, Monomial, from_terms, multiply, terms_of

_Part: TypeAlias = tuple[int, ...]
"""A factor modulo the prime, as its coefficients."""

MAX_DEGREE = 36
"""Images of a higher degree are not factored: the time grows with the fourth power."""

MAX_PRODUCTS = 2**15
"""Nor are images whose factors modulo the prime have more products, as all of them would be tried."""


def factors(a: Expr) -> list[tuple[Dim, int]]:
    """The factors of `a` with multiplicities: a number, then others, which are irreducible within the limits above.

    The product of their powers is `a`. Leading coefficients of all factors but the number are positive.
    """
    shared, rest, _ = cancel(a, a)
    sign = -1 if terms_of(rest)[0][1] < 0 else 1
    monomial, number = terms_of(shared)[0]
    found: list[tuple[Dim, int]] = [(sign * number, 1)]
    found += [(from_terms({(atom,): 1}), monomial.count(atom)) for atom in dict.fromkeys(monomial)]
    left = multiply(rest, sign)
    return found if isinstance(left, int) else [*found, *_primitive_factors(left)]


def _primitive_factors(a: Expr) -> list[tuple[Dim, int]]:
    """The factors of a polynomial whose terms have no common factor, and whose leading coefficient is positive."""
    substitution = _Substitution(a)
    if substitution.degree > MAX_DEGREE:
        return [(a, 1)]
    image = substitution.image(a)
    p = modular.next_prime(_bound(image))
    parts = Counter(map(tuple, modular.factors(modular.reduced(image, p), p)))
    if prod(count + 1 for count in parts.values()) > MAX_PRODUCTS:
        return [(a, 1)]
    found: list[tuple[Dim, int]] = []
    size, left = 1, a
    while 2 * size <= parts.total():
        split = _first_factor(left, parts, size, substitution, p)
        if split is None:
            size += 1
            continue
        factor, rest, used = split
        found.append((factor, 1))
        parts -= used
        if isinstance(rest, int):
            return _counted(found)
        left = rest
    return _counted([*found, (left, 1)])


def _first_factor(
    a: Expr, parts: Counter[_Part], size: int, substitution: _Substitution, p: int
) -> tuple[Expr, Dim, Counter[_Part]] | None:
    """A factor of `a` whose image is a product of `size` of `parts`; returns it, the other factor, and those parts."""
    leading = substitution.image(a)[-1]
    for counts in _choices(tuple(parts.values()), size):
        used = Counter(dict(zip(parts, counts, strict=True)))
        factor = substitution.read_back(_lifted(used.elements(), leading, p))
        rest = exact_quotient(a, factor) if isinstance(factor, Expr) else None
        if rest is not None and isinstance(factor, Expr):
            return factor, rest, used
    return None


def _choices(counts: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    """All multisets of `size` elements, as a count per kind that is at most that of `counts`."""
    if not counts:
        yield ()
        return
    first, *others = counts
    for count in range(min(first, size), max(size - sum(others), 0) - 1, -1):
        for rest in _choices(tuple(others), size - count):
            yield (count, *rest)


def _lifted(parts: Iterable[_Part], leading: int, p: int) -> list[int]:
    """`leading` times the product of `parts`, with coefficients between ``-p/2`` and ``p/2``."""
    whole: modular.Poly = modular.reduced([leading], p)
    for part in parts:
        whole = modular.product(whole, list(part), p)
    return [c - p if 2 * c > p else c for c in whole]


def _counted(found: Sequence[tuple[Dim, int]]) -> list[tuple[Dim, int]]:
    """Merge equal factors."""
    powers: dict[Dim, int] = {}
    for factor, count in found:
        powers[factor] = powers.get(factor, 0) + count
    return list(powers.items())


def _bound(image: Sequence[int]) -> int:
    """Twice the maximum coefficient of a factor, times the leading coefficient (Mignotte)."""
    length = isqrt(sum(c * c for c in image)) + 1
    return abs(image[-1]) * (1 << len(image)) * length


class _Substitution:
    """Kronecker's substitution for one polynomial and its factors."""

    def __init__(self, a: Expr) -> None:
        self.atoms: list[Atom] = sorted({x for monomial, _ in a.terms for x in monomial})
        degrees = [max(monomial.count(x) for monomial, _ in a.terms) for x in self.atoms]
        self.places: list[int] = [prod(1 + degree for degree in degrees[:i]) for i in range(len(degrees) + 1)]
        """For each atom, the power of the variable that represents it; then one higher than all."""
        self.degree = max(self._place(monomial) for monomial, _ in a.terms)

    def _place(self, monomial: Monomial) -> int:
        return sum(monomial.count(x) * place for x, place in zip(self.atoms, self.places, strict=False))

    def image(self, a: Expr) -> list[int]:
        """The coefficients of the polynomial in one variable, the constant first."""
        places = {self._place(monomial): factor for monomial, factor in a.terms}
        return [places.get(i, 0) for i in range(max(places) + 1)]

    def read_back(self, coefficients: Sequence[int]) -> Dim:
        """The polynomial with this image, without a common factor and with a positive leading coefficient."""
        terms: dict[Monomial, int] = {}
        for place, factor in enumerate(coefficients):
            if factor:
                powers = [place % above // own for own, above in itertools.pairwise(self.places)]
                monomial = tuple(x for x, power in zip(self.atoms, powers, strict=True) for _ in range(power))
                terms[monomial] = factor
        number = gcd(*terms.values())
        dim = from_terms({monomial: factor // number for monomial, factor in terms.items()})
        return dim if isinstance(dim, int) or dim.terms[0][1] > 0 else multiply(dim, -1)
