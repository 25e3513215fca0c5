"""Symbol definitions: which dimensions of a signature determine the symbols, and how (``2*n`` is 10 only for n = 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.symbolic.division import floordiv
from relax_mlir.symbolic.expr import Dim, Kind, Monomial, add, from_terms, multiply, symbol_atom, terms_of
from relax_mlir.symbolic.proofs import prove_equal, prove_less_equal
from relax_mlir.symbolic.visit import linear_definition, substitute, symbols


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
