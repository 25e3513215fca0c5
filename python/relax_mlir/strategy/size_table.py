"""Tables of sizes: which values of knobs a schedule has, by how large the symbols of its shapes are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from relax_mlir.error import ArgumentError
from relax_mlir.strategy.knobs import Values
from relax_mlir.symbolic import Condition, symbol
from relax_mlir.symbolic.condition import compare

MAX_CONFIGURATIONS = 4
"""A table has at most so many configurations: each of them is code."""


@dataclass(frozen=True)
class SizeRow:
    """A configuration, and the sizes that it is for: those of which the product of some symbols is at most a number."""

    symbols: tuple[str, ...]
    at_most: int
    values: Values

    @property
    def condition(self) -> Condition:
        """As a condition on the symbols."""
        product = prod([symbol(name) for name in self.symbols], start=1)
        return compare("<=", product, self.at_most)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether it is for these sizes."""
        return prod(sizes[name] for name in self.symbols) <= self.at_most


@dataclass(frozen=True)
class SizeTable:
    """Configurations by sizes: the first of `rows` that is for the sizes of a call, else `otherwise`."""

    rows: tuple[SizeRow, ...]
    otherwise: Values

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that it looks at."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.symbols))

    @property
    def configurations(self) -> list[Values]:
        """The configurations, each once."""
        found: list[Values] = []
        for values in (*(row.values for row in self.rows), self.otherwise):
            if values not in found:
                found.append(values)
        return found

    def of(self, sizes: Mapping[str, int]) -> Values:
        """The configuration for some sizes."""
        return next((row.values for row in self.rows if row.holds(sizes)), self.otherwise)

    def require_symbols(self, known: tuple[str, ...] | list[str]) -> None:
        """Raise `ArgumentError` for a symbol that a computation does not have."""
        for name in self.symbols:
            if name not in known:
                raise ArgumentError(
                    f"the table of sizes looks at '{name}', which is no symbol of the computation (it has "
                    f"{', '.join(known) or 'none'}): the table is of another one"
                )

    def ways(self) -> list[tuple[Condition | None, Values]]:
        """The configurations that are possible, with their conditions; the last one has none.

        The bounds of symbols are those of the `assuming` around.
        """
        found: list[tuple[Condition | None, Values]] = []
        for row in self.rows:
            verdict = row.condition.decide()
            if verdict:
                return [*found, (None, row.values)]
            if verdict is None:
                found.append((row.condition, row.values))
        return [*found, (None, self.otherwise)]

    def __str__(self) -> str:
        return "; ".join(
            ways_text([*((row.condition, row.values) for row in self.rows), (None, self.otherwise)])
        )


def ways_text(ways: Sequence[tuple[Condition | None, Values]]) -> list[str]:
    """A line for each of some configurations with conditions."""
    if len(ways) == 1:
        return [values_text(ways[0][1])]
    return [
        f"{'otherwise' if condition is None else f'where {condition}'}: {values_text(values)}"
        for condition, values in ways
    ]


def values_text(values: Values) -> str:
    """The values of knobs as reports show them."""
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "no knobs"
