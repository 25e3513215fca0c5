"""Kernel of group norm and instance norm with channels last: [batch, positions, channels].

Vectors run along channels. Each channel has its own mean and sum of squared deviations, from blocks of positions that
L1 holds, merged as in `group_norm`. Then those of a group's channels are merged, and each channel's scale computed,
before the positions are read a second time and written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.core.parallel import parallel_loop
from relax_mlir.lowering.kernels.rows.row_loops import NO_ROW_FUSION, RowFusion
from relax_mlir.lowering.kernels.rows.rows import Rows, inverse_root, product
from relax_mlir.mlir import ir
from relax_mlir.target import Target

L1_SHARE = 2
"""A block takes L1 divided by this."""

COLUMNS = 4
"""Vectors of channels that are accumulated together: enough to hide the latency of an addition."""


@dataclass(frozen=True)
class GroupNormLast:
    """A group norm with channels last.

    `first`: the first normalised axis; the following ones, up to the channels, are normalised, too. `groups`: 0 for one
    group per channel; `gamma` and `beta` may be None.
    """

    target: Target
    first: int
    groups: int
    epsilon: float
    gamma: Value | None
    beta: Value | None

    def emit(self, x: Value, out: Value, fusion: RowFusion = NO_ROW_FUSION) -> None:
        """Emit the body of the kernel; the rows of an epilogue are the positions."""
        sizes = [emit.dim(x, place) for place in range(ir.MemRefType(x.type).rank)]
        channels, positions = sizes[-1], product(sizes[self.first : -1])
        rows = Rows.of(self.target, x, 1)
        source, sink = rows.matrix(x), rows.matrix(out)
        _, behind = fusion.prepare(out, 1)
        room = emit.round_up(channels, rows.lanes * COLUMNS)
        with (
            parallel_loop(0, product(sizes[: self.first]), 1, rows.cost) as batch,
            emit.scratch(rows.element, room) as means,
            emit.scratch(rows.element, room) as factors,
        ):
            begin = emit.mul(batch, positions)
            self._moments(rows, source, (begin, positions), (means, factors))
            self._join(rows, positions, (means, factors))
            with emit.loop(begin, emit.add(begin, positions)) as row:
                self._write(rows, (source, sink), row, (means, factors))
                behind(row)

    def _moments(
        self, rows: Rows, source: Value, span: tuple[Index, Index], results: tuple[Value, Value]
    ) -> None:
        """Mean and sum of squared deviations of each channel over `span`: a start and a number of rows."""
        begin, positions = span
        zero = rows.vector.const(0.0)
        with emit.loop(0, rows.length, rows.lanes) as at:
            for buffer in results:
                simd.store(zero, buffer, at)
        bytes_ = emit.mul(emit.maximum(rows.length, 1), (rows.stored or rows.element).width // 8)
        block = emit.maximum(emit.div(self.target.l1_bytes // L1_SHARE, bytes_), 1)
        scalar = rows.scalar
        with emit.loop(0, positions, block) as done:
            size = emit.minimum(emit.sub(positions, done), block)
            count, before = (replace(rows, length=n).length_as_float() for n in (emit.index(size), done))
            share = scalar.div(count, scalar.add(before, count))
            weights = tuple(
                map(rows.splat, (scalar.div(scalar.const(1.0), count), share, scalar.mul(before, share)))
            )
            start = emit.add(begin, done)
            part = (start, emit.add(start, size))
            wide = rows.lanes * COLUMNS
            wide_end, end = emit.round_down(rows.length, wide), emit.round_down(rows.length, rows.lanes)
            for low, high, step in ((0, wide_end, wide), (wide_end, end, rows.lanes)):
                with emit.loop(low, high, step) as at:
                    self._columns(rows, source, part, at, step // rows.lanes, None, weights, results)
            rest = emit.sub(rows.length, end)
            with emit.when(emit.compare("ne", rest, 0)):
                mask = simd.mask(rest, rows.lanes)
                self._columns(rows, source, part, emit.index(end), 1, mask, weights, results)

    def _columns(
        self,
        rows: Rows,
        source: Value,
        part: tuple[Index, Index],
        at: Value,
        columns: int,
        mask: Value | None,
        weights: Sequence[Value],
        results: tuple[Value, Value],
    ) -> None:
        """Merge a block of some vectors of channels into their moments."""
        lanes, (means, squares) = rows.vector, results
        one_share, share, both = weights
        places = [emit.add(at, rows.lanes * column) for column in range(columns)]

        def fold(step: Callable[[int, Value, Value], Value]) -> list[Value]:
            with emit.carrying_loop(*part, 1, [lanes.const(0.0)] * columns) as loop:
                loop.give(
                    [
                        step(column, rows.load(source, loop.index, place, mask=mask), loop.values[column])
                        for column, place in enumerate(places)
                    ]
                )
            return list(loop.results)

        own = [lanes.mul(sum_, one_share) for sum_ in fold(lambda _, x, sum_: lanes.add(sum_, x))]

        def square(column: int, x: Value, sum_: Value) -> Value:
            centred = lanes.sub(x, own[column])
            return lanes.fma(centred, centred, sum_)

        for mean, more, place in zip(own, fold(square), places, strict=True):
            old_mean = simd.load(rows.lanes, means, place)
            distance = lanes.sub(mean, old_mean)
            apart = lanes.fma(distance, lanes.mul(distance, both), more)
            old_squares = simd.load(rows.lanes, squares, place)
            simd.store(lanes.add(old_squares, apart), squares, place)
            simd.store(lanes.fma(distance, share, old_mean), means, place)

    def _join(self, rows: Rows, positions: Index, moments: tuple[Value, Value]) -> None:
        """Replace the moments of each channel by the mean of its group and the scale of the channel."""
        scalar, (means, squares) = rows.scalar, moments
        groups = self.groups or rows.length
        part: Index = emit.div(rows.length, groups) if self.groups else 1
        channels, size = replace(rows, length=part), replace(rows, length=positions).length_as_float()
        zero, count = scalar.const(0.0), channels.length_as_float()
        with emit.loop(0, groups) as group:
            first = emit.mul(group, part)
            last = emit.add(first, part)
            with emit.carrying_loop(first, last, 1, [zero]) as loop:
                loop.give([scalar.add(loop.values[0], emit.load(means, loop.index))])
            mean = scalar.div(loop.results[0], count)
            with emit.carrying_loop(first, last, 1, [zero]) as loop:
                distance = scalar.sub(emit.load(means, loop.index), mean)
                own = scalar.fma(distance, scalar.mul(distance, size), emit.load(squares, loop.index))
                loop.give([scalar.add(loop.values[0], own)])
            variance = scalar.div(loop.results[0], scalar.mul(size, count))
            inverse = inverse_root(scalar, variance, self.epsilon)
            with emit.loop(first, last) as channel:
                factor = inverse
                if self.gamma is not None:
                    factor = scalar.mul(inverse, simd.widen(emit.load(self.gamma, channel), rows.element))
                emit.store(mean, means, channel)
                emit.store(factor, squares, channel)

    def _write(
        self, rows: Rows, buffers: tuple[Value, Value], row: Value, moments: tuple[Value, Value]
    ) -> None:
        """Normalise the channels of one position."""
        lanes, (source, sink) = rows.vector, buffers

        def step(at: Index, mask: Value | None, _: Value) -> None:
            mean, factor = (simd.load(rows.lanes, buffer, at) for buffer in moments)
            value = lanes.sub(rows.load(source, row, at, mask=mask), mean)
            if self.beta is None:
                result = lanes.mul(value, factor)
            else:
                result = lanes.fma(value, factor, rows.load(self.beta, at, mask=mask))
            rows.store(result, sink, row, at, mask=mask)

        rows.sweep(step)
