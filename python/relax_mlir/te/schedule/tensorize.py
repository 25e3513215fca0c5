"""Match loops with an intrinsic: the same expressions over parts of tensors of the required sizes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.dialects.dtypes import DType
from relax_mlir.error import RelaxError
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import (
    INDEX,
    LITERAL,
    REDUCTION,
    Call,
    Cast,
    Expr,
    Infix,
    IterVar,
    Limit,
    Load,
    Number,
    ScalarVar,
    Unary,
    post_order,
    to_dim,
)
from relax_mlir.te.reductions import Combiner, Reduction
from relax_mlir.te.schedule.axes import AxisTree, Facts, Span, distributed_minimum
from relax_mlir.te.schedule.tensor_intrin import TensorIntrin
from relax_mlir.te.tensors import ComputeOp, Tensor

if TYPE_CHECKING:
    from relax_mlir.te.schedule.stage import Stage, Tensorized


STEP = "_tile{}"
"""Symbols of the offset of an axis from the start of the tile."""
COMMUTATIVE = ("+", "*", "&", "|", "^", "==", "!=", "and", "or")
MAX_ORDERS = 24
"""Maximum number of reduction axis orders that are tried."""
MAX_COMPARISONS = 20_000
"""Maximum number of comparisons, which try the operands in both orders."""


class Different(Exception):
    """The first difference between loops and an intrinsic."""


class Undecided(Exception):
    """The match depends on lengths that are not known yet."""


@dataclass(frozen=True)
class Part:
    """The part of a tensor that an intrinsic's buffer maps to: its first element, and the axes that it spans."""

    tensor: Tensor
    origin: tuple[Dim, ...]
    axes: tuple[int, ...]


@dataclass
class Match:
    """The correspondence between a tile of loops and an intrinsic."""

    parts: dict[Tensor, Part] = field(default_factory=dict)
    sizes: dict[str, Dim] = field(default_factory=dict)
    """The values of the intrinsic's symbols."""
    tests: list[tuple[Dim, int]] = field(default_factory=list)
    """Pairs (a, b): the tile is full if ``a >= b`` for all of them."""


@dataclass
class Tile:
    """The remaining loops of a stage: their computation, and the ranges of their axes.

    `moving`: the axes with loops in the tile, in order.
    """

    facts: Facts
    op: ComputeOp
    body: Sequence[Expr]
    outputs: Sequence[Tensor]
    spans: Mapping[IterVar, Span]
    moving: Sequence[IterVar]
    later: bool = False
    """Lengths may still change, so compare only expressions."""

    def match(self, intrin: TensorIntrin) -> Match:
        """Match the tile with an intrinsic; raise `Different` if they differ."""
        for own, wanted in zip(self.body, intrin.op.body, strict=False):
            if isinstance(own, Reduction) != isinstance(wanted, Reduction):
                raise Different(f"it computes `{own!r}` where the intrinsic computes `{wanted!r}`")
        return self._of_some_order(intrin, self.body, intrin.op.body)

    def match_outputs(self, intrin: TensorIntrin) -> Match:
        """Match only the positions of the outputs; raise `Different` if they differ."""
        return self._of_some_order(intrin, [], [])

    def _of_some_order(self, intrin: TensorIntrin, own: Sequence[Expr], wanted: Sequence[Expr]) -> Match:
        data = self._pairs("", intrin.op.axis, [axis for axis in self.op.axis if axis in set(self.moving)])
        found = [axis for axis in self.op.reduce_axis if axis in set(self.moving)] if wanted else []
        reduced = self._left("of the reduction ", intrin.op.reduce_axis, found) if wanted else [[], []]
        first: Different | None = None
        for order in itertools.islice(itertools.permutations(reduced[1]), MAX_ORDERS):
            pairs = [*data, *zip(reduced[0], order, strict=True)]
            try:
                return self._matched(intrin, pairs, own, wanted)
            except Different as difference:
                first = first or difference
        assert first is not None
        raise first

    def _pairs(self, what: str, wanted: Sequence[IterVar], own: Sequence[IterVar]) -> list[tuple[IterVar, IterVar]]:
        """Pairs of corresponding axes of the intrinsic and the loops."""
        return list(zip(*self._left(what, wanted, own), strict=True))

    def _left(self, what: str, wanted: Sequence[IterVar], own: Sequence[IterVar]) -> list[list[IterVar]]:
        """The axes of both without unpaired ones: of length 1, or symbolic in the intrinsic, where they become 1."""
        theirs, ours = list(wanted), list(own)
        for axis in own:
            if len(ours) > len(theirs) and self.spans[axis].extent == 1:
                ours = [item for item in ours if item is not axis]
        for axis in wanted:
            if len(theirs) > len(ours) and (axis.dom.extent == 1 or _any_length(axis) is not None):
                theirs = [item for item in theirs if item is not axis]
        if len(theirs) != len(ours):
            if self.later:
                raise Undecided
            shown = ", ".join(axis.name for axis in own) or "none"
            raise Different(
                f"its loops run along {len(own)} axes {what}({shown}), and those of the intrinsic along {len(wanted)} "
                f"({', '.join(axis.name for axis in wanted) or 'none'})"
            )
        return [theirs, ours]

    def _matched(
        self,
        intrin: TensorIntrin,
        pairs: Sequence[tuple[IterVar, IterVar]],
        own: Sequence[Expr],
        wanted: Sequence[Expr],
    ) -> Match:
        match = Match()
        paired = {axis for axis, _ in pairs}
        axes = [*intrin.op.axis, *(intrin.op.reduce_axis if wanted else [])]
        alone = [axis for axis in axes if axis not in paired]
        match.sizes = {name: 1 for axis in alone if (name := _any_length(axis)) is not None}
        self._lengths(match, pairs)
        if len(self.outputs) != len(intrin.op.outputs):
            raise Different(f"it makes {len(self.outputs)} tensors, and the intrinsic {len(intrin.op.outputs)}")
        compared = _Comparison(self, match, pairs)
        for tensor, target in zip(self.outputs, intrin.op.outputs, strict=True):
            compared.require(Load(tensor, self.op.axis), Load(target, intrin.op.axis))
        for value, pattern in zip(own, wanted, strict=True):
            compared.require(value, pattern)
        return match

    def _lengths(self, match: Match, pairs: Sequence[tuple[IterVar, IterVar]]) -> None:
        """Set the values of the intrinsic's symbols, and the tests for a full tile."""
        for pattern, axis in pairs:
            extent = self.spans[axis].extent
            name = _any_length(pattern)
            if name is not None and name not in match.sizes:
                is_size = self.facts.at_most(0, extent)
                match.sizes[name] = extent if is_size else self.facts.maximum(0, extent)
        for pattern, axis in pairs:
            extent, size = self.spans[axis].extent, symbolic.substitute(pattern.dom.extent, match.sizes)
            most = self.facts.high(extent)
            if self.later or self._is_equal(extent, size) or size == self.facts.maximum(0, extent):
                continue
            if not isinstance(size, int):
                raise Different(
                    f"the axis {axis.name} has the length {extent}, and {pattern.name} of the intrinsic {size}"
                )
            if most is not None and most < size:
                raise Different(
                    f"the axis {axis.name} has the length {extent}, and {pattern.name} of the intrinsic {size}, which "
                    "it never reaches"
                )
            if not self.facts.at_most(extent, size):
                raise Different(
                    f"the axis {axis.name} has the length {extent}, which may be more than the {size} of "
                    f"{pattern.name} of the intrinsic: split it by {size}"
                )
            match.tests += [(part, size) for part in distributed_minimum(extent) if not self.facts.at_most(size, part)]

    def _is_equal(self, a: Dim, b: Dim) -> bool:
        return self.facts.at_most(a, b) and self.facts.at_most(b, a)


@dataclass
class _Comparison:
    """Compares expressions of loops with those of an intrinsic, and locates its buffers."""

    tile: Tile
    match: Match
    pairs: Sequence[tuple[IterVar, IterVar]]
    progress: int = 0
    comparisons: int = 0
    difference: tuple[int, str] | None = None
    """The difference with the longest match before it."""
    scalars: dict[ScalarVar, ScalarVar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        steps = {own: symbolic.symbol(STEP.format(number)) for number, (_, own) in enumerate(self.pairs)}
        spans = self.tile.spans
        self.first = {axis: span.low for axis, span in spans.items()}
        self.own = {axis: low + steps.get(axis, 0) for axis, low in self.first.items()}
        self.theirs: dict[IterVar, Dim] = {pattern: steps[own] for pattern, own in self.pairs}

    def require(self, own: Expr, wanted: Expr) -> None:
        """Raise `Different` unless an expression equals that of the intrinsic."""
        if not self.same(own, wanted):
            assert self.difference is not None
            raise Different(self.difference[1])

    def same(self, own: Expr, wanted: Expr) -> bool:
        self.comparisons += 1
        if self.comparisons > MAX_COMPARISONS:
            return self.differs("it is not compared with the intrinsic, which has too many orders of operands")
        own, wanted = _bare(own), _bare(wanted)
        if own.kind == INDEX and wanted.kind == INDEX:
            return self.same_index(own, wanted)
        if own.kind != wanted.kind and LITERAL not in (own.kind, wanted.kind):
            return self.differs(f"`{own!r}` has dtype {own.kind}, and `{wanted!r}` of the intrinsic {wanted.kind}")
        if type(own) is not type(wanted) or _label(own) != _label(wanted):
            return self.differs(f"it computes `{own!r}` where the intrinsic computes `{wanted!r}`")
        self.progress += 1
        if isinstance(own, Load) and isinstance(wanted, Load):
            return self.same_part(own, wanted)
        if isinstance(own, ScalarVar) and isinstance(wanted, ScalarVar):
            return self.scalars.setdefault(own, wanted) is wanted or self.differs("the reductions combine otherwise")
        if isinstance(own, Reduction) and isinstance(wanted, Reduction):
            return self.same_reduction(own, wanted)
        if len(own.children) != len(wanted.children):
            return self.differs(f"it computes `{own!r}` where the intrinsic computes `{wanted!r}`")
        return self.same_children(own, wanted)

    def same_children(self, own: Expr, wanted: Expr) -> bool:
        orders = [list(own.children)]
        is_symmetric = isinstance(own, Call) and own.function in ("max", "min")
        if (isinstance(own, Infix) and own.operator in COMMUTATIVE) or is_symmetric:
            orders.append(orders[0][::-1])
        parts, scalars, progress = dict(self.match.parts), dict(self.scalars), self.progress
        for order in orders:
            self.match.parts, self.scalars, self.progress = dict(parts), dict(scalars), progress
            if all(self.same(a, b) for a, b in zip(order, wanted.children, strict=True)):
                return True
        return False

    def same_index(self, own: Expr, wanted: Expr) -> bool:
        a, b = to_dim(own, self.own), self.pattern_dim(wanted)
        if a is None or b is None or not symbolic.prove_equal(a, b):
            return self.differs(f"it computes with the index `{own!r}` where the intrinsic has `{wanted!r}`")
        return True

    def same_reduction(self, own: Reduction, wanted: Reduction) -> bool:
        a, b = own.combiner, wanted.combiner
        if own.value_index != wanted.value_index or not _same_shape(a, b):
            return self.differs(f"it combines by {a.name}, and the intrinsic by {b.name}")
        self.scalars.update(zip((*a.lhs, *a.rhs), (*b.lhs, *b.rhs), strict=True))
        before = self.difference
        for x, y in zip((*a.result, *a.identity), (*b.result, *b.identity), strict=True):
            if not self.same(x, y):
                self.difference = before
                return self.differs(f"it combines by {a.name}, and the intrinsic by {b.name}")
        return all(self.same(x, y) for x, y in zip(own.source, wanted.source, strict=True))

    def pattern_dim(self, index: Expr) -> Dim | None:
        """An index of the intrinsic, with its symbols replaced by sizes."""
        values: dict[IterVar, Dim] = {
            item: self.theirs.get(item, 0) for item in post_order(index) if isinstance(item, IterVar)
        }
        dim = to_dim(index, values)
        return None if dim is None else symbolic.substitute(dim, self.match.sizes)

    def same_part(self, own: Load, wanted: Load) -> bool:
        """Match an access; all accesses of a buffer must map to the same part of a tensor."""
        what = f"`{own!r}`"
        if own.tensor.dtype != wanted.tensor.dtype:
            return self.differs(
                f"{what} has dtype {own.tensor.dtype}, and `{wanted!r}` of the intrinsic {wanted.tensor.dtype}"
            )
        try:
            found = self.part(own, wanted)
        except RelaxError:
            found = None
        if found is None:
            return self.differs(f"{what} runs along its dimensions otherwise than `{wanted!r}` of the intrinsic")
        known = self.match.parts.setdefault(wanted.tensor, found)
        same = known.tensor is found.tensor and known.axes == found.axes
        if not same or any(not symbolic.prove_equal(a, b) for a, b in zip(known.origin, found.origin, strict=True)):
            return self.differs(
                f"{what} is of another part of a tensor than another access that is `{wanted.tensor.name}` of the "
                "intrinsic"
            )
        return True

    def part(self, own: Load, wanted: Load) -> Part | None:
        """The part of a tensor that maps an access to that of the intrinsic, or None."""
        first, moved, theirs = [], [], []
        for index in own.children:
            low, at = to_dim(index, self.first), to_dim(index, self.own)
            if low is None or at is None:
                return None
            first.append(low)
            moved.append(at - low)
        steps = {symbol: 0 for dim in self.theirs.values() for symbol in symbolic.symbols(dim)}
        for index in wanted.children:
            dim = self.pattern_dim(index)
            if dim is None:
                return None
            begin = symbolic.substitute(dim, steps)
            theirs.append((begin, dim - begin))
        for axes in _placements(len(first), len(theirs)):
            rest = set(range(len(first))) - set(axes)
            if all(moved[axis] == move for axis, (_, move) in zip(axes, theirs, strict=True)) and all(
                moved[axis] == 0 for axis in rest
            ):
                origin = list(first)
                for axis, (begin, _) in zip(axes, theirs, strict=True):
                    origin[axis] = first[axis] - begin
                return Part(own.tensor, tuple(origin), axes)
        return None

    def differs(self, text: str) -> bool:
        if self.difference is None or self.progress > self.difference[0]:
            self.difference = (self.progress, text)
        return False


def _any_length(axis: IterVar) -> str | None:
    """The symbol that is the length of an intrinsic's axis of arbitrary length, or None."""
    name = symbolic.linear_definition(axis.dom.extent)
    return name if name is not None and axis.dom.extent == symbolic.symbol(name) else None


def _placements(rank: int, count: int) -> list[tuple[int, ...]]:
    """Choices of `count` of `rank` dimensions for those of an intrinsic: first in order, from the last ones on."""
    ordered = sorted(itertools.combinations(range(rank), count), reverse=True)
    others = [p for p in itertools.permutations(range(rank), count) if list(p) != sorted(p)] if rank <= 5 else []
    return [*ordered, *others]


def _same_shape(a: Combiner, b: Combiner) -> bool:
    return [var.kind for var in a.lhs] == [var.kind for var in b.lhs]


def _bare(item: Expr) -> Expr:
    """Strip the dtype of a number."""
    inner = item.children[0] if isinstance(item, Cast) else item
    if (
        isinstance(inner, Number)
        and isinstance(item.kind, DType)
        and (item.kind.is_float or isinstance(inner.value, int))
    ):
        return inner
    return item


def _label(item: Expr) -> object:
    """The attribute that distinguishes nodes of one class with equal dtypes and children."""
    if isinstance(item, Infix | Unary):
        return item.operator
    if isinstance(item, Number):
        return item.value if isinstance(item.value, bool) else repr(float(item.value))
    if isinstance(item, Limit | Call):
        return item.function
    return str(item.kind) if isinstance(item, Cast) else None


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
    raise place.refused(f"the axis {place.axis.name} is no loop of {stage.name} any more: it was split or fused since")


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
