"""The plan of a schedule: the stages in order, their values after inlining, and their readers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relax_mlir.error import ScheduleError
from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import INDEX, LITERAL, Expr, IterVar, Load, Number, Size
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.schedule.following import check_follower
from relax_mlir.te.schedule.places import AttachedAt, Following, Inlined, Root
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.schedule.tensorize import check_loops
from relax_mlir.te.tensors import Operation
from relax_mlir.te.walk import fold, loads_of, substitute

if TYPE_CHECKING:
    from relax_mlir.te.schedule.schedule import Schedule


@dataclass
class Plan:
    """The stages that have loops, in topological order."""

    schedule: Schedule
    stages: list[Stage] = field(default_factory=list)
    bodies: dict[Stage, tuple[Expr, ...]] = field(default_factory=dict)
    """The values of each stage, with inlined tensors replaced by their expressions."""
    readers: dict[Stage, list[tuple[Stage, Load]]] = field(default_factory=dict)
    """The readers of each stage, with one of their accesses each."""
    attached: dict[tuple[Stage, IterVar], list[Stage]] = field(default_factory=dict)
    """The stages that are computed at the beginning of a loop's body."""
    followers: dict[tuple[Stage, IterVar], list[Stage]] = field(default_factory=dict)
    """The stages that are computed at the end of it."""

    @classmethod
    def of(cls, schedule: Schedule) -> Plan:
        """The plan of a schedule; raise `ScheduleError` if a reader cannot access a stage where it is computed."""
        plan = cls(schedule)
        for stage in schedule.stages:
            if stage.is_placeholder:
                continue
            body = tuple(map(plan._inlined, stage.body))
            if isinstance(stage.place, Inlined):
                if stage.tensorized is not None:
                    raise stage.tensorized.refused(f"{stage.name} is computed inline, without loops")
                plan.bodies[stage] = body
                continue
            plan.stages.append(stage)
            plan.bodies[stage] = body
            for load in loads_of(*body) if isinstance(stage.op, ComputeOp) else whole_reads(stage.op):
                producer = schedule.stage_of(load.tensor)
                if not producer.is_placeholder:
                    plan.readers.setdefault(producer, []).append((stage, load))
            if isinstance(stage.place, AttachedAt):
                plan.attached.setdefault((stage.place.stage, stage.place.axis), []).append(stage)
            elif isinstance(stage.place, Following):
                plan.followers.setdefault((stage.place.stage, stage.place.axis), []).append(stage)
        for stage in plan.stages:
            plan._check(stage)
            if stage.tensorized is not None:
                inside = [*plan.attached, *plan.followers]
                check_loops(stage, [axis for other, axis in inside if other is stage])
        for producer, readers in plan.readers.items():
            for reader, _ in readers:
                plan._check_order(reader, producer)
        return plan

    @property
    def whole(self) -> list[Stage]:
        """The stages that have buffers of the whole tensor."""
        return [stage for stage in self.stages if not isinstance(stage.place, AttachedAt)]

    def roots(self) -> list[Stage]:
        """The stages with separate loop nests, in topological order.

        Raises:
            ScheduleError: two nests that depend on each other.
        """
        waits: dict[Stage, dict[Stage, None]] = {
            stage: {} for stage in self.stages if isinstance(stage.place, Root)
        }
        for producer, readers in self.readers.items():
            for reader, _ in readers:
                first, second = self.nest_of(producer), self.nest_of(reader)
                if first is not second:
                    waits[second][first] = None
        ordered: list[Stage] = []
        while waits:
            ready = next((s for s, others in waits.items() if not any(o in waits for o in others)), None)
            if ready is None:
                raise self._circle(list(waits))
            ordered.append(ready)
            del waits[ready]
        return ordered

    def _circle(self, stages: list[Stage]) -> ScheduleError:
        """The error of nests that depend on each other through the stages inside them."""
        for stage in self.stages:
            place = stage.place
            if isinstance(place, Following) and self.nest_of(stage) in stages:
                others = [s.name for s in stages if s is not self.nest_of(stage)]
                return place.refused(
                    f"{stage.name} reads what is computed behind the loops of {place.stage.name}: {', '.join(others)}"
                )
        raise AssertionError("only followers read what is behind their nest")

    def nest_of(self, stage: Stage) -> Stage:
        """The stage in whose loop nest a stage is computed, or itself."""
        while isinstance(stage.place, AttachedAt | Following):
            stage = stage.place.stage
        return stage

    def loads(self, reader: Stage, producer: Stage) -> list[Load]:
        """The accesses of a stage to another one."""
        return [load for other, load in self.readers[producer] if other is reader]

    def _inlined(self, value: Expr) -> Expr:
        """`value` with the elements of inlined tensors replaced by expressions."""

        def replaced(item: Expr, children: list[Expr]) -> Expr:
            is_same = all(old is new for old, new in zip(item.children, children, strict=True))
            if isinstance(item, Load):
                producer = self.schedule.stage_of(item.tensor)
                if isinstance(producer.place, Inlined):
                    assert isinstance(producer.op, ComputeOp)
                    whole = self.bodies[producer][item.tensor.value_index]
                    return substitute(
                        whole, dict(zip(producer.op.axis, map(as_index, children), strict=True))
                    )
            return item if is_same else item.rebuilt(children)

        return fold(value, replaced)

    def outward(self, stage: Stage) -> Iterator[tuple[Stage, IterVar]]:
        """Yield the loops that a stage is computed in, innermost stage first."""
        while isinstance(stage.place, AttachedAt | Following):
            yield stage.place.stage, stage.place.axis
            stage = stage.place.stage

    def _check(self, stage: Stage) -> None:
        """Raise unless all readers of an attached stage are inside the loop that it is computed in."""
        place = stage.place
        if isinstance(place, Following):
            self._check_follower(stage, place)
        if not isinstance(place, AttachedAt):
            return
        if isinstance(place.stage.place, Inlined):
            raise place.refused(f"{place.stage.name} is computed inline, without loops")
        order = place.stage.leaf_iter_vars
        depth = _position(order, place.axis)
        if depth is None:
            raise place.refused(
                f"the axis {place.axis.name} is no loop of {place.stage.name} any more: it was split or fused since"
            )
        if stage not in self.readers:
            raise place.refused("nothing reads it")
        for reader, load in self.readers[stage]:
            if reader is place.stage:
                if self._reads_in_init(reader, load) and depth >= _first_reduction(order):
                    raise place.refused(
                        f"{reader.name} reads it in the initial value of its reduction, outside of the loop "
                        f"{place.axis.name}"
                    )
                continue
            inside = [axis for outer, axis in self.outward(reader) if outer is place.stage]
            found = _position(order, inside[0]) if inside else None
            if found is None or found < depth:
                raise place.refused(
                    f"{reader.name} reads {stage.name}, too, and is not computed inside the loop {place.axis.name} of "
                    f"{place.stage.name}: compute it there, or {stage.name} in a loop around both"
                )

    def _check_follower(self, stage: Stage, place: Following) -> None:
        if not isinstance(place.stage.place, Root | Following):
            raise place.refused(
                f"{place.stage.name} is not computed whole, once: not inline, nor inside of another stage"
            )
        found = self.readers.get(place.stage, [])
        if not any(reader is stage for reader, _ in found):
            raise place.refused(f"{stage.name} does not read {place.stage.name} any more")
        check_follower(stage, self.loads(stage, place.stage))

    def _check_order(self, reader: Stage, producer: Stage) -> None:
        """Raise if a stage reads a buffer that the loops around both have filled only partially."""
        place = reader.place
        if isinstance(producer.place, AttachedAt) or self.nest_of(producer) is not self.nest_of(reader):
            return
        if isinstance(place, Following) and place.stage is producer:
            return
        follower = reader
        while not isinstance(follower.place, Following):
            assert isinstance(follower.place, AttachedAt)
            follower = follower.place.stage
        raise follower.place.refused(
            f"{reader.name} reads {producer.name}, too, not all of which is computed inside of these loops by then"
        )

    def _reads_in_init(self, reader: Stage, load: Load) -> bool:
        starts = [
            item for value in self.bodies[reader] if isinstance(value, Reduction) for item in value.init
        ]
        return any(item is load for item in loads_of(*starts))


def whole_reads(op: Operation) -> list[Load]:
    """The reads of a recurrence: any element of its inputs."""
    return [Load(tensor, [Size(0)] * tensor.ndim) for tensor in op.input_tensors]


def as_index(item: Expr) -> Expr:
    """An index expression that replaces an axis; an integer from data is converted to int64."""
    if isinstance(item, Number) and isinstance(item.value, int):
        return Size(item.value)
    return item if item.kind in (INDEX, LITERAL) or item.dtype == "int64" else item.astype("int64")


def _position(order: list[IterVar], axis: IterVar) -> int | None:
    return next((number for number, item in enumerate(order) if item is axis), None)


def _first_reduction(order: list[IterVar]) -> int:
    """The number of loops before the first reduction loop."""
    return next((number for number, item in enumerate(order) if item.iter_type == "reduction"), len(order))
