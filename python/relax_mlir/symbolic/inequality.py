"""The search for a proof that an expression is never negative.

To prove ``d >= 0``, divisions, remainders, minima and maxima are replaced one by one by bounds that make d smaller,
until interval arithmetic decides. A division by k is bounded over the rationals: d is multiplied by k, and
``k*(x // k)`` lies between ``x - k + 1`` and ``x``. As d is an integer, ``k*d > -k`` is enough; so the goal is always
"`dim` > -`scale`".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

from relax_mlir.symbolic.division import maximum
from relax_mlir.symbolic.expr import (
    Atom,
    Dim,
    Expr,
    Kind,
    Monomial,
    Term,
    add,
    from_terms,
    multiply,
    terms_of,
)
from relax_mlir.symbolic.interval import BoundsKey, Interval, interval, symbol_intervals

MAX_GOALS = 60
"""Maximum number of goals that one search considers."""


def is_provably_nonnegative(dim: Dim, key: BoundsKey) -> bool:
    """True if the search finds a proof of ``dim >= 0`` for all symbols within the bounds."""
    return _Search(symbol_intervals(key)).proves(dim, 1)


def expand_mod(dim: Dim) -> Dim:
    """`dim` with ``x % y`` written as ``x - y*(x // y)``, ``min(x, y)`` as ``x + y - max(x, y)``; not inside atoms."""
    for monomial, _ in terms_of(dim):
        for a in monomial:
            if a.kind is Kind.MOD:
                return expand_mod(_replaced(dim, a, _mod_as_division(a)))
            if a.kind is Kind.MIN and len(a.args) == 2:
                x, y = a.args
                largest = maximum(x, y)
                return expand_mod(_replaced(dim, a, add(add(x, y), -largest)))
    return dim


class _Search:
    def __init__(self, symbols: Mapping[str, Interval]) -> None:
        self.symbols = symbols
        self.goals = 0

    def proves(self, dim: Dim, scale: int) -> bool:
        """True if ``dim > -scale`` is proved."""
        if self.low(dim) > -scale:
            return True
        self.goals += 1
        if self.goals > MAX_GOALS:
            return False
        return any(
            all(self.proves(goal, scale * factor) for goal, factor in goals) for goals in self.steps(dim)
        )

    def low(self, dim: Dim) -> int | float:
        return interval(dim, self.symbols)[0]

    def steps(self, dim: Dim) -> Iterator[list[tuple[Dim, int]]]:
        """Sets of goals that each imply the goal: (expression, factor by which it is scaled)."""
        for monomial, factor in terms_of(dim):
            for a in monomial:
                if a.kind is Kind.SYMBOL or monomial.count(a) > 1:
                    continue
                others = list(monomial)
                others.remove(a)
                rest = from_terms({tuple(others): factor})
                if all(self.low(_single(other)) >= 0 for other in others):
                    without = add(dim, -from_terms({monomial: factor}))
                    for scale, bound in self.bounds(a, rest, factor > 0):
                        yield [(add(multiply(without, scale), bound), scale)]
                yield from self.rewrites(dim, a)

    def bounds(self, a: Atom, rest: Dim, positive: bool) -> Iterator[tuple[int, Dim]]:
        """(s, x) with ``s*rest*a >= x``, `rest` being non-negative or, if not `positive`, non-positive."""
        if a.kind in (Kind.MIN, Kind.MAX):
            if positive is (a.kind is Kind.MAX):
                for arg in a.args:
                    yield 1, multiply(rest, arg)
                # The mean lies between the minimum and the maximum.
                yield len(a.args), multiply(rest, reduce(add, a.args))
            return
        dividend, divisor = a.args
        if self.low(divisor) < 0:
            return
        # If the divisor is zero, the expression has no value, so the divisor is positive.
        if positive and self.low(_single(a)) >= 0:
            yield 1, 0
        if not positive and self.low(dividend) >= 0:
            yield 1, multiply(rest, dividend)
        if a.kind is Kind.MOD:
            if not positive:
                yield 1, multiply(rest, add(divisor, -1))
            return
        nearest = add(add(dividend, 1), -divisor) if positive else dividend
        if isinstance(divisor, int):
            yield divisor, multiply(rest, nearest)
        else:
            quotient = _quotient(rest, divisor)
            if quotient is not None:
                yield 1, multiply(quotient, nearest)

    def rewrites(self, dim: Dim, a: Atom) -> Iterator[list[tuple[Dim, int]]]:
        """Goals with an atom replaced everywhere by an equal expression, or by each of its possible values."""
        if a.kind is Kind.MOD:
            yield [(_replaced(dim, a, _mod_as_division(a)), 1)]
        elif a.kind in (Kind.MIN, Kind.MAX):
            yield [(_replaced(dim, a, arg), 1) for arg in a.args]


def _single(a: Atom) -> Expr:
    terms: tuple[Term, ...] = (((a,), 1),)
    return Expr(terms, a.text)


def _mod_as_division(a: Atom) -> Dim:
    dividend, divisor = a.args
    return add(dividend, -multiply(divisor, dividend // divisor))


def _replaced(dim: Dim, a: Atom, value: Dim) -> Dim:
    """`dim` with the atom replaced, except inside the arguments of other atoms."""
    total: Dim = 0
    for monomial, factor in terms_of(dim):
        kept: Monomial = tuple(x for x in monomial if x != a)
        term = from_terms({kept: factor})
        for _ in range(len(monomial) - len(kept)):
            term = multiply(term, value)
        total = add(total, term)
    return total


def _quotient(rest: Dim, divisor: Expr) -> Dim | None:
    """``rest / divisor`` for a divisor that is a product of factors of the single term `rest`."""
    (monomial, factor), *more = terms_of(rest)
    (wanted, scale), *others = divisor.terms
    if more or others or factor % scale:
        return None
    left = list(monomial)
    for x in wanted:
        if x not in left:
            return None
        left.remove(x)
    return from_terms({tuple(left): factor // scale})
