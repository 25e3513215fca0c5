"""Simplification rules of floor division, remainder, minimum and maximum.

Every rule holds for all non-negative values of the symbols for which no divisor is zero. Where a divisor is zero, the
expression has no value, but its simplified form may have one (``n*m // m`` is ``n``).
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import gcd

from relax_mlir.error import ShapeError
from relax_mlir.symbolic.expr import (
    Dim,
    Expr,
    Kind,
    Monomial,
    Term,
    add,
    atom,
    from_terms,
    multiply,
    terms_of,
)
from relax_mlir.symbolic.interval import interval, is_nonnegative


def floordiv(a: Dim, b: Dim) -> Dim:
    """``a // b``, rounded towards minus infinity. ShapeError: `b` is the constant zero."""
    if isinstance(b, Expr):
        return 0 if isinstance(a, int) and a == 0 else _floordiv_symbolic(a, b)
    if b == 0:
        raise ShapeError(f"division by zero: ({a}) // 0")
    return _floordiv_constant(a, b) if isinstance(a, Expr) else a // b


def floormod(a: Dim, b: Dim) -> Dim:
    """``a % b``, with the sign of `b`. ShapeError: `b` is the constant zero."""
    if isinstance(b, Expr):
        return 0 if isinstance(a, int) and a == 0 else _mod_symbolic(a, b)
    if b == 0:
        raise ShapeError(f"division by zero: ({a}) % 0")
    return _mod_constant(a, b) if isinstance(a, Expr) else a % b


def ceildiv(a: Dim, b: Dim) -> Dim:
    """``a / b``, rounded towards plus infinity. ShapeError: `b` is the constant zero."""
    if isinstance(b, int) and b < 0:
        return ceildiv(-a, -b)
    if is_nonnegative(b):
        return floordiv(add(a, add(b, -1)), b)
    return -floordiv(-a, b)


def minimum(*dims: Dim) -> Dim:
    """The smallest of one or more dimensions."""
    return _extremum(Kind.MIN, dims)


def maximum(*dims: Dim) -> Dim:
    """The largest of one or more dimensions."""
    return _extremum(Kind.MAX, dims)


@lru_cache(maxsize=4096)
def _floordiv_constant(a: Expr, k: int) -> Dim:
    if k < 0:
        return floordiv(-a, -k)
    if k == 1:
        return a
    # (k*q + r) // k == q + r // k, coefficient by coefficient.
    whole = from_terms({monomial: factor // k for monomial, factor in a.terms})
    rest = from_terms({monomial: factor % k for monomial, factor in a.terms})
    return add(whole, _floordiv_reduced(rest, k))


def _floordiv_reduced(a: Dim, k: int) -> Dim:
    """``a // k`` where all coefficients of `a` are in [0, k)."""
    if isinstance(a, int):
        return a // k
    common = gcd(k, *(factor for monomial, factor in a.terms if monomial))
    if common > 1:
        # (g*x + c) // (g*k) == (x + c // g) // k
        return floordiv(from_terms({monomial: factor // common for monomial, factor in a.terms}), k // common)
    low, high = interval(a, {})
    if isinstance(low, int) and isinstance(high, int) and low // k == high // k:
        return low // k
    nested = [_division_atom(monomial, factor) for monomial, factor in a.terms]
    found = [division for division in nested if division is not None]
    if len(found) == 1:
        inner, dividend, divisor = found[0]
        rest = add(a, -inner)
        if isinstance(divisor, int) or rest == 0:
            # (x // j + r) // k == (x + j*r) // (j*k)
            return floordiv(add(dividend, multiply(rest, divisor)), multiply(divisor, k))
    return atom(Kind.FLOORDIV, a, k)


def _division_atom(monomial: Monomial, factor: int) -> tuple[Expr, Dim, Dim] | None:
    """If the term is exactly ``x // y``: the term, x, y."""
    if factor != 1 or len(monomial) != 1 or monomial[0].kind is not Kind.FLOORDIV:
        return None
    dividend, divisor = monomial[0].args
    return atom(Kind.FLOORDIV, dividend, divisor), dividend, divisor


@lru_cache(maxsize=4096)
def _mod_constant(a: Expr, k: int) -> Dim:
    if k < 0:
        return -floormod(-a, -k)
    if k == 1:
        return 0
    rest: Dim = 0
    flattened = False
    for monomial, factor in a.terms:
        if len(monomial) == 1 and monomial[0].kind is Kind.MOD:
            dividend, divisor = monomial[0].args
            if isinstance(divisor, int) and divisor * factor % k == 0:
                # x % j == x - j*q, and j*factor*q is a multiple of k.
                rest, flattened = add(rest, multiply(dividend, factor)), True
                continue
        rest = add(rest, from_terms({monomial: factor % k}))
    if flattened:
        return floormod(rest, k)
    return _mod_reduced(rest, k)


def _mod_reduced(a: Dim, k: int) -> Dim:
    """``a % k`` where all coefficients of `a` are in [0, k)."""
    if isinstance(a, int):
        return a % k
    common = gcd(k, *(factor for monomial, factor in a.terms if monomial))
    if common > 1:
        # (g*x + c) % (g*k) == g*((x + c // g) % k) + c % g
        scaled = from_terms({monomial: factor // common for monomial, factor in a.terms})
        return add(multiply(floormod(scaled, k // common), common), dict(a.terms).get((), 0) % common)
    low, high = interval(a, {})
    if isinstance(low, int) and isinstance(high, int) and low // k == high // k:
        return add(a, -(low // k) * k)
    return atom(Kind.MOD, a, k)


@lru_cache(maxsize=4096)
def _floordiv_symbolic(a: Dim, b: Expr) -> Dim:
    if b.terms[0][1] < 0:
        return floordiv(-a, -b)
    quotient, rest = _split(a, b)
    if rest == 0:
        return quotient
    _, small, divisor = cancel(rest, b)
    if divisor != b:
        return add(quotient, floordiv(small, divisor))
    if is_nonnegative(rest) and is_nonnegative(add(b, -1) - rest):
        return quotient
    if isinstance(rest, Expr) and len(rest.terms) == 1 and is_nonnegative(b):
        nested = _division_atom(*rest.terms[0])
        if nested is not None:
            # (x // y) // b == x // (y*b) for b > 0
            return add(quotient, floordiv(nested[1], multiply(nested[2], b)))
    return add(quotient, atom(Kind.FLOORDIV, rest, b))


@lru_cache(maxsize=4096)
def _mod_symbolic(a: Dim, b: Expr) -> Dim:
    if b.terms[0][1] < 0:
        return -floormod(-a, -b)
    _, rest = _split(_without_inner_mods(a, b), b)
    if rest == 0:
        return 0
    factor, small, divisor = cancel(rest, b)
    if divisor != b:
        # (f*x) % (f*y) == f*(x % y)
        return multiply(factor, floormod(small, divisor))
    if is_nonnegative(rest) and is_nonnegative(add(b, -1) - rest):
        return rest
    return atom(Kind.MOD, rest, b)


def _without_inner_mods(a: Dim, b: Expr) -> Dim:
    """`a` with terms ``f*(x % y)`` replaced by ``f*x`` if `b` divides ``f*y``: the remainder by `b` is the same."""
    flat: Dim = 0
    for monomial, factor in terms_of(a):
        term = from_terms({monomial: factor})
        mods = [x for x in monomial if x.kind is Kind.MOD]
        if len(mods) == 1:
            dividend, divisor = mods[0].args
            others = from_terms({_without(monomial, (mods[0],)) or (): factor})
            if _split(multiply(others, divisor), b)[1] == 0:
                term = multiply(others, dividend)
        flat = add(flat, term)
    return flat


def _split(a: Dim, b: Expr) -> tuple[Dim, Dim]:
    """(q, r) such that ``a == q*b + r``; r is zero if `b` divides `a` as a polynomial."""
    if len(b.terms) > 1:
        exact = exact_quotient(a, b) if isinstance(a, Expr) else None
        return (0, a) if exact is None else (exact, 0)
    divisor, scale = b.terms[0]
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, factor in terms_of(a):
        left = _without(monomial, divisor)
        if left is None:
            rest[monomial] = factor
        else:
            whole[left] = factor // scale
            rest[monomial] = factor % scale
    return from_terms(whole), from_terms(rest)


def cancel(a: Dim, b: Expr) -> tuple[Dim, Dim, Dim]:
    """(f, x, y) with ``a == f*x`` and ``b == f*y``, where f is the largest such product of a number and atoms."""
    terms = terms_of(a) + b.terms
    number = gcd(*(factor for _, factor in terms))
    shared = Counter(terms[0][0])
    for monomial, _ in terms[1:]:
        shared &= Counter(monomial)
    common = tuple(sorted(shared.elements()))
    factor = from_terms({common: number})

    def divided(dim: Dim) -> Dim:
        return from_terms({_without(m, common) or (): f // number for m, f in terms_of(dim)})

    return factor, divided(a), divided(b)


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """The product without the factors of `divisor`; None if it does not contain them all."""
    rest = list(monomial)
    for factor in divisor:
        if factor not in rest:
            return None
        rest.remove(factor)
    return tuple(rest)


def exact_quotient(a: Expr, b: Expr) -> Dim | None:
    """``a / b`` if that is a polynomial with integer coefficients, by long division."""
    # Terms are in graded lexicographic order: the first and last terms of a product are the products of the
    # first and last terms of its factors.
    last = _term_quotient(a.terms[-1], b.terms[-1])
    if last is None:
        return None
    quotient: dict[Monomial, int] = {}
    rest: Dim = a
    while rest != 0:
        first = _term_quotient(terms_of(rest)[0], b.terms[0])
        if first is None:
            return None
        monomial, factor = first
        quotient[monomial] = factor
        rest = add(rest, multiply(from_terms({monomial: -factor}), b))
    return from_terms(quotient)


def _term_quotient(a: Term, b: Term) -> Term | None:
    left = _without(a[0], b[0])
    return None if left is None or a[1] % b[1] else (left, a[1] // b[1])


def _extremum(kind: Kind, dims: tuple[Dim, ...]) -> Dim:
    choose = min if kind is Kind.MIN else max
    flat: set[Expr] = set()
    constant: int | None = None
    for dim in _flattened(kind, dims):
        if isinstance(dim, Expr):
            flat.add(dim)
        else:
            constant = dim if constant is None else choose(constant, dim)
    live: list[Dim] = sorted(flat, key=str)
    if constant is not None:
        live.append(constant)
    for dim in list(live):
        if any(_is_beaten(kind, dim, other) for other in live if other is not dim):
            live.remove(dim)
    return live[0] if len(live) == 1 else atom(kind, *live)


def _flattened(kind: Kind, dims: tuple[Dim, ...]) -> list[Dim]:
    flat: list[Dim] = []
    for dim in dims:
        flat.extend(_arguments(dim, kind) or (dim,))
    return flat


def _arguments(dim: Dim, kind: Kind) -> tuple[Dim, ...]:
    """The arguments if `dim` is exactly one atom of that kind, else ()."""
    if isinstance(dim, Expr) and len(dim.terms) == 1:
        monomial, factor = dim.terms[0]
        if factor == 1 and len(monomial) == 1 and monomial[0].kind is kind:
            return monomial[0].args
    return ()


def _is_beaten(kind: Kind, dim: Dim, other: Dim) -> bool:
    """True if `other` makes `dim` redundant in a minimum (or maximum)."""
    opposite = Kind.MAX if kind is Kind.MIN else Kind.MIN
    if other in _arguments(dim, opposite):
        return True
    low, high = interval(add(dim, -other), {})
    return low >= 0 if kind is Kind.MIN else high <= 0
