"""Walks over expressions: their symbols, substitution, evaluation, lowering to arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic.division import floordiv, floormod, maximum, minimum
from relax_mlir.symbolic.expr import (
    Atom,
    Dim,
    Expr,
    Kind,
    Monomial,
    add,
    multiply,
    printed_terms,
    symbol_atom,
)
from relax_mlir.symbolic.parser import to_dim

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
    """The value of `dim`. ShapeError: a symbol without a value or with a negative one, a division by zero."""
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
