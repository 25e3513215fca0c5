"""Tasks: a computation, a schedule with knobs, and the sizes that it is evaluated on."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import prod
from typing import Any

from relax_mlir import symbolic, te
from relax_mlir.error import ArgumentError, expect, expect_all
from relax_mlir.fork_safety import cached_property
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.lowering.strategy.tuned import (
    Choice,
    Known,
    SizeTable,
    Template,
    Tunable,
    Values,
    configured,
    extracting,
    get_config,
    has_knobs,
    key_of,
    made_schedules,
    schedules_of,
)
from relax_mlir.passes.shapes import Normalize
from relax_mlir.symbolic import Bounds
from relax_mlir.target import Target
from relax_mlir.te import ComputeOp, IterVar, PlaceholderOp, Schedule, Tensor
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
        made = made_schedules(*own, self.target, self.template) if choice is None else schedules_of(*own, Known(choice))
        return build_by_size(made.ways, [*self.inputs, *self.outputs], name).module

    def scheduled(self, values: Values) -> str:
        """The computation scheduled with the given values, as the text of a module.

        Raises:
            ScheduleError: the values do not give a valid schedule.
            ArgumentError: the values belong to another schedule.
        """
        made: IRModule = build_scheduled(self.schedule(values), [*self.inputs, *self.outputs], FUNCTION).module
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
                raise ArgumentError(f"task '{self.name}': the size {sizes[symbol]!r} of '{symbol}' is no size")
        return [
            Argument(tuple(symbolic.evaluate(dim, sizes) for dim in t.shape), t.dtype, number >= len(self.inputs))
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
        raise ArgumentError(f"create_task: 'schedule' is {schedule!r}, expected a function of the computed tensors")
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
        raise ArgumentError(f"create_task '{name}': the schedule has no knobs: get_config().define_knob defines one")
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


# A generic schedule with knobs, for computations without a dedicated schedule.
#
# It is a function of the computed tensors, as `create_task` takes it. In a strategy, call it with the outputs:
# ``add_implementation(compute, lambda attrs, outs, target: tiled_schedule(outs))``.

COLUMNS = ([32], [16], [64], [8])
"""Tile lengths along the last axis, which is vectorised."""
ROWS = ([4], [8], [2], [1], [6], [12])
"""Tile lengths along one of the other axes, which is unrolled."""
MAX_UNROLLED = 32
"""The maximum number of iterations of unrolled reduction loops."""


def tiled_schedule(outs: Sequence[Tensor]) -> Schedule:
    """Compute a tensor in tiles with register accumulators.

    For reductions with an elementwise prologue or epilogue: matmuls, contractions, convolutions, poolings. Without a
    reduction, rows are vectorised. Its knobs:

    - ``columns``, ``rows``: the lengths of tiles; ``rows_axis``: the axis of the rows.
    - ``order``: which of the two loops over tiles is the outer one.
    - ``unrolled``: the number of reduction loops that are unrolled, from the innermost outwards, if they are short.
    - ``inputs``: copy computed inputs of the reduction first, such as padded data, or inline them.

    Raises:
        ArgumentError: several outputs, or one without axes.
    """
    expect_all("tiled_schedule: 'outs'", outs, Tensor, "computed te.Tensors")
    if len(outs) != 1 or not isinstance(outs[0].op, ComputeOp) or len(outs[0].op.outputs) != 1:
        raise ArgumentError("tiled_schedule takes one computed tensor: schedule several outputs by hand")
    (out,) = outs
    op = out.op
    assert isinstance(op, ComputeOp)
    if not op.axis:
        raise ArgumentError(f"tiled_schedule: '{out.name}' has no axes: there is nothing to cut into tiles")
    s = te.create_schedule(op)
    if op.reduce_axis:
        sums: Tensor | None = s.cache_write(out, "local")
    else:
        found = [t for t in op.input_tensors if _is_reduction(t) and t.ndim == out.ndim]
        sums = found[0] if len(found) == 1 else None
        if sums is not None:
            s[sums].set_scope("local")
    outer, inner = _tiles(s, out)
    s[out].reorder(*outer, *inner)
    s[out].vectorize(inner[-1])
    for axis in inner[:-1]:
        s[out].unroll(axis)
    if len(outer) > 1:
        s[out].parallel(outer[0] if len(outer) == 2 else s[out].fuse(outer[0], outer[1]))
    if sums is None:
        _inputs(s, out, keep=())
    else:
        _sums(s, sums, out, outer[-1])
        _inputs(s, sums, keep=(sums,))
        _inline_rest(s, out, sums)
    return s


def _is_reduction(tensor: Tensor) -> bool:
    return isinstance(tensor.op, ComputeOp) and bool(tensor.op.reduce_axis)


def _tiles(s: Schedule, out: Tensor) -> tuple[list[IterVar], list[IterVar]]:
    """Split the axes of a tensor: the loops outside of a tile, and the loops of a tile."""
    config = get_config()
    assert isinstance(out.op, ComputeOp)
    *others, last = out.op.axis
    config.define_split("columns", last, candidates=COLUMNS)
    column, within = config["columns"].apply(s, out, last)
    if not others:
        return [column], [within]
    config.define_knob("rows_axis", list(reversed(range(len(others)))))
    chosen = others.pop(config["rows_axis"].val)
    config.define_split("rows", chosen, candidates=ROWS)
    row, row_within = config["rows"].apply(s, out, chosen)
    config.define_knob("order", ["rows", "columns"])
    tiles = [row, column] if config["order"].val == "rows" else [column, row]
    return [*others, *tiles], [row_within, within]


def _sums(s: Schedule, sums: Tensor, out: Tensor, place: IterVar) -> None:
    """Compute the accumulators of a tile where it is written, with the reduction loops around the tile."""
    config = get_config()
    assert isinstance(sums.op, ComputeOp)
    s[sums].compute_at(s[out], place)
    *others, last = sums.op.axis
    taps = list(sums.op.reduce_axis)
    s[sums].reorder(*taps, *others, last)
    s[sums].vectorize(last)
    for axis in others:
        s[sums].unroll(axis)
    short = [0]
    for number in range(1, len(taps) + 1):
        lengths = [tap.dom.extent for tap in taps[-number:]]
        known = [length for length in lengths if isinstance(length, int)]
        if len(known) < number or prod(known) > MAX_UNROLLED:
            break
        short.append(number)
    config.define_knob("unrolled", short)
    for tap in taps[len(taps) - config["unrolled"].val :]:
        s[sums].unroll(tap)


def _inputs(s: Schedule, reader: Tensor, keep: Sequence[Tensor]) -> None:
    """Copy or inline the computed inputs of a stage; inline what those read."""
    read = [t for t in reader.op.input_tensors if isinstance(t.op, ComputeOp) and t not in keep]
    plain = [t for t in read if not _is_reduction(t)]
    for tensor in plain:
        for below in _below(tensor):
            if not _is_reduction(below):
                s[below].compute_inline()
    if not plain:
        return
    config = get_config()
    config.define_knob("inputs", ["copied", "inlined"])
    for tensor in plain:
        assert isinstance(tensor.op, ComputeOp)
        if config["inputs"].val == "inlined" or not tensor.op.axis:
            s[tensor].compute_inline()
            continue
        s[tensor].vectorize(tensor.op.axis[-1])


def _below(tensor: Tensor) -> list[Tensor]:
    """The computed tensors that a tensor depends on, each once."""
    found: dict[Tensor, None] = {}
    waiting = [tensor]
    while waiting:
        for read in waiting.pop().op.input_tensors:
            if isinstance(read.op, ComputeOp) and read not in found:
                found[read] = None
                waiting.append(read)
    return list(found)


def _inline_rest(s: Schedule, out: Tensor, sums: Tensor) -> None:
    """Inline the computed inputs of the output other than the accumulators."""
    for tensor in out.op.input_tensors:
        if isinstance(tensor.op, ComputeOp) and tensor is not sums and not _is_reduction(tensor):
            if tensor in sums.op.input_tensors or tensor in _below(sums):
                continue
            s[tensor].compute_inline()
