"""Facts about expressions that hold for all values of their symbols.

Each `prove_*` returns True only if the fact holds for all symbol values for which the expressions have a value; False
means "not proved", never "disproved". The methods, in this order: normal forms, a few sample values (which refute most
false claims cheaply), interval arithmetic with bounds substituted for divisions, the residues of symbols modulo the
constant divisors, and factorisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from math import gcd, lcm, prod

from relax_mlir.error import ShapeError
from relax_mlir.symbolic.division import cancel, floormod
from relax_mlir.symbolic.expr import Dim, Expr, Kind, add, multiply, symbol_atom
from relax_mlir.symbolic.inequality import expand_mod, is_provably_nonnegative
from relax_mlir.symbolic.interval import Bounds, BoundsKey, bounds_key, interval, symbol_intervals
from relax_mlir.symbolic.visit import evaluate, substitute, symbols

MAX_RESIDUES = 256
"""Maximum number of cases in a proof by residues."""

MAX_ZERO_OR_MORE = 3
"""Maximum number of symbols for which the cases zero and positive are distinguished."""


def prove_equal(a: Dim, b: Dim, bounds: Bounds | None = None) -> bool:
    """True if ``a == b`` is proved."""
    return a == b or _holds(_is_zero, add(a, -b), bounds)


def prove_not_equal(a: Dim, b: Dim, bounds: Bounds | None = None) -> bool:
    """True if ``a != b`` is proved for all values, as for n and n + 1, or 2*n and 2*m + 1."""
    return a != b and _holds(_is_never_zero, add(a, -b), bounds)


def prove_less_equal(a: Dim, b: Dim, bounds: Bounds | None = None) -> bool:
    """True if ``a <= b`` is proved."""
    return _holds(_is_nonnegative, add(b, -a), bounds)


def prove_divisible(a: Dim, k: Dim, bounds: Bounds | None = None) -> bool:
    """True if it is proved that ``a == k*q`` for some integer q. Zero divides only zero."""
    if isinstance(k, Expr):
        return a == 0 or floormod(a, k) == 0
    if k == 0:
        return prove_equal(a, 0, bounds)
    if isinstance(a, int):
        return a % k == 0
    return floormod(a, k) == 0 or _divisible(a, abs(k), bounds_key(bounds))


def _holds(claim: Callable[[Dim, BoundsKey], bool], difference: Dim, bounds: Bounds | None) -> bool:
    key = bounds_key(bounds)
    try:
        return claim(difference, key)
    except ShapeError:
        # The bounds make a divisor zero, or the cases are too large to expand: nothing is proved.
        return False


@lru_cache(maxsize=4096)
def _is_zero(difference: Dim, key: BoundsKey) -> bool:
    if isinstance(difference, int):
        return difference == 0
    if any(value != 0 for value in _samples(difference, key)):
        return False
    return _in_all_cases(_is_zero_here, *_shifted(difference, key))


def _is_zero_here(difference: Dim, key: BoundsKey) -> bool:
    plain = expand_mod(difference)
    if isinstance(plain, int):
        return plain == 0
    return is_provably_nonnegative(plain, key) and is_provably_nonnegative(-plain, key)


@lru_cache(maxsize=4096)
def _is_nonnegative(dim: Dim, key: BoundsKey) -> bool:
    if isinstance(dim, int):
        return dim >= 0
    if interval(dim, symbol_intervals(key))[0] >= 0:
        return True
    if any(value < 0 for value in _samples(dim, key)):
        return False
    shifted, bounds = _shifted(dim, key)
    return (
        _in_all_cases(is_provably_nonnegative, shifted, bounds)
        or all(is_provably_nonnegative(case, limits) for case, limits in _zero_or_more(shifted, bounds))
        or _factors_are_nonnegative(shifted, bounds)
    )


@lru_cache(maxsize=4096)
def _is_never_zero(difference: Dim, key: BoundsKey) -> bool:
    if isinstance(difference, int):
        return difference != 0
    if any(value == 0 for value in _samples(difference, key)):
        return False
    return _in_all_cases(_is_never_zero_here, *_shifted(difference, key))


def _is_never_zero_here(difference: Dim, key: BoundsKey) -> bool:
    if isinstance(difference, int):
        return difference != 0
    step = gcd(*(factor for monomial, factor in difference.terms if monomial))
    if dict(difference.terms).get((), 0) % step:
        return True
    above, below = add(difference, -1), add(-difference, -1)
    return is_provably_nonnegative(above, key) or is_provably_nonnegative(below, key)


@lru_cache(maxsize=4096)
def _divisible(dim: Expr, k: int, key: BoundsKey) -> bool:
    if any(value % k for value in _samples(dim, key)):
        return False
    try:
        shifted, bounds = _shifted(dim, key)
        return all(floormod(case, k) == 0 for case, _ in _residues(shifted, bounds, k))
    except ShapeError:
        return False


def _shifted(dim: Dim, key: BoundsKey) -> tuple[Dim, BoundsKey]:
    """The same problem in symbols that start at zero; symbols with a single value are replaced by it."""
    replaced: dict[str, Dim] = {}
    bounds: list[tuple[str, int, int | None]] = []
    for name, low, high in key:
        if high is not None:
            bounds.append((name, 0, high - low))
        replaced[name] = low if low == high else add(symbol_atom(name), low)
    return substitute(dim, replaced), tuple(bounds)


def _in_all_cases(claim: Callable[[Dim, BoundsKey], bool], dim: Dim, key: BoundsKey) -> bool:
    return claim(dim, key) or all(claim(case, bounds) for case, bounds in _residues(dim, key, 1))


def _residues(dim: Dim, key: BoundsKey, modulus: int) -> Iterator[tuple[Dim, BoundsKey]]:
    """`dim` with ``n`` as ``period*n + r`` for each residue r, so that the divisions by constants fold.

    If there are too many cases, only `dim` itself. Symbols start at zero; `modulus` divides every period.
    """
    periods: dict[str, int] = {}
    _collect_periods(dim, modulus, periods)
    periods = {name: period for name, period in sorted(periods.items()) if period > 1}
    if prod(periods.values()) > MAX_RESIDUES:
        periods = {}
    highs = {name: high for name, _, high in key}
    for residues in product(*(range(period) for period in periods.values())):
        cases = dict(zip(periods, residues, strict=True))
        bounds = dict(highs)
        for name, residue in cases.items():
            high = highs.get(name)
            bounds[name] = None if high is None else (high - residue) // periods[name]
        if any(high is not None and high < 0 for high in bounds.values()):
            continue
        values = {name: add(multiply(symbol_atom(name), periods[name]), r) for name, r in cases.items()}
        yield substitute(dim, values), tuple((name, 0, high) for name, high in sorted(bounds.items()))


def _zero_or_more(dim: Dim, key: BoundsKey) -> Iterator[tuple[Dim, BoundsKey]]:
    """`dim` with each symbol either zero or positive: sufficient for ``n <= n*n``. Symbols start at zero."""
    names = symbols(dim)[:MAX_ZERO_OR_MORE]
    highs = {name: high for name, _, high in key}
    for choice in product((False, True), repeat=len(names)):
        positive = [name for name, more in zip(names, choice, strict=True) if more]
        if any(highs.get(name) == 0 for name in positive):
            continue
        bounds = dict(highs)
        for name in positive:
            high = highs.get(name)
            bounds[name] = None if high is None else high - 1
        values: dict[str, Dim] = dict.fromkeys(names, 0)
        values.update((name, add(symbol_atom(name), 1)) for name in positive)
        try:
            case = substitute(dim, values)
        except ShapeError:
            # A divisor is zero: this case has no value.
            continue
        yield case, tuple((name, 0, high) for name, high in sorted(bounds.items()))


def _collect_periods(dim: Dim, scale: int, periods: dict[str, int]) -> None:
    if isinstance(dim, int):
        return
    for monomial, _ in dim.terms:
        for a in monomial:
            if a.kind is Kind.SYMBOL:
                periods[a.text] = lcm(periods.get(a.text, 1), scale)
                continue
            divisor = a.args[1] if a.kind in (Kind.FLOORDIV, Kind.MOD) else 1
            longer = scale * divisor if isinstance(divisor, int) else scale
            for arg in a.args:
                _collect_periods(arg, longer, periods)


def _samples(dim: Expr, key: BoundsKey) -> Iterator[int]:
    """Values of `dim` at a few points inside the bounds, where it has one."""
    names = symbols(dim)
    limits = {name: (low, high) for name, low, high in key}
    for step in range(12):
        point = {}
        for i, name in enumerate(names):
            offset = step if step < 4 else (step * step * 7 + i * (13 + step)) % 61
            low, high = limits.get(name, (0, None))
            point[name] = low + (offset if high is None else offset % (high - low + 1))
        try:
            yield evaluate(dim, point)
        except ShapeError:
            continue


def _factors_are_nonnegative(dim: Dim, key: BoundsKey) -> bool:
    """True if `dim` is a product of squares, of non-negative factors, and of pairs of non-positive factors."""
    if isinstance(dim, int) or len(dim.terms[0][0]) < 2:
        return False
    shared, rest, _ = cancel(dim, dim)
    if shared != 1 and is_provably_nonnegative(shared, key) and is_provably_nonnegative(rest, key):
        return True
    from relax_mlir.symbolic.polynomial import factors

    is_positive = True
    for factor, power in factors(dim):
        if power % 2 == 0 or is_provably_nonnegative(factor, key):
            continue
        if not is_provably_nonnegative(-factor, key):
            return False
        is_positive = not is_positive
    return is_positive
