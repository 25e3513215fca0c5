"""Checks that an intrinsic computes the same as the loops that it replaces, and the tensor parts that it uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.symbolic import Dim
from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import REDUCTION, Expr, IterVar
from relax_mlir.te.schedule.axes import AxisTree, Span
from relax_mlir.te.schedule.facts import Facts
from relax_mlir.te.schedule.intrin_match import Different, Match, Part, Tile, Undecided
from relax_mlir.te.tensors import Tensor

if TYPE_CHECKING:
    from relax_mlir.te.schedule.places import Tensorized
    from relax_mlir.te.schedule.stage import Stage


def place_of(stage: Stage) -> tuple[Tensorized, int]:
    """The intrinsic that replaces loops of a stage, and the index of the first such loop.

    Raises:
        ScheduleError: the loop no longer exists.
    """
    place = stage.tensorized
    assert place is not None
    for number, axis in enumerate(stage.leaf_iter_vars):
        if axis is place.axis:
            return place, number
    raise place.refused(
        f"the axis {place.axis.name} is no loop of {stage.name} any more: it was split or fused since"
    )


def check_loops(stage: Stage, inside: Sequence[IterVar]) -> None:
    """Raise `ScheduleError` if other stages are computed inside the loops `inside`, which are replaced."""
    place, number = place_of(stage)
    for axis in stage.leaf_iter_vars[number:]:
        if any(axis is other for other in inside):
            raise place.refused(
                f"another stage is computed inside the loop {axis.name}, which the intrinsic takes the place of"
            )


def check_tensorized(stage: Stage) -> None:
    """Raise `ScheduleError` if the loops compute something else, whatever their lengths."""
    place, number = place_of(stage)
    op, facts = stage.op, Facts()
    assert isinstance(op, ComputeOp)
    check_parts(stage, number)
    if any(stage.schedule.stage_of(tensor).is_inlined for tensor in op.input_tensors):
        return  # the computation is only known when the loops are generated
    axes = (*op.axis, *op.reduce_axis)
    tree = AxisTree(facts, {axis: Span(axis.dom.begin, axis.dom.extent) for axis in axes}, stage.relations)
    for position, leaf in enumerate(stage.leaf_iter_vars[:number]):
        tree.length(leaf)
        tree.values[leaf] = symbolic.symbol(f"_loop{position}")
    try:
        tile_of(stage, tree, number, op.body, later=True).match(place.intrin)
    except Undecided:
        return
    except Different as difference:
        raise place.refused(str(difference)) from None


def check_parts(stage: Stage, number: int) -> None:
    """Raise `ScheduleError` unless the intrinsic can update a reduction that is initialised outside of the loops."""
    place, order = stage.tensorized, stage.leaf_iter_vars
    assert place is not None
    outside = [axis for axis in order[:number] if axis.iter_type == REDUCTION]
    if outside and place.intrin.update is None:
        raise place.refused(
            f"the loop {outside[0].name} of the reduction is outside of {place.axis.name}, and the intrinsic has no "
            "update, which combines with what is there: declare it as (body, reset, update), or reorder the loops"
        )


def tile_of(stage: Stage, tree: AxisTree, number: int, body: Sequence[Expr], later: bool = False) -> Tile:
    """The loops from `number` on, inside the others, which are opened in `tree`.

    Raises:
        ScheduleError: they do not visit a box of the axes.
    """
    place, op = stage.tensorized, stage.op
    assert place is not None
    assert isinstance(op, ComputeOp)
    order = stage.leaf_iter_vars
    axes = (*op.axis, *op.reduce_axis)
    if tree.is_disturbed(order):
        raise place.refused("its loops, some of which are fused, need conditions inside")
    left = set(order[number:])
    moving = [axis for axis in axes if any(leaf in left for leaf in tree.loops(axis))]
    for axis in moving:
        if not tree.is_contiguous(axis):
            raise place.refused(
                f"the values of {axis.name} inside the loop do not follow each other: an outer loop of it is inside, "
                "and an inner one outside"
            )
        if not tree.is_exact(axis):
            raise place.refused(
                f"the loop of {axis.name} around it is a part of an outer part of {axis.name}, whose last tile is not "
                "told from the part behind it"
            )
    spans = {axis: tree.root_span(axis) for axis in axes}
    return Tile(tree.facts, op, body, stage.tensors, spans, moving, later)


def check_strides(stage: Stage, part: Part, pattern: Tensor, sizes: Sequence[Dim]) -> None:
    """Raise `ScheduleError` unless a part of a buffer of these sizes has the layout that the intrinsic requires."""
    place = stage.tensorized
    assert place is not None
    wanted = place.intrin.strides[pattern]
    for number, (axis, stride) in enumerate(zip(part.axes, wanted, strict=True)):
        own = symbolic.product(sizes[axis + 1 :])
        if stride is not None and pattern.shape[number] != 1 and not symbolic.prove_equal(own, stride):
            raise place.refused(
                f"elements of {part.tensor.name} along its dimension {axis} are {own} apart, and those of "
                f"{pattern.name} of the intrinsic along dimension {number} {stride}"
            )


def matched(stage: Stage, tile: Tile, outputs_only: bool = False) -> Match:
    """The parts that the intrinsic accesses; raise `ScheduleError` with the first difference."""
    place = stage.tensorized
    assert place is not None
    try:
        return tile.match_outputs(place.intrin) if outputs_only else tile.match(place.intrin)
    except Different as difference:
        raise place.refused(str(difference)) from None
