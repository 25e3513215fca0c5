"""Polynomials in one variable over the integers modulo a prime, and their factors (Cantor and Zassenhaus).

A polynomial is the list of its coefficients, the constant first, the last one not 0; ``[]`` is zero.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

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


def product(a: Poly, b: Poly, p: int) -> Poly:
    """``a * b``."""
    if not a or not b:
        return []
    found = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            found[i + j] += x * y
    return reduced(found, p)


def factors(a: Poly, p: int) -> list[Poly]:
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
        found = _divided(product(found, found, p), modulus, p)[1]
        if bit == "1":
            found = _divided(product(found, a, p), modulus, p)[1]
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
