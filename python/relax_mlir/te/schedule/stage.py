"""A stage: one computation of a schedule, its loops, and the location where it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from relax_mlir import symbolic
from relax_mlir.dialects.location import user_frame_position
from relax_mlir.error import (
    ScheduleError,
    expect,
)
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import REDUCTION, Expr, IterVar, Load, Range, to_dim, variables_of
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.schedule.axes import AxisTree, Facts, Fuse, Relation, Span, Split
from relax_mlir.te.schedule.tensor_intrin import TensorIntrin
from relax_mlir.te.schedule.tensorize import check_tensorized
from relax_mlir.te.tensors import ComputeOp, Operation, PlaceholderOp, Tensor

if TYPE_CHECKING:
    from relax_mlir.te.schedule.schedule import Schedule


@dataclass(frozen=True)
class Root:
    """Computed in a separate loop nest, before its readers."""


@dataclass(frozen=True)
class Inlined:
    """Computed at each read of an element."""


@dataclass(frozen=True, eq=False)
class _Step:
    """A scheduling call for the stage `owner` at the loop `axis`; `position`: file and line of the call."""

    axis: IterVar
    owner: Stage
    position: tuple[str, int]

    @property
    def call(self) -> str:
        """The call, for messages."""
        raise NotImplementedError  # abstract

    def refused(self, reason: str) -> ScheduleError:
        """The error of a call that proves invalid when the loops are generated."""
        return ScheduleError(self.call, reason, self.owner.name, self.axis.name, self.position)


@dataclass(frozen=True, eq=False)
class AttachedAt(_Step):
    """Computed inside the loop `axis` of `stage`, exactly the elements that are read there."""

    stage: Stage

    @property
    def call(self) -> str:
        return f"s[{self.owner.name}].compute_at(s[{self.stage.name}], {self.axis.name})"


@dataclass(frozen=True, eq=False)
class Following(_Step):
    """Computed inside the loop `axis` of `stage`, which it reads, after and from the elements computed there."""

    stage: Stage

    @property
    def call(self) -> str:
        return f"s[{self.owner.name}].reverse_compute_at(s[{self.stage.name}], {self.axis.name})"


@dataclass(frozen=True, eq=False)
class Tensorized(_Step):
    """The intrinsic `intrin` replaces the loop `axis` and those inside."""

    intrin: TensorIntrin

    @property
    def call(self) -> str:
        return f"s[{self.owner.name}].tensorize({self.axis.name}, {self.intrin!r})"


Place: TypeAlias = Root | Inlined | AttachedAt | Following


MAX_FACTOR = 2**31
SCOPES = ("global", "local", "")
"""Memory scopes of buffers; "shared" and others are GPU scopes."""
HINTS = (
    "auto_unroll_max_step",
    "unroll_explicit",
    "parallel_launch_point",
    "parallel_stride_pattern",
    "debug_skip_region",
)
"""Pragmas about compilation, which are accepted and ignored."""


@dataclass(eq=False)
class Stage:
    """One computation of a schedule; `s[C]` is the one of the tensor C.

    `op` is its current computation, which `cache_write`, `cache_read` and `rfactor` change; `origin_op` is the original
    one. `leaf_iter_vars` are its loops, outermost first.
    """

    schedule: Schedule
    op: Operation
    name: str
    is_output: bool = False
    origin_op: Operation = field(init=False)
    tensors: list[Tensor] = field(init=False)
    """The tensors by which others read it; outputs of `origin_op`."""
    relations: list[Relation] = field(default_factory=list)
    leaf_iter_vars: list[IterVar] = field(default_factory=list)
    kinds: dict[IterVar, str] = field(default_factory=dict)
    place: Place = field(default_factory=Root)
    tensorized: Tensorized | None = None
    scope: str = ""

    def __post_init__(self) -> None:
        expect("Stage: 'op'", self.op, Operation, "an operation of te")
        self.origin_op = self.op
        self.tensors = list(self.op.outputs)
        self.reset()

    def reset(self) -> None:
        """Reset the loops to those of the op."""
        self.relations, self.kinds, self.tensorized = [], {}, None
        self.leaf_iter_vars = [*self.op.axis, *self.op.reduce_axis] if isinstance(self.op, ComputeOp) else []

    def __repr__(self) -> str:
        return f"stage({self.name}: {', '.join(axis.name for axis in self.leaf_iter_vars) or 'no loops'})"

    @property
    def is_placeholder(self) -> bool:
        """True for an input, which has no loops."""
        return isinstance(self.op, PlaceholderOp)

    @property
    def is_inlined(self) -> bool:
        """True if its elements are computed at each read."""
        return isinstance(self.place, Inlined)

    @property
    def body(self) -> tuple[Expr, ...]:
        """The values that are computed, one for each tensor."""
        return self.op.body if isinstance(self.op, ComputeOp) else ()

    @property
    def reductions(self) -> list[Reduction]:
        """The values that are reductions."""
        return [value for value in self.body if isinstance(value, Reduction)]

    @property
    def all_iter_vars(self) -> list[IterVar]:
        """Its axes, including those that loops were derived from."""
        found = [*self.op.axis, *self.op.reduce_axis] if isinstance(self.op, ComputeOp) else []
        for relation in self.relations:
            found += [relation.outer, relation.inner] if isinstance(relation, Split) else [relation.fused]
        return found

    # -- primitives

    def split(self, parent: IterVar, factor: int | None = None, nparts: int | None = None) -> tuple[IterVar, IterVar]:
        """Split a loop in two: an inner one of `factor` iterations, or an outer one of `nparts`.

        If the factor does not divide the length, the last outer iterations have shorter inner loops.

        Raises:
            ScheduleError: not a loop of this stage, both or none of factor and nparts, less than 1.
        """
        with self.schedule.step(self, "split", [parent], {"factor": factor, "nparts": nparts}) as step:
            what = self._call("split", parent)
            self._leaf(what, parent)
            if (factor is None) == (nparts is None):
                self._refuse(what, "give one of factor and nparts", parent)
            label, number = ("factor", factor) if nparts is None else ("nparts", nparts)
            self._positive(what, label, number, parent)
            assert isinstance(number, int)
            length = parent.dom.extent
            each: Dim = number if nparts is None else symbolic.ceildiv(length, number)
            outer_length: Dim = number if nparts is not None else symbolic.ceildiv(length, number)
            outer = IterVar(f"{parent.name}_outer", Range(0, outer_length), parent.iter_type)
            inner = IterVar(f"{parent.name}_inner", Range(0, each), parent.iter_type)
            self.relations.append(Split(parent, outer, inner, factor, nparts))
            place = self._index(parent)
            self.leaf_iter_vars[place : place + 1] = [outer, inner]
            step.gives(outer, inner)
        return outer, inner

    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: int, y_factor: int
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split two loops, and order the four: x_outer, y_outer, x_inner, y_inner."""
        with self.schedule.step(self, "tile", [x_parent, y_parent, x_factor, y_factor]) as step:
            what = self._call("tile", x_parent, y_parent)
            self._leaf(what, x_parent)
            self._leaf(what, y_parent)
            if x_parent is y_parent:
                self._refuse(what, "one axis is given twice", x_parent)
            self._positive(what, "x_factor", x_factor, x_parent)
            self._positive(what, "y_factor", y_factor, y_parent)
            x_outer, x_inner = self.split(x_parent, factor=x_factor)
            y_outer, y_inner = self.split(y_parent, factor=y_factor)
            self.reorder(x_outer, y_outer, x_inner, y_inner)
            step.gives(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def fuse(self, *args: IterVar) -> IterVar:
        """Fuse consecutive loops, outermost first, into one.

        Raises:
            ScheduleError: loops that are not consecutive, or a reduction loop with another one.
        """
        with self.schedule.step(self, "fuse", list(args)) as step:
            what = self._call("fuse", *args)
            self._leaves(what, args)
            first = self._index(args[0])
            for number, axis in enumerate(args):
                if self._index(axis) != first + number:
                    self._refuse(
                        what,
                        f"the loop {axis.name} does not follow {args[number - 1].name}: reorder them first",
                        axis,
                    )
                if axis.iter_type != args[0].iter_type:
                    self._refuse(what, "one is the loop of a reduction, and one is not", axis)
            fused = args[0]
            for inner in args[1:]:
                whole = fused.dom.extent * inner.dom.extent
                both = IterVar(f"{fused.name}_{inner.name}_fused", Range(0, whole), inner.iter_type)
                self.relations.append(Fuse(fused, inner, both))
                fused = both
            self.leaf_iter_vars[first : first + len(args)] = [fused]
            step.gives(fused)
        return fused

    def reorder(self, *args: IterVar) -> None:
        """Permute loops into this order, within the positions that they occupy together.

        Reduction loops may be outside of others: the elements are initialised before the outermost reduction loop.
        """
        with self.schedule.step(self, "reorder", list(args)):
            what = self._call("reorder", *args)
            self._leaves(what, args)
            places = sorted(map(self._index, args))
            wanted = list(self.leaf_iter_vars)
            for place, axis in zip(places, args, strict=True):
                wanted[place] = axis
            self._keep_order(what, wanted)
            self.leaf_iter_vars = wanted

    def vectorize(self, var: IterVar) -> None:
        """Compute the iterations of a loop in vector lanes."""
        self._kind("vectorize", "vectorized", var)

    def unroll(self, var: IterVar) -> None:
        """Unroll a loop."""
        self._kind("unroll", "unroll", var)

    def parallel(self, var: IterVar) -> None:
        """Distribute the iterations of a loop over threads."""
        self._kind("parallel", "parallel", var)

    def bind(self, ivar: IterVar, thread_ivar: object) -> NoReturn:
        """Raise `ScheduleError`: GPU threads are not supported; `parallel` is for CPU threads."""
        self._refuse(
            self._call("bind", ivar),
            "there are no GPUs, whose threads loops are bound to: use parallel",
            ivar,
        )

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute inside the loop `scope` of the stage `parent`, exactly what is read there, into a separate buffer.

        Raises:
            ScheduleError: an output, an input, or a loop that not all readers can be in. Conditions that later
                primitives may change are checked when the loops are generated.
        """
        with self.schedule.step(self, "compute_at", [parent, scope]):
            what = self._call("compute_at", parent, scope)
            if not isinstance(parent, Stage) or parent.schedule is not self.schedule:
                self._refuse(what, f"{parent!r} is no stage of this schedule")
            self._movable(what, "is computed whole")
            self._computed(what)
            parent._leaf(what, scope)
            readers = self.schedule.readers_of(self)
            if parent is self or parent not in self.schedule.readers_of(self, transitively=True):
                self._refuse(what, f"{parent.name} does not read {self.name}", scope)
            self._no_circle(what, parent, scope)
            for reader in readers:
                if reader is not parent and reader.is_output:
                    self._refuse(
                        what,
                        f"the output {reader.name} reads {self.name}, too, and is never computed inside {parent.name}",
                        scope,
                    )
            self.place = AttachedAt(scope, self, user_frame_position(), parent)

    def reverse_compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute inside the loop `scope` of the stage `parent`, which this one reads, once its inputs are computed.

        Each iteration computes the elements that read what it has just computed. Unlike `compute_at` it also applies to
        outputs, and changes no buffer. TVM has it only for prim funcs.

        Raises:
            ScheduleError: a loop inside of the parent's reduction, or accesses that are not at the element's own
                position plus a constant distance.
        """
        with self.schedule.step(self, "reverse_compute_at", [parent, scope]):
            what = self._call("reverse_compute_at", parent, scope)
            if not isinstance(parent, Stage) or parent.schedule is not self.schedule:
                self._refuse(what, f"{parent!r} is no stage of this schedule")
            if self.is_placeholder:
                self._refuse(what, f"{self.name} is an input, which is not computed")
            parent._leaf(what, scope)
            if self not in self.schedule.readers_of(parent):
                self._refuse(what, f"{self.name} does not read {parent.name}", scope)
            self._computed(what)
            self._no_circle(what, parent, scope)
            self.place = Following(scope, self, user_frame_position(), parent)

    def compute_inline(self) -> None:
        """Compute each element at its reads, without a buffer.

        Raises:
            ScheduleError: an output, an input, or a reduction.
        """
        with self.schedule.step(self, "compute_inline", []):
            what = self._call("compute_inline")
            self._movable(what, "is computed into its buffer")
            if self.reductions:
                self._refuse(what, "it is a reduction, which is no expression: use compute_at")
            self._computed(what)
            for reader in self.schedule.readers_of(self):
                if not isinstance(reader.op, ComputeOp):
                    self._refuse(what, f"{reader.name}, a recurrence, reads it in its steps")
            self.place = Inlined()

    def compute_root(self) -> None:
        """Compute in a separate loop nest, before its readers; undoes compute_at and compute_inline."""
        with self.schedule.step(self, "compute_root", []):
            if self.is_placeholder:
                self._refuse(self._call("compute_root"), "it is an input, which is not computed")
            self.place = Root()

    def set_scope(self, scope: str) -> None:
        """Set the memory scope of a tensor's buffer: "global", or "local" for small ones inside of loops.

        Raises:
            ScheduleError: an input or output, or a GPU memory scope.
        """
        with self.schedule.step(self, "set_scope", [scope]):
            what = f"s[{self.name}].set_scope({scope!r})"
            self._movable(what, "lives where the caller has it")
            self.schedule.check_scope(what, scope, self.name)
            self.scope = scope

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: object = None) -> None:
        """Give a hint to the compiler.

        "vectorize", "unroll" and "parallel" are the primitives; TVM's pragmas about compilation have no effect.
        """
        if pragma_type in ("vectorize", "unroll", "parallel"):
            getattr(self, pragma_type)(var)
            return
        with self.schedule.step(self, "pragma", [var, pragma_type, pragma_value]):
            what = self._call("pragma", var)
            self._leaf(what, var)
            if pragma_type not in HINTS:
                self._refuse(what, f"the pragma {pragma_type!r} has no meaning here; known: {', '.join(HINTS)}", var)

    def prefetch(self, tensor: Tensor, var: IterVar, offset: int) -> NoReturn:
        """Raise `ScheduleError`: the CPU prefetches sequential reads; cache_read copies others."""
        self._refuse(self._call("prefetch", var), "there is no prefetch: use cache_read and compute_at", var)

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> NoReturn:
        """Raise `ScheduleError`: buffers are dense."""
        self._refuse(
            self._call("storage_align", axis),
            "buffers are dense: pad the tensor's shape in the compute",
            axis,
        )

    def double_buffer(self) -> NoReturn:
        """Raise `ScheduleError`: double buffering hides the latency of GPU memory."""
        self._refuse(self._call("double_buffer"), "it hides the latency of a GPU's memory, and there is none here")

    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin | str) -> None:
        """Replace the loop `var` and those inside it by an intrinsic.

        Full tiles run the intrinsic; smaller ones run the loops, which may have annotations. `tensor_intrin` is the
        result of `decl_tensor_intrin`, or the name of a registered one.

        Raises:
            ScheduleError: the loops compute something else than the intrinsic; names the first difference. Lengths are
                compared when the loops are generated.
        """
        intrin = TensorIntrin.get(tensor_intrin) if isinstance(tensor_intrin, str) else tensor_intrin
        expect(
            f"s[{self.name}].tensorize: 'tensor_intrin'",
            intrin,
            TensorIntrin,
            "what decl_tensor_intrin gives",
        )
        with self.schedule.step(self, "tensorize", [var, intrin]):
            what = self._call("tensorize", var, intrin)
            self._leaf(what, var)
            self._computed(what)
            before, self.tensorized = self.tensorized, Tensorized(var, self, user_frame_position(), intrin)
            try:
                check_tensorized(self)
            except ScheduleError:
                self.tensorized = before
                raise

    # -- checks

    def _kind(self, method: str, kind: str, var: IterVar) -> None:
        with self.schedule.step(self, method, [var]):
            what = self._call(method, var)
            self._leaf(what, var)
            if var.iter_type == REDUCTION and kind != "unroll":
                self._refuse(
                    what,
                    "it is the loop of a reduction, whose iterations depend on each other: rfactor makes a loop of "
                    "independent ones",
                    var,
                )
            self.kinds[var] = kind

    def _keep_order(self, what: str, wanted: Sequence[IterVar]) -> None:
        """Raise if an ordered reduction would combine elements in another order."""
        if not any(value.combiner.ordered for value in self.reductions):
            return
        before, after = (
            [axis for axis in axes if axis.iter_type == REDUCTION] for axes in (self.leaf_iter_vars, wanted)
        )
        for old, new in zip(before, after, strict=True):
            if old is not new:
                self._refuse(
                    what,
                    f"the reduction of {self.name} would combine elements in another order, and it is not proved that "
                    "its result stays the same",
                    new,
                )

    def _call(self, method: str, *axes: object) -> str:
        return f"s[{self.name}].{method}({', '.join(map(_shown, axes))})"

    def _refuse(self, what: str, reason: str, axis: object = None) -> NoReturn:
        name = axis.name if isinstance(axis, IterVar) else None
        raise ScheduleError(what, reason, self.name, name, user_frame_position())

    def _positive(self, what: str, label: str, number: object, axis: IterVar) -> None:
        """Raise unless `number` is a valid loop size, such that sums of indices cannot overflow."""
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= MAX_FACTOR:
            self._refuse(what, f"{label} is {number!r}, expected a positive integer up to 2**31", axis)

    def _index(self, axis: IterVar) -> int:
        return next(number for number, item in enumerate(self.leaf_iter_vars) if item is axis)

    def _leaves(self, what: str, axes: Sequence[IterVar]) -> None:
        if not axes:
            self._refuse(what, "no axis is given")
        for number, axis in enumerate(axes):
            self._leaf(what, axis)
            if any(axis is other for other in axes[:number]):
                self._refuse(what, f"the axis {axis.name} is given twice", axis)

    def _leaf(self, what: str, axis: object) -> None:
        """Raise unless `axis` is a loop of this stage."""
        if not isinstance(axis, IterVar):
            self._refuse(what, f"{axis!r} ({type(axis).__name__}) is no axis")
        if any(axis is leaf for leaf in self.leaf_iter_vars):
            return
        if any(axis is known for known in self.all_iter_vars):
            by = next(relation for relation in self.relations if _consumes(relation, axis))
            verb = "split" if isinstance(by, Split) else "fused"
            parts = ", ".join(item.name for item in ([by.outer, by.inner] if isinstance(by, Split) else [by.fused]))
            self._refuse(what, f"the axis {axis.name} is {verb} already, into {parts}", axis)
        loops = ", ".join(leaf.name for leaf in self.leaf_iter_vars) or "none"
        owner = next((s.name for s in self.schedule.stages if any(axis is a for a in s.all_iter_vars)), None)
        whose = f"an axis of {owner}" if owner else "no axis of this schedule"
        self._refuse(what, f"{axis.name} is {whose}; the loops of {self.name} are: {loops}", axis)

    def _computed(self, what: str) -> None:
        if not isinstance(self.op, ComputeOp):
            self._refuse(what, f"{self.name} is a recurrence, whose steps are computed one after the other")

    def _no_circle(self, what: str, parent: Stage, axis: IterVar) -> None:
        """Raise if `parent` is computed inside this stage."""
        inside = parent
        while isinstance(inside.place, AttachedAt | Following):
            inside = inside.place.stage
            if inside is self:
                self._refuse(what, f"{parent.name} is computed inside {self.name}", axis)

    def _movable(self, what: str, instead: str) -> None:
        if self.is_placeholder:
            self._refuse(what, f"{self.name} is an input, which is not computed")
        if self.is_output:
            self._refuse(what, f"{self.name} is an output, which {instead}")


def _shown(argument: object) -> str:
    if isinstance(argument, Stage):
        return f"s[{argument.name}]"
    return argument.name if isinstance(argument, IterVar) else repr(argument)


def _consumes(relation: Relation, axis: IterVar) -> bool:
    parts = [relation.parent] if isinstance(relation, Split) else [relation.outer, relation.inner]
    return any(part is axis for part in parts)


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
    tree = AxisTree(Facts(), {axis: Span(0, axis.dom.extent) for axis in (*op.axis, *op.reduce_axis)}, leader.relations)
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
            found[mirror.axis] = _cut(facts, Span(span.low - mirror.distance, span.extent, span.most), mirror, own)
    return [found[axis] for axis in op.axis]


def _cut(facts: Facts, span: Span, mirror: Mirror, own: IterVar) -> Span:
    """The part of a range in the domain of the follower, which may be smaller than the leader."""
    extent = mirror.axis.dom.extent
    if mirror.distance == 0 and extent == own.dom.extent:
        return span
    low = symbolic.maximum(span.low, 0)
    end = symbolic.minimum(span.low + span.extent, extent)
    return Span(low, facts.difference(end, low), span.most)
