"""Lower a schedule to loops, as a prim func in the T language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.error import ScheduleError
from relax_mlir.symbolic import Dim
from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import INDEX, REDUCTION, Binary, Expr, IterVar, Load, Names, Size, binary
from relax_mlir.te.graph import symbols_of
from relax_mlir.te.own_loops import LoopOp
from relax_mlir.te.recurrence import ScanOp
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.schedule.axes import AxisTree, Span
from relax_mlir.te.schedule.facts import Facts, dim_text, factor_text
from relax_mlir.te.schedule.following import following_region
from relax_mlir.te.schedule.intrin_match import Match
from relax_mlir.te.schedule.intrin_text import Implementation, Place
from relax_mlir.te.schedule.places import Following
from relax_mlir.te.schedule.plan import Plan
from relax_mlir.te.schedule.regions import clamped, read_region, united
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.schedule.tensorize import check_parts, check_strides, matched, place_of, tile_of
from relax_mlir.te.source import RESERVED, Writer, shape_text
from relax_mlir.te.tensors import Operation, Tensor
from relax_mlir.te.walk import fold, to_dim

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
    """Writes the loops of a plan; `blocks` is False."""

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
        self.taken |= RESERVED | set(symbols_of(tensors, operations)) | {self.name}
        for tensor in self.parameters:
            self.names[self.canonical(tensor)] = self.fresh(tensor.name)
        params = [
            f'{self.names[self.canonical(t)]}: T.Buffer({shape_text(t)}, "{t.dtype}")'
            for t in self.parameters
        ]
        params += [f"{name}: T.int64" for name in self.integers]
        self.lines += ["@T.prim_func", f"def {self.name}({', '.join(params)}):"]
        for stage in self.plan.whole:
            if isinstance(stage.op, ScanOp):
                self.allocate_steps(stage.op)
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

    def allocate_steps(self, op: ScanOp) -> None:
        """Allocate the intermediate tensors of a recurrence."""
        for tensor in (tensor for step in op.steps for tensor in step.outputs):
            self.names[tensor] = self.fresh(tensor.name)
            self.add(1, f'{self.names[tensor]} = T.alloc_buffer({shape_text(tensor)}, "{tensor.dtype}")')

    def forget(self, stage: Stage) -> None:
        """Forget the buffers of an attached stage after the loop that contains them."""
        for tensor in stage.tensors:
            self.names.pop(tensor, None)
            self.origins.pop(tensor, None)

    # -- loops

    def stage(self, depth: int, stage: Stage, region: Sequence[Span]) -> None:
        """Write the loops that compute a stage over a box of its elements."""
        op = stage.op
        if isinstance(op, ScanOp):
            self.depth = depth
            self.recurrence(op)
            return
        if isinstance(op, LoopOp):
            self.depth = depth
            self.statements(op)
            return
        assert isinstance(op, ComputeOp)
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
