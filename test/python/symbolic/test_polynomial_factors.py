"""Factors of polynomials: against those of SymPy (recorded), and against multiplied products."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from relax_mlir import symbolic
from relax_mlir.symbolic import Dim, Expr
from relax_mlir.symbolic.polynomial import MAX_DEGREE, factors, next_prime, product_modulo
from relax_mlir.symbolic.polynomial import factors_modulo as modular_factors

# Of SymPy 1.14: `factor_list` over the integers, without the number.
VECTORS: dict[str, dict[str, int]] = {
    "4*k*k*m*m": {"m": 2, "k": 2},
    "-16*h*h*k*k - 32*h*k - 16": {"h*k + 1": 2},
    "-200*m*m*m*m - 390*m*m*m - 352*m*m - 174*m - 36": {"5*m + 3": 2, "4*m*m + 3*m + 2": 1},
    "6*h*h*h + 36*h*h + 3*h*n + 48*h + 12*n": {"h + 4": 1, "2*h*h + 4*h + n": 1},
    "1024*m*m*m*m*m*m - 256*m*m*m*m*m*m*m - 1872*m*m*m*m*m + 3432*m*m*m*m - 3888*m*m*m + 3384*m*m - 2484*m + 810": {
        "2*m - 5": 1,
        "4*m - 3": 2,
        "2*m*m + 3": 2,
    },
    "-12*k*k*m*m - 48*k*m*m - 48*k*m - 48*m*m - 96*m - 48": {"k*m + 2*m + 2": 2},
    "36*m*n*n*n*n - 36*m*n*n*n + 81*m*n*n - 36*m*n + 36*m": {"2*n*n - n + 2": 2, "m": 1},
    "24*h*m*m*m*m + 24*m*m*m*m*m - 16*h*m*m*m - 16*m*m*m*m - 40*h*m*m - 46*m*m*m + 32*h*m + 36*m*m + 10*m - 8": {
        "3*m + 4": 1,
        "m - 1": 2,
        "4*h*m + 4*m*m - 1": 1,
    },
    "324*m*m*m - 108*m*m*m*m - 648*m + 432": {"m - 2": 1, "m - 1": 1, "m*m - 2": 1},
    "m - 4*m*m + 3": {"m - 1": 1, "4*m + 3": 1},
    "6*h*h*h*h*h*h - 15*h*h*h*h*h - 3*h*h*h*h + 9*h*h*h + 3*h*h": {
        "h - 1": 1,
        "2*h + 1": 1,
        "h": 2,
        "h*h - 2*h - 1": 1,
    },
    "8 - 24*n": {"3*n - 1": 1},
    "3*m*n - 2*n*n": {"n": 1, "3*m - 2*n": 1},
    "6*h*k*k*n - 8*h*k*k + 18*h*k*n - 22*h*k + 30*k*n + 6*h - 40*k + 10": {
        "3*k*n - 4*k + 1": 1,
        "h*k + 3*h + 5": 1,
    },
    "12*h*h*h*h - 24*h*h*h*h*h*h - 12*h*h*h*h*h + 96*h*h*h + 84*h*h + 51*h + 36": {
        "2*h*h - 2*h - 3": 1,
        "2*h*h + 1": 1,
        "2*h*h + 3*h + 4": 1,
    },
    "15*h*h*n + 10*h*n - 3*h - 2": {"3*h + 2": 1, "5*h*n - 1": 1},
    "18*m*m*m*m*m - 12*m*m*m*m*m*m - 22*m*m*m*m + 33*m*m*m + 20*m*m - 30*m": {
        "m": 1,
        "2*m - 3": 1,
        "2*m*m + 5": 1,
        "3*m*m - 2": 1,
    },
    "30*h*h*n + 60*h": {"h": 1, "h*n + 2": 1},
    "4*h + 2": {"2*h + 1": 1},
    "150*h*k - 75*h*h*k*k - 75": {"h*k - 1": 2},
    "18*h*h": {"h": 2},
    "6*m - 24*n*n - 18": {"4*n*n - m + 3": 1},
    "-10*n*n*n - 10*n*n": {"n + 1": 1, "n": 2},
    "16*m*m*m*m + 48*m*m*m + 32*m*m": {"m + 1": 1, "m + 2": 1, "m": 2},
    "60*n*n - 10*n*n*n*n - 90": {"n*n - 3": 2},
    "3*h*m - 9*h*n*n + 3*h*n - 9*n*n - 3*h + 3*m + 3*n - 3": {"3*n*n - m - n + 1": 1, "h + 1": 1},
    "36*n*n - 12*n*n*n*n - 27": {"2*n*n - 3": 2},
    "36*m*m*m*m*m - 18*m*m*m*m*m*m - 12*m*m*m*m - 48*m*m*m + 40*m*m + 16*m - 16": {
        "m*m - 2*m + 2": 1,
        "3*m*m - 2": 2,
    },
    "12*k*k*n*n + 6*k*n*n*n - 16*k*n*n - 2*n*n*n - 30*k*k - 15*k*n + 4*n*n + 40*k + 5*n - 10": {
        "2*n*n - 5": 1,
        "2*k + n - 2": 1,
        "3*k - 1": 1,
    },
    "84*m*m*m*m - 483*m*m*m + 588*m*m + 441*m - 378": {"m - 3": 2, "4*m*m + m - 2": 1},
    "9*k*k*k*n - 3*k*k*m + 36*k*k*n + 6*k*k - 12*k*m + 36*k*n + 24*k - 12*m + 24": {
        "3*k*n - m + 2": 1,
        "k + 2": 2,
    },
    "m*n - 2*n + 1": {"m*n - 2*n + 1": 1},
    "12*h*n - 8*h*h*n - 10*h + 15": {"2*h - 3": 1, "4*h*n + 5": 1},
    "-8*k - 14": {"4*k + 7": 1},
    "9*k*k*k + 21*k*k + 3*k - 9": {"k + 1": 1, "3*k*k + 4*k - 3": 1},
    "9*k*k*m + 9*k*k + 12*k*m + 15*k + 4": {"3*k + 4": 1, "3*k*m + 3*k + 1": 1},
    "n*n - 2*n*m + m*m": {"m - n": 2},
    "n*n - m*m": {"m - n": 1, "m + n": 1},
    "n*n + m*m": {"m*m + n*n": 1},
    "n*n*n*n - 1": {"n - 1": 1, "n + 1": 1, "n*n + 1": 1},
    "n*n*n*n + 4": {"n*n - 2*n + 2": 1, "n*n + 2*n + 2": 1},
    "n*n*n*n + 1": {"n*n*n*n + 1": 1},
    "n*n*n*n*n*n*n*n - 1": {"n - 1": 1, "n + 1": 1, "n*n + 1": 1, "n*n*n*n + 1": 1},
    "6*n*m - 4*n": {"n": 1, "3*m - 2": 1},
    "n*n - 2": {"n*n - 2": 1},
    "-n*n + 1": {"n - 1": 1, "n + 1": 1},
    "n*n*n - m*m*m": {"m - n": 1, "m*m + m*n + n*n": 1},
}


def _powers(dim: Expr) -> dict[str, int]:
    """The factors without the number, their leading coefficients positive."""
    return {str(factor): power for factor, power in factors(dim)[1:]}


def _multiplied(found: list[tuple[Dim, int]]) -> Dim:
    return symbolic.product(factor for factor, power in found for _ in range(power))


@pytest.mark.parametrize("text", VECTORS)
def test_recorded_factors(text: str) -> None:
    dim = symbolic.parse(text)
    assert isinstance(dim, Expr)
    assert _powers(dim) == VECTORS[text]
    assert _multiplied(factors(dim)) == dim


N, M = symbolic.symbol("n"), symbolic.symbol("m")
SMALL = st.integers(-4, 4)


def _polynomial(numbers: tuple[int, int, int, int]) -> Dim:
    a, b, c, d = numbers
    return a * N * M + b * N + c * M + d


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(SMALL, SMALL, SMALL, SMALL), min_size=1, max_size=3))
@example([(1, 1, 1, 1)] * 3)  # 15 factors modulo the prime, of five kinds
def test_products_come_apart(parts: list[tuple[int, int, int, int]]) -> None:
    """Each factor of the product divides it, and there are as many as were multiplied, or more."""
    given_parts = [_polynomial(part) for part in parts]
    dim = symbolic.product(given_parts)
    if not isinstance(dim, Expr):
        return
    found = factors(dim)
    assert _multiplied(found) == dim
    assert sum(power for _, power in found[1:]) >= sum(isinstance(part, Expr) for part in given_parts)
    for factor, _ in found[1:]:
        assert isinstance(factor, Expr)
        assert factor.terms[0][1] > 0
        assert factors(factor) == [(1, 1), (factor, 1)]


def test_atoms_that_are_no_symbols() -> None:
    quotient = symbolic.parse("n // 4")
    dim = quotient * quotient - 2 * quotient * M + M * M
    ((number, _), (factor, power)) = factors(dim)
    assert (number, power) == (1, 2)
    assert factor in (quotient - M, M - quotient)


def test_what_is_too_large_stays_whole() -> None:
    dim = symbolic.product([N - 1] * (MAX_DEGREE + 1))
    assert isinstance(dim, Expr)
    assert factors(dim) == [(1, 1), (dim, 1)]


def test_factors_modulo_a_prime() -> None:
    p = next_prime(10**12)
    assert p == 10**12 + 39
    parts = [[3, 1], [3, 1], [5, 1], [p - 2, 1]]
    whole = [7]
    for part in parts:
        whole = product_modulo(whole, part, p)
    assert sorted(modular_factors(whole, p)) == sorted(parts)
    # x**2 + 1 has roots only modulo primes that are 1 modulo 4.
    assert modular_factors([1, 0, 1], 7) == [[1, 0, 1]]
    assert sorted(modular_factors([1, 0, 1], 13)) == [[5, 1], [8, 1]]
