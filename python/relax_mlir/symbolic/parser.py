"""The text form of dimensions.

::

    sum     := product (("+" | "-") product)*
    product := unary (("*" | "//" | "%") unary)*
    unary   := "-" unary | primary
    primary := integer | symbol | function "(" sum ("," sum)+ ")" | "(" sum ")"

Functions: min and max of two or more, ceildiv, floordiv and floormod of two.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from relax_mlir.error import (
    ArgumentError,
    ParseError,
    ShapeError,
    expect,
)
from relax_mlir.symbolic.division import ceildiv, floordiv, floormod, maximum, minimum
from relax_mlir.symbolic.expr import Dim, Expr, add, as_int, multiply, symbol_atom

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
        reserved = (
            "it is a function" if name in FUNCTIONS else "expected a letter or '_', letters, digits, '_'"
        )
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
