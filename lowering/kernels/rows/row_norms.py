"""Kernels over the last axes: softmax, log_softmax, layer_norm, rms_norm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias

from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.core.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.math.math_exp import SCALE_BITS, exp_scaled, exp_scaled_rough
from relax_mlir.lowering.kernels.rows.rows import (
    MIN_ROWS,
    NO_ROW_FUSION,
    Merge,
    RowFusion,
    Rows,
    Stages,
    Step,
    Steps,
    Turn,
    Work,
    in_turn,
    inverse_root,
    only,
    prepare,
    row_sum,
    row_sums,
)
from relax_mlir.lowering.kernels.select_kernels import Emitter, Request, generates
from relax_mlir.mlir import math
from relax_mlir.target import Target

# softmax and log_softmax over the last axis.
#
# A row of -inf only, or with NaN or +inf, is NaN throughout, as in NumPy and torch.


_LEAST = -float("inf")


def softmax(target: Target, x: Value, out: Value, *, fast: bool = False, fusion: RowFusion = NO_ROW_FUSION) -> None:
    """exp(x - max), divided by its sum.

    Exponentials are stored in the output until their sum is known; for f16 and bf16, which would round them, they are
    computed twice. With `fast` they have an accuracy of 1e-5.
    """
    rows = Rows.of(target, x, 1, fast=fast)
    source, sink = rows.matrix(x), rows.matrix(out)
    stages = prepare(fusion, out, 1)
    with in_turn(target, rows, stages.before, partial(_row_maximum, rows, source)) as turn:
        row = turn.row

        def exponential(part: Rows, at: Index, mask: Value | None) -> Value:
            x = part.load(source, row, at, mask=mask)
            return _exponential(part, part.vector.sub(x, part.splat(turn.found)))

        def accumulating(part: Rows) -> Step:
            def step(at: Index, mask: Value | None, total: Value) -> Value:
                part.prefetch_ahead(source, row, at)
                value = exponential(part, at, mask)
                if not part.is_half:
                    part.store(value, sink, row, at, mask=mask)
                return part.vector.add(total, only(part.vector, mask, value, 0.0))

            return step

        factor = rows.scalar.div(rows.scalar.const(1.0), rows.heavy_sum(accumulating, by_block=True))

        last = stages.last(row)

        def scaling(part: Rows) -> Step:
            def step(at: Index, mask: Value | None, _: Value) -> None:
                value = exponential(part, at, mask) if part.is_half else part.load(sink, row, at, mask=mask)
                value = last(part, at, mask, part.vector.mul(value, part.splat(factor)))
                part.store(value, sink, row, at, mask=mask)

            return step

        _finish(rows, turn, source, scaling)
        stages.behind(row)


def log_softmax(target: Target, x: Value, out: Value, *, fast: bool = False, fusion: RowFusion = NO_ROW_FUSION) -> None:
    """(x - max) - log(sum of exp(x - max)); `fast` as in `softmax`."""
    rows = Rows.of(target, x, 1, fast=fast)
    source, sink = rows.matrix(x), rows.matrix(out)
    stages = prepare(fusion, out, 1)
    with in_turn(target, rows, stages.before, partial(_row_maximum, rows, source)) as turn:
        row = turn.row

        def accumulating(part: Rows) -> Step:
            def step(at: Index, mask: Value | None, total: Value) -> Value:
                part.prefetch_ahead(source, row, at)
                scores = part.load(source, row, at, mask=mask)
                value = _exponential(part, part.vector.sub(scores, part.splat(turn.found)))
                return part.vector.add(total, only(part.vector, mask, value, 0.0))

            return step

        # The logarithm of a vector: on a scalar, its selects become branches.
        scale = 2.0**-SCALE_BITS if rows.element.width == 32 else 1.0
        total = rows.scalar.scale(rows.heavy_sum(accumulating, by_block=True), scale)
        log_total = simd.lane(math.LogOp(rows.splat(total)).result, 0)

        last = stages.last(row)

        def subtracting(part: Rows) -> Step:
            def step(at: Index, mask: Value | None, _: Value) -> None:
                x = part.vector.sub(part.load(source, row, at, mask=mask), part.splat(turn.found))
                value = last(part, at, mask, part.vector.sub(x, part.splat(log_total)))
                part.store(value, sink, row, at, mask=mask)

            return step

        _finish(rows, turn, source, subtracting)
        stages.behind(row)


def _larger(lanes: Lanes) -> Merge:
    """The larger of two; an accumulator (the first) stays if the other is NaN, one instruction on x86."""
    return lambda a, b: lanes.select(lanes.compare("olt", a, b), b, a)


def _finding(rows: Rows, buffer: Value, row: Index) -> Step:
    """The step of a sweep that finds the maximum of a row without its NaNs (-inf if nothing is left).

    NaNs need no care: results that are computed with them later are NaN, and so is the row's sum.
    """
    lanes = rows.vector
    larger = _larger(lanes)

    def step(at: Index, mask: Value | None, best: Value) -> Value:
        return larger(best, only(lanes, mask, rows.load(buffer, row, at, mask=mask), _LEAST))

    return step


def _row_maximum(rows: Rows, buffer: Value, row: Value) -> Value:
    return _largest(rows.sweep(_finding(rows, buffer, row), _LEAST, _larger(rows.vector)))


def _largest(best: Value) -> Value:
    """The maximum of a vector."""
    return simd.reduce("maxnumf", best, fastmath="nnan")


def _finish(rows: Rows, turn: Turn, source: Value, writing: Callable[[Rows], Step]) -> None:
    """Write the results, and find the maximum of the next row in the same sweep."""

    def with_next(following: Index) -> Value:
        def step_of(part: Rows) -> Step:
            find, write = _finding(part, source, following), writing(part)

            def step(at: Index, mask: Value | None, best: Value) -> Value:
                # Load first: loads wait for preceding stores to addresses that differ by a multiple of a page.
                found: Value = find(at, mask, best)
                write(at, mask, best)
                return found

            return step

        return _largest(rows.heavy_sweep(step_of, _LEAST, _larger))

    def alone() -> None:
        rows.heavy_sweep(writing)

    turn.finish(with_next, alone)


def _exponential(rows: Rows, x: Value) -> Value:
    """e^x for x ≤ 0, in f32 times 2^`SCALE_BITS`, which makes it normal; for f16 and bf16 accurate to 17 bits."""
    if rows.is_half or (rows.fast and rows.element.width == 32):
        return exp_scaled_rough(rows.vector, x)
    return exp_scaled(rows.vector, x) if rows.element.width == 32 else math.ExpOp(x).result


@generates("softmax")
def request_softmax(request: Request) -> Emitter | None:
    """Accept softmax over the last axis."""
    if request.inner_axes(1) != 1:
        return None
    return lambda: softmax(request.target, *request.arguments, fast=request.fast, fusion=request.fusion)


@generates("log_softmax")
def request_log_softmax(request: Request) -> Emitter | None:
    """Accept log_softmax over the last axis."""
    if request.inner_axes(1) != 1:
        return None
    return lambda: log_softmax(request.target, *request.arguments, fast=request.fast, fusion=request.fusion)


# layer_norm and rms_norm over the last axes.


# The loops of norms over rows: sums of a row, statistics from the sums, and the normalisation of each vector.
#
# By default one row follows the other. If the last sweep has an epilogue of many operations, it also computes
# the sums of the row after the next one: its loads overlap with arithmetic, and nothing waits for the
# statistics.


Normalise: TypeAlias = "Callable[[Index, Value | None], Value]"
"""Emits the normalised vector at a position, given its mask."""


class Norm(Protocol):
    """A norm over rows, in three steps."""

    @property
    def rows(self) -> Rows:
        """The rows that are normalised."""

    @property
    def count(self) -> int:
        """The number of sums over a row."""

    def sums(self, row: Index) -> Steps:
        """The step of a sweep over a row that accumulates the sums."""

    def numbers(self, row: Index, sums: Sequence[Value]) -> list[Value]:
        """The statistics of a row (scalars), from its sums (scalars)."""

    def normalise(self, part: Rows, row: Value, numbers: Sequence[Value]) -> Normalise:
        """The normalisation of a row by its statistics, in vectors of the length of `part`."""


def emit_norm(target: Target, norm: Norm, out: Value, inner: int, fusion: RowFusion) -> None:
    """Write the normalised rows to `out`, whose last `inner` axes form a row, with prologue and epilogue of each."""
    sink = norm.rows.matrix(out)
    stages = prepare(fusion, out, inner, may_be_heavy=norm.rows.avx512)
    emit_rows = _two_ahead if stages.is_heavy else _one_by_one
    emit_rows(target, norm, sink, stages)


def _one_by_one(target: Target, norm: Norm, sink: Value, stages: Stages) -> None:
    rows = norm.rows
    with parallel_loop(0, rows.count, 1, rows.cost) as row:
        stages.before(row)
        numbers = norm.numbers(row, row_sums(rows, norm.sums(row), norm.count))
        last = stages.last(row)
        normalise = norm.normalise(rows, row, numbers)

        def write(at: Index, mask: Value | None, _: Value) -> None:
            rows.store(last(rows, at, mask, normalise(at, mask)), sink, row, at, mask=mask)

        rows.sweep(write)
        stages.behind(row)


def _two_ahead(target: Target, norm: Norm, sink: Value, stages: Stages) -> None:
    rows = norm.rows
    part = part_size(rows.count, 1, target.num_threads, rows.cost, least=MIN_ROWS)
    with parallel_loop(0, rows.count, part, rows.cost) as first:
        end = emit.sub(emit.minimum(emit.add(first, part), rows.count), 1)

        def begin(row: Index) -> list[Value]:
            stages.before(row)
            return rows.sums(norm.sums(row), norm.count)

        def nothing() -> list[Value]:
            return [rows.scalar.const(0.0)] * norm.count

        numbers = norm.numbers(first, begin(first))
        second = emit.add(first, 1)
        types = [rows.element] * norm.count
        sums = emit.choose(emit.compare("le", second, end), types, lambda: begin(second), nothing)
        with emit.carrying_loop(first, emit.add(end, 1), 1, [*numbers, *sums], unroll=False) as loop:
            row = loop.index
            numbers, sums = loop.values[: len(numbers)], loop.values[len(numbers) :]
            # After the last row it is repeated: its results are not used.
            following = norm.numbers(emit.minimum(emit.add(row, 1), end), sums)
            third = emit.add(row, 2)
            with emit.when(emit.compare("le", third, end)):
                stages.before(third)
            last = stages.last(row)

            def work(part: Rows) -> Work:
                normalise = norm.normalise(part, row, numbers)

                def write(at: Index, mask: Value | None, made: Sequence[Value]) -> None:
                    part.store(last(part, at, mask, made[0]), sink, row, at, mask=mask)

                return Work(lambda at, mask: [normalise(at, mask)], write)

            sums = rows.sums(norm.sums(emit.minimum(third, end)), norm.count, work)
            stages.behind(row)
            loop.give([*following, *sums])


NEAR_MEAN = 2.0
"""A row's mean is near 0 if its variance is not below its mean square divided by this. Then the difference of the mean
square and the square of the mean loses at most one bit."""


def layer_norm(
    target: Target,
    x: Value,
    gamma: Value,
    beta: Value,
    out: Value,
    *,
    epsilon: float,
    inner: int = 1,
    fusion: RowFusion = NO_ROW_FUSION,
) -> None:
    """(x - mean) / sqrt(variance + epsilon) · gamma + beta, over the last `inner` axes.

    One sweep computes the mean and the mean square. If the mean is near 0 (see `NEAR_MEAN`), the variance is the mean
    square minus the square of the mean. Else a second sweep computes it from the centred values.
    """
    rows = Rows.of(target, x, inner)
    norm = _LayerNorm(rows, rows.matrix(x), rows.line(gamma), rows.line(beta), _share(rows), epsilon)
    emit_norm(target, norm, out, inner, fusion)


def rms_norm(
    target: Target,
    x: Value,
    weight: Value,
    out: Value,
    *,
    epsilon: float,
    inner: int = 1,
    fusion: RowFusion = NO_ROW_FUSION,
) -> None:
    """x / sqrt(mean of x² + epsilon) · weight, over the last `inner` axes."""
    rows = Rows.of(target, x, inner)
    norm = _RmsNorm(rows, rows.matrix(x), rows.line(weight), _share(rows), epsilon)
    emit_norm(target, norm, out, inner, fusion)


def _share(rows: Rows) -> Value:
    """The reciprocal of the row length."""
    return rows.scalar.div(rows.scalar.const(1.0), rows.length_as_float())


@dataclass(frozen=True)
class _LayerNorm:
    rows: Rows
    source: Value
    gamma: Value
    beta: Value
    share: Value
    epsilon: float
    count: int = 2

    def sums(self, row: Index) -> Steps:
        rows, lanes = self.rows, self.rows.vector

        def moments(at: Index, mask: Value | None, sums: Sequence[Value]) -> list[Value]:
            rows.prefetch_ahead(self.source, row, at)
            value = rows.load(self.source, row, at, mask=mask)
            return [lanes.add(sums[0], value), lanes.fma(value, value, sums[1])]

        return moments

    def numbers(self, row: Index, sums: Sequence[Value]) -> list[Value]:
        """The mean, and 1 / sqrt(variance + epsilon)."""
        scalar = self.rows.scalar
        mean, square = (scalar.mul(total, self.share) for total in sums)
        variance = scalar.sub(square, scalar.mul(mean, mean))
        # The difference is NaN if squares have overflowed; centred squares may not overflow.
        margin = scalar.sub(scalar.scale(variance, NEAR_MEAN), square)
        is_near = scalar.compare("oge", margin, scalar.const(0.0))
        near = [variance]
        (variance,) = emit.choose(
            is_near, [self.rows.element], lambda: near, lambda: [self._centred_variance(row, mean)]
        )
        return [mean, inverse_root(scalar, variance, self.epsilon)]

    def _centred_variance(self, row: Index, mean: Value) -> Value:
        rows, lanes = self.rows, self.rows.vector
        centre = rows.splat(mean)

        def squares(at: Index, mask: Value | None, total: Value) -> Value:
            value = lanes.sub(rows.load(self.source, row, at, mask=mask), centre)
            centred = only(lanes, mask, value, 0.0)
            return lanes.fma(centred, centred, total)

        return rows.scalar.mul(row_sum(rows, squares), self.share)

    def normalise(self, part: Rows, row: Value, numbers: Sequence[Value]) -> Normalise:
        lanes = part.vector
        centre, factor = map(part.splat, numbers)

        def vector(at: Index, mask: Value | None) -> Value:
            value = lanes.mul(lanes.sub(part.load(self.source, row, at, mask=mask), centre), factor)
            scale = part.load(self.gamma, at, mask=mask)
            shift = part.load(self.beta, at, mask=mask)
            return lanes.fma(value, scale, shift)

        return vector


@dataclass(frozen=True)
class _RmsNorm:
    rows: Rows
    source: Value
    weight: Value
    share: Value
    epsilon: float
    count: int = 1

    def sums(self, row: Index) -> Steps:
        rows, lanes = self.rows, self.rows.vector

        def squares(at: Index, mask: Value | None, sums: Sequence[Value]) -> list[Value]:
            rows.prefetch_ahead(self.source, row, at)
            value = rows.load(self.source, row, at, mask=mask)
            return [lanes.fma(value, value, sums[0])]

        return squares

    def numbers(self, row: Index, sums: Sequence[Value]) -> list[Value]:
        """1 / sqrt(mean square + epsilon)."""
        scalar = self.rows.scalar
        return [inverse_root(scalar, scalar.mul(sums[0], self.share), self.epsilon)]

    def normalise(self, part: Rows, row: Value, numbers: Sequence[Value]) -> Normalise:
        lanes = part.vector
        (factor,) = map(part.splat, numbers)

        def vector(at: Index, mask: Value | None) -> Value:
            scale = part.load(self.weight, at, mask=mask)
            return lanes.mul(lanes.mul(part.load(self.source, row, at, mask=mask), factor), scale)

        return vector


@generates("layer_norm")
def request_layer_norm(request: Request) -> Emitter | None:
    """Accept layer_norm over the last axes, with scale and shift."""
    inner = request.inner_axes(3)
    if inner == 0:
        return None
    return lambda: layer_norm(
        request.target,
        *request.arguments,
        epsilon=request.epsilon(),
        inner=inner,
        fusion=request.fusion,
    )


@generates("rms_norm")
def request_rms_norm(request: Request) -> Emitter | None:
    """Accept rms_norm over the last axes, with scale."""
    inner = request.inner_axes(2)
    if inner == 0:
        return None
    return lambda: rms_norm(
        request.target,
        *request.arguments,
        epsilon=request.epsilon(),
        inner=inner,
        fusion=request.fusion,
    )
