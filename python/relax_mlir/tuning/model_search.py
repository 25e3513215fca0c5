"""A search with a learned cost model: it proposes configurations that the model expects to beat the best one so far.

The model is an ensemble of boosted trees (XGBoost), each fitted to a sample of the measurements. Where they disagree,
the prediction is uncertain. The *expected improvement* of a candidate combines the mean and the spread of the
predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import erf, log2
from typing import Any

import numpy as np

from relax_mlir.error import UnsupportedError
from relax_mlir.strategy.knobs import Values
from relax_mlir.tuning.search import RandomSearch, key_of_values

MODELS, ROUNDS, SHARE = 6, 40, 0.8
"""Number of models in the ensemble, trees per model, and the share of the measurements that each is fitted to."""

PARAMETERS = {
    "max_depth": 5,
    "eta": 0.3,
    "colsample_bynode": 0.5,
    "lambda": 0.1,
    "max_bin": 32,
    "nthread": 1,
    "verbosity": 0,
}
"""Parameters of XGBoost: each split sees half of the features, so that models differ where data is sparse."""

EXPLORED = 0.05
"""The share of proposals that are drawn at random."""

NEIGHBOURS = 16
"""The number of best configurations whose neighbours the model evaluates."""

Array = np.ndarray[Any, Any]
Describe = Callable[[Values], Mapping[str, float]]


@dataclass
class ModelSearch(RandomSearch):
    """Proposes the configurations with the largest expected improvement; the first `population` are drawn at random.

    `describe` returns features of a configuration's schedule, in addition to the knob values.

    Raises:
        UnsupportedError: XGBoost is not installed.
    """

    describe: Describe | None = None
    population: int = 10
    pool: int = 256
    scores: dict[str, tuple[dict[str, Any], float]] = field(default_factory=dict)
    _described: dict[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            import xgboost
        except ImportError:
            raise UnsupportedError(
                "the search 'model' needs XGBoost: pip install 'relax-mlir[tuning]'"
            ) from None
        self._xgboost = xgboost
        self._kinds = {name: _kind(candidates) for name, candidates in self.space.items()}

    def tell(self, values: Values, score: float) -> None:
        super().tell(values, score)
        self.scores[key_of_values(values)] = dict(values), score

    def propose(self, count: int) -> list[dict[str, Any]]:
        if len(self.scores) < self.population or all(score <= 0 for _, score in self.scores.values()):
            return super().propose(count)
        drawn = sum(self.rng.random() < EXPLORED for _ in range(count))
        found = super().propose(drawn) if drawn else []
        pool = self._pool()
        if pool:
            gains = self._expected_improvements(pool)
            order = np.argsort(-gains, kind="stable")[: count - len(found)]
            found += [pool[place] for place in order]
        for values in found:
            self.seen.add(key_of_values(values))
        return found

    def _pool(self) -> list[dict[str, Any]]:
        """Configurations that were not proposed yet: neighbours of the best ones, and random ones."""
        found: dict[str, dict[str, Any]] = {}
        best = sorted(self.scores.values(), key=lambda each: -each[1])[:NEIGHBOURS]
        for values, _ in best:
            for name, candidates in self.space.items():
                for value in candidates:
                    found.setdefault(key_of_values(changed := {**values, name: value}), changed)
        left = self.size - len(self.seen)
        wanted = min(left, len(found) + self.pool)
        if left <= 4 * self.pool:
            for values in self.all_configurations():
                found.setdefault(key_of_values(values), values)
        for _ in range(8 * self.pool):
            if len(found) >= wanted:
                break
            values = self._random()
            found.setdefault(key_of_values(values), values)
        return [values for key, values in found.items() if key not in self.seen]

    def _expected_improvements(self, pool: Sequence[Values]) -> Array:
        """The expected improvement of each configuration of a pool over the best one so far."""
        measured = [values for values, _ in self.scores.values()]
        table = self._table([*measured, *pool])
        known, asked = table[: len(measured)], table[len(measured) :]
        wanted = np.array([score for _, score in self.scores.values()])
        candidates = self._xgboost.DMatrix(asked, nthread=1)
        predicted = np.stack(
            [self._fitted(known, wanted, number).predict(candidates) for number in range(MODELS)]
        )
        mean, spread = predicted.mean(axis=0), predicted.std(axis=0) + 1e-6
        gain = mean - wanted.max()
        z = gain / spread
        density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        improvement: Array = gain * _normal_cdf(z) + spread * density
        return improvement

    def _fitted(self, known: Array, wanted: Array, number: int) -> Any:  # noqa: ANN401 - a model of XGBoost
        """One model of the ensemble, fitted to a sample of the measurements."""
        rng = np.random.default_rng((self.seed, number, len(wanted)))
        rows = rng.permutation(len(wanted))[: max(4, int(SHARE * len(wanted)))]
        data = self._xgboost.DMatrix(known[rows], wanted[rows], nthread=1)
        return self._xgboost.train({**PARAMETERS, "seed": number}, data, num_boost_round=ROUNDS)

    def _table(self, configurations: Sequence[Values]) -> Array:
        """The features of configurations, one row each."""
        rows = [{**self._of_knobs(values), **self._of_schedule(values)} for values in configurations]
        names = sorted({name for row in rows for name in row})
        return np.array([[row.get(name, np.nan) for name in names] for row in rows], np.float32)

    def _of_knobs(self, values: Values) -> dict[str, float]:
        """Features of knobs: log2 of numbers, of each number of a list and their product; else one-hot."""
        found: dict[str, float] = {}
        for name, candidates in self.space.items():
            value = values[name]
            if self._kinds[name] == "number":
                found[name] = _log(value)
            elif self._kinds[name] == "numbers":
                found |= {f"{name}[{place}]": _log(each) for place, each in enumerate(value)}
                found[f"{name} product"] = sum(_log(each) for each in value)
            else:
                found |= {f"{name}={each}": float(each == value) for each in candidates}
        return found

    def _of_schedule(self, values: Values) -> Mapping[str, float]:
        if self.describe is None:
            return {}
        key = key_of_values(values)
        if key not in self._described:
            self._described[key] = self.describe(values)
        return self._described[key]


def _kind(candidates: Sequence[Any]) -> str:
    """The kind of a knob's candidates: "number", "numbers" (lists), or "others"."""
    if all(map(_is_number, candidates)):
        return "number"
    are_lists = all(isinstance(each, list | tuple) and all(map(_is_number, each)) for each in candidates)
    return "numbers" if are_lists else "others"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _log(value: float) -> float:
    """Signed log2 of a number, also defined for zero and negative numbers."""
    return log2(1 + value) if value >= 0 else -log2(1 - value)


def _normal_cdf(z: Array) -> Array:
    """The cumulative distribution function of the standard normal distribution."""
    share: Array = 0.5 * (1.0 + np.vectorize(erf)(z / np.sqrt(2.0)))
    return share
