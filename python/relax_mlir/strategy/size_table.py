"""Size tables: knob values of a schedule, chosen by the sizes of the symbols in its shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from relax_mlir.error import ArgumentError
from relax_mlir.strategy.knobs import Values
from relax_mlir.symbolic import Condition, symbol
from relax_mlir.symbolic.proofs import compare

MAX_CONFIGURATIONS = 4
"""The maximum number of configurations in a table, since each is compiled."""


@dataclass(frozen=True)
class SizeRow:
    """A configuration, for sizes where the product of `symbols` is at most `at_most`."""

    symbols: tuple[str, ...]
    at_most: int
    values: Values

    @property
    def condition(self) -> Condition:
        """The condition of the row on its symbols."""
        product = prod([symbol(name) for name in self.symbols], start=1)
        return compare("<=", product, self.at_most)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """True if the row applies to these sizes."""
        return prod(sizes[name] for name in self.symbols) <= self.at_most


@dataclass(frozen=True)
class SizeTable:
    """Configurations by size: the first of `rows` that applies to the sizes of a call, else `otherwise`."""

    rows: tuple[SizeRow, ...]
    otherwise: Values

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols in the conditions of the rows."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.symbols))

    @property
    def configurations(self) -> list[Values]:
        """The configurations without duplicates."""
        found: list[Values] = []
        for values in (*(row.values for row in self.rows), self.otherwise):
            if values not in found:
                found.append(values)
        return found

    def of(self, sizes: Mapping[str, int]) -> Values:
        """The configuration for the given sizes."""
        return next((row.values for row in self.rows if row.holds(sizes)), self.otherwise)

    def require_symbols(self, known: tuple[str, ...] | list[str]) -> None:
        """Raise `ArgumentError` if the table uses a symbol that is not in `known`."""
        for name in self.symbols:
            if name not in known:
                raise ArgumentError(
                    f"the table of sizes looks at '{name}', which is no symbol of the computation (it has "
                    f"{', '.join(known) or 'none'}): the table is of another one"
                )

    def ways(self) -> list[tuple[Condition | None, Values]]:
        """The configurations that can apply, with their conditions; the last one has none.

        The bounds of symbols are those of the enclosing `assuming`.
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
    """One string per configuration, with its condition."""
    if len(ways) == 1:
        return [values_text(ways[0][1])]
    return [
        f"{'otherwise' if condition is None else f'where {condition}'}: {values_text(values)}"
        for condition, values in ways
    ]


def values_text(values: Values) -> str:
    """The values of knobs for reports."""
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "no knobs"
