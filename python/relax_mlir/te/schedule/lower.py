"""Lower a schedule to the loops of a prim func: the plan of its stages, then the loops."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, overload

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import PROVED
from relax_mlir.dialects.location import renamed
from relax_mlir.dialects.prim_funcs import seal
from relax_mlir.error import ArgumentError, ScheduleError, expect
from relax_mlir.ir_module import IRModule, functions_of
from relax_mlir.lazy import Hook
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar, Term, apply, as_condition
from relax_mlir.mlir import func, ir
from relax_mlir.script.printer import print_prim
from relax_mlir.symbolic import Condition, Dim
from relax_mlir.te.evaluate import FUNCTIONS, Evaluator
from relax_mlir.te.expressions import (
    INDEX,
    LITERAL,
    REDUCTION,
    Binary,
    Expr,
    ExprLike,
    IterVar,
    Load,
    Number,
    Size,
    binary,
    fold,
    loads_of,
    substitute,
    to_dim,
)
from relax_mlir.te.loops import Loops, is_one_operation
from relax_mlir.te.prim_func import (
    RESERVED,
    Function,
    TEFunction,
    check_parameters,
    integers_of,
    names_of,
    new_module,
)
from relax_mlir.te.reductions import Combiner, Reduction
from relax_mlir.te.schedule.axes import AxisTree, Facts, Span, clamped, read_region, united
from relax_mlir.te.schedule.schedule import Schedule
from relax_mlir.te.schedule.stage import (
    AttachedAt,
    Following,
    Inlined,
    Root,
    Stage,
    check_follower,
    following_region,
)
from relax_mlir.te.schedule.tensor_intrin import Implementation, Place
from relax_mlir.te.schedule.tensorize import (
    Match,
    check_loops,
    check_parts,
    check_strides,
    matched,
    place_of,
    tile_of,
)
from relax_mlir.te.tensors import (
    ComputeOp,
    FreshNames,
    Operation,
    PlaceholderOp,
    Tensor,
    operations_of,
)


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

    def canonical(self, tensor: Tensor) -> Tensor:
        """The tensor that represents an output of a stage for its readers."""
        return self.schedule.stage_of(tensor).tensors[tensor.value_index]

    def roots(self) -> list[Stage]:
        """The stages with separate loop nests, in topological order.

        Raises:
            ScheduleError: two nests that depend on each other.
        """
        waits: dict[Stage, dict[Stage, None]] = {stage: {} for stage in self.stages if isinstance(stage.place, Root)}
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
                    return substitute(whole, dict(zip(producer.op.axis, map(as_index, children), strict=True)))
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
        starts = [item for value in self.bodies[reader] if isinstance(value, Reduction) for item in value.init]
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


MAX_DEPTH = 80
"""Maximum nesting depth of loops; Python supports a hundred levels of indentation in a script."""


@dataclass
class ScheduledLoops:
    """Emits the loops of a plan at the insertion point; `buffers` are those of the parameters at first."""

    plan: Plan
    builder: LoopBuilder
    buffers: dict[Tensor, Buffer]
    symbols: dict[str, Scalar]
    """The values of symbols and loop variables, those of `builder`."""
    fresh: FreshNames
    facts: Facts = field(default_factory=Facts)
    trees: dict[Stage, AxisTree] = field(default_factory=dict)
    """The stages whose loops are open."""
    origins: dict[Tensor, list[Dim]] = field(default_factory=dict)
    """The start of the part that a buffer holds of its tensor."""
    regions: dict[Stage, list[Span]] = field(default_factory=dict)
    """Results of `needed` for the open loops."""
    in_loops: set[Stage] = field(default_factory=set)
    """Tensorised stages whose loops are being emitted, for tiles smaller than the intrinsic."""
    insides: dict[Load, list[bool]] = field(default_factory=dict)
    """Results of `is_inside`."""
    variables: dict[Expr, Term] = field(default_factory=dict)
    """The values of the variables of combiners."""
    depth: int = 1
    """The number of loops and conditions around the insertion point, and the function."""

    def emit(self) -> None:
        """Emit all loops."""
        for stage in self.plan.whole:
            self.allocate(stage, self.whole(stage))
        for stage in self.plan.roots():
            self.stage(stage, self.whole(stage))

    def whole(self, stage: Stage) -> list[Span]:
        """The box of all elements of a stage."""
        return [Span(0, dim, self.facts.high(dim)) for dim in stage.tensors[0].shape]

    def allocate(self, stage: Stage, region: Sequence[Span]) -> None:
        """Allocate the buffers of a stage, except parameters."""
        for tensor in stage.tensors:
            if tensor in self.buffers:
                continue
            sizes = [
                span.most if span.most is not None and not isinstance(span.extent, int) else span.extent
                for span in region
            ]
            name = self.fresh(tensor.name)
            buffer = self.buffers[tensor] = self.builder.alloc(sizes, tensor.dtype, name, stage.scope)
            buffer.ssa.owner.location = renamed(name, buffer.ssa.owner.location)

    def forget(self, stage: Stage) -> None:
        """Forget the buffers of an attached stage after the loop that contains them."""
        for tensor in stage.tensors:
            self.buffers.pop(tensor, None)
            self.origins.pop(tensor, None)

    # -- loops

    def stage(self, stage: Stage, region: Sequence[Span]) -> None:
        """Emit the loops that compute a stage over a box of its elements."""
        op = stage.op
        if not isinstance(op, ComputeOp):
            self.operation(op)
            return
        roots = dict(zip(op.axis, region, strict=True))
        for axis in op.reduce_axis:
            roots[axis] = Span(axis.dom.begin, axis.dom.extent, self.facts.high(axis.dom.extent))
        self.trees[stage] = AxisTree(self.facts, roots, stage.relations)
        if self.depth + len(stage.leaf_iter_vars) > MAX_DEPTH:
            self.check_depth(stage)
        with ir.Location.file(*op.position, 0):
            self.nest(stage, 0)
        del self.trees[stage]

    def operation(self, op: Operation) -> None:
        """Emit the loops of an operation that schedules do not change."""
        known = {tensor: self.buffers[self.plan.canonical(tensor)] for tensor in (*op.input_tensors, *op.outputs)}
        with ir.Location.file(*op.position, 0):
            for tensor in [tensor for step in op.parts for tensor in step.outputs]:
                known[tensor] = self.builder.alloc(tensor.shape, tensor.dtype, self.fresh(tensor.name))
        Loops(self.builder, known).emit(op)

    def nest(self, stage: Stage, number: int) -> None:
        """Emit the loops from `number` on, inside the others."""
        order = stage.leaf_iter_vars
        if stage.tensorized is not None and stage not in self.in_loops and place_of(stage)[1] == number:
            self.tensorized(stage, number)
            return
        reductions = [place for place, leaf in enumerate(order) if leaf.iter_type == REDUCTION]
        if reductions and number == reductions[0]:
            self.initial(stage, [leaf for leaf in order[number:] if leaf.iter_type != REDUCTION])
        if number == len(order):
            with self.guarded(self.trees[stage], order):
                self.update(stage)
            return
        outer, self.regions = self.regions, {}
        with self.loop(stage, self.trees[stage], order[number]):
            self.inside(stage, number)
        self.regions = outer

    def inside(self, stage: Stage, number: int) -> None:
        """Emit the body of loop `number`: the stages that are computed in it, and the loops inside."""
        leaf, tree = stage.leaf_iter_vars[number], self.trees[stage]
        inside = self.plan.attached.get((stage, leaf), [])
        opened, frozen = dict(tree.values), dict(tree.frozen)
        for other in reversed(inside):  # readers first: the boxes of their inputs depend on theirs
            self.needed(other)
        for other in inside:
            region = self.needed(other)
            with ir.Location.file(*other.op.position, 0):
                self.allocate(other, region)
            for tensor in other.tensors:
                self.origins[tensor] = [span.low for span in region]
            self.stage(other, region)
        self.nest(stage, number + 1)
        tree.values, tree.frozen = opened, frozen
        for other in self.plan.followers.get((stage, leaf), []):
            self.stage(other, self.follow(other))
        for other in inside:
            self.forget(other)

    @contextlib.contextmanager
    def loop(self, stage: Stage, tree: AxisTree, leaf: IterVar, suffix: str = "") -> Iterator[None]:
        """A loop; one of one iteration is omitted."""
        extent = tree.length(leaf)
        if extent == 1:
            tree.values[leaf] = 0
            yield
            return
        if self.depth > MAX_DEPTH:
            raise too_deep(stage, leaf)
        name = self.fresh(leaf.name + suffix)
        most = self.facts.high(extent)
        self.facts.bounds[name] = (0, None if most is None else max(most - 1, 0))
        tree.values[leaf] = symbolic.symbol(name)
        kind = stage.kinds.get(leaf, "serial")
        with self.builder.loop(extent, kind=kind, name=name) as self.symbols[name], self.deeper():
            yield

    def check_depth(self, stage: Stage) -> None:
        """Raise `ScheduleError` for too many loops before emitting them, as their sizes may not fit 64 bits."""
        depth, tree = self.depth, self.trees[stage].copy()
        for leaf in stage.leaf_iter_vars:
            if stage.tensorized is not None and leaf is stage.tensorized.axis:
                return
            is_open = tree.length(leaf) != 1
            tree.values[leaf] = symbolic.symbol(f"_loop{depth}") if is_open else 0
            if is_open and depth > MAX_DEPTH:
                raise too_deep(stage, leaf)
            depth += is_open

    @contextlib.contextmanager
    def deeper(self) -> Iterator[None]:
        """The inside of a loop or condition."""
        self.depth += 1
        yield
        self.depth -= 1

    @contextlib.contextmanager
    def when(self, tests: Iterable[tuple[Dim, str, Dim]]) -> Iterator[None]:
        """The inside of a condition; without tests, there is none."""
        found = [compare(self.builder, test) for test in tests]
        if not found:
            yield
            return
        with self.builder.when(functools.reduce(operator.and_, found)), self.deeper():
            yield

    def guarded(self, tree: AxisTree, order: Sequence[IterVar]) -> AbstractContextManager[None]:
        """The conditions that loop bounds cannot express."""
        return self.when((value, "<", bound) for value, bound in tree.guards(order))

    # -- intrinsics

    def tensorized(self, stage: Stage, number: int) -> None:
        """Emit an intrinsic for the loops from `number` on, and loops for tiles smaller than it."""
        check_parts(stage, number)
        place, order = place_of(stage)[0], stage.leaf_iter_vars
        intrin, tree = place.intrin, self.trees[stage]
        match = matched(stage, tile_of(stage, tree.copy(), number, self.plan.bodies[stage]))
        reductions = [at for at, leaf in enumerate(order) if leaf.iter_type == REDUCTION]
        begins = bool(reductions) and reductions[0] >= number
        with self.full(match):
            if intrin.body is not None and (not reductions or (begins and not self.has_init(stage))):
                self.implementation(stage, intrin.body, match)
            elif intrin.update is None:
                raise place.refused(
                    "the reduction has an 'init', and the intrinsic has no update, which combines with it"
                )
            else:
                if begins and intrin.reset is not None and not self.has_init(stage):
                    self.implementation(stage, intrin.reset, match)
                elif begins:
                    self.initial(stage, [leaf for leaf in order[number:] if leaf.iter_type != REDUCTION])
                self.implementation(stage, intrin.update, match)
        if match.tests:
            self.in_loops.add(stage)
            with self.builder.otherwise(), self.deeper():
                self.nest(stage, number)
            self.in_loops.remove(stage)

    def has_init(self, stage: Stage) -> bool:
        """True if a reduction has an initial value other than the identity."""
        return any(value.init for value, _ in self.reductions(stage))

    def is_reset(self, stage: Stage, leaf: IterVar) -> bool:
        """True if a loop belongs to a tensorised tile whose reduction the intrinsic's `reset` initialises."""
        if stage.tensorized is None or stage.tensorized.intrin.reset is None:
            return False
        if stage in self.in_loops or self.has_init(stage):
            return False
        return any(leaf is inner for inner in stage.leaf_iter_vars[place_of(stage)[1] :])

    def reset(self, stage: Stage, tree: AxisTree, leaves: Sequence[IterVar]) -> None:
        """Emit an intrinsic's `reset`, and the loops `leaves` for tiles smaller than it."""
        place, number = place_of(stage)
        assert place.intrin.reset is not None
        tile = tile_of(stage, tree.copy(), number, self.plan.bodies[stage])
        match = matched(stage, tile, outputs_only=True)
        with self.full(match):
            self.implementation(stage, place.intrin.reset, match)
        if match.tests:
            with self.builder.otherwise(), self.deeper(), contextlib.ExitStack() as stack:
                for leaf in leaves:
                    stack.enter_context(self.loop(stage, tree, leaf, "_init"))
                self.begin(stage, tree, leaves)

    def full(self, match: Match) -> AbstractContextManager[None]:
        """The condition that a tile is full."""
        return self.when(dict.fromkeys((value, ">=", size) for value, size in match.tests))

    def implementation(self, stage: Stage, given: Implementation, match: Match) -> None:
        """Emit the statements of an intrinsic on the matched parts."""
        places = {}
        for pattern, part in match.parts.items():
            tensor = self.plan.canonical(part.tensor)
            buffer = self.buffers[tensor]
            check_strides(stage, part, pattern, buffer.shape or ())
            low = self.origins.get(tensor, [0] * tensor.ndim)
            origin = tuple(at - first for at, first in zip(part.origin, low, strict=True))
            places[pattern] = Place(buffer, origin, part.axes)
        deepest = self.depth + given.depth
        if deepest > MAX_DEPTH:
            raise place_of(stage)[0].refused(
                f"its statements are inside of {deepest} loops and conditions, and {MAX_DEPTH} are all that a script "
                "may have"
            )
        given.emit(self.builder, places, match.sizes)

    # -- elements

    def initial(self, stage: Stage, leaves: Sequence[IterVar]) -> None:
        """Initialise the elements of reductions over the remaining output axes."""
        tree = self.trees[stage].copy()
        with contextlib.ExitStack() as stack:
            for number, leaf in enumerate(leaves):
                if self.is_reset(stage, leaf):
                    self.reset(stage, tree, leaves[number:])
                    return
                stack.enter_context(self.loop(stage, tree, leaf, "_init"))
            self.begin(stage, tree, leaves)

    def begin(self, stage: Stage, tree: AxisTree, leaves: Sequence[IterVar]) -> None:
        """Store the initial values of reductions in the current element; `leaves` are the innermost loops."""
        op, opened = stage.op, [leaf for leaf in stage.leaf_iter_vars if leaf in self.trees[stage].values]
        assert isinstance(op, ComputeOp)
        with self.guarded(tree, [*opened, *leaves]):
            for value, targets in self.reductions(stage):
                values = [self.localized(item, op, tree) for item in value.initial]
                self.store([self.place(target, op, tree) for target in targets], values)

    def update(self, stage: Stage) -> None:
        """Emit the computation for one value of all axes."""
        op, tree = stage.op, self.trees[stage]
        assert isinstance(op, ComputeOp)
        for target, value in zip(stage.tensors, self.plan.bodies[stage], strict=True):
            if not isinstance(value, Reduction):
                self.store([self.place(target, op, tree)], [self.localized(value, op, tree)])
        for value, targets in self.reductions(stage):
            elements = [self.place(target, op, tree) for target in targets]
            sources = [self.localized(item, op, tree) for item in value.source]
            self.combine(value.combiner, elements, sources)

    def combine(self, combiner: Combiner, elements: Sequence[Load], sources: Sequence[Expr]) -> None:
        """Combine values with the current elements."""
        read: dict[Expr, ExprLike] = dict(zip(combiner.lhs, elements, strict=True))
        if is_one_operation(combiner):
            read |= zip(combiner.rhs, sources, strict=True)
        else:
            for var, source in zip(combiner.rhs, sources, strict=True):
                self.variables[var] = self.value(source)
        self.store(elements, [substitute(item, read) for item in combiner.result])

    def store(self, elements: Sequence[Load], values: Sequence[Expr]) -> None:
        """Store values in elements; several values are all computed before the first store."""
        terms = [self.value(value) for value in values] if len(values) > 1 else []
        for number, (element, value) in enumerate(zip(elements, values, strict=True)):
            buffer = self.buffers[element.tensor]
            at = self.evaluator().positions(element)
            buffer[at] = terms[number] if terms else self.value(value)

    def value(self, item: Expr) -> Term:
        """The value of an expression."""
        return self.evaluator().written(item)

    def evaluator(self) -> Evaluator:
        def element(load: Load, indices: Sequence[Term]) -> Scalar:
            return self.buffers[load.tensor][tuple(indices)]

        return Evaluator(self.builder, self.variables, element)

    def reductions(self, stage: Stage) -> list[tuple[Reduction, list[Tensor]]]:
        """Each reduction, and the tensors of its results."""
        found: dict[int, tuple[Reduction, dict[int, Tensor]]] = {}
        for tensor, value in zip(stage.tensors, self.plan.bodies[stage], strict=True):
            if isinstance(value, Reduction):
                key = id(value.combiner)
                found.setdefault(key, (value, {}))[1][value.value_index] = tensor
        return [(value, [targets[number] for number in sorted(targets)]) for value, targets in found.values()]

    def place(self, target: Tensor, op: ComputeOp, tree: AxisTree) -> Load:
        """The element that is computed."""
        origin = self.origins.get(target, [0] * target.ndim)
        indices = [tree.index(axis) for axis in op.axis]
        return Load(target, [Size(index - low) for index, low in zip(indices, origin, strict=True)])

    def localized(self, value: Expr, op: ComputeOp, tree: AxisTree) -> Expr:
        """An expression with loop variables instead of axes, and indices relative to the buffers."""
        axes = {axis: tree.index(axis) for axis in (*op.axis, *op.reduce_axis)}

        def replaced(item: Expr, children: list[Expr]) -> Expr:
            if isinstance(item, IterVar):
                return Size(axes[item])
            if isinstance(item, Load):
                return self.element_of(item, children, axes)
            if item.kind == INDEX and isinstance(item, Binary):
                dim = to_dim(Binary(item.operator, children[0], children[1], INDEX), {}, self.facts.operators)
                if dim is not None:
                    return Size(dim)
            is_same = all(old is new for old, new in zip(item.children, children, strict=True))
            return item if is_same else item.rebuilt(children)

        return fold(value, replaced)

    def element_of(self, load: Load, children: Sequence[Expr], axes: Mapping[IterVar, Dim]) -> Load:
        """An access in terms of loop variables."""
        tensor = self.plan.canonical(load.tensor)
        origin = self.origins.get(tensor, [0] * tensor.ndim)
        indices: list[Expr] = []
        for index, child, low in zip(load.children, children, origin, strict=True):
            dim = to_dim(index, axes, self.facts.operators)
            if dim is not None:
                indices.append(Size(dim - low))
            else:
                indices.append(child if low == 0 else binary("-", child, Size(low)))
        return Load(tensor, indices)

    # -- regions

    def needed(self, stage: Stage) -> list[Span]:
        """The box of elements of an attached stage that its readers read in the open loops."""
        if stage not in self.regions:
            self.regions[stage] = self.find_needed(stage)
        return self.regions[stage]

    def find_needed(self, stage: Stage) -> list[Span]:
        shape = stage.tensors[0].shape
        readers = self.plan.readers[stage]
        regions = [read_region(self.facts, load, self.spans(reader)) for reader, load in readers]
        inside = [self.is_inside(reader, load) for reader, load in readers]
        found = []
        for number, size in enumerate(shape):
            known = [region[number] for region in regions]
            spans = [span for span in known if span is not None]
            whole = united(self.facts, spans) if len(spans) == len(known) else None
            if whole is not None and all(dims[number] for dims in inside):
                found.append(whole)
            else:
                found.append(clamped(self.facts, whole, size))
        return found

    def follow(self, stage: Stage) -> list[Span]:
        """The box of elements of a stage that read elements computed by its leader in the open loops."""
        place = stage.place
        assert isinstance(place, Following)
        return following_region(self.facts, stage, self.plan.loads(stage, place.stage), self.trees[place.stage])

    def is_inside(self, reader: Stage, load: Load) -> list[bool]:
        """Per dimension of a tensor, True if an access is in bounds for all elements of its reader."""
        if reader in self.trees and self.trees[reader].is_disturbed(reader.leaf_iter_vars):
            return [False] * load.tensor.ndim
        if load not in self.insides:
            op = reader.op
            assert isinstance(op, ComputeOp)
            domain = {axis: Span(axis.dom.begin, axis.dom.extent, None) for axis in (*op.axis, *op.reduce_axis)}
            region = read_region(self.facts, load, domain)
            self.insides[load] = [
                span is not None and self.facts.at_most(0, span.low) and self.facts.at_most(span.stop, size)
                for span, size in zip(region, load.tensor.shape, strict=True)
            ]
        return self.insides[load]

    def spans(self, stage: Stage) -> dict[IterVar, Span]:
        """The ranges of the axes of a stage in the open loops."""
        op = stage.op
        assert isinstance(op, ComputeOp)
        if stage in self.trees:
            tree = self.trees[stage]
            return {axis: tree.root_span(axis) for axis in (*op.axis, *op.reduce_axis)}
        region = self.follow(stage) if isinstance(stage.place, Following) else self.needed(stage)
        spans = dict(zip(op.axis, region, strict=True))
        for axis in op.reduce_axis:
            spans[axis] = Span(axis.dom.begin, axis.dom.extent, self.facts.high(axis.dom.extent))
        return spans


PLAIN = "plain"
"""Name of the unscheduled computation."""
_prove: Hook[[Iterable[func.FuncOp]], list[str]] = Hook("te.prove")


@overload
def lower(inp: Schedule, args: Sequence[Tensor], name: str = "main", *, simple_mode: Literal[True]) -> str: ...
@overload
def lower(
    inp: Schedule, args: Sequence[Tensor], name: str = "main", *, simple_mode: Literal[False] = False
) -> IRModule: ...
def lower(inp: Schedule, args: Sequence[Tensor], name: str = "main", *, simple_mode: bool = False) -> IRModule | str:
    """Build a module with the prim func `name` that computes the outputs of a schedule, or its loops as text.

    Args:
        inp: the schedule.
        args: the parameters: the inputs (placeholders), then the outputs of the schedule. An integer parameter follows
            for each symbol that is not by itself a dimension of a tensor.
        name: an identifier.
        simple_mode: return the loops as a script, for inspection (see `script_of`).

    Raises:
        ArgumentError: an input or output that is missing.
        ScheduleError: a stage is computed inside a loop that not all of its readers are in.
    """
    expect("lower: 'inp'", inp, Schedule, "a te.Schedule (te.create_schedule gives one)")
    module = _build([(None, inp)], args, name, is_claimed=not simple_mode).module
    return script_of(module, name) if simple_mode else module


def script_of(module: IRModule, name: str) -> str:
    """The prim func `name` as a script, or in MLIR if the loops of an op have no form in one."""
    with module.context:
        lines = print_prim(module[name])
        return str(module[name]) if lines is None else "".join(f"{line}\n" for line in lines)


def build_scheduled(
    schedule: Schedule,
    args: Sequence[Tensor],
    name: str,
    integers: Sequence[str] | None = None,
    context: ir.Context | None = None,
) -> TEFunction:
    """Build the prim func `name` with the loops of a schedule.

    `integers` are its parameters after the tensors; None: the symbols that need one. `context` is that of its module;
    None: a new one.
    """
    return _build([(None, schedule)], args, name, context, integers)


def build_by_size(
    ways: Sequence[tuple[Condition | None, Schedule]],
    args: Sequence[Tensor],
    name: str,
    context: ir.Context | None = None,
) -> TEFunction:
    """Build the prim func `name` that runs the loops of the first schedule whose condition holds.

    Args:
        ways: conditions on symbols of `args`, with schedules of the same outputs; the last one has no condition.
        args: the parameters, as for `lower`.
        context: that of its module; None: a new one.
    """
    return _build(ways, args, name, context)


def _build(
    ways: Sequence[tuple[Condition | None, Schedule]],
    args: Sequence[Tensor],
    name: str,
    context: ir.Context | None = None,
    integers: Sequence[str] | None = None,
    is_claimed: bool = True,
) -> TEFunction:
    plans = [(condition, _plan(schedule, args, name)) for condition, schedule in ways]
    operations = operations_of(_outputs(args))
    own = integers_of(args, operations) if integers is None else tuple(integers)
    module = new_module(context)
    function = Function(name, args, own, names_of(name, args, operations))
    with module.context, ir.InsertionPoint(module.mlir.body), ir.Location.file(*operations[-1].position, 0):
        function.emit(lambda builder, buffers: _emit(plans, function, builder, buffers))
    module.verify()
    # An integer parameter may be negative, and loop bounds assume non-negative sizes.
    if is_claimed and not own:
        _claim(module, name, args, [plan for _, plan in plans])
    return TEFunction(name, module, own)


def _emit(
    plans: Sequence[tuple[Condition | None, Plan]],
    function: Function,
    builder: LoopBuilder,
    buffers: Mapping[Tensor, Buffer],
) -> None:
    """Emit the loops of the first plan whose condition holds."""
    with contextlib.ExitStack() as stack:
        for condition, plan in plans:
            symbols = dict(builder.symbols)
            own = LoopBuilder(symbols)
            fresh = FreshNames({*RESERVED, *symbols, function.name, *(b.name for b in buffers.values())})
            known = {plan.canonical(tensor): buffer for tensor, buffer in buffers.items()}
            loops = ScheduledLoops(plan, own, known, symbols, fresh)
            if condition is None:
                loops.emit()
                return
            test = compare(own, (condition.left, condition.relation, condition.right))
            with builder.when(test):
                loops.emit()
            stack.enter_context(builder.otherwise())


def too_deep(stage: Stage, leaf: IterVar) -> ScheduleError:
    return ScheduleError(
        f"the loop {leaf.name} of s[{stage.name}]",
        f"it is inside of {MAX_DEPTH} others, more than a script may have",
        stage.name,
        leaf.name,
        stage.op.position,
    )


def compare(builder: LoopBuilder, test: tuple[Dim, str, Dim]) -> Scalar:
    """The truth of a relation of two sizes."""
    left, relation, right = test
    return as_condition(apply(FUNCTIONS[relation], [builder.size(left), builder.size(right)]))


def _claim(module: IRModule, name: str, args: Sequence[Tensor], plans: Sequence[Plan]) -> None:
    """Record the errors that the accesses of the prim func cannot raise.

    A schedule accesses the same elements as the unscheduled computation, at other times; its local buffers are in
    bounds by construction. So bounds are proved for the unscheduled loops, and for the prim funcs that replace some of
    them. Nothing is recorded if an intrinsic may access elements that the loops do not.
    """
    intrins = [stage.tensorized.intrin for plan in plans for stage in plan.stages if stage.tensorized is not None]
    if not all(intrin.covers for intrin in intrins):
        return
    sources = dict.fromkeys(item.source for intrin in intrins for item in intrin.implementations)
    operations = operations_of(_outputs(args))
    plain = new_module(module.context)
    with module.context, ir.InsertionPoint(plain.mlir.body), ir.Location.file(*operations[-1].position, 0):
        Function(PLAIN, args, (), names_of(PLAIN, args, operations)).emit_loops(operations)
        modules = [plain.mlir, *map(ir.Module.parse, sources)]
        proved = _prove([function for each in modules for function in functions_of(each)])
        if proved:
            module[name].attributes[PROVED] = ir.ArrayAttr.get([ir.StringAttr.get(kind) for kind in proved])
            seal(module[name])


def arguments(schedule: Schedule) -> list[Tensor]:
    """The parameters of a schedule: inputs, in the order of first use, then outputs."""
    inputs = [stage.tensors[0] for stage in schedule.stages if stage.is_placeholder]
    return [*inputs, *(tensor for op in schedule.outputs for tensor in op.outputs)]


def _plan(schedule: Schedule, args: Sequence[Tensor], name: str) -> Plan:
    """The plan of a schedule whose inputs and outputs are `args`."""
    expect("lower: 'args'", args, list | tuple, "a list of tensors")
    for tensor in args:
        expect("lower: an entry of 'args'", tensor, Tensor, "a te.Tensor")
    inputs, outputs = [t for t in args if isinstance(t.op, PlaceholderOp)], _outputs(args)
    if list(args) != [*inputs, *outputs]:
        raise ArgumentError("lower: 'args' lists the placeholders first, then the computed tensors")
    check_parameters("lower", inputs, outputs, name)
    for tensor in outputs:
        if not schedule[tensor].is_output:
            raise ArgumentError(
                f"lower: {tensor.name} is not an output of the schedule: list its op in create_schedule, too"
            )
    for op in schedule.outputs:
        for tensor in op.outputs:
            if not any(tensor is given for given in outputs):
                raise ArgumentError(f"lower: the output {tensor.name} of the schedule is not among 'args'")
    return Plan.of(schedule)


def _outputs(args: Sequence[Tensor]) -> list[Tensor]:
    return [tensor for tensor in args if not isinstance(tensor.op, PlaceholderOp)]
