"""Propose the configurations to measure next: at random, or by varying the best ones."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol

from relax_mlir.dialects.number_attributes import real
from relax_mlir.error import ArgumentError, expect
from relax_mlir.strategy.knobs import Values

Space = Mapping[str, Sequence[Any]]


def require_seed(where: str, seed: object) -> None:
    """Raise `ArgumentError` unless `seed` is an integer from 0 on."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ArgumentError(f"{where}: 'seed' is {seed!r}, expected an integer from 0 on")


def require_search(where: str, space: object, seed: object) -> None:
    """Raise `ArgumentError` unless the arguments of a search are a space and a seed."""
    expect(f"{where}: 'space'", space, Mapping, "a dictionary of knobs and their candidates")
    assert isinstance(space, Mapping)
    for name, candidates in space.items():
        expect(f"{where}: 'space'[{name!r}]", candidates, Sequence, "a list of candidates")
    require_seed(where, seed)


class Search(Protocol):
    """The interface of searches, which propose configurations of a space, each once."""

    def propose(self, count: int) -> list[dict[str, Any]]:
        """Up to `count` configurations that were not proposed yet; empty when the space is exhausted."""
        ...

    def tell(self, values: Values, score: float) -> None:
        """Report the score of a configuration: higher is better, 0 means that it failed."""
        ...


@dataclass
class RandomSearch:
    """Random configurations; the first one has all first values."""

    space: Space
    seed: int = 0
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        require_search(type(self).__name__, self.space, self.seed)
        self.rng = random.Random(self.seed)

    @property
    def size(self) -> int:
        """The number of configurations."""
        return prod(len(candidates) for candidates in self.space.values())

    def propose(self, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        expect(f"{type(self).__name__}.propose: 'count'", count, int, "a number of configurations")
        for values in self._candidates():
            if len(found) >= count or len(self.seen) >= self.size:
                break
            if self._take(values):
                found.append(values)
        return found

    def tell(self, values: Values, score: float) -> None:
        what = f"{type(self).__name__}.tell"
        expect(f"{what}: 'values'", values, Mapping, "values of knobs")
        if values.keys() != self.space.keys():
            raise ArgumentError(
                f"{what}: 'values' is {values!r}, expected a value for each of {list(self.space)}"
            )
        if math.isnan(real(score, f"{what}: 'score'")):
            raise ArgumentError(f"{what}: 'score' is NaN; a configuration that failed has the score 0")
        self.seen.add(key_of_values(values))

    def _take(self, values: dict[str, Any]) -> bool:
        key = key_of_values(values)
        is_new = key not in self.seen
        self.seen.add(key)
        return is_new

    def _candidates(self) -> Iterator[dict[str, Any]]:
        yield {name: candidates[0] for name, candidates in self.space.items()}
        while True:
            yield self._random()

    def all_configurations(self) -> Iterator[dict[str, Any]]:
        """Every configuration of the space, the first values first."""
        for values in itertools.product(*self.space.values()):
            yield dict(zip(self.space, values, strict=True))

    def _random(self) -> dict[str, Any]:
        return {name: self.rng.choice(list(candidates)) for name, candidates in self.space.items()}


@dataclass
class EvolutionarySearch(RandomSearch):
    """Varies the best configurations so far: combines the values of two parents, and sometimes mutates a value.

    The first `population` ones, and a quarter of the later ones, are drawn at random.
    """

    population: int = 16
    parents: list[tuple[float, dict[str, Any]]] = field(default_factory=list)

    def tell(self, values: Values, score: float) -> None:
        super().tell(values, score)
        self.parents = [parent for parent in self.parents if parent[1] != values]
        if score > 0:
            self.parents.append((score, dict(values)))
            self.parents = sorted(self.parents, key=lambda each: -each[0])[: self.population]

    def _candidates(self) -> Iterator[dict[str, Any]]:
        if not self.seen:
            yield {name: candidates[0] for name, candidates in self.space.items()}
        while True:
            few = len(self.seen) < self.population or len(self.parents) < 2
            yield self._random() if few or self.rng.random() < 0.25 else self._child()

    def _child(self) -> dict[str, Any]:
        """A child of two parents from the better half."""
        best = self.parents[: max(2, len(self.parents) // 2)]
        (_, first), (_, second) = self.rng.sample(best, 2)
        child = {name: self.rng.choice((first[name], second[name])) for name in self.space}
        for name, candidates in self.space.items():
            if self.rng.random() < 1 / max(1, len(self.space)):
                place = list(candidates).index(child[name]) + self.rng.choice((-2, -1, 1, 2))
                child[name] = candidates[max(0, min(len(candidates) - 1, place))]
        return child


def key_of_values(values: Values) -> str:
    """The key of a configuration."""
    return json.dumps(values, sort_keys=True)
