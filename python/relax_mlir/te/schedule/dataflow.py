"""Primitives that add stages: caches of inputs or outputs, and two-stage reductions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir import symbolic
from relax_mlir.dialects.location import user_frame_position
from relax_mlir.error import ScheduleError
from relax_mlir.symbolic import Dim
from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import DATA_PARALLEL, REDUCTION, Expr, ExprLike, IterVar, Load, Range, Size
from relax_mlir.te.functions import all as all_of
from relax_mlir.te.functions import if_then_else, maximum, minimum
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.schedule.axes import AxisTree, Span, Split
from relax_mlir.te.schedule.facts import Facts
from relax_mlir.te.schedule.places import Root
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.tensors import Operation, Tensor
from relax_mlir.te.walk import fold, loads_of, substitute

if TYPE_CHECKING:
    from relax_mlir.te.schedule.schedule import Schedule


def cache_read(
    schedule: Schedule, tensor: Tensor, scope: str, readers: Sequence[Tensor | Operation]
) -> Tensor:
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
        if (
            isinstance(item, Load)
            and _is_output_of(schedule, item, stage)
            and item.tensor.value_index == number
        ):
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
        raise _error(
            what, f"{stage.name} has a schedule already, which it would lose: cache_write comes first", stage
        )
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
        raise _error(
            what, f"{stage.name} is computed elsewhere already: cache_write comes before compute_at", stage
        )
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
        raise _error(
            what, f"{stage.name} is computed elsewhere already: rfactor comes before compute_at", stage, axis
        )
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
        source = [
            Load(made.tensors[partial.number(part, value)], places) for part in range(len(value.source))
        ]
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
            leaf: IterVar(
                leaf.name, Range(0, self.lengths[leaf]), DATA_PARALLEL if leaf is axis else REDUCTION
            )
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
                    if_then_else(test, item, start)
                    for item, start in zip(source, value.combiner.identity, strict=True)
                ]
            body.append(
                Reduction(value.combiner, source, rest, value.value_index)
                if rest
                else source[value.value_index]
            )
        return ComputeOp(axes, body, f"{self.of.name}_rf")


def _related(stage: Stage) -> list[IterVar]:
    return [
        relation.parent if isinstance(relation, Split) else relation.fused for relation in stage.relations
    ]


def _error(what: str, reason: str, stage: Stage, axis: IterVar | None = None) -> ScheduleError:
    return ScheduleError(what, reason, stage.name, None if axis is None else axis.name, user_frame_position())
