"""A search by Optuna's tree-structured Parzen estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.error import (
    UnsupportedError,
    expect,
)
from relax_mlir.strategy.knobs import Values
from relax_mlir.tuning.search import (
    RandomSearch,
    key_of_values,
    require_search,
)

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
            raise UnsupportedError(
                "the search 'optuna' needs Optuna: pip install 'relax-mlir[tuning]'"
            ) from None
        self._optuna = optuna
        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # Optuna logs the creation of a study
        try:
            self._study = optuna.create_study(
                direction="maximize", sampler=optuna.samplers.TPESampler(seed=self.seed % 2**32)
            )
        finally:
            optuna.logging.set_verbosity(before)
        self._distributions = {
            name: self._distribution(len(values), values) for name, values in self.space.items()
        }

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
