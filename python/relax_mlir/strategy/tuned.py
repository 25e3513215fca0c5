"""What tuners know of the schedules of implementations: which there are, and the values that were found for them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relax_mlir.strategy.knobs import Config, Values, configured

if TYPE_CHECKING:
    from relax_mlir.te import Schedule, Tensor

Make = Callable[[], "Schedule"]
"""Makes a schedule, by the configuration that `get_config` gives."""


@dataclass(frozen=True)
class Tunable:
    """A schedule with knobs: what it computes, and how it is made."""

    name: str
    key: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    make: Make


@dataclass
class Extraction:
    """The schedules with knobs that `extracting` has seen, by their keys."""

    found: dict[str, Tunable] = field(default_factory=dict)


_history: ContextVar[Mapping[str, Values] | None] = ContextVar("tuning_history", default=None)
_extraction: ContextVar[Extraction | None] = ContextVar("tuning_extraction", default=None)


@contextmanager
def with_history(best: Mapping[str, Values]) -> Iterator[None]:
    """Give schedules the values that were found for them, by their keys."""
    token = _history.set(best)
    try:
        yield
    finally:
        _history.reset(token)


@contextmanager
def extracting() -> Iterator[Extraction]:
    """Collect the schedules with knobs that are made within."""
    extraction = Extraction()
    token = _extraction.set(extraction)
    try:
        yield extraction
    finally:
        _extraction.reset(token)


def key_of(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> str:
    """What identifies a computation: a hash of its text without a schedule."""
    from relax_mlir.te.prim_func import build  # most schedules have no knobs

    made = build(list(inputs), list(outputs), "main")
    return hashlib.sha256(made.module.script().encode()).hexdigest()[:24]


def made_schedule(name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], make: Make) -> Schedule:
    """The schedule that `make` gives with the values that are known for it.

    Raises:
        ArgumentError: known values that are not the schedule's.
    """
    history, extraction = _history.get(), _extraction.get()
    if history is None and extraction is None:
        with configured() as config:
            return make()
    key = key_of(inputs, outputs)
    with configured((history or {}).get(key)) as config:
        schedule = make()
    if extraction is not None and has_knobs(config):
        tunable = Tunable(name, key, tuple(inputs), tuple(outputs), make)
        extraction.found.setdefault(key, tunable)
    return schedule


def has_knobs(config: Config) -> bool:
    """Whether there is anything to choose."""
    return any(len(knob.candidates) > 1 for knob in config.knobs.values())
