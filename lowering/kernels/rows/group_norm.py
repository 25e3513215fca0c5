"""Kernels of group norm and instance norm, for channels before the axes normalised and for channels last.

A group is a row of [batch · groups, channels of a group · elements of a channel]. It is loaded from memory once for its
mean and variance: blocks that L1 holds are read twice, for the mean and for the centred squares, and the moments of the
blocks are merged (T. Chan, G. Golub and R. LeVeque). So means far from zero lose no accuracy, as in two passes over the
whole group. Then each channel is written with its own scale and shift.

f32 and f64; f16 and bf16 are computed in f32 and rounded once. Input and output may be the same buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.core.parallel import parallel_loop
from relax_mlir.lowering.kernels.rows.rows import (
    NO_ROW_FUSION,
    RowFusion,
    Rows,
    inverse_root,
    only,
    row_sum,
)
from relax_mlir.lowering.kernels.select_kernels import Emitter, Request, generates, is_plain
from relax_mlir.mlir import arith, ir
from relax_mlir.target import Target

L1_SHARE = 2
"""A block takes L1 divided by this."""


@dataclass(frozen=True)
class GroupNorm:
    """A group norm. `groups`: 0 for one group per channel; `gamma` and `beta` may be None."""

    target: Target
    axis: int
    groups: int
    epsilon: float
    gamma: Value | None
    beta: Value | None

    def emit(self, x: Value, out: Value, fusion: RowFusion = NO_ROW_FUSION) -> None:
        """Emit the body of the kernel: normalise `x` over all axes after `axis`, which is that of the channels.

        The rows of an epilogue are the channels.
        """
        sizes = [emit.dim(x, place) for place in range(ir.MemRefType(x.type).rank)]
        channels, inner = sizes[self.axis], emit.product(sizes[self.axis + 1 :])
        groups = self.groups or channels
        part = emit.div(channels, groups) if self.groups else 1
        rows = replace(
            Rows.of(self.target, x, 1),
            count=emit.mul(emit.product(sizes[: self.axis]), groups),
            length=emit.mul(part, inner),
        )
        source, sink = rows.matrix(x), rows.matrix(out)
        _, behind = fusion.prepare(out, len(sizes) - self.axis - 1)
        with parallel_loop(0, rows.count, 1, rows.cost) as row:
            mean, variance = self._moments(rows, source, row)
            inverse = inverse_root(rows.scalar, variance, self.epsilon)
            first = emit.mul(arith.remui(row, emit.index(groups)), part)
            if inner == 1:
                self._channels(rows, (source, sink), row, first, (mean, inverse))
                if fusion.epilogue:
                    with emit.loop(0, part) as channel:
                        behind(emit.add(emit.mul(row, part), channel))
                return
            with emit.loop(0, part) as channel:
                place = (row, emit.mul(channel, inner))
                line = replace(rows, length=inner)
                self._channel(line, (source, sink), place, emit.add(first, channel), (mean, inverse))
                behind(emit.add(emit.mul(row, part), channel))

    def _moments(self, rows: Rows, source: Value, row: Value) -> tuple[Value, Value]:
        """Mean and variance of a row."""
        scalar, width = rows.scalar, (rows.stored or rows.element).width
        step = rows.lanes * rows.unroll
        block = max(self.target.l1_bytes * 8 // L1_SHARE // width // step * step, step)
        zero = scalar.const(0.0)
        with emit.carrying_loop(0, rows.length, block, [zero, zero], unroll=False) as loop:
            mean, squares = loop.values
            size = emit.minimum(emit.sub(rows.length, loop.index), block)
            if isinstance(rows.length, int) and rows.length % block == 0:
                size = block
            elif isinstance(rows.length, int) and rows.length < block:
                size = rows.length
            here = replace(rows, length=size)
            count, before = here.length_as_float(), replace(rows, length=loop.index).length_as_float()
            own_mean, own_squares = _block(here, source, row, loop.index)
            share, distance = scalar.div(count, scalar.add(before, count)), scalar.sub(own_mean, mean)
            # distance² may overflow although its share, 0 for the first block, does not.
            apart = scalar.mul(distance, scalar.mul(distance, scalar.mul(before, share)))
            squares = scalar.add(squares, scalar.add(own_squares, apart))
            loop.give([scalar.fma(distance, share, mean), squares])
        mean, squares = loop.results
        return mean, scalar.div(squares, rows.length_as_float())

    def _channel(
        self,
        line: Rows,
        buffers: tuple[Value, Value],
        place: tuple[Index, Index],
        channel: Index,
        moments: tuple[Value, Value],
    ) -> None:
        """Write one channel of a group."""
        lanes, (source, sink), (row, begin) = line.vector, buffers, place
        factor = moments[1]
        if self.gamma is not None:
            factor = line.scalar.mul(factor, simd.widen(emit.load(self.gamma, channel), line.element))
        mean, factor = line.splat(moments[0]), line.splat(factor)
        shift = None
        if self.beta is not None:
            shift = line.splat(simd.widen(emit.load(self.beta, channel), line.element))

        def step(at: Index, mask: Value | None, _: Value) -> None:
            position = (row, emit.add(begin, at))
            value = lanes.sub(line.load(source, *position, mask=mask), mean)
            result = lanes.mul(value, factor) if shift is None else lanes.fma(value, factor, shift)
            line.store(result, sink, *position, mask=mask)

        line.sweep(step)

    def _channels(
        self,
        rows: Rows,
        buffers: tuple[Value, Value],
        row: Value,
        first: Index,
        moments: tuple[Value, Value],
    ) -> None:
        """Write a group whose channels have one element each."""
        lanes, (source, sink) = rows.vector, buffers
        mean, inverse = map(rows.splat, moments)

        def step(at: Index, mask: Value | None, _: Value) -> None:
            value = lanes.mul(lanes.sub(rows.load(source, row, at, mask=mask), mean), inverse)
            parameter = emit.add(first, at)
            if self.gamma is not None:
                value = lanes.mul(value, rows.load(self.gamma, parameter, mask=mask))
            if self.beta is not None:
                value = lanes.add(value, rows.load(self.beta, parameter, mask=mask))
            rows.store(value, sink, row, at, mask=mask)

        rows.sweep(step)


def _block(block: Rows, source: Value, row: Value, begin: Value) -> tuple[Value, Value]:
    """Mean and sum of squared deviations of a part of a row."""
    lanes, scalar = block.vector, block.scalar

    def load(at: Index, mask: Value | None) -> Value:
        return block.load(source, row, emit.add(begin, at), mask=mask)

    mean = scalar.div(row_sum(block, lambda at, mask, sum_: lanes.add(sum_, load(at, mask))), block.length_as_float())
    middle = block.splat(mean)

    def squares(at: Index, mask: Value | None, sum_: Value) -> Value:
        centred = only(lanes, mask, lanes.sub(load(at, mask), middle), 0.0)
        return lanes.fma(centred, centred, sum_)

    return mean, row_sum(block, squares)


# Kernel of group norm and instance norm with channels last: [batch, positions, channels].
#
# Vectors run along channels. Each channel has its own mean and sum of squared deviations, from blocks of
# positions that L1 holds, merged as in `group_norm`. Then those of a group's channels are merged, and each
# channel's scale computed, before the positions are read a second time and written.


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
        channels, positions = sizes[-1], emit.product(sizes[self.first : -1])
        rows = Rows.of(self.target, x, 1)
        source, sink = rows.matrix(x), rows.matrix(out)
        _, behind = fusion.prepare(out, 1)
        room = emit.round_up(channels, rows.lanes * COLUMNS)
        with (
            parallel_loop(0, emit.product(sizes[: self.first]), 1, rows.cost) as batch,
            emit.scratch(rows.element, room) as means,
            emit.scratch(rows.element, room) as factors,
        ):
            begin = emit.mul(batch, positions)
            self._moments(rows, source, (begin, positions), (means, factors))
            self._join(rows, positions, (means, factors))
            with emit.loop(begin, emit.add(begin, positions)) as row:
                self._write(rows, (source, sink), row, (means, factors))
                behind(row)

    def _moments(self, rows: Rows, source: Value, span: tuple[Index, Index], results: tuple[Value, Value]) -> None:
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
            weights = tuple(map(rows.splat, (scalar.div(scalar.const(1.0), count), share, scalar.mul(before, share))))
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

    def _write(self, rows: Rows, buffers: tuple[Value, Value], row: Value, moments: tuple[Value, Value]) -> None:
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


# The requests that the kernels of group norm accept: channels first, or channels last.


@generates("group_norm")
def request_group_norm(request: Request) -> Emitter | None:
    """Accept all axes after the channels, or all between the batch axes and the channels, which are last."""
    if not all(is_plain(a.type) for a in request.arguments):
        return None
    x, *parameters, out = request.arguments
    if x.type != out.type or len({ir.MemRefType(a.type).element_type for a in request.arguments}) != 1:
        return None
    given = [parameters.pop(0) if request.attributes[flag].value else None for flag in ("scale", "center")]
    rank, axes, channel = ir.MemRefType(x.type).rank, request.axes(), request.attributes["channel_axis"].value
    options = (request.attributes["num_groups"].value, request.epsilon(), *given)
    if axes == tuple(range(channel + 1, rank)):
        return lambda: GroupNorm(request.target, channel, *options).emit(x, out, request.fusion)
    if axes and channel == rank - 1 and axes == tuple(range(axes[0], channel)):
        return lambda: GroupNormLast(request.target, axes[0], *options).emit(x, out, request.fusion)
    return None
