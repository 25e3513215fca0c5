"""softmax and log_softmax over the last axis.

A row of -inf only, or with NaN or +inf, is NaN throughout, as in NumPy and torch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math.math_exp import SCALE_BITS, exp_scaled, exp_scaled_rough
from relax_mlir.lowering.kernels.registry import Emitter, Request, generates
from relax_mlir.lowering.kernels.rows.rows import (
    NO_ROW_FUSION,
    Merge,
    RowFusion,
    Rows,
    Step,
    Turn,
    in_turn,
    only,
    prepare,
)
from relax_mlir.mlir import math
from relax_mlir.target import Target

_LEAST = -float("inf")


def softmax(
    target: Target, x: Value, out: Value, *, fast: bool = False, fusion: RowFusion = NO_ROW_FUSION
) -> None:
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


def log_softmax(
    target: Target, x: Value, out: Value, *, fast: bool = False, fusion: RowFusion = NO_ROW_FUSION
) -> None:
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
