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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeAlias

from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.block_sums import in_blocks, is_one_block
from relax_mlir.lowering.kernels.core.emit import Index, Type, Value
from relax_mlir.lowering.kernels.core.lanes import Lanes, side_by_side
from relax_mlir.mlir import arith, ir, math
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
        count, length = product(sizes[:outer]), product(sizes[outer:])
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

    def sweeps(
        self, step: Steps, starts: Sequence[float], merge: Merge | None, by_block: bool = False
    ) -> list[Value]:
        """Like `sweep`, with an accumulator for each of `starts`."""
        kinds, initial = len(starts), [self.vector.const(start) for start in starts]
        wide = self.lanes * self.unroll
        wide_end, vector_end = emit.round_down(self.length, wide), emit.round_down(self.length, self.lanes)
        merged = self._loop(
            step, 0, wide_end, self.unroll, initial * self.unroll, merge if by_block else None
        )
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
            total = [
                reduce(merge_of(self.vector), [simd.lanes_of(total[0], at, self.lanes) for at in starts])
            ]
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


def product(sizes: Sequence[Index]) -> Index:
    """The product of sizes; 1 if there are none."""
    result: Index = 1
    for size in sizes:
        result = emit.mul(result, size)
    return result


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
