"""Interval arithmetic: lower and upper bounds of an expression for all values of its symbols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import TypeAlias

from relax_mlir.error import ShapeError
from relax_mlir.symbolic.expr import Atom, Dim, Kind

Number: TypeAlias = "int | float"
"""An int, or one of the two infinities."""

Interval: TypeAlias = tuple[Number, Number]
Bounds: TypeAlias = Mapping[str, "tuple[int, int | None]"]
"""Inclusive bounds of symbols; None: no upper bound. A symbol without an entry has the bounds (0, None)."""

BoundsKey: TypeAlias = "tuple[tuple[str, int, int | None], ...]"
"""Bounds as a hashable value, sorted by name."""


_ASSUMED: ContextVar[BoundsKey] = ContextVar("assumed symbol bounds", default=())


@contextmanager
def assuming(bounds: Bounds) -> Iterator[None]:
    """In the context, proofs without explicit bounds use these: those of a function, while its ops are processed.

    Normal forms do not depend on them, so that equal shapes have equal texts everywhere.
    """
    outer = _ASSUMED.get()
    _ASSUMED.set(bounds_key(bounds))
    try:
        yield
    finally:
        _ASSUMED.set(
            outer
        )  # a token belongs to one asynchronous task; a function may be abandoned in another one


def assume(bounds: Bounds) -> None:
    """Use `bounds` up to the end of the innermost `assuming`."""
    _ASSUMED.set(bounds_key(bounds))


def assumed() -> dict[str, tuple[int, int | None]]:
    """The bounds of the enclosing `assuming`."""
    return {name: (low, high) for name, low, high in _ASSUMED.get()}


def bounds_key(bounds: Bounds | None) -> BoundsKey:
    """Checked, hashable form of bounds (None: those assumed). ShapeError: bounds that exclude every value."""
    if bounds is None:
        return _ASSUMED.get()
    key = []
    for name, (low, high) in sorted(bounds.items()):
        low = max(low, 0)
        if high is not None and high < low:
            raise ShapeError(f"no value of symbol '{name}' lies between {low} and {high}")
        key.append((name, low, high))
    return tuple(key)


def interval(dim: Dim, symbols: Mapping[str, Interval]) -> Interval:
    """Bounds of `dim`; values of the symbols for which a divisor is zero are excluded."""
    if isinstance(dim, int):
        return dim, dim
    low: Number = 0
    high: Number = 0
    for monomial, factor in dim.terms:
        term: Interval = (factor, factor)
        for a in monomial:
            term = _product(term, _atom(a, symbols))
        low, high = _plus(low, term[0]), _plus(high, term[1])
    return low, high


def symbol_intervals(key: BoundsKey) -> dict[str, Interval]:
    """The bounds as intervals."""
    return {name: (low, inf if high is None else high) for name, low, high in key}


def is_nonnegative(dim: Dim) -> bool:
    """True if interval arithmetic shows ``dim >= 0`` for all symbols."""
    return interval(dim, {})[0] >= 0 if not isinstance(dim, int) else dim >= 0


def bounds(dim: Dim, symbol_bounds: Bounds | None = None) -> tuple[int | None, int | None]:
    """Inclusive bounds of `dim` that hold for all values of its symbols; None: no known bound.

    They need not be tight: interval arithmetic treats the same symbol in two terms as independent.
    """
    low, high = interval(dim, symbol_intervals(bounds_key(symbol_bounds)))
    return (low if isinstance(low, int) else None, high if isinstance(high, int) else None)


def _atom(a: Atom, symbols: Mapping[str, Interval]) -> Interval:
    if a.kind is Kind.SYMBOL:
        return symbols.get(a.text, (0, inf))
    args = [interval(arg, symbols) for arg in a.args]
    if a.kind is Kind.MIN:
        return min(low for low, _ in args), min(high for _, high in args)
    if a.kind is Kind.MAX:
        return max(low for low, _ in args), max(high for _, high in args)
    dividend, divisor = args
    if divisor[0] < 0:
        return -inf, inf
    divisor = (max(divisor[0], 1), max(divisor[1], 1))
    return _floordiv(dividend, divisor) if a.kind is Kind.FLOORDIV else _mod(dividend, divisor)


def _floordiv(a: Interval, b: Interval) -> Interval:
    """Quotients are extreme at the ends: far from zero for the small divisor, near zero for the large one."""
    low = _quotient(a[0], b[1] if a[0] >= 0 else b[0])
    high = _quotient(a[1], b[0] if a[1] >= 0 else b[1])
    return low, high


def _quotient(x: Number, y: Number) -> Number:
    if isinstance(x, float):
        return x
    if isinstance(y, float):
        return 0 if x >= 0 else -1
    return x // y


def _mod(a: Interval, b: Interval) -> Interval:
    if a[0] >= 0 and a[1] < b[0]:
        return a
    high = b[1] - 1
    return 0, min(a[1], high) if a[0] >= 0 else high


def _product(a: Interval, b: Interval) -> Interval:
    corners = [_times(x, y) for x in a for y in b]
    return min(corners), max(corners)


def _times(x: Number, y: Number) -> Number:
    if x == 0 or y == 0:
        return 0
    if isinstance(x, float) or isinstance(y, float):
        return inf if (x > 0) == (y > 0) else -inf
    return x * y


def _plus(x: Number, y: Number) -> Number:
    # Not ``x + y``: an int beyond the range of floats cannot be added to an infinity.
    if isinstance(x, float):
        return x
    return y if isinstance(y, float) else x + y
