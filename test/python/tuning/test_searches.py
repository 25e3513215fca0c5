"""Searches on spaces with a known optimum: each proposes once, resumes from a file, and finds it early."""

from __future__ import annotations

import json
import sys
from math import prod
from typing import Any

import pytest
from relax_mlir.error import UnsupportedError
from relax_mlir.tuning import EvolutionarySearch, ModelSearch, OptunaSearch, RandomSearch, Search

SPACE: dict[str, Any] = {"a": tuple(range(6)), "b": ("x", "y", "z"), "c": ([1], [2], [4], [8])}
SEARCHES = [RandomSearch, EvolutionarySearch, ModelSearch, OptunaSearch]


@pytest.mark.parametrize("kind", SEARCHES)
def test_each_configuration_is_proposed_once(kind: Any) -> None:
    """The default values first; failed ones, too; until the space is exhausted."""
    search, seen = kind(SPACE, seed=3), []
    assert search.propose(1) == [{"a": 0, "b": "x", "c": [1]}]
    search.tell({"a": 0, "b": "x", "c": [1]}, 1.0)
    seen.append({"a": 0, "b": "x", "c": [1]})
    while found := search.propose(5):
        for values in found:
            search.tell(values, 0.0 if values["b"] == "y" else 1.0 + values["a"])
        seen += found
    assert len(seen) == prod(map(len, SPACE.values()))
    assert sorted(map(json.dumps, seen)) == sorted(map(json.dumps, search.all_configurations()))


@pytest.mark.parametrize("kind", SEARCHES)
def test_what_is_told_is_not_proposed(kind: Any) -> None:
    """A search resumed from a file gets configurations that it has not proposed."""
    known = list(RandomSearch(SPACE).all_configurations())
    search = kind(SPACE, seed=1)
    for number, values in enumerate(known[:-7]):
        search.tell(values, 0.0 if number % 5 == 0 else 1.0 + number)
    found = search.propose(100)
    assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, known[-7:]))
    assert search.propose(1) == []


@pytest.mark.parametrize("kind", SEARCHES)
def test_nothing_but_failures(kind: Any) -> None:
    search = kind(SPACE, seed=1)
    for _ in range(20):
        for values in search.propose(2):
            search.tell(values, 0.0)
    assert len(search.propose(100)) == 72 - 40


WIDE: dict[str, Any] = {
    "tile": [[2**i, 2**j] for i in range(7) for j in range(7)],
    "rows": [1, 2, 4, 8, 16, 32],
    "order": ["ijk", "ikj", "jik", "kij"],
    "parallel": [False, True],
    "unroll": [0, 16, 64, 512],
}
"""9,408 configurations."""
BEST = {"tile": [8, 16], "rows": 4, "order": "ikj", "parallel": True, "unroll": 64}


def speed(values: Any) -> float:
    """Smooth in the correlated tile lengths, with cliffs by the categories; too large tiles fail."""
    first, second = values["tile"]
    if first * second * values["rows"] > 4096:
        return 0.0
    area = abs(_log(first * second) - 7) + abs(_log(second) - 4) / 2 + abs(_log(values["rows"]) - 2) / 2
    other = {"ijk": 0.6, "ikj": 1.0, "jik": 0.4, "kij": 0.7}[values["order"]]
    other *= 1.0 if values["parallel"] else 0.55
    return float(4 * other / (1 + 0.3 * area) * {0: 0.8, 16: 0.9, 64: 1.0, 512: 0.7}[values["unroll"]])


def _log(number: int) -> int:
    return number.bit_length() - 1


def best_of(search: Search, trials: int) -> float:
    found = []
    for _ in range(trials // 4):
        for values in search.propose(4):
            found.append(speed(values))
            search.tell(values, found[-1])
    return max(found)


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        (EvolutionarySearch, 0.8),
        pytest.param(ModelSearch, 0.97, marks=pytest.mark.slow),
        pytest.param(OptunaSearch, 0.8, marks=pytest.mark.slow),
    ],
)
def test_the_best_is_found_early(kind: Any, share: float) -> None:
    """Within 120 of 9,408 configurations, on average over seeds; random search finds less."""
    configurations = RandomSearch(WIDE).all_configurations()
    assert speed(BEST) == max(map(speed, configurations)) == 4.0
    means = {}
    for each in (kind, RandomSearch):
        means[each] = sum(best_of(each(WIDE, seed=seed), 120) for seed in range(2)) / 2
    assert means[kind] >= share * speed(BEST)
    assert means[kind] > means[RandomSearch]


def test_the_model_uses_features_of_schedules() -> None:
    """Names are unrelated to each other; a feature that correlates with the score shows which are good."""
    space = {"name": [f"v{number * 37 % 400}" for number in range(400)]}

    def quality(values: Any) -> float:
        return 1.0 + int(values["name"][1:])

    def found(describe: Any) -> float:
        search, scores = ModelSearch(space, seed=1, describe=describe), []
        for _ in range(5):
            for values in search.propose(4):
                scores.append(quality(values))
                search.tell(values, scores[-1])
        return sum(scores[-8:]) / 8

    assert found(lambda values: {"feature": quality(values) ** 0.5}) > 330 > 200 > found(None)


@pytest.mark.parametrize(
    ("kind", "module", "what"), [(ModelSearch, "xgboost", "XGBoost"), (OptunaSearch, "optuna", "Optuna")]
)
def test_what_is_not_installed(monkeypatch: pytest.MonkeyPatch, kind: Any, module: str, what: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UnsupportedError, match=rf"needs {what}: pip install 'relax-mlir\[tuning\]'"):
        kind(SPACE)
