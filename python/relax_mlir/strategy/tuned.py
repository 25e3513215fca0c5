"""The interface between schedules and tuners: the tunable schedules, and the values found for them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relax_mlir.error import ArgumentError, ScheduleError
from relax_mlir.strategy.history import Known, choice_for, placed
from relax_mlir.strategy.knobs import Config, configured
from relax_mlir.strategy.shipped import Template, shipped_for
from relax_mlir.strategy.size_table import SizeTable, ways_text
from relax_mlir.symbolic import Bounds, Condition, assumed
from relax_mlir.target import Target

if TYPE_CHECKING:
    from relax_mlir.te import Schedule, Tensor

Make = Callable[[], "Schedule"]
"""Creates a schedule with the configuration that `get_config` returns."""


@dataclass(frozen=True)
class Tunable:
    """A schedule with knobs: its computation, its constructor, and the bounds of its symbols in the program.

    `template`: the lookup key of the values that come with the package; None for a user's schedule.
    """

    name: str
    key: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    make: Make
    bounds: Bounds = field(default_factory=dict)
    template: Template | None = None


@dataclass
class Extraction:
    """The schedules with knobs that `extracting` has collected, by key."""

    found: dict[str, Tunable] = field(default_factory=dict)


_history: ContextVar[Mapping[str, Sequence[Known]] | None] = ContextVar("tuning_history", default=None)
_extraction: ContextVar[Extraction | None] = ContextVar("tuning_extraction", default=None)


@contextmanager
def with_history(known: Mapping[str, Sequence[Known]]) -> Iterator[None]:
    """Apply the tuning results `known` to schedules, by key; the first choice for the target is used."""
    token = _history.set(known)
    try:
        yield
    finally:
        _history.reset(token)


def history_state() -> str:
    """A string that changes with the history of `with_history`."""
    return repr(_history.get())


@contextmanager
def extracting() -> Iterator[Extraction]:
    """Collect the schedules with knobs that are created in the block."""
    extraction = Extraction()
    token = _extraction.set(extraction)
    try:
        yield extraction
    finally:
        _extraction.reset(token)


def key_of(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> str:
    """The key of a computation: a hash of its unscheduled text."""
    from relax_mlir.te.prim_func import build  # imported lazily: most schedules have no knobs

    made = build(list(inputs), list(outputs), "main")
    return hashlib.sha256(made.module.script().encode()).hexdigest()[:24]


@dataclass(frozen=True)
class MadeSchedules:
    """Schedules of one computation.

    Attributes:
        ways: schedules with the conditions on sizes under which they run; the last one has none.
        notes: the values of their knobs, for reports.
    """

    ways: tuple[tuple[Condition | None, Schedule], ...]
    notes: tuple[str, ...] = ()


def made_schedules(
    name: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    make: Make,
    target: Target,
    template: Template | None = None,
) -> MadeSchedules:
    """The schedule that `make` creates with the known values; several, if these are a table of sizes.

    If no values are known, a `template` uses those that come with the package.

    Raises:
        ArgumentError: known values do not fit the schedule, or all of them are for other targets.
    """
    history, extraction = _history.get(), _extraction.get()
    if history is None and extraction is None:
        return _default(make, target, template)
    key = key_of(inputs, outputs)
    if extraction is not None:
        with configured() as config:
            make()
        if has_knobs(config):
            tunable = Tunable(name, key, tuple(inputs), tuple(outputs), make, assumed(), template)
            extraction.found.setdefault(key, tunable)
    found = choice_for(name, (history or {}).get(key, ()), target)
    if found is None:
        return _default(make, target, None if extraction is not None else template)
    return schedules_of(name, inputs, outputs, make, found)


def _default(make: Make, target: Target, template: Template | None) -> MadeSchedules:
    """The schedule with the values that come with the package if these fit, else with the first values."""
    item = None if template is None else shipped_for(template, target)
    note = ""
    if item is not None:
        try:
            with configured(item.values):
                return MadeSchedules(((None, make()),), (f"comes with the package: {item}",))
        except (ArgumentError, ScheduleError) as error:
            note = f"what comes with the package does not fit, and is ignored: {error}"
    with configured():
        return MadeSchedules(((None, make()),), (note,) if note else ())


def schedules_of(
    name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], make: Make, known: Known
) -> MadeSchedules:
    """The schedules of a known choice; see `made_schedules`."""
    from relax_mlir.te.tensors import symbols_of  # imported lazily, as above

    choice = known.choice
    try:
        if isinstance(choice, SizeTable):
            choice.require_symbols(list(symbols_of([*inputs, *outputs], [])))
        ways = choice.ways() if isinstance(choice, SizeTable) else [(None, choice)]
        made: list[tuple[Condition | None, Schedule]] = []
        for condition, values in ways:
            with configured(values):
                made.append((condition, make()))
    except ArgumentError as error:
        raise ArgumentError(f"{placed(known)}'{name}': {error}") from None
    return MadeSchedules(tuple(made), tuple(f"tuned: {text}" for text in ways_text(ways)))


def has_knobs(config: Config) -> bool:
    """True if a knob has more than one candidate."""
    return any(len(knob.candidates) > 1 for knob in config.knobs.values())
