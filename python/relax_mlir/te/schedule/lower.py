"""Lower a schedule to loops, as a prim func in the T language: the plan of its stages, then the loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, overload

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import PROVED
from relax_mlir.dialects.prim_funcs import seal
from relax_mlir.error import ArgumentError, ScheduleError, expect
from relax_mlir.ir_module import IRModule, functions_of
from relax_mlir.lazy import Hook
from relax_mlir.mlir import func, ir
from relax_mlir.script.parser import parse
from relax_mlir.symbolic import Condition, Dim
from relax_mlir.te.expressions import (
    INDEX,
    LITERAL,
    REDUCTION,
    Binary,
    Expr,
    IterVar,
    Load,
    Names,
    Number,
    Size,
    binary,
    fold,
    loads_of,
    substitute,
    to_dim,
)
from relax_mlir.te.prim_func import Function, TEFunction, check_parameters, integers_of, names_of, new_module
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.schedule.axes import (
    AxisTree,
    Facts,
    Span,
    clamped,
    dim_text,
    factor_text,
    read_region,
    united,
)
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
from relax_mlir.te.source import FILE, Writer, locate, shape_text
from relax_mlir.te.tensors import (
    ComputeOp,
    Operation,
    PlaceholderOp,
    Tensor,
    operations_of,
    symbols_of,
)

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


INDENT = "    "
MAX_DEPTH = 80
"""Maximum nesting depth of loops; Python supports a hundred levels of indentation."""


class LoopIndex(Size):
    """An expression of loop variables and sizes."""

    def format(self, names: Names, args: Sequence[str]) -> str:
        return factor_text(self.dim)


class Element(Load):
    """An element of a buffer."""

    def format(self, names: Names, args: Sequence[str]) -> str:
        places = [
            dim_text(index.dim) if isinstance(index, LoopIndex) else text
            for index, text in zip(self.children, args, strict=True)
        ]
        return f"{names[self.tensor]}[{', '.join(places) or '()'}]"


LOOPS = {"serial": "range", "vectorized": "T.vectorized", "unroll": "T.unroll", "parallel": "T.parallel"}


@dataclass
class ScheduledWriter(Writer):
    """Writes the loops of a plan."""

    plan: Plan = field(kw_only=True)
    facts: Facts = field(default_factory=Facts)
    trees: dict[Stage, AxisTree] = field(default_factory=dict)
    """The stages whose loops are open."""
    origins: dict[Tensor, list[Dim]] = field(default_factory=dict)
    """The start of the part that a buffer holds of its tensor."""
    regions: dict[Stage, list[Span]] = field(default_factory=dict)
    """Results of `needed` for the open loops."""
    allocated: dict[Tensor, list[Dim]] = field(default_factory=dict)
    """The sizes of buffers that are not parameters."""
    in_loops: set[Stage] = field(default_factory=set)
    """Tensorised stages whose loops are being written, for tiles smaller than the intrinsic."""
    insides: dict[Load, list[bool]] = field(default_factory=dict)
    """Results of `is_inside`."""

    def write(self, operations: Sequence[Operation]) -> str:
        """The text of the whole prim func; `operations` are those of the plan."""
        tensors = [*self.parameters, *(t for op in operations for t in op.outputs)]
        self.fresh.taken |= {*symbols_of(tensors, operations), self.name}
        for tensor in self.parameters:
            self.names[self.canonical(tensor)] = self.fresh(tensor.name)
        params = [
            f'{self.names[self.canonical(t)]}: T.Buffer({shape_text(t)}, "{t.dtype}")'
            for t in self.parameters
        ]
        params += [f"{name}: T.int64" for name in self.integers]
        self.lines += ["@T.prim_func", f"def {self.name}({', '.join(params)}):"]
        for stage in self.plan.whole:
            self.allocate(1, stage, [Span(0, dim, self.facts.high(dim)) for dim in stage.tensors[0].shape])
        for stage in self.plan.roots():
            self.stage(1, stage, [Span(0, dim, self.facts.high(dim)) for dim in stage.tensors[0].shape])
        return "\n".join(self.lines) + "\n"

    def canonical(self, tensor: Tensor) -> Tensor:
        """The tensor that represents an output of a stage for its readers."""
        return self.plan.schedule.stage_of(tensor).tensors[tensor.value_index]

    def allocate(self, depth: int, stage: Stage, region: Sequence[Span]) -> None:
        """Allocate the buffers of a stage, except parameters."""
        for tensor in stage.tensors:
            if tensor in self.names:
                continue
            name = self.names[tensor] = self.fresh(tensor.name)
            sizes = [
                span.most if span.most is not None and not isinstance(span.extent, int) else span.extent
                for span in region
            ]
            self.allocated[tensor] = sizes
            shape = f"({', '.join(map(dim_text, sizes))}{',' if len(sizes) == 1 else ''})"
            scope = f', scope="{stage.scope}"' if stage.scope not in ("", "global") else ""
            self.add(depth, f'{name} = T.alloc_buffer({shape}, "{tensor.dtype}"{scope})')

    def forget(self, stage: Stage) -> None:
        """Forget the buffers of an attached stage after the loop that contains them."""
        for tensor in stage.tensors:
            self.names.pop(tensor, None)
            self.origins.pop(tensor, None)

    # -- loops

    def stage(self, depth: int, stage: Stage, region: Sequence[Span]) -> None:
        """Write the loops that compute a stage over a box of its elements."""
        op = stage.op
        if not isinstance(op, ComputeOp):
            self.operation(depth, op)
            return
        roots = dict(zip(op.axis, region, strict=True))
        for axis in op.reduce_axis:
            roots[axis] = Span(axis.dom.begin, axis.dom.extent, self.facts.high(axis.dom.extent))
        tree = AxisTree(self.facts, roots, stage.relations)
        self.trees[stage] = tree
        self.starts.append((len(self.lines) + 1, op))
        self.nest(depth, stage, 0)
        del self.trees[stage]

    def nest(self, depth: int, stage: Stage, number: int) -> None:
        """Write the loops from `number` on, inside the others."""
        order = stage.leaf_iter_vars
        if stage.tensorized is not None and stage not in self.in_loops and place_of(stage)[1] == number:
            self.tensorized(depth, stage, number)
            return
        reductions = [place for place, leaf in enumerate(order) if leaf.iter_type == REDUCTION]
        if reductions and number == reductions[0]:
            self.initial(depth, stage, [leaf for leaf in order[number:] if leaf.iter_type != REDUCTION])
        if number == len(order):
            depth = self.guarded(depth, self.trees[stage], order)
            self.update(depth, stage)
            return
        leaf = order[number]
        outer, self.regions = self.regions, {}
        depth = self.loop(depth, stage, self.trees[stage], leaf)
        inside = self.plan.attached.get((stage, leaf), [])
        followers = self.plan.followers.get((stage, leaf), [])
        tree = self.trees[stage]
        opened, frozen = dict(tree.values), dict(tree.frozen)
        for other in reversed(inside):  # readers first: the boxes of their inputs depend on theirs
            self.needed(other)
        for other in inside:
            region = self.needed(other)
            self.starts.append((len(self.lines) + 1, other.op))
            self.allocate(depth, other, region)
            for tensor in other.tensors:
                self.origins[tensor] = [span.low for span in region]
            self.stage(depth, other, region)
        if inside:
            assert isinstance(stage.op, ComputeOp)
            self.starts.append((len(self.lines) + 1, stage.op))
        self.nest(depth, stage, number + 1)
        tree.values, tree.frozen = opened, frozen
        for other in followers:
            self.stage(depth, other, self.follow(other))
        for other in inside:
            self.forget(other)
        self.regions = outer

    def loop(self, depth: int, stage: Stage, tree: AxisTree, leaf: IterVar, suffix: str = "") -> int:
        """Open a loop; return the depth inside. A loop of one iteration is omitted."""
        extent = tree.length(leaf)
        if extent == 1:
            tree.values[leaf] = 0
            return depth
        if depth > MAX_DEPTH:
            raise ScheduleError(
                f"the loop {leaf.name} of s[{stage.name}]",
                f"it is inside of {MAX_DEPTH} others, more than a script may have",
                stage.name,
                leaf.name,
                stage.op.position,
            )
        name = self.fresh(leaf.name + suffix)
        most = self.facts.high(extent)
        self.facts.bounds[name] = (0, None if most is None else max(most - 1, 0))
        tree.values[leaf] = symbolic.symbol(name)
        kind = LOOPS[stage.kinds.get(leaf, "serial")]
        self.add(depth, f"for {name} in {kind}({dim_text(extent)}):")
        return depth + 1

    def guarded(self, depth: int, tree: AxisTree, order: Sequence[IterVar]) -> int:
        """Write conditions that loop bounds cannot express; return the depth inside."""
        guards = tree.guards(order)
        if not guards:
            return depth
        tests = " and ".join(f"{dim_text(value)} < {dim_text(bound)}" for value, bound in guards)
        self.add(depth, f"if {tests}:")
        return depth + 1

    # -- intrinsics

    def tensorized(self, depth: int, stage: Stage, number: int) -> None:
        """Write an intrinsic for the loops from `number` on, and loops for tiles smaller than it."""
        check_parts(stage, number)
        place, order = place_of(stage)[0], stage.leaf_iter_vars
        intrin, tree = place.intrin, self.trees[stage]
        match = matched(stage, tile_of(stage, tree.copy(), number, self.plan.bodies[stage]))
        reductions = [at for at, leaf in enumerate(order) if leaf.iter_type == REDUCTION]
        begins = bool(reductions) and reductions[0] >= number
        inside = self.tested(depth, match)
        if intrin.body is not None and (not reductions or (begins and not self.has_init(stage))):
            self.implementation(inside, stage, intrin.body, match)
        elif intrin.update is None:
            raise place.refused(
                "the reduction has an 'init', and the intrinsic has no update, which combines with it"
            )
        else:
            if begins and intrin.reset is not None and not self.has_init(stage):
                self.implementation(inside, stage, intrin.reset, match)
            elif begins:
                self.initial(inside, stage, [leaf for leaf in order[number:] if leaf.iter_type != REDUCTION])
            self.implementation(inside, stage, intrin.update, match)
        if match.tests:
            self.add(depth, "else:")
            self.in_loops.add(stage)
            self.nest(inside, stage, number)
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

    def reset(self, depth: int, stage: Stage, tree: AxisTree, leaves: Sequence[IterVar]) -> None:
        """Write an intrinsic's `reset`, and the loops `leaves` for tiles smaller than it."""
        place, number = place_of(stage)
        assert place.intrin.reset is not None
        tile = tile_of(stage, tree.copy(), number, self.plan.bodies[stage])
        match = matched(stage, tile, outputs_only=True)
        inside = self.tested(depth, match)
        self.implementation(inside, stage, place.intrin.reset, match)
        if match.tests:
            self.add(depth, "else:")
            for leaf in leaves:
                inside = self.loop(inside, stage, tree, leaf, "_init")
            self.begin(inside, stage, tree, leaves)

    def tested(self, depth: int, match: Match) -> int:
        """Write the condition that a tile is full; return the depth inside."""
        if not match.tests:
            return depth
        tests = dict.fromkeys(f"{dim_text(value)} >= {size}" for value, size in match.tests)
        self.add(depth, f"if {' and '.join(tests)}:")
        return depth + 1

    def implementation(self, depth: int, stage: Stage, given: Implementation, match: Match) -> None:
        """Write the statements of an intrinsic on the matched parts."""
        places = {}
        for pattern, part in match.parts.items():
            tensor = self.canonical(part.tensor)
            check_strides(stage, part, pattern, self.allocated.get(tensor, list(tensor.shape)))
            low = self.origins.get(tensor, [0] * tensor.ndim)
            origin = tuple(at - first for at, first in zip(part.origin, low, strict=True))
            places[pattern] = Place(self.names[tensor], origin, part.axes)
        lines = given.lines(places, match.sizes, self.fresh)
        deepest = depth + max((len(line) - len(line.lstrip()) for line in lines), default=0) // len(INDENT)
        if deepest > MAX_DEPTH:
            raise place_of(stage)[0].refused(
                f"its statements are inside of {deepest} loops and conditions, and {MAX_DEPTH} are all that a script "
                "may have"
            )
        for line in lines:
            self.add(depth, line)

    # -- elements

    def initial(self, depth: int, stage: Stage, leaves: Sequence[IterVar]) -> None:
        """Initialise the elements of reductions over the remaining output axes."""
        tree = self.trees[stage].copy()
        for number, leaf in enumerate(leaves):
            if self.is_reset(stage, leaf):
                self.reset(depth, stage, tree, leaves[number:])
                return
            depth = self.loop(depth, stage, tree, leaf, "_init")
        self.begin(depth, stage, tree, leaves)

    def begin(self, depth: int, stage: Stage, tree: AxisTree, leaves: Sequence[IterVar]) -> None:
        """Store the initial values of reductions in the current element; `leaves` are the innermost loops."""
        op, opened = stage.op, [leaf for leaf in stage.leaf_iter_vars if leaf in self.trees[stage].values]
        assert isinstance(op, ComputeOp)
        depth = self.guarded(depth, tree, [*opened, *leaves])
        for value, targets in self.reductions(stage):
            values = [self.localized(item, op, tree) for item in value.initial]
            self.store(depth, [self.place(target, op, tree) for target in targets], values)

    def update(self, depth: int, stage: Stage) -> None:
        """Write the computation for one value of all axes."""
        op, tree = stage.op, self.trees[stage]
        assert isinstance(op, ComputeOp)
        for target, value in zip(stage.tensors, self.plan.bodies[stage], strict=True):
            if not isinstance(value, Reduction):
                self.store(depth, [self.place(target, op, tree)], [self.localized(value, op, tree)])
        for value, targets in self.reductions(stage):
            elements = [self.place(target, op, tree) for target in targets]
            sources = [self.localized(item, op, tree) for item in value.source]
            self.combine(depth, value.combiner, elements, sources)

    def reductions(self, stage: Stage) -> list[tuple[Reduction, list[Tensor]]]:
        """Each reduction, and the tensors of its results."""
        found: dict[int, tuple[Reduction, dict[int, Tensor]]] = {}
        for tensor, value in zip(stage.tensors, self.plan.bodies[stage], strict=True):
            if isinstance(value, Reduction):
                key = id(value.combiner)
                found.setdefault(key, (value, {}))[1][value.value_index] = tensor
        return [(value, [targets[number] for number in sorted(targets)]) for value, targets in found.values()]

    def place(self, target: Tensor, op: ComputeOp, tree: AxisTree) -> str:
        """The element that is computed."""
        indices = [tree.index(axis) for axis in op.axis]
        origin = self.origins.get(target)
        if origin is not None:
            indices = [index - low for index, low in zip(indices, origin, strict=True)]
        return self.element(target, [dim_text(index) for index in indices])

    def localized(self, value: Expr, op: ComputeOp, tree: AxisTree) -> Expr:
        """An expression with loop variables instead of axes, and indices relative to the buffers."""
        axes = {axis: tree.index(axis) for axis in (*op.axis, *op.reduce_axis)}

        def replaced(item: Expr, children: list[Expr]) -> Expr:
            if isinstance(item, IterVar):
                return LoopIndex(axes[item])
            if isinstance(item, Size):
                return LoopIndex(item.dim)
            if isinstance(item, Load):
                return self.element_of(item, children, axes)
            if item.kind == INDEX and isinstance(item, Binary):
                dim = to_dim(Binary(item.operator, children[0], children[1], INDEX), {}, self.facts.operators)
                if dim is not None:
                    return LoopIndex(dim)
            is_same = all(old is new for old, new in zip(item.children, children, strict=True))
            return item if is_same else item.rebuilt(children)

        return fold(value, replaced)

    def element_of(self, load: Load, children: Sequence[Expr], axes: Mapping[IterVar, Dim]) -> Element:
        """An access in terms of loop variables."""
        tensor = self.canonical(load.tensor)
        origin = self.origins.get(tensor, [0] * tensor.ndim)
        indices: list[Expr] = []
        for index, child, low in zip(load.children, children, origin, strict=True):
            dim = to_dim(index, axes, self.facts.operators)
            if dim is not None:
                indices.append(LoopIndex(dim - low))
            else:
                indices.append(child if low == 0 else binary("-", child, LoopIndex(low)))
        return Element(tensor, indices)

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
        return following_region(
            self.facts, stage, self.plan.loads(stage, place.stage), self.trees[place.stage]
        )

    def is_inside(self, reader: Stage, load: Load) -> list[bool]:
        """Per dimension of a tensor, True if an access is in bounds for all elements of its reader."""
        if reader in self.trees and self.trees[reader].is_disturbed(reader.leaf_iter_vars):
            return [False] * load.tensor.ndim
        if load not in self.insides:
            op = reader.op
            assert isinstance(op, ComputeOp)
            domain = {
                axis: Span(axis.dom.begin, axis.dom.extent, None) for axis in (*op.axis, *op.reduce_axis)
            }
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
def lower(
    inp: Schedule, args: Sequence[Tensor], name: str = "main", *, simple_mode: Literal[True]
) -> str: ...
@overload
def lower(
    inp: Schedule, args: Sequence[Tensor], name: str = "main", *, simple_mode: Literal[False] = False
) -> IRModule: ...
def lower(
    inp: Schedule, args: Sequence[Tensor], name: str = "main", *, simple_mode: bool = False
) -> IRModule | str:
    """Build a module with the prim func `name` that computes the outputs of a schedule, or its loops as text.

    Args:
        inp: the schedule.
        args: the parameters: the inputs (placeholders), then the outputs of the schedule. An integer parameter follows
            for each symbol that is not by itself a dimension of a tensor.
        name: an identifier.
        simple_mode: return the loops as a script, for inspection.

    Raises:
        ArgumentError: an input or output that is missing.
        ScheduleError: a stage is computed inside a loop that not all of its readers are in.
    """
    expect("lower: 'inp'", inp, Schedule, "a te.Schedule (te.create_schedule gives one)")
    if simple_mode:
        return _writer(inp, args, name)[1]
    return build_scheduled(inp, args, name).module


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
    writer, text = _writer(schedule, args, name, integers)
    module = parse(text, writer.loop_bodies, name=FILE, context=context)
    locate(module, name, writer)
    if not writer.integers:  # an integer parameter may be negative, and loop bounds assume non-negative sizes
        _claim(module, name, args, [writer.plan])
    return TEFunction(name, module, tuple(writer.integers))


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
    *_, (_, last) = ways
    if len(ways) == 1:
        return build_scheduled(last, args, name, context=context)
    lines: list[str] = []
    starts: list[tuple[int, Operation]] = []
    plans: list[Plan] = []
    bodies: dict[str, Callable[..., None]] = {}
    for number, (condition, schedule) in enumerate(ways):
        writer, _ = _writer(schedule, args, name)
        head, body = writer.lines[:HEAD], writer.lines[HEAD:]
        lines += head if not lines else []
        word = "else" if condition is None else f"{'elif' if number else 'if'} {_text(condition)}"
        lines.append(f"    {word}:")
        plans.append(writer.plan)
        bodies |= writer.loop_bodies
        starts += [(len(lines) + line - HEAD, op) for line, op in writer.starts]
        lines += [f"    {line}" for line in body]
    module = parse("\n".join(lines) + "\n", bodies, name=FILE, context=context)
    writer.starts = starts
    locate(module, name, writer)
    if not writer.integers:
        _claim(module, name, args, plans)
    return TEFunction(name, module, tuple(writer.integers))


HEAD = 2
"""The number of lines before the body of a prim func: the decorator, and the parameters."""


def _text(condition: Condition) -> str:
    return f"{factor_text(condition.left)} {condition.relation} {factor_text(condition.right)}"


def _claim(module: IRModule, name: str, args: Sequence[Tensor], plans: Sequence[Plan]) -> None:
    """Record the errors that the accesses of the prim func cannot raise.

    A schedule accesses the same elements as the unscheduled computation, at other times; its local buffers are in
    bounds by construction. So bounds are proved for the unscheduled loops, and for the prim funcs that replace some of
    them. Nothing is recorded if an intrinsic may access elements that the loops do not.
    """
    intrins = [
        stage.tensorized.intrin for plan in plans for stage in plan.stages if stage.tensorized is not None
    ]
    if not all(intrin.covers for intrin in intrins):
        return
    texts = dict.fromkeys(item.text for intrin in intrins for item in intrin.implementations)
    operations = operations_of([t for t in args if not isinstance(t.op, PlaceholderOp)])
    plain = new_module(module.context)
    with module.context, ir.InsertionPoint(plain.mlir.body), ir.Location.file(*operations[-1].position, 0):
        Function(PLAIN, args, (), names_of(PLAIN, args, operations)).emit_loops(operations)
        modules = [plain.mlir, *map(ir.Module.parse, texts)]
        proved = _prove([function for each in modules for function in functions_of(each)])
        if proved:
            module[name].attributes[PROVED] = ir.ArrayAttr.get([ir.StringAttr.get(kind) for kind in proved])
            seal(module[name])


def arguments(schedule: Schedule) -> list[Tensor]:
    """The parameters of a schedule: inputs, in the order of first use, then outputs."""
    inputs = [stage.tensors[0] for stage in schedule.stages if stage.is_placeholder]
    return [*inputs, *(tensor for op in schedule.outputs for tensor in op.outputs)]


def _writer(
    schedule: Schedule, args: Sequence[Tensor], name: str, integers: Sequence[str] | None = None
) -> tuple[ScheduledWriter, str]:
    expect("lower: 'args'", args, list | tuple, "a list of tensors")
    for tensor in args:
        expect("lower: an entry of 'args'", tensor, Tensor, "a te.Tensor")
    inputs = [t for t in args if isinstance(t.op, PlaceholderOp)]
    outputs = [t for t in args if not isinstance(t.op, PlaceholderOp)]
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
    operations = operations_of(outputs)
    own = integers_of(args, operations)
    plan = Plan.of(schedule)
    writer = ScheduledWriter(name, args, own if integers is None else tuple(integers), plan=plan)
    writer.fresh.taken |= set(symbols_of(args, operations))
    return writer, writer.write([stage.op for stage in plan.stages])
