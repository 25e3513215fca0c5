"""The available searches by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from relax_mlir.error import UnknownNameError
from relax_mlir.tuning.model_search import ModelSearch
from relax_mlir.tuning.optuna_search import OptunaSearch
from relax_mlir.tuning.schedule_features import features_of
from relax_mlir.tuning.search import EvolutionarySearch, RandomSearch, Search
from relax_mlir.tuning.task import Task

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
