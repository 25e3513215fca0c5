"""The normal form of symbolic integers: a polynomial with integer coefficients over atoms.

An atom is a symbol, or a floor division, remainder, minimum or maximum that could not be simplified further.
Expressions with the same normal form print the same text, and the text parses to the same normal form, so an expression
is compared and hashed by its text.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from math import gcd, inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

from relax_mlir.error import ArgumentError, ShapeError

if TYPE_CHECKING:
    from types import ModuleType

    from relax_mlir.symbolic.proofs import Condition


MAX_TERMS = 1024
"""Maximum number of terms: products expand, and larger expressions are refused, not computed for hours."""


class Kind(IntEnum):
    """The kind of an atom; the order of kinds is the order of the factors in a product."""

    SYMBOL = 0
    MIN = 1
    MAX = 2
    FLOORDIV = 3
    MOD = 4


class Atom(NamedTuple):
    """An indivisible factor. `args` is empty for a symbol, (dividend, divisor) for FLOORDIV and MOD."""

    kind: Kind
    text: str
    args: tuple[Dim, ...] = ()


Monomial: TypeAlias = tuple[Atom, ...]
"""A product of atoms, sorted, with repetitions for powers; `()` is the constant 1."""

Term: TypeAlias = tuple[Monomial, int]


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """An integer expression that is not a constant, in normal form.

    Created by `parse`, `symbol`, `to_dim` and the operators ``+ - * // %`` (Python's floor semantics), never by calling
    the class. Immutable and hashable; ``==`` compares normal forms, so it may be False for equal expressions:
    `prove_equal` proves more.
    """

    terms: tuple[Term, ...]
    text: str

    __array_ufunc__: ClassVar[None] = None  # NumPy scalars on the left use the operators of this class.

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Expr({self.text!r})"

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Expr) and self.text == other.text)

    def __neg__(self) -> Dim:
        return multiply(self, -1)

    def __add__(self, other: Dim) -> Dim:
        value = _operand(other)
        return NotImplemented if value is None else add(self, value)

    def __sub__(self, other: Dim) -> Dim:
        value = _operand(other)
        return NotImplemented if value is None else add(self, -value)

    def __mul__(self, other: Dim) -> Dim:
        value = _operand(other)
        return NotImplemented if value is None else multiply(self, value)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Dim) -> Dim:
        value = _operand(other)
        return NotImplemented if value is None else add(-self, value)

    def __floordiv__(self, other: Dim) -> Dim:
        value = _operand(other)
        return NotImplemented if value is None else floordiv(self, value)

    def __truediv__(self, other: object) -> Any:  # noqa: ANN401 - result of `other`
        if _operand(other) is None and not isinstance(other, float):
            return NotImplemented
        raise ArgumentError(
            f"'{self}' is a dimension: write // for a quotient, and -(-n // m) for one that is rounded up"
        )

    __rtruediv__ = __truediv__

    def __pow__(self, other: object) -> Any:  # noqa: ANN401 - result of `other`
        if _operand(other) is None and not isinstance(other, float):
            return NotImplemented
        raise ArgumentError(f"'{self}' is a dimension: powers of it are products, as in n * n")

    __rpow__ = __pow__

    def __rfloordiv__(self, other: Dim) -> Dim:
        value = _operand(other)
        return NotImplemented if value is None else floordiv(value, self)

    def __mod__(self, other: Dim) -> Dim:
        value = _operand(other)
        return NotImplemented if value is None else floormod(self, value)

    def __rmod__(self, other: Dim) -> Dim:
        value = _operand(other)
        return NotImplemented if value is None else floormod(value, self)

    def __lt__(self, other: Dim) -> Condition:
        return self._compare("<", other)

    def __le__(self, other: Dim) -> Condition:
        return self._compare("<=", other)

    def __gt__(self, other: Dim) -> Condition:
        return self._compare(">", other)

    def __ge__(self, other: Dim) -> Condition:
        return self._compare(">=", other)

    def _compare(self, relation: Literal["<", "<=", ">", ">="], other: Dim) -> Condition:
        value = _operand(other)
        return NotImplemented if value is None else _condition().compare(relation, self, value)


Dim: TypeAlias = Expr | int
"""A dimension: an int whenever it is constant, else an `Expr`."""


def _condition() -> ModuleType:
    # Conditions import this module, so they can only be imported after it is complete.
    from relax_mlir.symbolic import proofs

    return proofs


def as_int(value: object) -> int | None:
    """`value` as an int, or None if it is not an integer (a bool is not)."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    try:
        return operator.index(value)
    except TypeError:  # classes define the method; arrays and values of a program raise
        return None


def _operand(value: object) -> Dim | None:
    """`value` as a Dim, or None if it is not an integer (a bool is not)."""
    return value if isinstance(value, Expr) or type(value) is int else as_int(value)


@lru_cache(maxsize=4096)
def atom(kind: Kind, *args: Dim) -> Expr:
    """The expression of one compound atom, whose arguments are in normal form."""
    if kind in (Kind.MIN, Kind.MAX):
        text = f"{kind.name.lower()}({', '.join(map(str, args))})"
    else:
        sign = "//" if kind is Kind.FLOORDIV else "%"
        text = f"{_dividend_text(args[0])} {sign} {_divisor_text(args[1])}"
    return _single(Atom(kind, text, args))


@lru_cache(maxsize=4096)
def symbol_atom(name: str) -> Expr:
    """The expression of one symbol, whose name has been checked."""
    return _single(Atom(Kind.SYMBOL, name))


def _single(factor: Atom) -> Expr:
    terms: tuple[Term, ...] = (((factor,), 1),)
    return Expr(terms, factor.text)


def terms_of(dim: Dim) -> tuple[Term, ...]:
    """The terms of a dimension; a constant has at most one, with the empty product."""
    if isinstance(dim, Expr):
        return dim.terms
    return (((), dim),) if dim else ()


def from_terms(factors: Mapping[Monomial, int]) -> Dim:
    """The normal form of a sum of products, given by their coefficients (zeros allowed)."""
    terms = [(monomial, factor) for monomial, factor in factors.items() if factor]
    if not terms:
        return 0
    if len(terms) == 1 and not terms[0][0]:
        return terms[0][1]
    if len(terms) > MAX_TERMS:
        raise ShapeError(f"a symbolic expression has {len(terms)} terms, more than the {MAX_TERMS} supported")
    terms.sort(key=lambda term: (-len(term[0]), term[0]))
    return Expr(tuple(terms), _sum_text(terms))


@lru_cache(maxsize=16384)
def add(a: Dim, b: Dim) -> Dim:
    """The sum of two dimensions."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    total = dict(terms_of(a))
    for monomial, factor in terms_of(b):
        total[monomial] = total.get(monomial, 0) + factor
    return from_terms(total)


@lru_cache(maxsize=16384)
def multiply(a: Dim, b: Dim) -> Dim:
    """The product of two dimensions, expanded."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    left, right = terms_of(a), terms_of(b)
    if len(left) * len(right) > MAX_TERMS * 16:
        raise ShapeError(f"a symbolic product of {len(left)} by {len(right)} terms is too large to expand")
    total: dict[Monomial, int] = {}
    for x, p in left:
        for y, q in right:
            monomial = tuple(sorted(x + y)) if x and y else x or y
            total[monomial] = total.get(monomial, 0) + p * q
    return from_terms(total)


def product(dims: Iterable[Dim]) -> Dim:
    """The product of dimensions: the number of elements of a shape; 1 for the empty shape."""
    total: Dim = 1
    for dim in dims:
        total = multiply(total, dim)
    return total


def printed_terms(terms: Iterable[Term]) -> list[Term]:
    """The terms in print order: a positive term comes first if there is one, to avoid a leading minus."""
    ordered = list(terms)
    if ordered[0][1] < 0:
        first = next((i for i, (_, factor) in enumerate(ordered) if factor > 0), 0)
        ordered.insert(0, ordered.pop(first))
    return ordered


def _sum_text(terms: Iterable[Term]) -> str:
    (monomial, factor), *rest = printed_terms(terms)
    text = _product_text(monomial, abs(factor))
    if factor < 0:
        # "-n // 2" would read as "(-n) // 2".
        text = f"-({text})" if _has_division(monomial) else f"-{text}"
    for monomial, factor in rest:
        text += f" {'-' if factor < 0 else '+'} {_product_text(monomial, abs(factor))}"
    return text


def _product_text(monomial: Monomial, factor: int) -> str:
    """The text "2*m", "4*m*n", "(n + 3) // 4 * 4": at most one division comes first, others need parentheses."""
    plain = [a.text for a in monomial if a.kind < Kind.FLOORDIV]
    divisions = [a.text for a in monomial if a.kind >= Kind.FLOORDIV]
    number = [str(factor)] if factor != 1 or not monomial else []
    if not divisions:
        return "*".join(number + plain)
    return " * ".join([divisions[0], *plain, *(f"({text})" for text in divisions[1:]), *number])


def _has_division(monomial: Monomial) -> bool:
    return any(a.kind >= Kind.FLOORDIV for a in monomial)


def _dividend_text(dim: Dim) -> str:
    if isinstance(dim, int):
        return str(dim) if dim >= 0 else f"({dim})"
    monomial, factor = dim.terms[0]
    bare = len(dim.terms) == 1 and factor > 0 and not _has_division(monomial)
    return dim.text if bare else f"({dim.text})"


def _divisor_text(dim: Dim) -> str:
    if isinstance(dim, int):
        return str(dim) if dim >= 0 else f"({dim})"
    monomial, factor = dim.terms[0]
    bare = len(dim.terms) == 1 and factor == 1 and len(monomial) == 1 and not _has_division(monomial)
    return dim.text if bare else f"({dim.text})"


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
        _ASSUMED.set(outer)  # a token belongs to one asynchronous task; a function may be abandoned in another one


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


# Simplification rules of floor division, remainder, minimum and maximum.
#
# Every rule holds for all non-negative values of the symbols for which no divisor is zero. Where a divisor is zero, the
# expression has no value, but its simplified form may have one (``n*m // m`` is ``n``).


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
