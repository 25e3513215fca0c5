"""Searches: propose the configurations to measure next."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import erf, log2, prod
from typing import Any, Protocol

import numpy as np

from relax_mlir.dialects.number_attributes import real
from relax_mlir.error import ArgumentError, RelaxError, UnknownNameError, UnsupportedError, expect
from relax_mlir.lowering.strategy.tuned import Values
from relax_mlir.te.schedule.axes import Split
from relax_mlir.te.schedule.schedule import Schedule
from relax_mlir.te.schedule.stage import AttachedAt, Following, Inlined, Stage
from relax_mlir.tuning.task import Task

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
            raise ArgumentError(f"{what}: 'values' is {values!r}, expected a value for each of {list(self.space)}")
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


# A search with a learned cost model: it proposes configurations that the model expects to beat the best one so far.
#
# The model is an ensemble of boosted trees (XGBoost), each fitted to a sample of the measurements. Where they disagree,
# the prediction is uncertain. The *expected improvement* of a candidate combines the mean and the spread of the
# predictions.

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
            raise UnsupportedError("the search 'model' needs XGBoost: pip install 'relax-mlir[tuning]'") from None
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
        predicted = np.stack([self._fitted(known, wanted, number).predict(candidates) for number in range(MODELS)])
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


# A search by Optuna's tree-structured Parzen estimator.

REPEATED = 16
"""The number of known configurations that Optuna may propose in a row before one is drawn at random."""


@dataclass
class OptunaSearch(RandomSearch):
    """Configurations from Optuna: knobs of strings and bools are categorical, others are indices of candidates.

    Raises:
        UnsupportedError: Optuna is not installed.
    """

    scores: dict[str, float] = field(default_factory=dict)
    _asked: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_search("OptunaSearch", self.space, self.seed)
        try:
            import optuna
        except ImportError:
            raise UnsupportedError("the search 'optuna' needs Optuna: pip install 'relax-mlir[tuning]'") from None
        self._optuna = optuna
        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # Optuna logs the creation of a study
        try:
            self._study = optuna.create_study(
                direction="maximize", sampler=optuna.samplers.TPESampler(seed=self.seed % 2**32)
            )
        finally:
            optuna.logging.set_verbosity(before)
        self._distributions = {name: self._distribution(len(values), values) for name, values in self.space.items()}

    def propose(self, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        expect("OptunaSearch.propose: 'count'", count, int, "a number of configurations")
        while len(found) < count and len(self.seen) < self.size:
            values = self._next()
            found += super().propose(1) if values is None else [values]
        return found

    def tell(self, values: Values, score: float) -> None:
        super().tell(values, score)
        key = key_of_values(values)
        self.scores[key] = score
        trial = self._asked.pop(key, None)
        if trial is not None:
            self._study.tell(trial, score)
            return
        places = {name: list(self.space[name]).index(values[name]) for name in self.space}
        self._study.add_trial(
            self._optuna.trial.create_trial(params=places, distributions=self._distributions, value=score)
        )

    def _next(self) -> dict[str, Any] | None:
        """A new configuration from Optuna; known ones are reported to it again."""
        if not self.seen:
            return None  # the first configuration has all first values
        for _ in range(REPEATED):
            trial = self._study.ask(self._distributions)
            values = self._values(trial.params)
            key = key_of_values(values)
            if self._take(values):
                self._asked[key] = trial
                return values
            if key in self.scores:
                self._study.tell(trial, self.scores[key])
            else:
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return None

    def _values(self, places: Mapping[str, int]) -> dict[str, Any]:
        return {name: self.space[name][places[name]] for name in self.space}

    def _distribution(self, count: int, candidates: Any) -> Any:  # noqa: ANN401 - a distribution of Optuna
        if any(isinstance(each, str | bool) for each in candidates):
            return self._optuna.distributions.CategoricalDistribution(list(range(count)))
        return self._optuna.distributions.IntDistribution(0, count - 1)


# Features of a schedule for a cost model, without lowering: the number and lengths of loops of each kind.

KINDS = ("serial", "vectorized", "unroll", "parallel")


def features_of(task: Task, values: Values) -> dict[str, float]:
    """The features of the schedule for the given knob values; empty if the schedule is invalid."""
    try:
        return schedule_features(task.schedule(values))
    except RelaxError:
        return {}


def schedule_features(schedule: Schedule) -> dict[str, float]:
    """Features of a schedule; the set of features is the same for all schedules.

    For each kind of loop: the number of loops, and the sum of log2 of the lengths that splits give them. Also the
    number of stages computed inside another stage's loops, the maximum depth of these, and the number of inlined
    stages.
    """
    found = {f"{what}_{kind}": 0.0 for kind in KINDS for what in ("loops", "length")}
    found |= {"attached": 0.0, "depth": 0.0, "inlined": 0.0}
    for stage in schedule.stages:
        if stage.is_placeholder:
            continue
        if isinstance(stage.place, Inlined):
            found["inlined"] += 1
            continue
        if isinstance(stage.place, AttachedAt | Following):
            found["attached"] += 1
            found["depth"] = max(found["depth"], float(_depth(stage.place)))
        lengths = _lengths(stage)
        for axis in stage.leaf_iter_vars:
            kind = stage.kinds.get(axis, "serial")
            found[f"loops_{kind}"] = found.get(f"loops_{kind}", 0.0) + 1
            found[f"length_{kind}"] = found.get(f"length_{kind}", 0.0) + lengths.get(axis.name, 0.0)
    return found


def _depth(place: AttachedAt | Following) -> int:
    return place.stage.leaf_iter_vars.index(place.axis) + 1 if place.axis in place.stage.leaf_iter_vars else 0


def _lengths(stage: Stage) -> dict[str, float]:
    """log2 of the lengths of the inner loops of splits by a constant, by name."""
    splits = [relation for relation in stage.relations if isinstance(relation, Split)]
    return {s.inner.name: log2(s.factor) for s in splits if isinstance(s.factor, int) and s.factor > 0}


# The available searches by name.

SEARCHES: dict[str, Callable[[Task, int], Search]] = {
    "random": lambda task, seed: RandomSearch(task.space(), seed),
    "evolutionary": lambda task, seed: EvolutionarySearch(task.space(), seed),
    "model": lambda task, seed: ModelSearch(task.space(), seed, describe=partial(features_of, task)),
    "optuna": lambda task, seed: OptunaSearch(task.space(), seed),
}
"""Search name → constructor, called with a task and a seed."""


def make_search(name: str, task: Task, seed: int) -> Search:
    """Create the search `name`.

    Raises:
        UnknownNameError: there is no such search.
        UnsupportedError: a package that it needs is not installed.
    """
    if name not in SEARCHES:
        raise UnknownNameError("search", name, SEARCHES)
    return SEARCHES[name](task, seed)
