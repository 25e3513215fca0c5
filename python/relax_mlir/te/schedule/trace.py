"""The trace of a schedule as Python code: it can be printed, compared as text, and applied to another schedule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from relax_mlir.error import ScheduleError
from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import IterVar
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.tensors import Tensor

if TYPE_CHECKING:
    from relax_mlir.te.schedule.schedule import Schedule


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
        self.trace.lines.append(
            Call(targets, None if stage is None else stage_name(stage), method, given, named)
        )

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
