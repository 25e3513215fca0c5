"""Knobs of schedules: candidates, values, and the values found for tunable schedules."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from relax_mlir.error import ArgumentError, ParseError, ScheduleError, UnknownNameError, expect
from relax_mlir.symbolic import Bounds, Condition, assumed, symbol
from relax_mlir.symbolic.proofs import compare
from relax_mlir.target import Target
from relax_mlir.transform.context import SHIPPED_VALUES, PassContext

if TYPE_CHECKING:
    from relax_mlir.te import IterVar, Schedule, Tensor


# Knobs: the tunable parameters of a schedule, with their candidates and values.
#
# A schedule calls `get_config` for its configuration, and defines knobs in it. By default each knob has its first
# value. A tuner tries other values, and `relax_mlir.tuning` applies its results.


MAX_FACTOR = 64
"""Default maximum number of elements in a tile of `Config.define_split`."""

Values = Mapping[str, Any]
"""The values of knobs by name: numbers, strings, booleans, and lists of these."""


@dataclass(frozen=True)
class Knob:
    """A knob: its value and its candidates."""

    name: str
    val: Any
    candidates: tuple[Any, ...]


@dataclass(frozen=True)
class Split(Knob):
    """A knob of `define_split`: the lengths of the inner loops, the outermost of these first."""

    def apply(self, s: Schedule, tensor: Tensor, axis: IterVar) -> list[IterVar]:
        """Split `axis` of the stage of `tensor`: the loops, the outermost first."""
        axes = [axis]
        for factor in reversed(self.val):
            outer, inner = s[tensor].split(axes.pop(0), factor=int(factor))
            axes = [outer, inner, *axes]
        return axes


KnobT = TypeVar("KnobT", bound=Knob)


MOST_LOOPS = 8
"""The maximum number of loops that a knob splits one into; the number of candidates grows as a power of it."""


@dataclass
class Config:
    """The configuration of a schedule; `given` are values of some of its knobs."""

    given: Values = field(default_factory=dict)
    knobs: dict[str, Knob] = field(default_factory=dict)

    def define_knob(self, name: str, candidates: Sequence[Any]) -> Knob:
        """Define a knob with the given `candidates`; its default is the first one.

        Raises:
            ArgumentError: there are no candidates, the name is in use, or the given value is not a candidate.
        """
        return self._add(Knob, name, candidates)

    def define_split(
        self,
        name: str,
        axis: IterVar,
        num_outputs: int = 2,
        max_factor: int = MAX_FACTOR,
        candidates: Sequence[Sequence[int]] | None = None,
    ) -> Split:
        """Define a knob for the loop lengths into which an axis is split.

        Args:
            name: the name of the knob.
            axis: the axis; its length need not be divisible by a candidate.
            num_outputs: the number of loops.
            max_factor: the maximum product of the lengths of the inner loops.
            candidates: lengths of the inner loops, the outermost first; None: powers of two, the largest tile first.

        Raises:
            ArgumentError: a number is not positive, a list has the wrong length, and as for `define_knob`.
        """
        expect(f"define_split '{name}': 'num_outputs'", num_outputs, int, "a number")
        expect(f"define_split '{name}': 'max_factor'", max_factor, int, "a number")
        if not 2 <= num_outputs <= MOST_LOOPS or max_factor < 1:
            raise ArgumentError(
                f"define_split '{name}': {num_outputs} loops of at most {max_factor} elements: expected two to "
                f"{MOST_LOOPS}, of at least 1"
            )
        inner = num_outputs - 1
        if candidates is None:
            powers = [1 << e for e in range(max_factor.bit_length())]
            found = [list(each) for each in itertools.product(powers, repeat=inner)]
            found = [each for each in found if _product(each) <= max_factor]
            candidates = sorted(found, key=lambda each: (-_product(each), each))
        for each in candidates:
            good = len(each) == inner and all(type(factor) is int and factor > 0 for factor in each)
            if not good:
                raise ArgumentError(
                    f"define_split '{name}': {list(each)} is none of {inner} positive numbers, one for each inner loop"
                )
        return self._add(Split, name, [list(each) for each in candidates])

    def _add(self, kind: type[KnobT], name: str, candidates: Sequence[Any]) -> KnobT:
        expect("a knob's name", name, str, "a string")
        if name in self.knobs:
            raise ArgumentError(f"the knob '{name}' is defined twice")
        expect(f"the candidates of the knob '{name}'", candidates, Iterable, "a list of values")
        choices = tuple(candidates)
        if not choices:
            raise ArgumentError(f"the knob '{name}' has no candidates")
        value = self.given.get(name, choices[0])
        if value not in choices:
            raise ArgumentError(
                f"the knob '{name}' is given {value!r}, which is none of its {len(choices)} candidates: the "
                "configuration is of another schedule"
            )
        made = kind(name, value, choices)
        self.knobs[name] = made
        return made

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a Knob or a Split
        """The knob `name`; raises `UnknownNameError`."""
        if name not in self.knobs:
            raise UnknownNameError("knob", name, self.knobs)
        return self.knobs[name]

    @property
    def space(self) -> dict[str, tuple[Any, ...]]:
        """The candidates of each knob."""
        return {name: knob.candidates for name, knob in self.knobs.items()}

    @property
    def values(self) -> dict[str, Any]:
        """The value of each knob."""
        return {name: knob.val for name, knob in self.knobs.items()}

    def require_all_used(self) -> None:
        """Raise `ArgumentError` if values are given for knobs that the schedule does not define."""
        unknown = sorted(set(self.given) - set(self.knobs))
        if unknown:
            raise ArgumentError(
                f"the schedule has no knob '{unknown[0]}' (it has {', '.join(self.knobs) or 'none'}): the "
                "configuration is of another schedule"
            )


def _product(numbers: Sequence[int]) -> int:
    found = 1
    for number in numbers:
        found *= number
    return found


_active: ContextVar[Config | None] = ContextVar("active_config", default=None)


def get_config() -> Config:
    """The configuration of the schedule under construction; by default a new one, with the first values."""
    active = _active.get()
    return Config() if active is None else active


@contextmanager
def configured(values: Values | None = None) -> Iterator[Config]:
    """Set the knobs of the schedule that is created in the block to these values.

    Raises:
        ArgumentError: a value is for a knob that the schedule does not define.
    """
    expect("configured: 'values'", values, Mapping | None, "values of knobs by name")
    config = Config(dict(values or {}))
    token = _active.set(config)
    try:
        yield config
    finally:
        _active.reset(token)
    config.require_all_used()


# Size tables: knob values of a schedule, chosen by the sizes of the symbols in its shapes.

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
        return "; ".join(ways_text([*((row.condition, row.values) for row in self.rows), (None, self.otherwise)]))


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


# Tuned knob values: the tunable schedules, the values found for them, and those that come with the package.


# Tuning results of a computation: configurations or size tables, and the machine that they were measured on.

Choice = Values | SizeTable
"""The tuning result of a schedule: one configuration, or a table of configurations by size."""


@dataclass(frozen=True)
class Known:
    """A choice, the target and CPU features for which it was measured, and the location where it is recorded.

    `features` are None if they were not recorded.
    """

    choice: Choice
    target: str = "cpu"
    features: tuple[str, ...] | None = None
    place: str = ""

    def against(self, target: Target) -> str:
        """The reason why the choice does not apply to a target; empty if it does."""
        if Target.parse(self.target) != target and str(target) != self.target:
            return f"it was measured for the target '{self.target}', this is '{target}'"
        if self.features is not None and set(self.features) != target.features:
            other = ", ".join(sorted(target.features.symmetric_difference(self.features)))
            return f"it was measured on a CPU that differs in {other}"
        return ""


def choice_for(name: str, known: Sequence[Known], target: Target) -> Known | None:
    """The first choice that applies to a target; None if `known` is empty.

    Raises:
        ArgumentError: all choices are for other targets.
    """
    for each in known:
        if not each.against(target):
            return each
    if not known:
        return None
    each = known[-1]
    raise ArgumentError(
        f"{placed(each)}what is known of the schedule of '{name}' is not for this target: {each.against(target)}"
    )


def placed(known: Known) -> str:
    """The location of a choice, as a message prefix."""
    return f"{known.place}: " if known.place else ""


# Knob values that come with the package: the best measured ones on some classes of CPUs.
#
# They only apply to built-in schedules. A class of CPUs is defined by architecture, vector width, features, and
# approximate cache sizes. A database of the user has precedence.

SHIPPED_FILE = Path(__file__).with_name("shipped.json")
SHIPPED_VERSION = 1
SWITCH = "RELAX_MLIR_TUNED"
"""The environment variable that disables the values if it is 0."""

NEAR = 2
"""Cache sizes within a class differ from those of the measured CPU by at most this factor."""

Facts = Mapping[str, tuple[int, ...]]
"""The constant parameters of a call: ``{"window": (3, 3), "strides": (1, 1)}``."""


@dataclass(frozen=True)
class Template:
    """The lookup key of a built-in schedule: the implementation, the dtype, and the constant parameters."""

    name: str
    dtype: str
    facts: Facts


@dataclass(frozen=True)
class CpuClass:
    """A class of CPUs, represented by a measured one.

    Attributes:
        name: for reports.
        architecture, vector_bytes, l1_bytes, l2_bytes: as in a `Target`.
        needs, lacks: features that all of them have, and that none of them has.
        measured: which CPU was measured, when, and by which command.
    """

    name: str
    architecture: str
    vector_bytes: int
    l1_bytes: int
    l2_bytes: int
    needs: tuple[str, ...]
    lacks: tuple[str, ...]
    measured: Mapping[str, str]

    def has(self, target: Target) -> bool:
        """True if the target is in the class."""
        return (
            target.architecture == self.architecture
            and target.vector_bytes == self.vector_bytes
            and target.features.issuperset(self.needs)
            and target.features.isdisjoint(self.lacks)
            and _near(target.l1_bytes, self.l1_bytes)
            and _near(target.l2_bytes, self.l2_bytes)
        )


@dataclass(frozen=True)
class Shipped:
    """Knob values for a template on a class of CPUs.

    Attributes:
        cpu: the class.
        template: the name of the implementation.
        dtype: of its results.
        facts: constant parameters that must be equal in a call; empty: any call.
        values: the knobs that differ from their first values.
        score: the speedup, as the geometric mean over `cases` that were not used to choose the values.
    """

    cpu: CpuClass
    template: str
    dtype: str
    facts: Facts
    values: Values
    score: float
    cases: int

    def is_for(self, template: Template) -> bool:
        """True if the values apply to the template."""
        return (self.template, self.dtype) == (template.name, template.dtype) and all(
            template.facts.get(name) == value for name, value in self.facts.items()
        )

    def __str__(self) -> str:
        return f"{values_text(self.values)} ({self.cpu.name}; {self.score:.2f} times as fast in {self.cases} cases)"


def shipped(target: str | Target | None = None) -> list[Shipped]:
    """The values that come with the package; with `target`, only those for it, and none if they are disabled.

    Raises:
        ParseError: the file of the package is broken.
        ArgumentError: RELAX_MLIR_TUNED is neither 0 nor 1.
    """
    if target is None:
        return list(_read_shipped(SHIPPED_FILE))
    parsed = Target.parse(target)
    return [item for item in _read_shipped(SHIPPED_FILE) if item.cpu.has(parsed)] if enabled() else []


def shipped_for(template: Template, target: Target) -> Shipped | None:
    """The values for a call on a target, those with the most facts; None if there are none, or they are disabled."""
    found = [item for item in shipped(target) if item.is_for(template)]
    return max(found, key=lambda item: len(item.facts), default=None)


def enabled() -> bool:
    """True if RELAX_MLIR_TUNED and the option ``strategy.shipped_values`` of the `PassContext` allow the values."""
    text = os.environ.get(SWITCH, "1")
    if text not in ("0", "1"):
        raise ArgumentError(f"the environment variable {SWITCH} is {text!r}, expected 0 or 1")
    return text == "1" and bool(PassContext.current().config.get(SHIPPED_VALUES, True))


def shipped_state() -> str:
    """A string that changes with the values: part of the key of the compilation cache."""
    return _digest(SHIPPED_FILE) if enabled() else "off"


def _near(given: int, measured: int) -> bool:
    return measured <= NEAR * given and given <= NEAR * measured


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _read_shipped(path: Path) -> Sequence[Shipped]:
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        if given["version"] != SHIPPED_VERSION:
            raise ParseError(f"{path}: version {given['version']!r}, expected {SHIPPED_VERSION}")
        return tuple(item for each in given["classes"] for item in _of_class(each))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise ParseError(f"{path}: no table of values that come with the package: {what}") from None


def _of_class(given: Mapping[str, Any]) -> list[Shipped]:
    cpu = CpuClass(
        str(given["name"]),
        str(given["architecture"]),
        int(given["vector_bytes"]),
        int(given["l1_bytes"]),
        int(given["l2_bytes"]),
        tuple(map(str, given["needs"])),
        tuple(map(str, given["lacks"])),
        dict(given["measured"]),
    )
    return [
        Shipped(
            cpu,
            str(item["template"]),
            str(item["dtype"]),
            {str(name): tuple(map(int, value)) for name, value in item["facts"].items()},
            dict(item["values"]),
            float(item["score"]),
            int(item["cases"]),
        )
        for item in given["entries"]
    ]


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
