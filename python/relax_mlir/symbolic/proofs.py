"""Proofs about expressions, conditions on dimensions, and the dimensions that determine a signature's symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import product
from math import gcd, lcm, prod
from typing import Literal, TypeAlias

from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic.expr import (
    Atom,
    Bounds,
    BoundsKey,
    Dim,
    Expr,
    Interval,
    Kind,
    Monomial,
    Term,
    add,
    bounds_key,
    cancel,
    floordiv,
    floormod,
    from_terms,
    interval,
    maximum,
    multiply,
    symbol_atom,
    symbol_intervals,
    terms_of,
)
from relax_mlir.symbolic.visit import evaluate, linear_definition, substitute, symbols

# The search for a proof that an expression is never negative.
#
# To prove ``d >= 0``, divisions, remainders, minima and maxima are replaced one by one by bounds that make d smaller,
# until interval arithmetic decides. A division by k is bounded over the rationals: d is multiplied by k, and
# ``k*(x // k)`` lies between ``x - k + 1`` and ``x``. As d is an integer, ``k*d > -k`` is enough; so the goal is always
# "`dim` > -`scale`".

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
        return any(all(self.proves(goal, scale * factor) for goal, factor in goals) for goals in self.steps(dim))

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


# Facts about expressions that hold for all values of their symbols.
#
# Each `prove_*` returns True only if the fact holds for all symbol values for which the expressions have a
# value; False means "not proved", never "disproved". The methods, in this order: normal forms, a few sample
# values (which refute most false claims cheaply), interval arithmetic with bounds substituted for divisions,
# the residues of symbols modulo the constant divisors, and factorisation.

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


Relation: TypeAlias = Literal["<=", "==", "!="]


@dataclass(frozen=True, eq=False)
class Condition:
    """A relation of two dimensions; `text` is its original form.

    Comparisons of dimensions return conditions (``n <= 16``); so do `equal`, `not_equal` and `divisible`. Its truth
    value is the proved one; a condition that depends on the run-time values of symbols has none.
    """

    relation: Relation
    left: Dim
    right: Dim
    text: str

    def decide(self) -> bool | None:
        """True if the condition holds for all values of the symbols, false if for none; None: it depends on them.

        The bounds of symbols are those of the enclosing `assuming`.
        """
        if self.relation == "<=":
            if prove_less_equal(self.left, self.right):
                return True
            return False if prove_less_equal(self.right + 1, self.left) else None
        is_equal = self.relation == "=="
        if prove_equal(self.left, self.right):
            return is_equal
        return (not is_equal) if prove_not_equal(self.left, self.right) else None

    def holds(self, values: Mapping[str, int]) -> bool:
        """True if the condition holds for these values of the symbols."""
        left, right = evaluate(self.left, values), evaluate(self.right, values)
        return left <= right if self.relation == "<=" else (left == right) == (self.relation == "==")

    def symbols(self) -> tuple[str, ...]:
        """The symbols that it depends on, sorted."""
        return tuple(sorted({*symbols(self.left), *symbols(self.right)}))

    def __bool__(self) -> bool:
        decided = self.decide()
        if decided is None:
            raise ArgumentError(
                f"whether {self.text} depends on {', '.join(self.symbols())}: it is known at run time only. Ask "
                "`decide()` of the condition, or give it to a SpecializedCondition"
            )
        return decided

    def __str__(self) -> str:
        return self.text


def compare(relation: Literal["<", "<=", ">", ">="], left: Dim, right: Dim) -> Condition:
    """The condition ``left relation right``."""
    text = f"{left} {relation} {right}"
    if relation in (">", ">="):
        left, right = right, left
    return Condition("<=", left + (1 if relation in ("<", ">") else 0), right, text)


def equal(a: Dim, b: Dim) -> Condition:
    """The condition that two dimensions are equal. (``==`` compares their normal forms.)"""
    return Condition("==", a, b, f"{a} == {b}")


def not_equal(a: Dim, b: Dim) -> Condition:
    """The condition that two dimensions differ."""
    return Condition("!=", a, b, f"{a} != {b}")


def divisible(a: Dim, by: int) -> Condition:
    """The condition that a dimension is a multiple of the positive integer `by`.

    Raises:
        ArgumentError: `by` is not positive.
    """
    if isinstance(by, Expr) or by <= 0:
        raise ArgumentError(f"divisible: 'by' is {by}, expected a positive integer")
    rest: Dim = 0 if prove_divisible(a, by) else floormod(a, by)
    return Condition("==", rest, 0, f"{a} % {by} == 0")


@dataclass(frozen=True)
class Definition:
    """Entry `index` of a list of dimensions is ``scale*symbol + offset`` and determines `symbol`.

    `scale` and `offset` consist of constants and of symbols from earlier definitions.
    """

    index: int
    symbol: str
    scale: Dim
    offset: Dim

    @property
    def is_bare(self) -> bool:
        """True if the dimension is the symbol itself."""
        return self.scale == 1 and self.offset == 0

    def solve(self, value: Dim, known: Mapping[str, Dim]) -> Dim | None:
        """The symbol's value if the dimension is `value`; `known` holds those of earlier symbols.

        None unless it is provably a non-negative integer.
        """
        if self.is_bare:
            return value
        scale = substitute(self.scale, known)
        rest = add(value, multiply(substitute(self.offset, known), -1))
        if scale == 0:
            return None
        found = floordiv(rest, scale)
        is_whole = prove_equal(multiply(found, scale), rest)
        return found if is_whole and prove_less_equal(0, found) else None

    @property
    def dim(self) -> Dim:
        """The dimension as an expression."""
        return add(multiply(symbol_atom(self.symbol), self.scale), self.offset)


def definitions(dims: Sequence[Dim | None], known: Iterable[str] = ()) -> list[Definition]:
    """The definitions of the symbols of `dims` by the values of `dims`, in an order in which they can be computed.

    A dimension that is a bare symbol defines it, at its first occurrence. Another dimension defines a symbol if this is
    its only unknown symbol and the dimension is linear in it: ``2*n``, ``n + 1``, ``n*m`` where n is known. Constant
    factors come first, as other factors may be zero. Symbols of `known` need no definition.
    """
    have, found = set(known), []
    for index, dim in enumerate(dims):
        name = None if dim is None else linear_definition(dim)
        if name is not None and name not in have:
            have.add(name)
            found.append(Definition(index, name, 1, 0))
    while True:
        solvable = list(_solvable(dims, have))
        if not solvable:
            return found
        best = min(solvable, key=lambda item: (not isinstance(item.scale, int), item.index))
        have.add(best.symbol)
        found.append(best)


def solutions(pairs: Sequence[tuple[Dim, Dim]]) -> Iterator[tuple[Definition, Dim | None]]:
    """The values of the symbols of the first dimensions for which these equal the second ones; None: not determined.

    Symbols whose definitions use an undetermined symbol are omitted.
    """
    known: dict[str, Dim] = {}
    for definition in definitions([dim for dim, _ in pairs]):
        dim, value = pairs[definition.index]
        if known.keys() >= set(symbols(dim)) - {definition.symbol}:
            found = definition.solve(value, known)
            if found is not None:
                known[definition.symbol] = found
            yield definition, found


def _solvable(dims: Sequence[Dim | None], known: set[str]) -> Iterator[Definition]:
    for index, dim in enumerate(dims):
        unknown = [] if dim is None else [name for name in symbols(dim) if name not in known]
        if dim is not None and len(unknown) == 1:
            parts = linear_parts(dim, unknown[0])
            if parts is not None:
                yield Definition(index, unknown[0], *parts)


def linear_parts(dim: Dim, symbol: str) -> tuple[Dim, Dim] | None:
    """(a, b) with ``dim == a*symbol + b``, neither of which contains `symbol`; None if there are none."""
    scale: dict[Monomial, int] = {}
    offset: dict[Monomial, int] = {}
    for monomial, factor in terms_of(dim):
        rest = tuple(x for x in monomial if not (x.kind is Kind.SYMBOL and x.text == symbol))
        if len(monomial) - len(rest) > 1 or symbol in symbols(from_terms({rest: 1})):
            return None
        (offset if len(rest) == len(monomial) else scale)[rest] = factor
    return (from_terms(scale), from_terms(offset)) if scale else None
