"""Schedules: stages of a computation's tensors, primitives that add stages, and the trace."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.location import user_frame_position
from relax_mlir.error import (
    ArgumentError,
    ScheduleError,
    UnknownNameError,
    UnsupportedError,
    expect,
    expect_all,
)
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import (
    DATA_PARALLEL,
    REDUCTION,
    Expr,
    ExprLike,
    IterVar,
    Load,
    Range,
    Size,
    fold,
    loads_of,
    substitute,
)
from relax_mlir.te.extern import ExternOp
from relax_mlir.te.functions import all as all_of
from relax_mlir.te.functions import if_then_else, maximum, minimum
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.schedule.axes import AxisTree, Facts, Span, Split
from relax_mlir.te.schedule.stage import SCOPES, Root, Stage
from relax_mlir.te.tensors import ComputeOp, Operation, PlaceholderOp, Tensor, operations_of


@dataclass(frozen=True)
class AxisName:
    """The name of an axis in the trace."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class StageName:
    """A stage, by the name of its tensor; for several tensors, which are a tuple, by the first."""

    name: str
    several: bool = False

    @property
    def tensor(self) -> str:
        """Its first tensor as Python code."""
        return f"{self.name}[0]" if self.several else self.name

    def __str__(self) -> str:
        return f"s[{self.tensor}]"


@dataclass(frozen=True)
class TensorName:
    """A tensor; for a stage with several, output `index`."""

    name: str
    index: int | None = None

    def __str__(self) -> str:
        return self.name if self.index is None else f"{self.name}[{self.index}]"


@dataclass(frozen=True)
class AxesOf:
    """The unpacking of axes: ``i, j = s[C].op.axis``."""

    targets: tuple[str, ...]
    stage: StageName
    which: str

    def __str__(self) -> str:
        trailing = "," if len(self.targets) == 1 else ""
        return f"{', '.join(self.targets)}{trailing} = {self.stage}.op.{self.which}"


@dataclass(frozen=True)
class Call:
    """A primitive: of the schedule (`stage` is None), or of a stage."""

    targets: tuple[str, ...]
    stage: StageName | None
    method: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        given = [*map(_shown, self.args), *(f"{name}={_shown(value)}" for name, value in self.kwargs)]
        left = f"{', '.join(self.targets)} = " if self.targets else ""
        owner = "s" if self.stage is None else str(self.stage)
        return f"{left}{owner}.{self.method}({', '.join(given)})"


def _shown(value: Any) -> str:  # noqa: ANN401 - an argument
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value) if isinstance(value, AxisName | StageName | TensorName) else repr(value)


@dataclass
class Trace:
    """The primitives of a schedule in order. ``str`` returns Python code; ``==`` compares it; `apply` repeats it."""

    outputs: tuple[StageName, ...]
    lines: list[AxesOf | Call] = field(default_factory=list)

    def __str__(self) -> str:
        ops = ", ".join(f"{stage.tensor}.op" for stage in self.outputs)
        first = f"s = te.create_schedule({ops if len(self.outputs) == 1 else f'[{ops}]'})"
        return "\n".join([first, *map(str, self.lines)]) + "\n"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __len__(self) -> int:
        return sum(isinstance(line, Call) for line in self.lines)

    def apply(self, schedule: Schedule) -> None:
        """Repeat the primitives on the schedule of another computation with the same stage names and axis numbers.

        Raises:
            ScheduleError: a stage or axis is missing, or a primitive is not valid there; earlier primitives remain.
        """
        names: dict[str, Any] = {}

        def known(value: Any) -> Any:  # noqa: ANN401 - an argument
            if isinstance(value, list):
                return [known(item) for item in value]
            if isinstance(value, AxisName):
                return names[value.name]
            if isinstance(value, StageName):
                return schedule[names.get(value.name, value.name)]
            if isinstance(value, TensorName):
                return schedule[names.get(value.name, value.name)].tensors[value.index or 0]
            return value

        for line in list(self.lines):
            stage = None if line.stage is None else known(line.stage)
            if isinstance(line, AxesOf):
                assert stage is not None
                axes = getattr(stage.op, line.which) if isinstance(stage.op, ComputeOp) else []
                if len(axes) != len(line.targets):
                    raise ScheduleError(
                        str(line), f"{stage.name} has {len(axes)} of these axes", stage.name, None, None
                    )
                names.update(zip(line.targets, axes, strict=True))
                continue
            owner = schedule if stage is None else stage
            found = getattr(owner, line.method)(
                *map(known, line.args), **{name: known(value) for name, value in line.kwargs}
            )
            results = found if isinstance(found, tuple | list) else [found]
            names.update(zip(line.targets, results, strict=False))


@dataclass
class Recorder:
    """Records the trace of a schedule while its primitives run."""

    schedule: Schedule
    trace: Trace
    axes: dict[IterVar, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: {"s", "te"})
    depth: int = 0

    def record(
        self,
        stage: Stage | None,
        method: str,
        args: Iterable[Any],
        kwargs: Mapping[str, Any],
        results: Iterable[Any],
    ) -> None:
        """Add one primitive that has been applied."""
        given = tuple(self.argument(value) for value in args)
        named = tuple((name, self.argument(value)) for name, value in kwargs.items() if value is not None)
        targets = tuple(self.result(value) for value in results)
        self.trace.lines.append(Call(targets, None if stage is None else stage_name(stage), method, given, named))

    @contextmanager
    def undone_on_error(self) -> Iterator[None]:
        """Context that discards what has been recorded in it if an error is raised."""
        lines, axes, taken = len(self.trace.lines), dict(self.axes), set(self.taken)
        try:
            yield
        except BaseException:
            del self.trace.lines[lines:]
            self.axes, self.taken = axes, taken
            raise

    def prepare(self, args: Iterable[Any]) -> None:
        """Name the axes of computations among a primitive's arguments, before it may change them."""
        for value in args:
            if isinstance(value, IterVar) and value not in self.axes:
                self._introduce(value)
            elif isinstance(value, list | tuple):
                self.prepare(value)

    def argument(self, value: Any) -> Any:  # noqa: ANN401 - an argument of a primitive
        if isinstance(value, IterVar):
            return AxisName(self.axes[value])
        if isinstance(value, Stage):
            return stage_name(value)
        if isinstance(value, Tensor):
            stage = self.schedule[value]
            return TensorName(stage.name, value.value_index if len(stage.tensors) > 1 else None)
        if isinstance(value, list | tuple):
            return [self.argument(item) for item in value]
        return value

    def result(self, value: Any) -> str:  # noqa: ANN401 - an axis or a tensor
        if isinstance(value, IterVar):
            return self.axes.get(value) or self._named(value, value.name)
        assert isinstance(value, Tensor)
        return self.schedule[value].name

    def _introduce(self, axis: IterVar) -> None:
        """Add the line that names the axes of a computation."""
        for stage in self.schedule.stages:
            if not isinstance(stage.op, ComputeOp):
                continue
            for which, axes in (("axis", stage.op.axis), ("reduce_axis", stage.op.reduce_axis)):
                if any(item is axis for item in axes):
                    targets = tuple(self._named(item, item.name, stage.name) for item in axes)
                    self.trace.lines.append(AxesOf(targets, stage_name(stage), which))
                    return

    def _named(self, axis: IterVar, name: str, stage: str = "") -> str:
        """A variable for an axis."""
        clean = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
        wanted = clean if clean.isidentifier() else f"axis_{clean}"
        for candidate in _candidates(wanted, stage):
            if candidate not in self.taken and candidate not in self.schedule.names:
                break
        self.taken.add(candidate)
        self.axes[axis] = candidate
        return candidate


def stage_name(stage: Stage) -> StageName:
    """The name of a stage in a trace."""
    return StageName(stage.name, len(stage.tensors) > 1)


def _candidates(name: str, stage: str) -> Iterator[str]:
    yield name
    if stage:
        yield f"{stage}_{name}"
    number = 1
    while True:
        yield f"{name}_{number}"
        number += 1


def cache_read(schedule: Schedule, tensor: Tensor, scope: str, readers: Sequence[Tensor | Operation]) -> Tensor:
    """See `Schedule.cache_read`."""
    stage = schedule[tensor]
    what = f"s.cache_read({stage.name}, {scope!r})"
    schedule.check_scope(what, scope, stage.name)
    stages = list(dict.fromkeys(schedule[reader] for reader in readers))
    if not stages:
        raise _error(what, "no reader is given", stage)
    for reader in stages:
        if not reader.body and not reader.is_placeholder:
            raise _error(what, f"{reader.name} is a recurrence, which reads {stage.name} in its steps", stage)
        if not any(_is_output_of(schedule, load, stage) for load in loads_of(*reader.body)):
            raise _error(what, f"{reader.name} does not read {stage.name}", stage)
    source = stage.tensors[tensor.value_index]
    axes = [IterVar(f"ax{number}", Range(0, dim), DATA_PARALLEL) for number, dim in enumerate(source.shape)]
    copy = ComputeOp(axes, [Load(source, axes)], f"{source.name}_{scope or 'global'}")
    made = schedule.add(copy, schedule.stages.index(stage) + 1)
    made.scope = scope
    for reader in stages:
        _redirect(schedule, reader, stage, tensor.value_index, made.tensors[0])
    return made.tensors[0]


def _is_output_of(schedule: Schedule, load: Load, stage: Stage) -> bool:
    return schedule.stage_of(load.tensor) is stage


def _redirect(schedule: Schedule, reader: Stage, stage: Stage, number: int, to: Tensor) -> None:
    """Redirect a stage's reads to another tensor."""

    def replaced(item: Expr, children: list[Expr]) -> Expr:
        if isinstance(item, Load) and _is_output_of(schedule, item, stage) and item.tensor.value_index == number:
            return Load(to, children)
        is_same = all(old is new for old, new in zip(item.children, children, strict=True))
        return item if is_same else item.rebuilt(children)

    op = reader.op
    assert isinstance(op, ComputeOp)
    schedule.replace(reader, ComputeOp(op.axis, [fold(value, replaced) for value in op.body], op.name))


def cache_write(schedule: Schedule, tensor: Tensor, scope: str) -> Tensor:
    """See `Schedule.cache_write`."""
    stage = schedule[tensor]
    what = f"s.cache_write({stage.name}, {scope!r})"
    schedule.check_scope(what, scope, stage.name)
    op = stage.op
    if not isinstance(op, ComputeOp):
        raise _error(what, f"{stage.name} is not computed of elements here", stage)
    if stage.relations or stage.kinds or stage.tensorized or not isinstance(stage.place, Root):
        raise _error(what, f"{stage.name} has a schedule already, which it would lose: cache_write comes first", stage)
    if len(op.body) > 1:
        raise _error(what, f"{stage.name} has {len(op.body)} outputs, which are computed together", stage)
    own = [IterVar(f"{axis.name}_c", axis.dom, DATA_PARALLEL) for axis in op.axis]
    body = [substitute(value, dict(zip(op.axis, own, strict=True))) for value in op.body]
    cache = ComputeOp(own, body, f"{op.name}_{scope or 'global'}")
    made = schedule.add(cache, schedule.stages.index(stage))
    made.scope = scope
    cache.position = op.position
    schedule.replace(stage, ComputeOp(op.axis, [Load(made.tensors[0], op.axis)], op.name))
    stage.reset()
    return made.tensors[0]


def copied_output(schedule: Schedule, stage: Stage, scope: str) -> Stage:
    """Make a stage compute into a separate buffer with its current loops; return the new stage that copies it."""
    what = f"s.cache_write({stage.name}, {scope!r})"
    schedule.check_scope(what, scope, stage.name)
    op = stage.op
    if not isinstance(op, ComputeOp) or len(op.body) > 1:
        raise _error(what, f"{stage.name} is no computation of one tensor", stage)
    if not isinstance(stage.place, Root):
        raise _error(what, f"{stage.name} is computed elsewhere already: cache_write comes before compute_at", stage)
    cached = ComputeOp(op.axis, op.body, f"{op.name}_{scope or 'global'}")
    cached.position = op.position
    axes = [IterVar(f"ax{number}", axis.dom, DATA_PARALLEL) for number, axis in enumerate(op.axis)]
    copy = ComputeOp(axes, [Load(cached.outputs[0], axes)], op.name)
    copy.position = op.position
    return schedule.insert_copy(stage, cached, copy, scope)


def rfactor(schedule: Schedule, tensor: Tensor, axis: IterVar, factor_axis: int) -> Tensor:
    """See `Schedule.rfactor`."""
    stage = schedule[tensor]
    what = f"s.rfactor({stage.name}, {getattr(axis, 'name', axis)})"
    op = stage.op
    if not isinstance(op, ComputeOp) or not stage.reductions:
        raise _error(what, f"{stage.name} is no reduction", stage)
    stage._leaf(what, axis)
    if axis.iter_type != REDUCTION:
        raise _error(what, f"the axis {axis.name} is not one of the reduction", stage, axis)
    if not isinstance(stage.place, Root):
        raise _error(what, f"{stage.name} is computed elsewhere already: rfactor comes before compute_at", stage, axis)
    if any(value.combiner.ordered for value in stage.reductions):
        raise _error(
            what,
            f"the reduction of {stage.name} would combine elements in another order, and it is not proved that its "
            "result stays the same",
            stage,
            axis,
        )
    if stage.tensorized:
        raise _error(what, f"{stage.name} is tensorized already: rfactor comes first", stage, axis)
    if any(relation_axis.iter_type != REDUCTION for relation_axis in _related(stage)):
        raise _error(
            what,
            f"other loops of {stage.name} than the reduction's are split already: rfactor comes first",
            stage,
            axis,
        )
    if not isinstance(factor_axis, int) or not 0 <= factor_axis <= len(op.axis):
        raise _error(what, f"factor_axis is {factor_axis!r}, expected 0 to {len(op.axis)}", stage, axis)
    partial = _Partial(stage, op, axis)
    made = schedule.add(partial.op(factor_axis), schedule.stages.index(stage))
    made.op.position = op.position
    combined = IterVar(axis.name, partial.factored.dom, REDUCTION)
    places: list[Any] = list(op.axis)
    places.insert(factor_axis, combined)
    body: list[Expr] = []
    for value in op.body:
        assert isinstance(value, Reduction)
        source = [Load(made.tensors[partial.number(part, value)], places) for part in range(len(value.source))]
        body.append(Reduction(value.combiner, source, [combined], value.value_index, value.init))
    schedule.replace(stage, ComputeOp(op.axis, body, op.name))
    stage.reset()
    return made.tensors[0]


class _Partial:
    """The partial results of a reduction: reduced over all loops except one, which is an axis of the result."""

    def __init__(self, stage: Stage, op: ComputeOp, axis: IterVar) -> None:
        self.stage, self.of, self.axis = stage, op, axis
        roots = {root: Span(0, root.dom.extent, None) for root in (*op.axis, *op.reduce_axis)}
        facts = Facts()
        tree = AxisTree(facts, roots, stage.relations)
        leaves = [leaf for leaf in stage.leaf_iter_vars if leaf.iter_type == REDUCTION]
        self.lengths = {leaf: tree.length(leaf) for leaf in leaves}
        split = tree.parts.get(axis)
        if split is not None and split.inner is axis and split.factor is not None:
            # Use the factor for short reductions, too, so that all loops over the axis have the same length.
            self.lengths[axis] = split.factor
        self.axes = {
            leaf: IterVar(leaf.name, Range(0, self.lengths[leaf]), DATA_PARALLEL if leaf is axis else REDUCTION)
            for leaf in leaves
        }
        self.factored = self.axes[axis]
        self.own = {item: IterVar(item.name, item.dom, DATA_PARALLEL) for item in op.axis}
        self._names: dict[str, IterVar] = {}
        for number, leaf in enumerate(leaves):
            name = f"_loop{number}"
            self._names[name] = self.axes[leaf]
            tree.values[leaf] = symbolic.symbol(name)
            most = facts.high(self.lengths[leaf])
            facts.bounds[name] = (0, None if most is None else max(most - 1, 0))
        self.values: dict[IterVar, Expr] = {
            root: self.expression(root.dom.begin + tree.value(root)) for root in op.reduce_axis
        }
        limits: dict[tuple[Dim, Dim], None] = {}
        for root in op.reduce_axis:
            limits[(tree.value(root), root.dom.extent)] = None
        for relation in stage.relations:
            if isinstance(relation, Split):
                limits[(tree.value(relation.inner), tree.factor(relation))] = None
            elif relation in tree.frozen:
                outer, inner = tree.frozen[relation]
                limits[(tree.value(relation.fused), outer * inner)] = None
        self.limits = [
            self.expression(value) < self.expression(bound)
            for value, bound in limits
            if not facts.at_most(value + 1, bound) and not self._is_loop(value, bound)
        ]

    def _is_loop(self, value: Dim, bound: Dim) -> bool:
        """True if a value is that of a loop of this length."""
        name = symbolic.linear_definition(value)
        return name in self._names and self._names[name].dom.extent == bound

    def expression(self, dim: Dim) -> Expr:
        """Convert a dimension to an expression, with its loop symbols replaced by axes."""
        made: Expr = symbolic.lower(
            dim,
            symbol=lambda name: self._names[name] if name in self._names else Size(symbolic.symbol(name)),
            const=lambda value: Size(value),
            add=lambda a, b: a + b,
            mul=lambda a, b: a * b,
            floordiv=lambda a, b: a // b,
            mod=lambda a, b: a % b,
            min=minimum,
            max=maximum,
        )
        return made

    def number(self, part: int, value: Reduction) -> int:
        """The index of the output with value `part` of a reduction."""
        return next(
            number
            for number, other in enumerate(self.of.body)
            if isinstance(other, Reduction) and other.combiner is value.combiner and other.value_index == part
        )

    def op(self, factor_axis: int) -> ComputeOp:
        """The computation of the partial results."""
        axes = list(self.own.values())
        axes.insert(factor_axis, self.factored)
        rest = [item for leaf, item in self.axes.items() if leaf is not self.axis]
        known: dict[Expr, ExprLike] = dict([*self.own.items(), *self.values.items()])
        body: list[Expr] = []
        for value in self.of.body:
            assert isinstance(value, Reduction)
            source = [substitute(item, known) for item in value.source]
            if self.limits:
                test = all_of(*self.limits)
                source = [
                    if_then_else(test, item, start) for item, start in zip(source, value.combiner.identity, strict=True)
                ]
            body.append(
                Reduction(value.combiner, source, rest, value.value_index) if rest else source[value.value_index]
            )
        return ComputeOp(axes, body, f"{self.of.name}_rf")


def _related(stage: Stage) -> list[IterVar]:
    return [relation.parent if isinstance(relation, Split) else relation.fused for relation in stage.relations]


def _error(what: str, reason: str, stage: Stage, axis: IterVar | None = None) -> ScheduleError:
    return ScheduleError(what, reason, stage.name, None if axis is None else axis.name, user_frame_position())


@dataclass
class Step:
    """A primitive in progress."""

    results: tuple[Any, ...] = ()

    def gives(self, *results: Any) -> None:  # noqa: ANN401 - axes and tensors
        """Record the primitive's results."""
        self.results = results


@dataclass(eq=False)
class Schedule:
    """A schedule of `outputs`. ``s[C]`` is the stage of a tensor (or its op, or its name); `stages` are all of them.

    A schedule prints as the Python code that builds it: `trace`.
    """

    outputs: list[Operation]
    stages: list[Stage] = field(default_factory=list)
    names: dict[str, Stage] = field(default_factory=dict)
    _of_op: dict[Operation, Stage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        expect_all("Schedule: 'outputs'", self.outputs, Operation, "operations")
        tensors = [tensor for op in self.outputs for tensor in op.outputs]
        computed = operations_of(tensors)
        inputs = dict.fromkeys(
            tensor.op for op in computed for tensor in op.input_tensors if isinstance(tensor.op, PlaceholderOp)
        )
        for op in computed:
            _require_one_nest(op)
        for op in [*inputs, *computed]:
            self.add(op, len(self.stages), is_output=any(op is output for output in self.outputs))
        self._recorder = Recorder(self, Trace(tuple(stage_name(self[op]) for op in self.outputs)))

    def __getitem__(self, key: Tensor | Operation | Stage | str) -> Stage:
        """Return the stage of a tensor; raise ArgumentError, UnknownNameError or ScheduleError if there is none."""
        if isinstance(key, str):
            if key not in self.names:
                raise UnknownNameError("stage", key, self.names)
            return self.names[key]
        if isinstance(key, Stage) and key.schedule is self:
            return key
        op = key.op if isinstance(key, Tensor) else key
        if not isinstance(op, Operation):
            raise ArgumentError(f"s[…]: {key!r} ({type(key).__name__}) is no tensor, op or name of a stage")
        if op not in self._of_op:
            known = ", ".join(self.names)
            raise ScheduleError(
                f"s[{op.name}]",
                f"the schedule has no such stage; it has {known}",
                op.name,
                None,
                user_frame_position(),
            )
        return self._of_op[op]

    def __repr__(self) -> str:
        return str(self.trace)

    @property
    def trace(self) -> Trace:
        """The primitives that have been applied."""
        return self._recorder.trace

    @property
    def stage_map(self) -> Mapping[Operation, Stage]:
        """The stage of each op."""
        return dict(self._of_op)

    def normalize(self) -> Schedule:
        """This schedule: ranges are computed when loops are generated. TVM rebases them."""
        return self

    # -- primitives

    def cache_read(
        self, tensor: Tensor, scope: str, readers: Sequence[Tensor | Operation] | Tensor | Operation
    ) -> Tensor:
        """Make a copy of a tensor that `readers` read instead; it is a new stage, which supports `compute_at`.

        Raises:
            ScheduleError: no reader, or one that does not read it.
        """
        given: list[Tensor | Operation] = [*readers] if isinstance(readers, Sequence) else [readers]
        expect_all("cache_read: 'readers'", given, Tensor | Operation, "tensors or operations")
        tensors = [item if isinstance(item, Tensor) else item.output(0) for item in given]
        with self.step(None, "cache_read", [tensor, scope, tensors]) as step:
            found = cache_read(self, tensor, scope, tensors)
            step.gives(found)
        return found

    def cache_write(self, tensor: Tensor, scope: str) -> Tensor:
        """Compute a tensor into a new buffer, then copy it from there.

        The stage of the returned tensor computes, that of `tensor` copies.

        Raises:
            ScheduleError: an input, or a stage that already has loops or a place.
        """
        with self.step(None, "cache_write", [tensor, scope]) as step:
            found = cache_write(self, tensor, scope)
            step.gives(found)
        return found

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Tensor:
        """Factor a reduction into two stages; return the tensor of partial results, which `tensor` combines.

        The reduction loop `axis` becomes dimension `factor_axis` of the partial results.

        Raises:
            ScheduleError: not a loop of the tensor's reduction.
        """
        with self.step(None, "rfactor", [tensor, axis], {"factor_axis": factor_axis or None}) as step:
            found = rfactor(self, tensor, axis, factor_axis)
            step.gives(found)
        return found

    # -- helpers of stages and primitives

    def add(self, op: Operation, place: int, is_output: bool = False) -> Stage:
        """Create a stage for an op, at position `place` in the list of stages."""
        stage = Stage(self, op, self._fresh(op.name), is_output)
        self.stages.insert(place, stage)
        self.names[stage.name] = stage
        self._of_op[op] = stage
        return stage

    def insert_copy(self, stage: Stage, cached: ComputeOp, copy: ComputeOp, scope: str) -> Stage:
        """Make `stage` fill the tensor of `cached`, and insert a new stage after it that computes its tensor by `copy`.

        Returns the new stage.
        """
        made = self.add(copy, self.stages.index(stage) + 1, stage.is_output)
        made.tensors, made.origin_op = stage.tensors, stage.origin_op
        for op, owner in self._of_op.items():
            if owner is stage:
                self._of_op[op] = made
        stage.tensors, stage.op, stage.is_output, stage.scope = list(cached.outputs), cached, False, scope
        self._of_op[cached] = stage
        names = {**self.names, stage.name: made}
        del names[made.name]
        made.name = stage.name
        stage.name = ""
        self.names = names
        stage.name = self._fresh(cached.name)
        self.names[stage.name] = stage
        return made

    def replace(self, stage: Stage, op: ComputeOp) -> None:
        """Replace the op of a stage, keeping the user's source line of the old op."""
        op.position = stage.op.position
        stage.op = op
        self._of_op[op] = stage

    def stage_of(self, tensor: Tensor) -> Stage:
        """The stage that computes a tensor."""
        expect("stage_of: 'tensor'", tensor, Tensor, "a tensor of the schedule")
        return self._of_op[tensor.op]

    def readers_of(self, stage: Stage, transitively: bool = False) -> list[Stage]:
        """The stages that read a stage, directly or (with `transitively`) indirectly."""
        found: dict[Stage, None] = {}
        reached = {stage}
        for other in self.stages:
            read = {self._of_op[tensor.op] for tensor in other.op.input_tensors}
            if read & reached:
                found[other] = None
                if transitively:
                    reached.add(other)
        return list(found)

    def check_scope(self, what: str, scope: str, name: str) -> None:
        """Raise unless buffers can be in `scope`."""
        if scope not in SCOPES:
            raise ScheduleError(
                what,
                f'the scope is {scope!r}, expected "global" or "local": there are no GPUs with other memory',
                name,
                None,
                user_frame_position(),
            )

    @contextmanager
    def step(
        self, stage: Stage | None, method: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
    ) -> Iterator[Step]:
        """Context of a primitive: records it on completion, unless it is part of another one."""
        recorder = self._recorder
        recorder.depth += 1
        done = Step()
        try:
            with recorder.undone_on_error():
                if recorder.depth == 1:
                    recorder.prepare(args)
                yield done
        finally:
            recorder.depth -= 1
        if recorder.depth == 0:
            recorder.record(stage, method, args, kwargs or {}, done.results)

    def _fresh(self, name: str) -> str:
        """A stage name that no other stage has."""
        clean = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "t"
        clean = clean if clean.isidentifier() and not keyword.iskeyword(clean) else f"t_{clean}"
        found, number = clean, 0
        while found in self.names or found in ("s", "te"):
            number += 1
            found = f"{clean}_{number}"
        return found


def _require_one_nest(op: Operation) -> None:
    """Raise unless one loop nest computes all outputs of an op."""
    if isinstance(op, ExternOp):
        raise UnsupportedError(
            f"create_schedule: '{op.name}' is a te.extern, which has no loops and cannot be called from a prim func: "
            "emit it, by bb.emit_te or bb.emit, and schedule what reads its result"
        )
    if not isinstance(op, ComputeOp):
        return
    axes = [[id(axis) for axis in value.axis] if isinstance(value, Reduction) else None for value in op.body]
    if any(item != axes[0] for item in axes[1:]):
        raise ArgumentError(
            f"create_schedule: the outputs of {op.name} are not reduced over the same axes: compute them apart"
        )


def create_schedule(ops: Operation | Tensor | Sequence[Operation | Tensor]) -> Schedule:
    """Create the schedule of operations (``C.op``) and of all that they read, each in a separate loop nest.

    Raises:
        ArgumentError: no operation, or an input.
    """
    given = list(ops) if isinstance(ops, list | tuple) else [ops]
    outputs: dict[Operation, None] = {}
    for item in given:
        op = item.op if isinstance(item, Tensor) else item
        if not isinstance(op, Operation):
            raise ArgumentError(f"create_schedule: {item!r} ({type(item).__name__}) is no operation: give C.op")
        if isinstance(op, PlaceholderOp):
            raise ArgumentError(f"create_schedule: {op.name} is an input; give the op of a computed tensor")
        outputs[op] = None
    if not outputs:
        raise ArgumentError("create_schedule: no operation is given")
    return Schedule(list(outputs))
