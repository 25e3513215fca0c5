"""Walks over expressions: symbols, substitution, evaluation, lowering to arithmetic; and their text form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

from relax_mlir.error import ArgumentError, ParseError, ShapeError, expect
from relax_mlir.symbolic.expr import (
    Atom,
    Dim,
    Expr,
    Kind,
    Monomial,
    add,
    as_int,
    ceildiv,
    floordiv,
    floormod,
    maximum,
    minimum,
    multiply,
    printed_terms,
    symbol_atom,
)

# The text form of dimensions.
#
# ::
#
#     sum     := product (("+" | "-") product)*
#     product := unary (("*" | "//" | "%") unary)*
#     unary   := "-" unary | primary
#     primary := integer | symbol | function "(" sum ("," sum)+ ")" | "(" sum ")"
#
# Functions: min and max of two or more, ceildiv, floordiv and floormod of two.

FUNCTIONS: dict[str, Callable[..., Dim]] = {
    "min": minimum,
    "max": maximum,
    "ceildiv": ceildiv,
    "floordiv": floordiv,
    "floormod": floormod,
}

_PRODUCTS: dict[str, Callable[..., Dim]] = {"*": multiply, "//": floordiv, "%": floormod}

MAX_NESTING = 64
MAX_DIGITS = 1000

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(r"[ \t]*(?:([0-9]+)|([A-Za-z_][A-Za-z0-9_]*)|(//|[-+*%(),]))")
_BLANK = re.compile(r"[ \t]*")


def is_identifier(name: str) -> bool:
    """True if `name` is a valid symbol: ``[A-Za-z_][A-Za-z0-9_]*``, neither "_" nor the name of a function."""
    if not isinstance(name, str):
        return False
    return _IDENTIFIER.fullmatch(name) is not None and name != "_" and name not in FUNCTIONS


def symbol(name: str) -> Expr:
    """The symbol `name`, an unknown non-negative integer. ParseError: not a symbol name."""
    expect("symbol: 'name'", name, str, "the name of a symbol")
    return _symbol(name)


@lru_cache(maxsize=4096)
def _symbol(name: str) -> Expr:
    if not is_identifier(name):
        reserved = "it is a function" if name in FUNCTIONS else "expected a letter or '_', letters, digits, '_'"
        raise ParseError(f"'{name}' cannot name a symbol: {reserved}")
    return symbol_atom(name)


@lru_cache(maxsize=16384)
def parse(text: str) -> Dim:
    """The dimension written in `text`, in normal form. ParseError: shows the text with a mark at the column."""
    return _Parser(text).dimension()


def to_dim(value: int | str | Expr) -> Dim:
    """A dimension from an int, text or expression. ArgumentError: anything else, bool included."""
    if isinstance(value, Expr) or type(value) is int:
        return value
    if isinstance(value, str):
        return parse(value)
    if (found := as_int(value)) is None:
        kind = type(value).__name__
        raise ArgumentError(f"a dimension is an int, an expression or its text, not {kind} {value!r}")
    return found


class _Parser:
    """Recursive descent over one text; columns are counted from 1."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.depth = 0
        self.position = 0
        self.start = 0
        self.number = self.name = self.sign = ""
        self.advance()

    def dimension(self) -> Dim:
        value = self.sum()
        if self.start < len(self.text):
            raise self.error("expected an operator or the end", self.start)
        return value

    def sum(self) -> Dim:
        value = self.product()
        while self.sign in ("+", "-"):
            sign, at = self.sign, self.start
            self.advance()
            right = self.product()
            value = self.apply(add, at, value, right if sign == "+" else -right)
        return value

    def product(self) -> Dim:
        value = self.unary()
        while self.sign in ("*", "//", "%"):
            operation, at = _PRODUCTS[self.sign], self.start
            self.advance()
            value = self.apply(operation, at, value, self.unary())
        return value

    def unary(self) -> Dim:
        negative = False
        while self.sign == "-":
            negative = not negative
            self.advance()
        value = self.primary()
        return -value if negative else value

    def primary(self) -> Dim:
        at = self.start
        if self.number:
            if len(self.number) > MAX_DIGITS:
                raise self.error(f"a number of more than {MAX_DIGITS} digits", at)
            value: Dim = int(self.number)
            self.advance()
            return value
        if self.name:
            name = self.name
            self.advance()
            if name in FUNCTIONS:
                return self.call(name, at)
            if self.sign == "(":
                raise self.error(f"unknown function '{name}'; known: {', '.join(sorted(FUNCTIONS))}", at)
            if name == "_":
                raise self.error("'_' stands for any dimension and is no expression", at)
            return symbol_atom(name)
        if self.sign == "(":
            self.enter(at)
            value = self.sum()
            self.leave(")")
            return value
        raise self.error("expected a number, a symbol or '('", at)

    def call(self, name: str, at: int) -> Dim:
        if self.sign != "(":
            raise self.error(f"'{name}' is a function: expected '(' after it", at)
        self.enter(at)
        args = [self.sum()]
        while self.sign == ",":
            self.advance()
            args.append(self.sum())
        self.leave(")")
        if len(args) < 2 or (len(args) > 2 and name not in ("min", "max")):
            wanted = "two or more" if name in ("min", "max") else "two"
            raise self.error(f"'{name}' takes {wanted} arguments, got {len(args)}", at)
        return self.apply(FUNCTIONS[name], at, *args)

    def apply(self, operation: Callable[..., Dim], at: int, *args: Dim) -> Dim:
        try:
            return operation(*args)
        except ShapeError as error:
            raise self.error(str(error), at) from None

    def enter(self, at: int) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.error(f"more than {MAX_NESTING} nested parentheses", at)
        self.advance()

    def leave(self, closing: str) -> None:
        if self.sign != closing:
            raise self.error(f"expected '{closing}' or an operator", self.start)
        self.depth -= 1
        self.advance()

    def advance(self) -> None:
        blank = _BLANK.match(self.text, self.position)
        self.start = blank.end() if blank else self.position
        if self.start == len(self.text):
            self.number = self.name = self.sign = ""
            return
        token = _TOKEN.match(self.text, self.position)
        if token is None:
            raise self.error(self.unexpected(), self.start)
        self.number, self.name, self.sign = (group or "" for group in token.groups())
        self.position = token.end()

    def unexpected(self) -> str:
        character = self.text[self.start]
        if character == "?":
            return "'?' stands for an unknown dimension and is no expression"
        if character == "/":
            return "expected '//' (floor division): dimensions are integers"
        return f"unexpected character {character!r}"

    def error(self, message: str, at: int) -> ParseError:
        mark = " " * at + "^"
        return ParseError(f"dimension '{self.text}', column {at + 1}: {message}\n  {self.text}\n  {mark}")


T = TypeVar("T")


def symbols(dim: Dim) -> tuple[str, ...]:
    """The names of the symbols in `dim`, sorted."""
    return _symbols(dim) if isinstance(dim, Expr) else ()


@lru_cache(maxsize=4096)
def _symbols(expr: Expr) -> tuple[str, ...]:
    names: set[str] = set()
    for monomial, _ in expr.terms:
        for a in monomial:
            if a.kind is Kind.SYMBOL:
                names.add(a.text)
            else:
                names.update(name for arg in a.args for name in symbols(arg))
    return tuple(sorted(names))


def linear_definition(dim: Dim) -> str | None:
    """The name if `dim` is a bare symbol, which a dimension of a parameter can define; else None."""
    if not isinstance(dim, Expr) or len(dim.terms) != 1:
        return None
    monomial, factor = dim.terms[0]
    if factor != 1 or len(monomial) != 1 or monomial[0].kind is not Kind.SYMBOL:
        return None
    return monomial[0].text


def lower(
    dim: Dim,
    *,
    symbol: Callable[[str], T],
    const: Callable[[int], T],
    add: Callable[[T, T], T],
    mul: Callable[[T, T], T],
    floordiv: Callable[[T, T], T],
    mod: Callable[[T, T], T],
    min: Callable[[T, T], T],
    max: Callable[[T, T], T],
) -> T:
    """Compute `dim` with the given operations, in the order in which it is printed.

    `floordiv` rounds to minus infinity and `mod` takes the sign of the divisor, as in Python. A difference is the sum
    with a product by a negative constant. Within one call, equal symbols, constants, divisions, minima and maxima are
    created once. A divisor that is not constant may be zero: see `divisors`.
    """
    consts: dict[int, T] = {}
    atoms: dict[Atom, T] = {}

    def constant(value: int) -> T:
        if value not in consts:
            consts[value] = const(value)
        return consts[value]

    def lower_atom(a: Atom) -> T:
        if a.kind is Kind.SYMBOL:
            return symbol(a.text)
        operation = {Kind.FLOORDIV: floordiv, Kind.MOD: mod, Kind.MIN: min, Kind.MAX: max}[a.kind]
        return _fold(operation, [lower_dim(arg) for arg in a.args])

    def lower_term(monomial: Monomial, factor: int) -> T:
        for a in monomial:
            if a not in atoms:
                atoms[a] = lower_atom(a)
        values = [atoms[a] for a in monomial]
        return _fold(mul, values if factor == 1 and values else [*values, constant(factor)])

    def lower_dim(value: Dim) -> T:
        if isinstance(value, int):
            return constant(value)
        return _fold(add, [lower_term(monomial, factor) for monomial, factor in printed_terms(value.terms)])

    return lower_dim(dim)


def _fold(operation: Callable[[T, T], T], values: list[T]) -> T:
    result = values[0]
    for value in values[1:]:
        result = operation(result, value)
    return result


def divisors(dim: Dim) -> tuple[Expr, ...]:
    """The divisors in `dim` that are not constant, innermost first: `dim` has no value where one is zero."""
    found: dict[Expr, None] = {}
    if isinstance(dim, Expr):
        for monomial, _ in dim.terms:
            for a in monomial:
                for arg in a.args:
                    found.update(dict.fromkeys(divisors(arg)))
                if a.kind in (Kind.FLOORDIV, Kind.MOD) and isinstance(a.args[1], Expr):
                    found[a.args[1]] = None
    return tuple(found)


def substitute(dim: Dim, mapping: Mapping[str, Dim]) -> Dim:
    """`dim` with symbols replaced, all at once; symbols without an entry stay.

    The replacements are sizes, so they must be non-negative for all values of their symbols. Raises ShapeError for
    a negative constant, and if a divisor becomes zero.
    """
    present = {name: to_dim(mapping[name]) for name in symbols(dim) if name in mapping}
    for name, value in present.items():
        if isinstance(value, int) and value < 0:
            raise ShapeError(f"symbol '{name}' of '{dim}' cannot be {value}: it is zero or positive")
    if not present:
        return dim

    def replaced(name: str) -> Dim:
        return present[name] if name in present else symbol_atom(name)

    return _rebuild(dim, replaced)


def _rebuild(dim: Dim, replaced: Callable[[str], Dim]) -> Dim:
    return lower(
        dim,
        symbol=replaced,
        const=lambda value: value,
        add=add,
        mul=multiply,
        floordiv=floordiv,
        mod=floormod,
        min=minimum,
        max=maximum,
    )


def evaluate(dim: Dim, mapping: Mapping[str, int]) -> int:
    """The value of `dim`.

    Raises:
        ArgumentError: the value of a symbol is an expression.
        ShapeError: a symbol without a value or with a negative one, a division by zero.
    """
    if isinstance(dim, int):
        return dim
    missing = [name for name in symbols(dim) if name not in mapping]
    if missing:
        names = ", ".join(f"'{name}'" for name in missing)
        raise ShapeError(f"'{dim}' needs a value of symbol {names}; given: {_values(mapping) or 'none'}")
    for name in symbols(dim):
        if isinstance(mapping[name], Expr):
            raise ArgumentError(f"the value of symbol '{name}' of '{dim}' is '{mapping[name]}', not an int")
        if mapping[name] < 0:
            raise ShapeError(f"symbol '{name}' of '{dim}' cannot be {mapping[name]}: it is zero or positive")
    try:
        return _value(dim, mapping)
    except ZeroDivisionError:
        raise ShapeError(f"division by zero in '{dim}' where {_values(mapping)}") from None


def _value(dim: Dim, mapping: Mapping[str, int]) -> int:
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, factor in dim.terms:
        for a in monomial:
            factor *= _atom_value(a, mapping)
        total += factor
    return total


def _atom_value(a: Atom, mapping: Mapping[str, int]) -> int:
    if a.kind is Kind.SYMBOL:
        return int(mapping[a.text])
    args = [_value(arg, mapping) for arg in a.args]
    if a.kind is Kind.MIN:
        return min(args)
    if a.kind is Kind.MAX:
        return max(args)
    return args[0] // args[1] if a.kind is Kind.FLOORDIV else args[0] % args[1]


def _values(mapping: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(mapping.items()))
