"""Sweeps over the rows of a buffer: the framework of softmax and the norms.

A buffer of any rank with identity layout is viewed as [rows, length]: the last `inner` axes form one row. Both may be
dynamic. A row is read in sweeps: first steps of several vectors, then of one, then one masked vector for the remainder.
Each vector of the large step has its own accumulator; they are merged at the end of the row. Sums are therefore
reassociated (their error is smaller than that of sequential order).

f32 and f64; f16 and bf16 are computed in f32 and rounded once, when they are stored. Input and output may be the same
buffer. The prologue and the epilogue of a kernel (`fusion`) run for each row, before it is read (input and output are
the same buffer then) and after it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeAlias

from relax_mlir.ir_queries import entry_block
from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Strided, Type, Value, in_blocks, is_one_block
from relax_mlir.lowering.kernels.core.lanes import Lanes, side_by_side
from relax_mlir.lowering.kernels.core.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.core.scalar_body import Body, Place
from relax_mlir.mlir import arith, ir, linalg, math
from relax_mlir.target import CACHE_LINE, Target

Step: TypeAlias = "Callable[[Index, Value | None, Any], Any]"
"""Position in the row, mask (None: all lanes), accumulator → new accumulator; None → None without accumulation."""

Steps: TypeAlias = "Callable[[Index, Value | None, Sequence[Value]], Sequence[Value]]"
"""A step with several accumulators."""

Merge: TypeAlias = Callable[[Value, Value], Value]
"""Two accumulators → one."""

WORK_VECTORS = 2
"""Interleaved vectors in each of the two stages: with their constants, they fill all registers of AVX-512."""

UNROLL = 4
"""Vectors in the large step: enough independent accumulators to hide the latency of an addition."""

VECTOR_CYCLES = 8
"""The approximate cycles per vector in all sweeps together."""


@dataclass(frozen=True)
class Work:
    """Work on a row in two stages: `make` computes vectors at a position, under a mask; `use` consumes them there."""

    make: Callable[[Index, Value | None], Sequence[Value]]
    use: Callable[[Index, Value | None, Sequence[Value]], None]


NO_WORK = Work(lambda at, mask: [], lambda at, mask, made: None)


@dataclass(frozen=True)
class Rows:
    """The iteration over the rows of a buffer: the type in registers, the vectors and the sizes.

    `stored` is the type in memory if it differs. `fast`: exponentials need an accuracy of 1e-5 only. `avx512`: see
    `Lanes`. `vectors_per_body`: interleaved vectors of a step of many operations, whose constants fill registers, too.
    """

    element: Type
    lanes: int
    unroll: int
    count: Index
    length: Index
    stored: Type | None = None
    fast: bool = False
    avx512: bool = False
    vectors_per_body: int = 1

    @staticmethod
    def of(target: Target, buffer: Value, inner: int, fast: bool = False) -> Rows:
        """The rows of a buffer whose last `inner` axes form a row."""
        type_ = ir.MemRefType(buffer.type)
        sizes = [emit.dim(buffer, axis) for axis in range(type_.rank)]
        outer = type_.rank - inner
        element = ir.F32Type.get() if type_.element_type.width == 16 else type_.element_type
        lanes = target.lanes(element.width)
        count, length = emit.product(sizes[:outer]), emit.product(sizes[outer:])
        return Rows(
            element,
            lanes,
            UNROLL,
            count,
            length,
            type_.element_type,
            fast,
            avx512=Lanes.of(emit.vector_type(lanes, element), target).avx512,
            vectors_per_body=side_by_side(target, element.width, carries=True),
        )

    @property
    def cost(self) -> Index:
        """The approximate cycles of all rows (see `parallel_loop`)."""
        return emit.div(emit.mul(emit.mul(self.count, self.length), VECTOR_CYCLES), self.lanes)

    @property
    def vector(self) -> Lanes:
        """Arithmetic on one vector."""
        return Lanes(emit.vector_type(self.lanes, self.element), self.avx512)

    @property
    def scalar(self) -> Lanes:
        """Arithmetic on one element."""
        return Lanes(self.element)

    def matrix(self, buffer: Value) -> Value:
        """View the buffer as [rows, length]."""
        return emit.view(emit.metadata(buffer), [self.count, self.length], [self.length, 1], unit_inner=True)

    def line(self, buffer: Value) -> Value:
        """View a buffer that holds one row (a weight) as [length]."""
        return emit.view(emit.metadata(buffer), [self.length], [1], unit_inner=True)

    @property
    def is_half(self) -> bool:
        """True if elements are rounded when they are stored."""
        return self.stored is not None and bool(self.stored != self.element)

    def load(self, buffer: Value, *position: Index, mask: Value | None) -> Value:
        """Load a vector; lanes outside the mask are 0."""
        return simd.widen(simd.load(self.lanes, buffer, *position, where=mask), self.element)

    def store(self, value: Value, buffer: Value, *position: Index, mask: Value | None) -> None:
        """Store a vector."""
        simd.store(simd.narrow(value, self.stored or self.element), buffer, *position, where=mask)

    def splat(self, value: Value) -> Value:
        """Broadcast the value to all lanes."""
        return simd.splat(value, self.lanes)

    def length_as_float(self) -> Value:
        """The length in the element type."""
        if isinstance(self.length, int):
            return self.scalar.const(float(self.length))
        integer = arith.IndexCastUIOp(ir.IntegerType.get_signless(64), self.length).result
        return arith.UIToFPOp(self.element, integer).result

    def prefetch_ahead(self, buffer: Value, row: Index, at: Index) -> None:
        """Prefetch a vector ahead of a position; near the end of a row it is one of the next row."""
        bits = (self.stored or self.element).width
        ahead = emit.AHEAD_BYTES * 8 // bits
        for line in range(ahead, ahead + self.lanes, CACHE_LINE * 8 // bits):
            emit.prefetch_ahead(buffer, row, emit.add(at, line))

    def sweep(
        self,
        step: Step,
        start: float = 0.0,
        merge: Merge | None = None,
        by_block: bool = False,
    ) -> Any:  # noqa: ANN401 - a Value, or None without `merge`
        """Sweep over one row; return the accumulators merged into one vector. `start` is neutral for `merge`.

        Without `merge` nothing is accumulated, and the result is None. `by_block`: see `in_blocks`.
        """
        merged = self.sweeps(_alone(step), [start] if merge else [], merge, by_block)
        return merged[0] if merged else None

    def sweeps(self, step: Steps, starts: Sequence[float], merge: Merge | None, by_block: bool = False) -> list[Value]:
        """Like `sweep`, with an accumulator for each of `starts`."""
        kinds, initial = len(starts), [self.vector.const(start) for start in starts]
        wide = self.lanes * self.unroll
        wide_end, vector_end = emit.round_down(self.length, wide), emit.round_down(self.length, self.lanes)
        merged = self._loop(step, 0, wide_end, self.unroll, initial * self.unroll, merge if by_block else None)
        while len(merged) > kinds and merge:
            half = len(merged) // 2
            merged = [merge(*pair) for pair in zip(merged[:half], merged[half:], strict=True)]
        merged = self._loop(step, wide_end, vector_end, 1, merged)
        return self._rest(step, vector_end, merged)

    def heavy_sweep(
        self,
        step_of: Callable[[Rows], Step],
        start: float = 0.0,
        merge_of: Callable[[Lanes], Merge] | None = None,
        by_block: bool = False,
    ) -> Any:  # noqa: ANN401 - a Value, or None without `merge`
        """Sweep over one row with a step of many operations, for several interleaved vectors.

        `step_of` and `merge_of` build step and merge for vectors of the length of some `Rows`; else it is like `sweep`.
        """
        several = replace(self, lanes=self.lanes * self.vectors_per_body)
        several_end = emit.round_down(self.length, several.lanes)
        vector_end = emit.round_down(self.length, self.lanes)
        initial = [several.vector.const(start)] if merge_of else []
        merge = merge_of(several.vector) if merge_of and by_block else None
        step = _alone(step_of(self))
        total = several._loop(_alone(step_of(several)), 0, several_end, 1, initial, merge)
        if merge_of:
            starts = range(0, several.lanes, self.lanes)
            total = [reduce(merge_of(self.vector), [simd.lanes_of(total[0], at, self.lanes) for at in starts])]
        if self.vectors_per_body > 1:
            total = self._loop(step, several_end, vector_end, 1, total)
        rest = self._rest(step, vector_end, total)
        return rest[0] if rest else None

    def heavy_sum(self, step_of: Callable[[Rows], Step], by_block: bool = False) -> Value:
        """The sum (a scalar) of what a step of many operations accumulates; `by_block`: see `in_blocks`."""
        total = self.heavy_sweep(step_of, 0.0, lambda lanes: lanes.add, by_block)
        return simd.reduce("add", total, fastmath="reassoc")

    def sums(self, step: Steps, count: int, work_of: Callable[[Rows], Work] | None = None) -> list[Value]:
        """The sums (scalars) of the `count` values that `step` accumulates, interleaved with work on a row.

        The row has the same length. `work_of` builds the work for vectors of the length of some `Rows`. While its
        second stage uses some vectors, the first computes the next ones, so neither waits for the other. The sums are
        the same with and without work.
        """
        several = replace(self, lanes=self.lanes * WORK_VECTORS)
        several_end = emit.round_down(self.length, several.lanes)
        vector_end = emit.round_down(self.length, self.lanes)
        zeros = [self.vector.const(0.0)] * count
        wide, narrow = (work_of(part) if work_of else NO_WORK for part in (several, self))

        def block(start: Index, stop: Index) -> list[Value]:
            made = wide.make(start, None)
            with emit.carrying_loop(start, stop, several.lanes, [*made, *zeros], unroll=False) as loop:
                ready, totals = loop.values[: len(made)], loop.values[len(made) :]
                if made:
                    # After the last vectors they are computed again, and not used.
                    following = emit.add(loop.index, several.lanes)
                    made = wide.make(emit.minimum(following, emit.sub(stop, several.lanes)), None)
                for at in range(0, several.lanes, self.lanes):
                    totals = list(step(emit.add(loop.index, at), None, totals))
                wide.use(loop.index, None, ready)
                loop.give([*made, *totals])
            return list(loop.results)[len(made) :]

        def merge(some: Sequence[Value], more: Sequence[Value]) -> list[Value]:
            return list(map(self.vector.add, some, more))

        def alone(at: Index, mask: Value | None, totals: Sequence[Value]) -> list[Value]:
            made = narrow.make(at, mask)
            totals = list(step(at, mask, totals))
            narrow.use(at, mask, made)
            return totals

        if several_end == 0:
            totals = zeros
        elif is_one_block(several_end, several.lanes):
            totals = block(0, several_end)
        else:
            totals = in_blocks(0, several_end, several.lanes, zeros, block, merge)
        totals = self._loop(alone, several_end, vector_end, 1, totals)
        return _lane_sums(self._rest(alone, vector_end, totals))

    def _loop(
        self,
        step: Steps,
        begin: Index,
        end: Index,
        unroll: int,
        initial: Sequence[Value],
        merge: Merge | None = None,
    ) -> list[Value]:
        """Emit steps of `unroll` vectors; with `merge` in blocks, each of which starts from the neutral `initial`."""
        if isinstance(begin, int) and begin == end:
            return list(initial)
        size = self.lanes * unroll
        if merge and not is_one_block(end, size):

            def block(start: Index, stop: Index) -> Sequence[Value]:
                return self._loop(step, start, stop, unroll, initial)

            def pairwise(some: Sequence[Value], more: Sequence[Value]) -> list[Value]:
                return list(map(merge, some, more))

            return in_blocks(begin, end, size, initial, block, pairwise)
        with emit.carrying_loop(begin, end, size, initial, unroll=False) as loop:
            kinds = len(initial) // unroll
            given: list[Value] = []
            for vector in range(unroll):
                place = emit.add(loop.index, vector * self.lanes)
                given += step(place, None, loop.values[vector * kinds : (vector + 1) * kinds])
            loop.give(given)
        return list(loop.results)

    def _rest(self, step: Steps, begin: Index, initial: Sequence[Value]) -> list[Value]:
        rest = emit.sub(self.length, begin)
        if isinstance(rest, int) and rest == 0:
            return list(initial)

        def masked() -> list[Value]:
            return list(step(begin, simd.mask(rest, self.lanes), initial))

        types = [value.type for value in initial]
        return emit.choose(emit.compare("ne", rest, 0), types, masked, lambda: list(initial))


def _alone(step: Step) -> Steps:
    """Adapt a step with one accumulator or none to several accumulators."""

    def steps(at: Index, mask: Value | None, totals: Sequence[Value]) -> list[Value]:
        given = step(at, mask, totals[0] if totals else None)
        return [given] if totals else []

    return steps


def only(lanes: Lanes, mask: Value | None, value: Value, other: float) -> Value:
    """The value, with `other` in lanes outside the mask."""
    return value if mask is None else lanes.select(mask, value, lanes.const(other))


def row_sum(rows: Rows, step: Step) -> Value:
    """The sum (a scalar) of what `step` accumulates."""
    return row_sums(rows, _alone(step), 1)[0]


def row_sums(rows: Rows, step: Steps, count: int) -> list[Value]:
    """The sums (scalars) of the `count` values that `step` accumulates."""
    return _lane_sums(rows.sweeps(step, [0.0] * count, rows.vector.add, by_block=True))


def _lane_sums(totals: Sequence[Value]) -> list[Value]:
    return [simd.reduce("add", total, fastmath="reassoc") for total in totals]


def inverse_root(lanes: Lanes, value: Value, epsilon: float) -> Value:
    """1 / sqrt(value + epsilon)."""
    root = math.SqrtOp(lanes.add(value, lanes.const(epsilon))).result
    return lanes.div(lanes.const(1.0), root)


# Elementwise prologues and epilogues of row kernels, run on each row while it is in L1.
#
# A prologue fills a row of the output, on which the kernel then works in place; an epilogue works in place on
# a row that the kernel has written.


NEXT_ROW = "relax.next_row"
"""Attribute of a loop over a row: operands whose next row, adjacent in memory, is needed soon."""

OnRow = Callable[[Index], None]
"""Emits the work on a row, given its index."""


@dataclass(frozen=True)
class RowFusion:
    """The prologue and the epilogue of a kernel, run for each row."""

    prologue: RowLoop | None = None
    epilogue: RowLoop | None = None

    def prepare(self, out: Value, inner: int) -> tuple[OnRow, OnRow]:
        """Both for the rows of `out`, its last `inner` axes; loop-invariant code is emitted at once."""
        before = self.prologue.prepare(out, inner) if self.prologue else _nothing
        behind = self.epilogue.prepare(out, inner, is_behind=True) if self.epilogue else _nothing
        return before, behind


def _nothing(row: Index) -> None:
    pass


NO_ROW_FUSION = RowFusion()


@dataclass(frozen=True)
class RowLoop:
    """A parallel `linalg.generic` or `linalg.copy` on memrefs that writes the output of a kernel over rows."""

    operation: ir.Operation

    def prepare(self, out: Value, inner: int, is_behind: bool = False) -> OnRow:
        """The work on a row of `out`, its last `inner` axes; loop-invariant code is emitted at once.

        An epilogue prefetches the next row of its inputs (see `NEXT_ROW`), unless it only reads what the kernel has
        written.
        """
        rank = ir.MemRefType(out.type).rank
        maps, views_of = self._maps(rank), self.prepare_views(out, inner)
        asked_for = self._next_rows() if is_behind and inner == 1 else []

        def on_row(row: Index) -> None:
            views = views_of(row)
            if self.operation.name == "linalg.copy":
                linalg.copy(views[0], outs=views[1:])
            else:
                inner_maps = [_inner_map(map_, rank - inner, rank) for map_ in maps]
                loop = _emit_on(self.operation, views, inner_maps, inner)
                if asked_for:
                    loop.attributes[NEXT_ROW] = ir.DenseI64ArrayAttr.get(asked_for)

        return on_row

    def prepare_views(self, out: Value, inner: int) -> Callable[[Index], list[Value]]:
        """The slices of the operands for a row of `out`, given its index; loop-invariant code is emitted at once."""
        rank = ir.MemRefType(out.type).rank
        maps = self._maps(rank)
        operands = [*list(self.operation.operands)[:-1], out]
        parts = [emit.metadata(x) if isinstance(x.type, ir.MemRefType) else None for x in operands]
        sizes = [emit.dim(out, axis) for axis in range(rank)]
        outer = rank - inner

        def views_of(row: Index) -> list[Value]:
            places = _places(row, sizes[:outer])
            return [
                operand if part is None else _row_of(part, operand, map_, places, sizes)
                for operand, part, map_ in zip(operands, parts, maps, strict=True)
            ]

        return views_of

    def kind_of(self, number: int, inner: int) -> str:
        """The slice of an operand for a row: a ``number``, a contiguous ``row``, or else ``strided``."""
        operand = self.operation.operands[number]
        if not isinstance(operand.type, ir.MemRefType):
            return "number"
        type_ = ir.MemRefType(operand.type)
        rank = len(self.operation.attributes["iterator_types"])
        map_ = self._maps(rank)[number]
        moved = [axis for axis, x in enumerate(map_.results) if _dim(x) >= rank - inner]
        strides, _ = type_.get_strides_and_offset()
        if not moved:
            return "number"
        return "row" if moved == [type_.rank - 1] and strides[-1] == 1 else "strided"

    def _next_rows(self) -> list[int]:
        """The inputs whose next row is to be prefetched; none if they are only what the kernel has written."""
        *inputs, written = self.operation.operands
        found = [number for number in range(len(inputs)) if self._has_next_row(number)]
        return found if any(inputs[number] != written for number in found) else []

    def _has_next_row(self, number: int) -> bool:
        """True if the rows of an operand are adjacent in memory, as those of the output are."""
        operand = self.operation.operands[number]
        if self.operation.name != "linalg.generic" or not isinstance(operand.type, ir.MemRefType):
            return False
        type_ = ir.MemRefType(operand.type)
        identity = ir.AffineMap.get_identity(type_.rank)
        rank = len(self.operation.attributes["iterator_types"])
        return bool(self._maps(rank)[number] == identity == type_.affine_map and type_.rank == rank)

    def _maps(self, rank: int) -> list[ir.AffineMap]:
        if self.operation.name == "linalg.copy":
            return [ir.AffineMap.get_identity(rank)] * 2
        return [attribute.value for attribute in self.operation.attributes["indexing_maps"]]


def _dim(expr: ir.AffineExpr) -> int:
    """The loop of an affine dimension; -1 for other expressions."""
    return expr.position if isinstance(expr, ir.AffineDimExpr) else -1


def _places(row: Index, sizes: Sequence[Index]) -> dict[int, Index]:
    """Delinearise the index of a row: its index along each outer axis."""
    places: dict[int, Index] = {}
    left: Index = row
    for axis in range(len(sizes) - 1, 0, -1):
        above = emit.div(left, sizes[axis])
        places[axis] = emit.sub(left, emit.mul(above, sizes[axis]))
        left = above
    return {**places, 0: left} if sizes else {}


def _row_of(
    parts: Strided, operand: Value, map_: ir.AffineMap, places: Mapping[int, Index], sizes: Sequence[Index]
) -> Value:
    """The slice of an operand for a row: the axes that the row's loops move."""
    offset: Index = 0
    kept: list[tuple[Index, Index]] = []
    for axis, expr in enumerate(map_.results):
        if not isinstance(expr, ir.AffineDimExpr):
            continue
        if expr.position in places:
            offset = emit.add(offset, emit.mul(places[expr.position], parts.strides[axis]))
        else:
            kept.append((sizes[expr.position], parts.strides[axis]))
    known, _ = ir.MemRefType(operand.type).get_strides_and_offset()
    last = map_.results[len(map_.results) - 1] if len(map_.results) else None
    unit = bool(kept) and known[-1] == 1 and isinstance(last, ir.AffineDimExpr) and last.position not in places
    return emit.view(parts, [size for size, _ in kept], [x for _, x in kept], offset, unit_inner=unit)


def _inner_map(map_: ir.AffineMap, outer: int, rank: int) -> ir.AffineMap:
    dims = [
        ir.AffineDimExpr.get(x.position - outer)
        for x in map_.results
        if isinstance(x, ir.AffineDimExpr) and x.position >= outer
    ]
    return ir.AffineMap.get(rank - outer, 0, dims)


def _emit_on(body: ir.Operation, operands: Sequence[Value], maps: Sequence[ir.AffineMap], rank: int) -> ir.Operation:
    """Clone a generic over other operands, with `rank` loops."""
    copy: ir.Operation = body.clone().operation
    for number, operand in enumerate(operands):
        copy.operands[number] = operand
    copy.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    copy.attributes["iterator_types"] = ir.ArrayAttr.get([parallel] * rank)
    return copy


# Epilogues of row kernels in registers: work on the vectors that the last sweep over a row is about to store.
#
# This saves storing the row and loading it again, and the epilogue's own loads of values that the kernel has
# in registers.


OnVector: TypeAlias = "Callable[[Rows, Index, Value | None, Value], Value]"
"""Emits the work on a vector of the row, given its length, position and mask, and the computed value."""


@dataclass(frozen=True)
class Stages:
    """The work before a row is read, in its last sweep, and after that; each gets the index of the row.

    `is_heavy`: the work in the last sweep has many operations.
    """

    before: OnRow
    last: Callable[[Value], OnVector]
    behind: OnRow
    is_heavy: bool = False


def prepare(fusion: RowFusion, out: Value, inner: int, may_be_heavy: bool = False) -> Stages:
    """Prologue and epilogue of each row, in registers if possible; loop-invariant code is emitted at once.

    An epilogue of many operations is done in registers only if the last sweep `may_be_heavy`.
    """
    before, behind = fusion.prepare(out, inner)
    loop = fusion.epilogue
    if loop is None or not _fits(loop, inner, may_be_heavy):
        return Stages(before, lambda _: _as_computed, behind)
    views_of, body = loop.prepare_views(out, inner), _body(loop)
    *_, written = operands = list(loop.operation.operands)

    def last(row: Value) -> OnVector:
        pairs = zip(operands, views_of(row), strict=True)
        known = [None if operand == written else _whole(view) for operand, view in pairs]

        def on_vector(part: Rows, at: Index, mask: Value | None, computed: Value) -> Value:
            own = simd.narrow(computed, part.stored or part.element)
            given = [_at(view, part.lanes, at, mask) if view is not None else own for view in known]
            (result,) = body.evaluate(given, _no_index, Place(at, part.lanes, mask))
            return result

        return on_vector

    return Stages(before, last, lambda _: None, is_heavy=not body.is_light)


def _as_computed(part: Rows, at: Index, mask: Value | None, computed: Value) -> Value:
    return computed


def _fits(loop: RowLoop, inner: int, may_be_heavy: bool) -> bool:
    """True if an epilogue works lane by lane on rows that are one axis, and on scalars, with few operations.

    An epilogue of many operations is usually faster in a separate sweep: with gelu in it, the last one took 1.07 times
    as long.
    """
    operation = loop.operation
    if operation.name != "linalg.generic" or inner != 1:
        return False
    body = _body(loop)
    if not (body.is_light or may_be_heavy):
        return False
    places = {"linalg.index", "memref.load"}
    if body.may_trap or any(op.name in places for op in body.operations):
        return False
    kinds = [loop.kind_of(number, inner) for number in range(len(operation.operands))]
    moved = [number for number, kind in enumerate(kinds) if kind == "row"]
    widths = {ir.MemRefType(operation.operands[number].type).element_type.width for number in moved}
    return "strided" not in kinds and min(widths) >= 16 and body.can_be_vectorised(None, moved)


def _body(loop: RowLoop) -> Body:
    return Body(entry_block(loop.operation))


def _whole(view: Value) -> Value:
    """Load a scalar; return a row unchanged."""
    is_number = isinstance(view.type, ir.MemRefType) and ir.MemRefType(view.type).rank == 0
    return emit.load(view) if is_number else view


def _at(view: Value, lanes: int, at: Index, mask: Value | None) -> Value:
    """Load a vector of a row; return a scalar unchanged."""
    is_row = isinstance(view.type, ir.MemRefType)
    return simd.load(lanes, view, at, where=mask) if is_row else view


def _no_index(loop: int) -> Index:
    raise AssertionError(f"the epilogue counts loop {loop}")


# Pipelined rows: the last sweep over a row also does the first one over the next row.
#
# The last sweep writes results, and has spare arithmetic; this saves one sweep, and one wait for its result.


MIN_ROWS = 8
"""The minimum number of rows of a part for a thread, if there are more parts than threads."""


@dataclass(frozen=True)
class Turn:
    """A row, and the scalar that was `found` in it."""

    row: Value
    found: Value
    finish: Callable[[Callable[[Index], Value], Callable[[], None]], None]
    """Emits the last sweep: the first function, given the next row, returns the scalar that it finds there meanwhile;
    the second one is for rows without a next one."""


@contextmanager
def in_turn(target: Target, rows: Rows, before: OnRow, find: Callable[[Index], Value]) -> Iterator[Turn]:
    """Loop over all rows, on as many threads as the cost justifies; each gets parts of consecutive rows.

    `before` emits the prologue of a row (see `RowFusion`); `find` emits the sweep that finds the scalar in a row, if
    the last sweep over the previous row has not. Call `Turn.finish` after everything except the epilogue.
    """
    part = part_size(rows.count, 1, target.num_threads, rows.cost, least=MIN_ROWS)
    with parallel_loop(0, rows.count, part, rows.cost) as first:
        stop = emit.minimum(emit.add(first, part), rows.count)
        nothing = rows.scalar.const(0.0)
        with emit.carrying_loop(first, stop, 1, [nothing], unroll=False) as loop:
            row = loop.index
            results: list[Value] = []

            def begin() -> list[Value]:
                before(row)
                return [find(row)]

            def finish(with_next: Callable[[Index], Value], alone: Callable[[], None]) -> None:
                following = emit.add(row, 1)

                def more() -> list[Value]:
                    before(following)
                    return [with_next(following)]

                def last() -> list[Value]:
                    alone()
                    return [nothing]

                has_next = emit.compare("lt", following, stop)
                results.extend(emit.choose(has_next, [rows.element], more, last))

            is_first = emit.compare("eq", row, first)
            (found,) = emit.choose(is_first, [rows.element], begin, lambda: loop.values)
            yield Turn(row, found, finish)
            loop.give(results)
