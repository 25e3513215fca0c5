"""Tasks: a computation, a schedule with knobs, and the sizes that it is evaluated on."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import prod
from typing import Any

from relax_mlir import symbolic
from relax_mlir.cached import cached_property
from relax_mlir.error import (
    ArgumentError,
    expect,
    expect_all,
)
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.passes.normalize import Normalize
from relax_mlir.strategy.history import Choice, Known
from relax_mlir.strategy.knobs import Values, configured
from relax_mlir.strategy.shipped import Template
from relax_mlir.strategy.size_table import SizeTable
from relax_mlir.strategy.tuned import Tunable, extracting, has_knobs, key_of, made_schedules, schedules_of
from relax_mlir.symbolic import Bounds
from relax_mlir.target import Target
from relax_mlir.te import PlaceholderOp, Schedule, Tensor
from relax_mlir.te.prim_func import build, integers_of
from relax_mlir.te.schedule.lower import build_by_size, build_scheduled
from relax_mlir.te.tensors import operations_of, symbols_of
from relax_mlir.transform import Sequential

FUNCTION = "main"
Sizes = Mapping[str, int]
"""The values of the symbols of a computation."""

LARGEST = 512
"""The maximum of drawn sizes for symbols without an upper bound."""

MAX_ELEMENTS = 1 << 22
"""The maximum number of elements of tensors of drawn sizes."""


@dataclass(frozen=True)
class Argument:
    """A tensor of a call: its shape, its dtype, and whether it is an output."""

    shape: tuple[int, ...]
    dtype: str
    is_output: bool


@dataclass(frozen=True)
class Task:
    """A schedule to be tuned.

    Attributes:
        name: the name in reports.
        key: identifies the computation; equal computations are one task.
        inputs, outputs: its tensors.
        make: creates the schedule with the current configuration (`get_config`).
        target: the target.
        bounds: minimum and maximum values of symbols, if known.
        template: the lookup key of values that come with the package; None for a user's schedule.
    """

    name: str
    key: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    make: Callable[[], Schedule] = field(repr=False)
    target: Target = field(repr=False)
    bounds: Bounds = field(default_factory=dict, repr=False)
    template: Template | None = field(default=None, repr=False)

    @property
    def symbols(self) -> list[str]:
        """The symbols in its shapes."""
        tensors = [*self.inputs, *self.outputs]
        return list(dict.fromkeys(symbols_of(tensors, [])))

    def space(self) -> dict[str, tuple[Any, ...]]:
        """The candidates of each knob, for the schedule with all first values."""
        with configured() as config:
            self.make()
        return config.space

    def plain(self) -> str:
        """The computation without a schedule, as the text of a module."""
        return self._plain

    @cached_property
    def _plain(self) -> str:
        return str(build(list(self.inputs), list(self.outputs), FUNCTION).module)

    def schedule(self, values: Values) -> Schedule:
        """The schedule with the given values; raises the errors of `scheduled`."""
        with configured(values):
            return self.make()

    def lower(self, choice: Choice | None = None, name: str = FUNCTION) -> IRModule:
        """The module of one prim func `name` that computes the outputs; with a size table, it branches on the sizes.

        Args:
            choice: values of the knobs, or a size table. None: those of the enclosing `apply_history_best`, else
                those that come with the package, else the first values.

        Raises:
            ScheduleError: the values do not give a valid schedule.
            ArgumentError: the values belong to another schedule.
        """
        own = self.name, self.inputs, self.outputs, self.make
        made = (
            made_schedules(*own, self.target, self.template)
            if choice is None
            else schedules_of(*own, Known(choice))
        )
        return build_by_size(made.ways, [*self.inputs, *self.outputs], name).module

    def scheduled(self, values: Values) -> str:
        """The computation scheduled with the given values, as the text of a module.

        Raises:
            ScheduleError: the values do not give a valid schedule.
            ArgumentError: the values belong to another schedule.
        """
        made: IRModule = build_scheduled(
            self.schedule(values), [*self.inputs, *self.outputs], FUNCTION
        ).module
        return str(made)

    def arguments(self, sizes: Sizes) -> list[Argument]:
        """The tensors of a call with the given sizes.

        Raises:
            ArgumentError: a symbol without a size, or an invalid size.
        """
        for symbol in self.symbols:
            if symbol not in sizes:
                shown = ", ".join(f"{name}={size}" for name, size in sizes.items()) or "no size"
                raise ArgumentError(f"task '{self.name}': {shown} gives no size for '{symbol}'")
            if type(sizes[symbol]) is not int or sizes[symbol] < 0:
                raise ArgumentError(
                    f"task '{self.name}': the size {sizes[symbol]!r} of '{symbol}' is no size"
                )
        return [
            Argument(
                tuple(symbolic.evaluate(dim, sizes) for dim in t.shape), t.dtype, number >= len(self.inputs)
            )
            for number, t in enumerate([*self.inputs, *self.outputs])
        ]

    def integers(self, sizes: Sizes) -> list[int]:
        """The integer arguments of a call, after its tensors: symbols that are not a dimension by themselves."""
        return [sizes[symbol] for symbol in self._integers]

    @cached_property
    def _integers(self) -> tuple[str, ...]:
        return integers_of([*self.inputs, *self.outputs], operations_of(self.outputs, self.inputs))

    def draw_sizes(self, count: int, bounds: Bounds | None = None, seed: int = 0) -> list[dict[str, int]]:
        """Draw sizes within the bounds of symbols: log-uniform, and mostly not powers of two.

        `bounds`: of the symbols; None: those of the task.
        """
        what = f"task '{self.name}': draw_sizes"
        expect(f"{what}: 'count'", count, int, "a number")
        expect(f"{what}: 'bounds'", bounds, Mapping | None, "bounds of symbols, or None")
        expect(f"{what}: 'seed'", seed, int, "an integer")
        rng, bounds = random.Random(seed), self.bounds if bounds is None else bounds
        found = []
        for _ in range(count if self.symbols else 1):
            sizes = {}
            for symbol in self.symbols:
                low, high = bounds.get(symbol, (1, None))
                low, high = max(low, 1), LARGEST if high is None else high
                sizes[symbol] = max(low, min(high, round(low * (max(high, low) / low) ** rng.random())))
            found.append(self._bounded(sizes, bounds))
        return found

    def _bounded(self, sizes: dict[str, int], bounds: Bounds) -> dict[str, int]:
        """Halve the largest sizes, within bounds, until no tensor has more than `MAX_ELEMENTS`."""
        while max(prod(argument.shape) for argument in self.arguments(sizes)) > MAX_ELEMENTS:
            least = {symbol: max(1, bounds.get(symbol, (1, None))[0]) for symbol in sizes}
            free = [symbol for symbol in sizes if sizes[symbol] > least[symbol]]
            if not free:
                break
            largest = max(free, key=lambda symbol: sizes[symbol])
            sizes = {**sizes, largest: max(least[largest], sizes[largest] // 2)}
        return sizes


@dataclass(frozen=True)
class TableTask(Task):
    """A task whose only candidate is a size table, to measure the branching code that it becomes."""

    table: SizeTable = field(kw_only=True)

    @classmethod
    def of(cls, task: Task, table: SizeTable) -> TableTask:
        """The task of a table for `task`."""
        return cls(**{each.name: getattr(task, each.name) for each in fields(task)}, table=table)

    def scheduled(self, values: Values) -> str:
        return str(self.lower(self.table))


def create_task(
    schedule: Callable[[list[Tensor]], Schedule],
    args: Sequence[Tensor],
    name: str = "task",
    target: str | Target = "cpu",
) -> Task:
    """Create a task from tensor expressions.

    Args:
        schedule: returns the schedule of the computed tensors, with knobs from `get_config`. It is called for each
            candidate.
        args: the placeholders, then the computed tensors.
        name: the name in reports.
        target: the target.

    Raises:
        ArgumentError: `schedule` does not return a schedule, or one without knobs.
    """
    if not callable(schedule):
        raise ArgumentError(
            f"create_task: 'schedule' is {schedule!r}, expected a function of the computed tensors"
        )
    expect_all("create_task: 'args'", args, Tensor, "te.Tensors")
    inputs = tuple(t for t in args if isinstance(t.op, PlaceholderOp))
    outputs = tuple(t for t in args if not isinstance(t.op, PlaceholderOp))

    def make() -> Schedule:
        made = schedule(list(outputs))
        expect(f"create_task '{name}': what 'schedule' gives", made, Schedule, "a te.Schedule")
        return made

    with configured() as config:
        make()
    if not has_knobs(config):
        raise ArgumentError(
            f"create_task '{name}': the schedule has no knobs: get_config().define_knob defines one"
        )
    return Task(name, key_of(inputs, outputs), inputs, outputs, make, Target.parse(target))


def extract_tasks(mod: IRModule, target: str | Target = "cpu") -> list[Task]:
    """The tasks of a module: the schedules with knobs from the strategies of its calls, each computation once.

    `mod` is unchanged.
    """
    expect("extract_tasks: 'mod'", mod, IRModule, "an IRModule")
    target = Target.parse(target)
    with extracting() as extraction:
        Sequential([Normalize(), LegalizeOps(str(target))], name="extract-tasks")(mod)
    return [_task(tunable, target) for tunable in extraction.found.values()]


def _task(tunable: Tunable, target: Target) -> Task:
    return Task(
        tunable.name,
        tunable.key,
        tunable.inputs,
        tunable.outputs,
        tunable.make,
        target,
        tunable.bounds,
        tunable.template,
    )
