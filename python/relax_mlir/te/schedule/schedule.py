"""Schedules: the loops, locations and buffers of a computation's tensors, stage by stage."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.location import user_frame_position
from relax_mlir.error import (
    ArgumentError,
    ScheduleError,
    UnknownNameError,
    UnsupportedError,
    expect,
    expect_all,
)
from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import IterVar
from relax_mlir.te.extern import ExternOp
from relax_mlir.te.graph import operations_of
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.schedule import dataflow
from relax_mlir.te.schedule.stage import SCOPES, Stage
from relax_mlir.te.schedule.trace import Recorder, Trace, stage_name
from relax_mlir.te.tensors import Operation, PlaceholderOp, Tensor


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
            tensor.op
            for op in computed
            for tensor in op.input_tensors
            if isinstance(tensor.op, PlaceholderOp)
        )
        for op in computed:
            _require_one_nest(op)
        for op in [*inputs, *computed]:
            self.add(op, len(self.stages), is_output=any(op is output for output in self.outputs))
        self._recorder = Recorder(self, Trace(tuple(stage_name(self[op]) for op in self.outputs)))

    def __getitem__(self, key: Tensor | Operation | Stage | str) -> Stage:
        """Return the stage of a tensor; raise UnknownNameError or ScheduleError if there is none."""
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
            found = dataflow.cache_read(self, tensor, scope, tensors)
            step.gives(found)
        return found

    def cache_write(self, tensor: Tensor, scope: str) -> Tensor:
        """Compute a tensor into a new buffer, then copy it from there.

        The stage of the returned tensor computes, that of `tensor` copies.

        Raises:
            ScheduleError: an input, or a stage that already has loops or a place.
        """
        with self.step(None, "cache_write", [tensor, scope]) as step:
            found = dataflow.cache_write(self, tensor, scope)
            step.gives(found)
        return found

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Tensor:
        """Factor a reduction into two stages; return the tensor of partial results, which `tensor` combines.

        The reduction loop `axis` becomes dimension `factor_axis` of the partial results.

        Raises:
            ScheduleError: not a loop of the tensor's reduction.
        """
        with self.step(None, "rfactor", [tensor, axis], {"factor_axis": factor_axis or None}) as step:
            found = dataflow.rfactor(self, tensor, axis, factor_axis)
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
            raise ArgumentError(
                f"create_schedule: {item!r} ({type(item).__name__}) is no operation: give C.op"
            )
        if isinstance(op, PlaceholderOp):
            raise ArgumentError(f"create_schedule: {op.name} is an input; give the op of a computed tensor")
        outputs[op] = None
    if not outputs:
        raise ArgumentError("create_schedule: no operation is given")
    return Schedule(list(outputs))
