"""Knobs: the tunable parameters of a schedule, with their candidates and values.

A schedule calls `get_config` for its configuration, and defines knobs in it. By default each knob has its first value.
A tuner tries other values, and `relax_mlir.tuning` applies its results.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

from relax_mlir.error import ArgumentError, UnknownNameError, expect
from relax_mlir.symbolic import Condition, symbol
from relax_mlir.symbolic.proofs import compare

if TYPE_CHECKING:
    from relax_mlir.te import IterVar, Schedule, Tensor


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
        return "; ".join(
            ways_text([*((row.condition, row.values) for row in self.rows), (None, self.otherwise)])
        )


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
