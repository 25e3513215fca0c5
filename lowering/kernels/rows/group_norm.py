"""Kernel of group norm and instance norm with contiguous groups: channels, then all axes normalised.

A group is a row of [batch · groups, channels of a group · elements of a channel]. It is loaded from memory once for its
mean and variance: blocks that L1 holds are read twice, for the mean and for the centred squares, and the moments of the
blocks are merged (T. Chan, G. Golub and R. LeVeque). So means far from zero lose no accuracy, as in two passes over the
whole group. Then each channel is written with its own scale and shift.

f32 and f64; f16 and bf16 are computed in f32 and rounded once. Input and output may be the same buffer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.core.parallel import parallel_loop
from relax_mlir.lowering.kernels.rows.row_loops import NO_ROW_FUSION, RowFusion
from relax_mlir.lowering.kernels.rows.rows import Rows, inverse_root, only, product, row_sum
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
        channels, inner = sizes[self.axis], product(sizes[self.axis + 1 :])
        groups = self.groups or channels
        part = emit.div(channels, groups) if self.groups else 1
        rows = replace(
            Rows.of(self.target, x, 1),
            count=emit.mul(product(sizes[: self.axis]), groups),
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

    mean = scalar.div(
        row_sum(block, lambda at, mask, sum_: lanes.add(sum_, load(at, mask))), block.length_as_float()
    )
    middle = block.splat(mean)

    def squares(at: Index, mask: Value | None, sum_: Value) -> Value:
        centred = only(lanes, mask, lanes.sub(load(at, mask), middle), 0.0)
        return lanes.fma(centred, centred, sum_)

    return mean, row_sum(block, squares)
