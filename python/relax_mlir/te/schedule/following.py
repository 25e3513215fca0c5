"""Stages computed inside the loops of the stage that they read, on the elements that a loop has just completed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.symbolic import Dim
from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import REDUCTION, IterVar, Load
from relax_mlir.te.schedule.axes import AxisTree, Span
from relax_mlir.te.schedule.facts import Facts
from relax_mlir.te.schedule.places import Following
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.walk import to_dim, variables_of


@dataclass(frozen=True)
class Mirror:
    """The access of a follower along one dimension of its leader: the element at ``axis + distance``."""

    axis: IterVar
    distance: Dim


def mirrors(follower: Stage, loads: Sequence[Load]) -> list[Mirror | None]:
    """The follower's access along each dimension of the leader; None if it is not along one of its axes.

    Raises:
        ScheduleError: accesses at different places, or one that is not known to be in bounds for all elements.
    """
    place, op = follower.place, follower.op
    assert isinstance(place, Following)
    assert isinstance(op, ComputeOp)
    found = [_mirror(op, load, number) for load in loads[:1] for number in range(load.tensor.ndim)]
    for load in loads[1:]:
        if [_mirror(op, load, number) for number in range(load.tensor.ndim)] != found:
            raise place.refused(f"{follower.name} reads {place.stage.name} at several places")
    axes = [mirror.axis for mirror in found if mirror is not None]
    if len({id(axis) for axis in axes}) != len(axes):
        raise place.refused(f"{follower.name} reads {place.stage.name} along one of its axes twice")
    facts = Facts()
    for number, mirror in enumerate(found):
        size = loads[0].tensor.shape[number]
        if mirror is None:
            continue
        first, last = mirror.distance, mirror.distance + mirror.axis.dom.extent
        if not facts.at_most(0, first) or not facts.at_most(last, size):
            raise place.refused(
                f"dimension {number} of {place.stage.name} has not, for all sizes, an element for each of "
                f"{follower.name}"
            )
    return found


def _mirror(op: ComputeOp, load: Load, number: int) -> Mirror | None:
    index = load.children[number]
    own = variables_of(index)
    if len(own) != 1 or not any(own[0] is axis for axis in op.axis):
        return None
    step = symbolic.symbol("_step")
    dim = to_dim(index, {own[0]: step})
    if dim is None:
        return None
    distance = dim - step
    return None if "_step" in symbolic.symbols(distance) else Mirror(own[0], distance)


def check_follower(follower: Stage, loads: Sequence[Load]) -> None:
    """Raise unless each element of a follower reads elements of only one iteration of the leader's loop."""
    place = follower.place
    assert isinstance(place, Following)
    leader = place.stage
    order = leader.leaf_iter_vars
    depth = next((number for number, axis in enumerate(order) if axis is place.axis), None)
    if depth is None:
        raise place.refused(
            f"the axis {place.axis.name} is no loop of {leader.name} any more: it was split or fused since"
        )
    if any(axis.iter_type == REDUCTION for axis in order[: depth + 1]):
        raise place.refused(
            f"the loop {place.axis.name} is inside the reduction of {leader.name}, or of it, where no element is "
            "complete"
        )
    op = leader.op
    assert isinstance(op, ComputeOp)
    tree = AxisTree(
        Facts(), {axis: Span(0, axis.dom.extent) for axis in (*op.axis, *op.reduce_axis)}, leader.relations
    )
    for number, axis in enumerate(order[: depth + 1]):
        tree.length(axis)
        tree.values[axis] = symbolic.symbol(f"_loop{number}")
    found = mirrors(follower, loads)
    for axis, mirror in zip(op.axis, found, strict=True):
        if not tree.is_contiguous(axis) or tree.is_disturbed(order):
            raise place.refused(
                f"the loop {place.axis.name} makes elements of {leader.name} that do not follow each other along "
                f"{axis.name}"
            )
        if mirror is None and not tree.is_untouched(axis):
            raise place.refused(
                f"one element of {follower.name} reads several of {leader.name} along {axis.name}, which the loop "
                f"{place.axis.name} makes one after the other"
            )


def following_region(facts: Facts, follower: Stage, loads: Sequence[Load], tree: AxisTree) -> list[Span]:
    """The elements of a follower that read the elements computed by the unopened loops of its leader."""
    op = follower.op
    assert isinstance(op, ComputeOp)
    place = follower.place
    assert isinstance(place, Following)
    leader = place.stage.op
    assert isinstance(leader, ComputeOp)
    found = {axis: Span(0, axis.dom.extent, facts.high(axis.dom.extent)) for axis in op.axis}
    for own, mirror in zip(leader.axis, mirrors(follower, loads), strict=True):
        if mirror is not None and not tree.is_untouched(own):
            span = tree.root_span(own)
            found[mirror.axis] = _cut(
                facts, Span(span.low - mirror.distance, span.extent, span.most), mirror, own
            )
    return [found[axis] for axis in op.axis]


def _cut(facts: Facts, span: Span, mirror: Mirror, own: IterVar) -> Span:
    """The part of a range in the domain of the follower, which may be smaller than the leader."""
    extent = mirror.axis.dom.extent
    if mirror.distance == 0 and extent == own.dom.extent:
        return span
    low = symbolic.maximum(span.low, 0)
    end = symbolic.minimum(span.low + span.extent, extent)
    return Span(low, facts.difference(end, low), span.most)
