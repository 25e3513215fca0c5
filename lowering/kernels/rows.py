"""Kernels over the rows of a buffer: softmax, log_softmax, layer_norm and rms_norm.

A buffer of any rank with identity layout is seen as [rows, length]: the last `inner` axes form one row. Both
may be dynamic. A row is read in sweeps: first steps of several vectors, then of one, then one masked vector
for what is left. Each vector of the large step has its own accumulator; they are added up at the end of the
row. Sums are therefore not in the order of the row (their error is smaller than that of the plain order).

f32 and f64, and f16 and bf16, which are computed in f32 and rounded once, when they are written. Everything is
written in place if input and output are the same buffer. What goes `around` a kernel is done for each row, before it is
read (input and output are the same buffer then) and when it has been written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

from relax_mlir.lowering.kernels import emit
from relax_mlir.lowering.kernels.blocks import in_blocks, is_one_block
from relax_mlir.lowering.kernels.emit import Index, Type, Value
from relax_mlir.lowering.kernels.lanes import Lanes, side_by_side
from relax_mlir.lowering.kernels.math_exp import SCALE_BITS, exp_scaled, exp_scaled_rough
from relax_mlir.lowering.kernels.parallel import parallel_loop
from relax_mlir.lowering.kernels.row_loops import NOTHING_AROUND, Around
from relax_mlir.mlir import arith, ir, math
from relax_mlir.target import CACHE_LINE, Target

Step: TypeAlias = "Callable[[Index, Value | None, Value], Value]"
"""Position in the row, mask (None: all lanes), accumulator → new accumulator."""

UNROLL = 4
"""Vectors in the large step: enough independent sums to hide the latency of an addition."""

VECTOR_CYCLES = 8
"""About how many cycles a vector takes in all sweeps together."""


@dataclass(frozen=True)
class Rows:
    """How the rows of a buffer are walked: the type in registers, the vectors and the sizes.

    `stored` is the type in memory if it is another. `ahead`: while a row is computed, the one so many rows on is asked
    for. `fast`: exponentials may be right to 1e-5 only. `avx512`: see `Lanes`. `together`: vectors that go side by side
    where a step is many operations long: their constants fill registers, too.
    """

    element: Type
    lanes: int
    unroll: int
    count: Index
    length: Index
    stored: Type | None = None
    ahead: Index = 0
    fast: bool = False
    avx512: bool = False
    together: int = 1

    @staticmethod
    def of(target: Target, buffer: Value, inner: int) -> Rows:
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
            _rows_ahead(target, emit.mul(length, type_.element_type.width // 8)),
            avx512=Lanes.of(emit.vector_type(lanes, element), target).avx512,
            together=side_by_side(target, element.width),
        )

    @property
    def cost(self) -> Index:
        """About how many cycles all rows take (see `parallel_loop`)."""
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
        """The buffer seen as [rows, length]."""
        return emit.view(emit.metadata(buffer), [self.count, self.length], [self.length, 1], unit_inner=True)

    def line(self, buffer: Value) -> Value:
        """A buffer that holds one row (a weight), seen as [length]."""
        return emit.view(emit.metadata(buffer), [self.length], [1], unit_inner=True)

    @property
    def is_half(self) -> bool:
        """Whether elements are rounded when they are written."""
        return self.stored is not None and bool(self.stored != self.element)

    def load(self, buffer: Value, *position: Index, mask: Value | None) -> Value:
        """A vector from memory; lanes outside the mask are 0."""
        return emit.widen(emit.vector_load(self.lanes, buffer, *position, where=mask), self.element)

    def store(self, value: Value, buffer: Value, *position: Index, mask: Value | None) -> None:
        """A vector to memory."""
        emit.vector_store(emit.narrow(value, self.stored or self.element), buffer, *position, where=mask)

    def splat(self, value: Value) -> Value:
        """The value in all lanes."""
        return emit.splat(value, self.lanes)

    def length_as_float(self) -> Value:
        """The length in the element type."""
        if isinstance(self.length, int):
            return self.scalar.const(float(self.length))
        integer = arith.IndexCastUIOp(ir.IntegerType.get_signless(64), self.length).result
        return arith.UIToFPOp(self.element, integer).result

    def prefetch(self, row: Value, source: Value, sink: Value) -> Step:
        """A step that asks for a later row of both while this one is computed: rows wait for memory otherwise."""
        following = emit.minimum(emit.add(row, self.ahead), emit.sub(self.count, 1))

        def step(at: Index, mask: Value | None, carried: Value) -> Value:
            for line in range(0, self.lanes, CACHE_LINE * 8 // (self.stored or self.element).width):
                emit.prefetch(source, following, emit.add(at, line))
                emit.prefetch(sink, following, emit.add(at, line), write=True)
            return carried

        return step

    def sweep(
        self,
        step: Step,
        start: float = 0.0,
        merge: Callable[[Value, Value], Value] | None = None,
        by_block: bool = False,
    ) -> Value:
        """Walk one row; gives the accumulators merged into one vector, `start` being neutral for `merge`.

        Without `merge` nothing is accumulated, and the result means nothing. `by_block`: see `in_blocks`.
        """
        initial = [self.vector.const(start)] if merge else []
        wide = self.lanes * self.unroll
        wide_end, vector_end = emit.round_down(self.length, wide), emit.round_down(self.length, self.lanes)
        merged = self._loop(
            step, 0, wide_end, self.unroll, initial * self.unroll, merge if by_block else None
        )
        while len(merged) > 1 and merge:
            merged = [merge(*pair) for pair in zip(merged[::2], merged[1::2], strict=True)]
        merged = self._loop(step, wide_end, vector_end, 1, merged)
        return self._rest(step, vector_end, merged)

    def heavy_sweep(
        self, step_of: Callable[[Rows], Step], start: float | None = None, by_block: bool = False
    ) -> Value:
        """Walk one row with a step of many operations, for several vectors side by side.

        `step_of` makes the step for vectors of the length of some `Rows`. Gives the sum of the accumulators as one
        vector; without `start` nothing is accumulated, and the result means nothing. `by_block`: see `in_blocks`.
        """
        several = replace(self, lanes=self.lanes * self.together)
        several_end = emit.round_down(self.length, several.lanes)
        vector_end = emit.round_down(self.length, self.lanes)
        initial = [] if start is None else [several.vector.const(start)]
        merge = several.vector.add if by_block else None
        totals = several._loop(step_of(several), 0, several_end, 1, initial, merge)
        parts = [
            emit.lanes_of(x, at, self.lanes) for x in totals for at in range(0, several.lanes, self.lanes)
        ]
        step, total = step_of(self), [reduce(self.vector.add, parts)] if parts else []
        if self.together > 1:
            total = self._loop(step, several_end, vector_end, 1, total)
        return self._rest(step, vector_end, total)

    def heavy_sum(self, step_of: Callable[[Rows], Step], by_block: bool = False) -> Value:
        """The sum (a scalar) of what a step of many operations accumulates; `by_block`: see `in_blocks`."""
        return emit.reduce("add", self.heavy_sweep(step_of, 0.0, by_block), fastmath="reassoc")

    def _loop(
        self,
        step: Step,
        begin: Index,
        end: Index,
        unroll: int,
        initial: Sequence[Value],
        merge: Callable[[Value, Value], Value] | None = None,
    ) -> list[Value]:
        """Steps of `unroll` vectors; with `merge` in blocks, each of which starts from `initial`, which is neutral."""
        if isinstance(begin, int) and begin == end:
            return list(initial)
        size = self.lanes * unroll
        if merge and not is_one_block(end, size):

            def block(start: Index, stop: Index) -> Sequence[Value]:
                return self._loop(step, start, stop, unroll, initial)

            def pairwise(some: Sequence[Value], more: Sequence[Value]) -> list[Value]:
                return list(map(merge, some, more))

            return in_blocks(begin, end, size, initial, block, pairwise)
        with emit.carrying_loop(begin, end, size, initial) as loop:
            carried: Sequence[Value | None] = loop.values or [None] * unroll
            places = [emit.add(loop.index, vector * self.lanes) for vector in range(unroll)]
            given = [step(place, None, value) for place, value in zip(places, carried, strict=True)]
            loop.give(given if initial else [])
        return list(loop.results)

    def _rest(self, step: Step, begin: Index, initial: Sequence[Value]) -> Value:
        rest = emit.sub(self.length, begin)
        if isinstance(rest, int) and rest == 0:
            return initial[0] if initial else None

        def masked() -> list[Value]:
            given = step(begin, emit.mask(rest, self.lanes), initial[0] if initial else None)
            return [given] if initial else []

        types = [value.type for value in initial]
        results = emit.choose(emit.compare("ne", rest, 0), types, masked, lambda: list(initial))
        return results[0] if results else None


def _rows_ahead(target: Target, row_bytes: Index) -> Index:
    """How many rows ahead to ask for memory: a sixth of the first-level cache, or else the next row.

    (Softmax of 16384 x 256 took 1.6 times as long with the next row.) Rows that would leave the second-level cache
    before their turn are not asked for.
    """
    some = emit.ceildiv(target.l1_bytes // 6, emit.maximum(row_bytes, 1))
    return emit.select(emit.compare("le", row_bytes, target.l2_bytes // 4), some, 0)


def product(sizes: Sequence[Index]) -> Index:
    """The product of sizes; 1 of none."""
    result: Index = 1
    for size in sizes:
        result = emit.mul(result, size)
    return result


def only(lanes: Lanes, mask: Value | None, value: Value, other: float) -> Value:
    """The value, with `other` in lanes outside the mask."""
    return value if mask is None else lanes.select(mask, value, lanes.const(other))


def _larger(lanes: Lanes) -> Callable[[Value, Value], Value]:
    """The larger of two; an accumulator (the first) stays when the other is NaN, one instruction on x86."""
    return lambda a, b: lanes.select(lanes.compare("olt", a, b), b, a)


def _row_maximum(rows: Rows, load: Callable[[Index, Value | None], Value]) -> Value:
    """The maximum of a row without its NaNs (-inf if nothing is left).

    NaNs need no care here: what is formed with them later is NaN, and so is the row's sum.
    """
    lanes = rows.vector
    larger = _larger(lanes)

    def step(place: Index, mask: Value | None, best: Value) -> Value:
        return larger(best, only(lanes, mask, load(place, mask), -float("inf")))

    best = rows.sweep(step, -float("inf"), larger)
    return emit.reduce("maxnumf", best, fastmath="nnan")


def row_sum(rows: Rows, step: Step) -> Value:
    """The sum (a scalar) of what `step` accumulates."""
    return emit.reduce("add", rows.sweep(step, 0.0, rows.vector.add, by_block=True), fastmath="reassoc")


def _exponential(rows: Rows, x: Value) -> Value:
    """e^x for x ≤ 0, in f32 times 2^`SCALE_BITS`, which makes it a normal number; for f16 and bf16 to 17 bits."""
    if rows.is_half or (rows.fast and rows.element.width == 32):
        return exp_scaled_rough(rows.vector, x)
    return exp_scaled(rows.vector, x) if rows.element.width == 32 else math.ExpOp(x).result


def softmax(
    target: Target, x: Value, out: Value, *, fast: bool = False, around: Around = NOTHING_AROUND
) -> None:
    """exp(x - max) / sum of it, over the last axis.

    Exponentials wait in the output for their sum; in f16 and bf16, which would round them, they are computed twice.
    With `fast` they are right to 1e-5. A row of -inf alone, and a row with NaN or +inf, is NaN throughout, as in NumPy
    and torch.
    """
    rows = replace(Rows.of(target, x, 1), fast=fast)
    source, sink = rows.matrix(x), rows.matrix(out)
    before, behind = around.prepare(out, 1)
    with parallel_loop(0, rows.count, 1, rows.cost) as row:
        before(row)
        best = _row_maximum(rows, lambda at, mask: rows.load(source, row, at, mask=mask))

        def exponential(part: Rows, at: Index, mask: Value | None) -> Value:
            return _exponential(
                part, part.vector.sub(part.load(source, row, at, mask=mask), part.splat(best))
            )

        def accumulating(part: Rows) -> Step:
            prefetch = part.prefetch(row, source, sink)

            def step(at: Index, mask: Value | None, total: Value) -> Value:
                prefetch(at, mask, total)
                value = exponential(part, at, mask)
                if not part.is_half:
                    part.store(value, sink, row, at, mask=mask)
                return part.vector.add(total, only(part.vector, mask, value, 0.0))

            return step

        factor = rows.scalar.div(rows.scalar.const(1.0), rows.heavy_sum(accumulating, by_block=True))

        def scaling(part: Rows) -> Step:
            def step(at: Index, mask: Value | None, _: Value) -> None:
                value = exponential(part, at, mask) if part.is_half else part.load(sink, row, at, mask=mask)
                part.store(part.vector.mul(value, part.splat(factor)), sink, row, at, mask=mask)

            return step

        rows.heavy_sweep(scaling)
        behind(row)


def log_softmax(
    target: Target, x: Value, out: Value, *, fast: bool = False, around: Around = NOTHING_AROUND
) -> None:
    """(x - max) - log(sum of exp(x - max)), over the last axis; NaN and `fast` as in `softmax`."""
    rows = replace(Rows.of(target, x, 1), fast=fast)
    lanes = rows.vector
    source, sink = rows.matrix(x), rows.matrix(out)
    before, behind = around.prepare(out, 1)
    with parallel_loop(0, rows.count, 1, rows.cost) as row:
        before(row)

        def load(at: Index, mask: Value | None) -> Value:
            return rows.load(source, row, at, mask=mask)

        largest = _row_maximum(rows, load)
        best = rows.splat(largest)

        def accumulating(part: Rows) -> Step:
            prefetch = part.prefetch(row, source, sink)

            def step(at: Index, mask: Value | None, total: Value) -> Value:
                prefetch(at, mask, total)
                scores = part.load(source, row, at, mask=mask)
                value = _exponential(part, part.vector.sub(scores, part.splat(largest)))
                return part.vector.add(total, only(part.vector, mask, value, 0.0))

            return step

        # The logarithm of a vector: on scalars, its choices become branches.
        scale = 2.0**-SCALE_BITS if rows.element.width == 32 else 1.0
        total = rows.scalar.scale(rows.heavy_sum(accumulating, by_block=True), scale)
        log_total = math.LogOp(rows.splat(total)).result

        def subtract(at: Index, mask: Value | None, _: Value) -> None:
            value = lanes.sub(lanes.sub(load(at, mask), best), log_total)
            rows.store(value, sink, row, at, mask=mask)

        rows.sweep(subtract)
        behind(row)


def layer_norm(
    target: Target,
    x: Value,
    gamma: Value,
    beta: Value,
    out: Value,
    *,
    epsilon: float,
    inner: int = 1,
    around: Around = NOTHING_AROUND,
) -> None:
    """(x - mean) / sqrt(variance + epsilon) · gamma + beta, over the last `inner` axes.

    Two passes: the variance is that of the centred values.
    """
    rows = Rows.of(target, x, inner)
    lanes = rows.vector
    source, sink = rows.matrix(x), rows.matrix(out)
    weight, bias = rows.line(gamma), rows.line(beta)
    share = rows.scalar.div(rows.scalar.const(1.0), rows.length_as_float())
    before, behind = around.prepare(out, inner)
    with parallel_loop(0, rows.count, 1, rows.cost) as row:
        before(row)

        def load(at: Index, mask: Value | None) -> Value:
            return rows.load(source, row, at, mask=mask)

        total = row_sum(rows, lambda at, mask, total: lanes.add(total, load(at, mask)))
        mean = rows.splat(rows.scalar.mul(total, share))

        prefetch = rows.prefetch(row, source, sink)

        def squares(at: Index, mask: Value | None, total: Value) -> Value:
            prefetch(at, mask, total)
            centred = only(lanes, mask, lanes.sub(load(at, mask), mean), 0.0)
            return lanes.fma(centred, centred, total)

        variance = rows.scalar.mul(row_sum(rows, squares), share)
        factor = rows.splat(inverse_root(rows.scalar, variance, epsilon))

        def normalise(at: Index, mask: Value | None, _: Value) -> None:
            value = lanes.mul(lanes.sub(load(at, mask), mean), factor)
            scale = rows.load(weight, at, mask=mask)
            shift = rows.load(bias, at, mask=mask)
            rows.store(lanes.fma(value, scale, shift), sink, row, at, mask=mask)

        rows.sweep(normalise)
        behind(row)


def rms_norm(
    target: Target,
    x: Value,
    weight: Value,
    out: Value,
    *,
    epsilon: float,
    inner: int = 1,
    around: Around = NOTHING_AROUND,
) -> None:
    """x / sqrt(mean of x² + epsilon) · weight, over the last `inner` axes."""
    rows = Rows.of(target, x, inner)
    lanes = rows.vector
    source, sink, factors = rows.matrix(x), rows.matrix(out), rows.line(weight)
    share = rows.scalar.div(rows.scalar.const(1.0), rows.length_as_float())
    before, behind = around.prepare(out, inner)
    with parallel_loop(0, rows.count, 1, rows.cost) as row:
        before(row)

        def load(at: Index, mask: Value | None) -> Value:
            return rows.load(source, row, at, mask=mask)

        prefetch = rows.prefetch(row, source, sink)

        def squares(at: Index, mask: Value | None, total: Value) -> Value:
            prefetch(at, mask, total)
            value = load(at, mask)
            return lanes.fma(value, value, total)

        mean = rows.scalar.mul(row_sum(rows, squares), share)
        factor = rows.splat(inverse_root(rows.scalar, mean, epsilon))

        def normalise(at: Index, mask: Value | None, _: Value) -> None:
            scale = rows.load(factors, at, mask=mask)
            rows.store(lanes.mul(lanes.mul(load(at, mask), factor), scale), sink, row, at, mask=mask)

        rows.sweep(normalise)
        behind(row)


def inverse_root(lanes: Lanes, value: Value, epsilon: float) -> Value:
    """1 / sqrt(value + epsilon)."""
    root = math.SqrtOp(lanes.add(value, lanes.const(epsilon))).result
    return lanes.div(lanes.const(1.0), root)
