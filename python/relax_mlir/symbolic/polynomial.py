"""Factorisation of polynomials with integer coefficients.

Kronecker's substitution replaces the variables by powers of a single one, so far apart that a polynomial in many
variables can be recovered from its image in one. The image of a factor is a product of factors of the image. The image
is factored modulo a prime larger than twice any coefficient, and products of these factors are converted back and
tried.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import gcd, isqrt, prod
from typing import TypeAlias

from relax_mlir.symbolic.expr import (
    Atom,
    Dim,
    Expr,
    Monomial,
    cancel,
    exact_quotient,
    from_terms,
    multiply,
    terms_of,
)

# Polynomials in one variable over the integers modulo a prime, and their factors (Cantor and Zassenhaus).
#
# A polynomial is the list of its coefficients, the constant first, the last one not 0; ``[]`` is zero.

Poly = list[int]


def next_prime(above: int) -> int:
    """The smallest prime larger than `above`, which is 2 or more."""
    number = above + 1 | 1
    while not _is_prime(number):
        number += 2
    return number


def _is_prime(number: int) -> bool:
    """True if the number is prime (Miller-Rabin); certain up to 81 bits, with negligible error probability above."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    for base in bases:
        if number % base == 0:
            return number == base
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in bases:
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def reduced(coefficients: Sequence[int], p: int) -> Poly:
    """The polynomial modulo `p`."""
    found = [c % p for c in coefficients]
    while found and found[-1] == 0:
        found.pop()
    return found


def product_modulo(a: Poly, b: Poly, p: int) -> Poly:
    """``a * b``."""
    if not a or not b:
        return []
    found = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            found[i + j] += x * y
    return reduced(found, p)


def factors_modulo(a: Poly, p: int) -> list[Poly]:
    """The monic irreducible factors of a polynomial, repeated by multiplicity; `p` exceeds the degree."""
    found: list[Poly] = []
    for part, power in _square_free(_monic(a, p), p):
        for same_degree, degree in _by_degree(part, p):
            for factor in _split(same_degree, degree, p):
                found += [factor] * power
    return found


def _monic(a: Poly, p: int) -> Poly:
    inverse = pow(a[-1], -1, p)
    return [c * inverse % p for c in a]


def _minus(a: Poly, b: Poly, p: int) -> Poly:
    size = max(len(a), len(b))
    return reduced([(a[i] if i < len(a) else 0) - (b[i] if i < len(b) else 0) for i in range(size)], p)


def _divided(a: Poly, b: Poly, p: int) -> tuple[Poly, Poly]:
    """Quotient and remainder."""
    rest, inverse = list(a), pow(b[-1], -1, p)
    quotient = [0] * max(len(a) - len(b) + 1, 0)
    for place in reversed(range(len(quotient))):
        factor = rest[place + len(b) - 1] * inverse % p
        quotient[place] = factor
        if factor:
            for i, c in enumerate(b):
                rest[place + i] = (rest[place + i] - factor * c) % p
    return reduced(quotient, p), reduced(rest[: len(b) - 1], p)


def _gcd(a: Poly, b: Poly, p: int) -> Poly:
    while b:
        a, b = b, _divided(a, b, p)[1]
    return _monic(a, p)


def _power(a: Poly, exponent: int, modulus: Poly, p: int) -> Poly:
    found: Poly = [1]
    for bit in bin(exponent)[2:]:
        found = _divided(product_modulo(found, found, p), modulus, p)[1]
        if bit == "1":
            found = _divided(product_modulo(found, a, p), modulus, p)[1]
    return found


def _square_free(a: Poly, p: int) -> list[tuple[Poly, int]]:
    """Square-free factors, each with the power in which it divides `a` (Yun)."""
    slope = reduced([i * c for i, c in enumerate(a)][1:], p)
    if not slope:
        return [(a, 1)] if len(a) > 1 else []
    common = _gcd(a, slope, p)
    left, other = _divided(a, common, p)[0], _divided(slope, common, p)[0]
    found, power = [], 1
    while len(left) > 1:
        other = _minus(other, reduced([i * c for i, c in enumerate(left)][1:], p), p)
        part = _gcd(left, other, p) if other else left
        if len(part) > 1:
            found.append((part, power))
        left, other, power = _divided(left, part, p)[0], _divided(other, part, p)[0], power + 1
    return found


def _by_degree(a: Poly, p: int) -> list[tuple[Poly, int]]:
    """For each degree, the product of all irreducible factors of this degree, and the degree; `a` is square-free."""
    found, power, degree = [], [0, 1], 0
    while len(a) - 1 >= 2 * (degree + 1):
        degree += 1
        power = _power(power, p, a, p)
        part = _gcd(a, _minus(power, [0, 1], p), p)
        if len(part) > 1:
            found.append((part, degree))
            a = _divided(a, part, p)[0]
            power = _divided(power, a, p)[1]
    if len(a) > 1:
        found.append((a, len(a) - 1))
    return found


def _split(a: Poly, degree: int, p: int) -> list[Poly]:
    """The irreducible factors of `a`, which are distinct and of the same degree."""
    if len(a) - 1 == degree:
        return [a]
    chance = random.Random(0)
    while True:
        trial = reduced([chance.randrange(p) for _ in range(len(a) - 1)], p)
        power = _minus(_power(trial, (p**degree - 1) // 2, a, p), [1], p) if trial else []
        part = _gcd(a, power, p) if power else a
        if 1 < len(part) < len(a):
            rest = _divided(a, part, p)[0]
            return [*_split(part, degree, p), *_split(_monic(rest, p), degree, p)]


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
    p = next_prime(_bound(image))
    parts = Counter(map(tuple, factors_modulo(reduced(image, p), p)))
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
    whole: Poly = reduced([leading], p)
    for part in parts:
        whole = product_modulo(whole, list(part), p)
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
