"""Find size tables in measurements: short lists of thresholds that are faster than any single configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from math import exp, inf, isqrt, log, prod

import numpy as np

from relax_mlir.error import (
    ArgumentError,
    expect,
    expect_all,
)
from relax_mlir.strategy.size_table import MAX_CONFIGURATIONS, SizeRow, SizeTable
from relax_mlir.tuning.measure import BETTER, Measurement, Objective
from relax_mlir.tuning.task import Sizes


@dataclass(frozen=True)
class FoundTable:
    """A size table, its speedup over the baseline, and the speedup of the best single configuration."""

    table: SizeTable
    score: float
    single: float
    least: float = inf
    """The score from the lower quartiles of interleaved rounds against the single configuration, if measured."""

    @property
    def is_better(self) -> bool:
        """True if the table is faster than the best single configuration by more than noise."""
        is_better = self.score >= BETTER * self.single and self.least > self.single
        return bool(self.table.rows) and is_better

    def measured(self, beside: Measurement, single: Measurement, objective: Objective) -> FoundTable:
        """The same table with measured scores: `beside` is the table against `single`, the best configuration."""

        def score(name: str) -> float:
            pairs = zip(beside.times, single.times, strict=True)
            ratios = [replace(own, ratio=getattr(own, name) * other.ratio) for own, other in pairs]
            return Measurement({}, tuple(ratios)).score(objective)

        if beside.error:
            return replace(self, score=0.0)
        return FoundTable(self.table, score("ratio"), single.score(objective), score("low"))

    def __str__(self) -> str:
        head = f"{self.score:.2f} times as fast by size, {self.single:.2f} by one configuration"
        return "\n".join([head, *(f"  {line}" for line in str(self.table).split("; "))])


def find_table(
    measurements: Sequence[Measurement],
    sizes: Sequence[Sizes],
    objective: Objective = "mean",
    limit: int = MAX_CONFIGURATIONS,
) -> FoundTable:
    """The best size table by measurements; without rows if a single configuration is as good.

    For each length, finds the best list of thresholds on symbols and products of symbols. A list gets one more
    threshold only if that makes it faster by `BETTER`.

    Args:
        measurements: of candidates, each for all `sizes` in order; failed ones are ignored.
        objective: the objective, as in `tune`.
        limit: the maximum number of configurations.

    Raises:
        ArgumentError: nothing was measured for these sizes; a limit below 1, or above 4.
    """
    require_limit(limit)
    expect_all("find_table: 'measurements'", measurements, Measurement, "measurements")
    expect("find_table: 'sizes'", sizes, list | tuple, "a list of sizes")
    known = [m for m in measurements if not m.error and len(m.times) == len(sizes)]
    if not known:
        raise ArgumentError(f"no candidate was measured for these {len(sizes)} sizes")
    search = _Search(known, sizes, objective)
    everything = (1 << len(sizes)) - 1
    found = search.best(everything, 1)
    single = search.score(found[0])
    for count in range(2, limit + 1):
        other = search.best(everything, count)
        if search.score(other[0]) >= BETTER * search.score(found[0]):
            found = other
    value, rows, last = found
    return FoundTable(SizeTable(rows, known[last].values), search.score(value), single)


def require_limit(limit: int) -> None:
    """Raise `ArgumentError` if a table cannot have `limit` configurations."""
    expect("a table of sizes: the number of configurations", limit, int, "a number")
    if not 1 <= limit <= MAX_CONFIGURATIONS:
        raise ArgumentError(f"a table of sizes has 1 to {MAX_CONFIGURATIONS} configurations, not {limit}")


Found = tuple[float, tuple[SizeRow, ...], int]
"""The value of a list of thresholds, the list, and the index of the candidate for the remaining sizes."""


@dataclass
class _Search:
    """Find lists of thresholds for sets of sizes, which are bit masks."""

    candidates: Sequence[Measurement]
    sizes: Sequence[Sizes]
    objective: Objective
    known: dict[tuple[int, int], Found] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.logs = np.array([[log(time.ratio) for time in m.times] for m in self.candidates])
        self.cuts = self._cuts()

    def score(self, value: float) -> float:
        """The objective for all sizes, from the value of a list."""
        return exp(value if self.objective == "worst" else value / len(self.sizes))

    def best(self, which: int, count: int) -> Found:
        """The best list with up to `count` configurations for the sizes in `which`."""
        if (which, count) not in self.known:
            self.known[which, count] = self._best(which, count)
        return self.known[which, count]

    def _best(self, which: int, count: int) -> Found:
        found = self._single(which)
        if count == 1:
            return found
        for symbols, at_most, below in self.cuts:
            first, rest = which & below, which & ~below
            if not first or not rest:
                continue
            value, _, number = self._single(first)
            other, rows, last = self.best(rest, count - 1)
            both = min(value, other) if self.objective == "worst" else value + other
            if both > found[0] + 1e-12:
                row = SizeRow(symbols, at_most, self.candidates[number].values)
                found = both, (row, *rows), last
        return found

    def _single(self, which: int) -> Found:
        key = (which, 1)
        if key not in self.known:
            columns = self.logs[:, [i for i in range(len(self.sizes)) if which >> i & 1]]
            values = columns.min(axis=1) if self.objective == "worst" else columns.sum(axis=1)
            number = int(values.argmax())
            self.known[key] = float(values[number]), (), number
        return self.known[key]

    def _cuts(self) -> list[tuple[tuple[str, ...], int, int]]:
        """Products of symbols, thresholds between the sizes, and the sizes below; each set of sizes once.

        Single symbols come first, so that the shortest condition is used for a set of sizes.
        """
        symbols = list(self.sizes[0])
        products = [c for length in range(1, len(symbols) + 1) for c in combinations(symbols, length)]
        found: dict[int, tuple[tuple[str, ...], int, int]] = {}
        for names in products:
            values = [prod(each[name] for name in names) for each in self.sizes]
            steps = sorted(set(values))
            for low, high in pairwise(steps):
                below = sum(1 << i for i, value in enumerate(values) if value <= low)
                found.setdefault(below, (names, max(low, min(high - 1, isqrt(low * high))), below))
        return list(found.values())
