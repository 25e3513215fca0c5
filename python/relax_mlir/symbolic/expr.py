"""The normal form of symbolic integers: a polynomial with integer coefficients over atoms.

An atom is a symbol, or a floor division, remainder, minimum or maximum that could not be simplified further.
Expressions with the same normal form print the same text, and the text parses to the same normal form, so an expression
is compared and hashed by its text.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

from relax_mlir.error import ArgumentError, ShapeError

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
        return NotImplemented if value is None else _division().floordiv(self, value)

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
        return NotImplemented if value is None else _division().floordiv(value, self)

    def __mod__(self, other: Dim) -> Dim:
        value = _operand(other)
        return NotImplemented if value is None else _division().floormod(self, value)

    def __rmod__(self, other: Dim) -> Dim:
        value = _operand(other)
        return NotImplemented if value is None else _division().floormod(value, self)

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

if TYPE_CHECKING:
    from types import ModuleType

    from relax_mlir.symbolic.condition import Condition


def _division() -> ModuleType:
    # The division rules import this module, so they can only be imported after it is complete.
    from relax_mlir.symbolic import division

    return division


def _condition() -> ModuleType:
    # Imported late for the same reason: conditions are decided by proofs about expressions.
    from relax_mlir.symbolic import condition

    return condition


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
