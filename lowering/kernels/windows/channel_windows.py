"""Depthwise convolutions and poolings, whose windows are computed channel by channel.

Some image rows of a channel are copied to a buffer padded with neutral elements. For a stride of 2 (3, …), a row is
split into 2 (3, …) phases, each with every second (third, …) element, so that neighbouring windows always read
neighbouring elements. Then each row of the result is computed as vectors from there, one tap after the other. The
copies stay in L1, and a vector is read once per tap, whatever the padding, stride and dilation are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.emit import item_bytes, memref_at
from relax_mlir.lowering.kernels.core.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.epilogue import words_type
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, finished, tiling_of
from relax_mlir.lowering.kernels.gemm.gemm_blocks import signature
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling
from relax_mlir.lowering.kernels.library import define
from relax_mlir.lowering.kernels.windows.window_params import FINISH, Finisher, Kind, WindowWords
from relax_mlir.mlir import arith, ir
from relax_mlir.target import Target

_LINES = {1: 7, 2: 4, 3: 2, 4: 2}
"""Rows of the result that are accumulated at a time, by their number of vectors.

Enough accumulators to hide the latency of the multiply-add, and few enough for any register file.
"""

_MOST_CHANNELS = 16
"""The maximum number of channels that are copied at once."""


def computes(kind: Kind, kernel: GemmKernel) -> bool:
    """True if there is a generator for these types: a sum has the accumulator's type, a maximum the data's."""
    wanted = kernel.operand if kind is Kind.MAX else kernel.accumulator
    return kernel.supported and kernel.result == wanted


def emit_channel_windows(block: e.Block, kernel: GemmKernel, kind: Kind, target: Target) -> str:
    """Provide a kernel over the windows of each channel in the module with the body `block`; return its name.

    Entry: as that of `emit_gemm_windows`. Row r of A has the taps of channel r, counted from the channel of the
    parameter block (any values for pooling); row r of C has one element for each window of that channel.
    """
    name = kind.entry(kernel.name)
    define(block, target, (name, finished(name)), lambda body: _emit_windows(body, kernel, kind, target))
    return name


def _emit_windows(block: e.Block, kernel: GemmKernel, kind: Kind, target: Target) -> None:
    """Emit the functions of a kernel over the windows of each channel."""
    name = kind.entry(kernel.name)
    source, result = ir.Type.parse(kernel.operand), ir.Type.parse(kernel.result)
    sizes = tiling_of(kernel, target)
    how = _How(name, kind, sizes, source, ir.Type.parse(kernel.accumulator), result)
    types = signature(source, result, words_type())
    with e.function(block, name, types) as arguments:
        e.call(finished(name), [*arguments, *ep.nothing(block).arguments])
    types = [*types, *ep.types()]
    with e.function(block, finished(name), types) as arguments:
        a, words, c, accumulate, *rest = arguments
        rows, columns, taps = e.dim(c, 0), e.dim(c, 1), e.dim(a, 1)

        def nothing() -> None:
            finish = how.finish(words)
            with e.loop(0, rows) as i, e.loop(0, columns) as j:
                neutral = partial(e.constant, result, kind.neutral)
                (value,) = e.choose(accumulate, [result], lambda: [e.load(c, i, j)], lambda: [neutral()])
                e.store(value if finish is None else finish.apply(value, i), c, i, j)
            ep.Epilogue(*rest).run(0, rows, 0, columns)

        def windows() -> None:
            cost = e.div(e.mul(rows, e.mul(columns, e.add(taps, 2))), sizes.lanes)
            step = part_size(rows, 1, sizes.threads, cost)
            with parallel_loop(0, rows, step, cost) as row:
                e.call(f"{name}.part", [*arguments, row, e.minimum(e.add(row, step), rows)])

        with e.when(e.compare("ne", columns, 0)):
            e.branch(e.compare("eq", taps, 0), nothing, windows)
    size = ir.IndexType.get()
    with e.function(block, f"{name}.part", [*types, size, size]) as values:
        _emit_part(how, target, values)
    _emit_copy(block, how)
    _emit_lines(block, how)


@dataclass(frozen=True)
class _How:
    """The computation of the kernel `name`: its kind, and the types of data, accumulators and result."""

    name: str
    kind: Kind
    sizes: Tiling
    source: e.Type
    element: e.Type
    result: e.Type

    @property
    def neutral(self) -> e.Value:
        """A vector of neutral elements."""
        return e.constant(e.vector_type(self.sizes.lanes, self.element), self.kind.neutral)

    def finish(self, words: e.Value) -> Finisher | None:
        """The epilogue that is applied to accumulators in registers, if any."""
        return Finisher.read(words, FINISH, self.element) if self.kind is Kind.DEPTHWISE else None

    def factor(self, a: e.Value, row: e.Value, tap: e.Value) -> e.Value | None:
        """The weight of a tap, broadcast; None for pooling."""
        if self.kind is not Kind.DEPTHWISE:
            return None
        return simd.splat(simd.widen(e.load(a, row, tap), self.element), self.sizes.lanes)

    def add(self, total: e.Value, value: e.Value, factor: e.Value | None = None) -> e.Value:
        """Accumulate one more element."""
        if factor is not None:
            return simd.fma(factor, value, total, self.sizes.fused)
        return arith.maximumf(total, value) if self.kind is Kind.MAX else arith.addf(total, value)


@dataclass(frozen=True)
class _Copies:
    """The buffer of the copies: per channel and tap of the depth some image rows, each split into phases by the stride.

    `lines`: rows for each tap of the depth; `pitch`: elements of a phase; `channels`: channels that are copied at once,
    if all rows of several channels fit, so that they share the setup.
    """

    source: WindowWords
    lines: e.Index
    pitch: e.Index
    channels: e.Index

    @classmethod
    def of(cls, source: WindowWords, sizes: Tiling, target: Target, item: int) -> _Copies:
        """Size the copies for as many rows of the result as L1 has room for."""
        deep, high, wide = source.axes
        reach = e.div(e.mul(e.sub(wide.taps, 1), wide.dilation), wide.step)
        pitch = e.round_up(e.add(e.round_up(wide.windows, sizes.lanes), e.add(reach, 1)), sizes.lanes)
        room = e.div(target.l1_bytes // 2 // item, e.mul(e.mul(deep.taps, wide.step), pitch))
        least = e.add(e.mul(e.sub(high.taps, 1), high.dilation), 1)
        most = e.add(e.mul(e.sub(high.windows, 1), high.step), least)
        several = e.maximum(e.minimum(e.div(room, most), _MOST_CHANNELS), 1)
        channels = e.select(e.compare("eq", deep.windows, 1), several, 1)
        return cls(source, e.minimum(e.maximum(room, least), most), pitch, channels)

    @property
    def result_lines(self) -> e.Index:
        """The number of rows of the result that these rows are for."""
        _, high, _ = self.source.axes
        reach = e.mul(e.sub(high.taps, 1), high.dilation)
        return e.add(e.div(e.sub(e.sub(self.lines, reach), 1), high.step), 1)

    @property
    def line_elements(self) -> e.Index:
        """Elements from a row to the next."""
        *_, wide = self.source.axes
        return e.mul(wide.step, self.pitch)

    @property
    def channel_elements(self) -> e.Index:
        """Elements from a channel to the next."""
        deep, *_ = self.source.axes
        return e.mul(e.mul(deep.taps, self.lines), self.line_elements)

    @property
    def elements(self) -> e.Index:
        """The number of elements in all; vectors may be written past the last row."""
        return e.mul(self.channels, self.channel_elements)


def _emit_part(how: _How, target: Target, values: Sequence[e.Value]) -> None:
    """Emit the computation for some channels: copy their rows, then compute the rows of the result."""
    name, sizes, source, element = how.name, how.sizes, how.source, how.element
    a, words, c, accumulate, *carried, first_row, last_row = values
    data = WindowWords.read(words)
    deep, high, wide = data.axes
    epilogue, taps = ep.Epilogue(*carried), e.dim(a, 1)
    copies = _Copies.of(data, sizes, target, item_bytes(element))
    at_once = e.index(copies.result_lines)
    with (
        e.scratch(element, e.add(copies.elements, sizes.lanes)) as memory,
        e.scratch(ir.IndexType.get(), taps) as places,
    ):
        neutral = how.neutral
        with e.loop(0, copies.elements, sizes.lanes) as i:
            simd.store(neutral, memory, i)
        _write_places(places, copies)
        with (
            e.loop(first_row, last_row, copies.channels) as row,
            e.loop(0, deep.windows) as depth,
            e.loop(0, high.windows, at_once) as line,
        ):
            lines = e.minimum(e.sub(high.windows, line), at_once)
            count = e.minimum(e.sub(last_row, row), copies.channels)
            each = [count, copies.channel_elements]
            channel = e.add(data.start, e.mul(e.mul(row, data.channel_stride), item_bytes(source)))
            with e.loop(0, deep.taps) as tap:
                where = [e.add(deep.first(depth), e.mul(tap, deep.dilation)), e.mul(line, high.step)]
                to = e.mul(e.mul(tap, copies.lines), copies.line_elements)
                e.call(f"{name}.copy", [words, channel, *where, lines, copies.pitch, memory, to, *each])
            first = e.mul(e.add(e.mul(depth, high.windows), line), wide.windows)
            apart = e.mul(high.step, copies.line_elements)
            place = [c, first, wide.windows, lines]
            e.call(f"{name}.lines", [words, a, row, memory, apart, places, *place, accumulate, *each])
            epilogue.run(row, count, first, e.mul(lines, wide.windows))


def _write_places(places: e.Value, copies: _Copies) -> None:
    """Write the offset of each tap from the start of a window in the copies."""
    deep, high, wide = copies.source.axes
    with e.loop(0, deep.taps) as i, e.loop(0, high.taps) as j, e.loop(0, wide.taps) as k:
        line = e.add(e.mul(i, copies.lines), e.mul(j, high.dilation))
        along = e.mul(k, wide.dilation)
        behind = e.div(along, wide.step)
        phase = e.sub(along, e.mul(behind, wide.step))
        place = e.add(e.mul(e.add(e.mul(line, wide.step), phase), copies.pitch), behind)
        number = e.add(e.mul(e.add(e.mul(i, high.taps), j), wide.taps), k)
        e.store(e.index(place), places, number)


def _emit_copy(block: e.Block, how: _How) -> None:
    """Emit the function that copies some rows of the data, split into phases.

    Arguments: the parameter block, the address of the channel, the position of the rows along the depth, the distance
    of their first window from the first one of all, the number of rows of the result that they are for, the pitch of
    phases, the destination and the offset in it, the number of channels and their distance in the destination. Rows
    outside of the data are neutral elements.
    """
    size, lanes, source, element = ir.IndexType.get(), how.sizes.lanes, how.source, how.element
    types = [words_type(), *[size] * 5, e.flat_memref(element), *[size] * 3]
    with e.function(block, f"{how.name}.copy", types) as values:
        neutral = how.neutral
        words, channel, depth, behind, lines, pitch, memory, place_of_first, channels, channel_elements = values
        data = WindowWords.read(words)
        deep, high, wide = data.axes
        reach = e.mul(e.sub(high.taps, 1), high.dilation)
        needed = e.add(e.mul(e.sub(lines, 1), high.step), e.add(reach, 1))
        is_deep = e.compare("lt", depth, deep.size)
        above = e.minimum(e.sub(e.maximum(high.before, behind), behind), needed)
        above = e.select(is_deep, above, needed)
        end = e.add(high.before, high.size)
        below = e.maximum(e.minimum(e.sub(e.maximum(end, behind), behind), needed), above)
        offset = e.add(e.mul(depth, deep.stride), e.mul(e.sub(behind, high.before), high.stride))
        start_of_first = e.add(channel, e.mul(offset, item_bytes(source)))
        line_bytes, line_elements = e.mul(high.stride, item_bytes(source)), e.mul(wide.step, pitch)

        @contextmanager
        def each_channel() -> Iterator[tuple[e.Index, e.Index]]:
            """Loop over channels; yields the address of the first row, and its destination offset."""
            with e.loop(0, channels) as number:
                address = e.mul(number, e.mul(data.channel_stride, item_bytes(source)))
                place = e.add(place_of_first, e.mul(number, channel_elements))
                yield e.add(start_of_first, address), place

        def vectors(apart: int) -> None:
            for phase in range(apart):
                # The first element of the phase is element `skipped` of the row; its offset is `place`.
                front = e.add(wide.before, apart - 1 - phase)
                skipped = e.sub(apart - 1, e.sub(front, e.round_down(front, apart)))
                place = e.div(e.add(wide.before, skipped), apart)
                room = e.sub(e.maximum(pitch, place), place)
                number = e.minimum(room, e.ceildiv(e.sub(e.maximum(wide.size, skipped), skipped), apart))
                in_line = e.add(e.mul(phase, pitch), place)
                step = apart * lanes
                whole = e.minimum(e.div(e.sub(e.maximum(wide.size, skipped), skipped), step), e.div(number, lanes))
                end = e.mul(whole, lanes)
                where = _first(e.sub(number, end), 0, lanes)
                first = e.add(skipped, e.mul(end, apart))
                rest = e.sub(e.maximum(wide.size, first), first)
                masks = [_first(rest, n * lanes, lanes) for n in range(apart)]
                with each_channel() as (start, to):
                    at = e.add(to, in_line)
                    for bounds in ((0, above), (below, needed)):
                        with e.loop(*bounds) as line:
                            here = e.add(at, e.mul(line, line_elements))
                            with e.loop(0, end, lanes) as i:
                                simd.store(neutral, memory, e.add(here, i))
                            simd.store(neutral, memory, e.add(here, end), where=where)
                    with e.loop(above, below) as line:
                        here = e.add(at, e.mul(line, line_elements))
                        near = memref_at(e.add(start, e.mul(line, line_bytes)), source, [1], unit_inner=True)

                        def read(first: e.Index, masks: Sequence[e.Value | None], near: e.Value = near) -> e.Value:
                            places = [e.add(first, n * lanes) for n in range(len(masks))]
                            pairs = zip(places, masks, strict=True)
                            parts = [simd.load(lanes, near, place, where=mask) for place, mask in pairs]
                            return simd.widen(simd.every(len(masks), parts), element)

                        with e.loop(0, end, lanes) as i:
                            value = read(e.add(skipped, e.mul(i, apart)), [None] * apart)
                            simd.store(value, memory, e.add(here, i))
                        value = read(first, masks)
                        simd.store(value, memory, e.add(here, end), where=where)

        def elements() -> None:
            with each_channel() as (start, to), e.loop(0, needed) as line, e.loop(0, wide.size) as i:
                near = memref_at(e.add(start, e.mul(line, line_bytes)), source, [wide.stride])
                inside = e.all_of(e.compare("ge", line, above), e.compare("lt", line, below))
                at = e.add(wide.before, i)
                column = e.div(at, wide.step)
                phase = e.sub(at, e.mul(column, wide.step))
                with e.when(e.compare("lt", column, pitch)):
                    outside = partial(e.constant, source, how.kind.neutral)
                    (value,) = e.choose(inside, [source], lambda: [e.load(near, i)], lambda: [outside()])
                    place = e.add(e.mul(line, line_elements), e.add(e.mul(phase, pitch), column))
                    e.store(simd.widen(value, element), memory, e.add(to, place))

        def neighbours() -> None:
            e.branch(e.compare("eq", wide.step, 1), lambda: vectors(1), lambda: vectors(2))

        by_vectors = e.all_of(e.compare("eq", wide.stride, 1), e.compare("le", wide.step, 2))
        e.branch(by_vectors, neighbours, elements)


def _first(left: e.Index, start: int, lanes: int) -> e.Value:
    """The mask of elements from `start`, if there are `left` elements in all."""
    return simd.mask(e.minimum(e.sub(e.maximum(left, start), start), lanes), lanes)


def _emit_lines(block: e.Block, how: _How) -> None:
    """Emit the function that computes some rows of the result, several at a time.

    Arguments: the parameter block, A and its row, the copies and the distance in them between the first windows of
    adjacent rows, the offsets of the taps, C, the first column in C, length and number of rows, a flag to add to C; the
    number of channels and their distance in the copies.
    """
    size, lanes = ir.IndexType.get(), how.sizes.lanes
    matrix, copies = e.strided_memref(how.source, 2), e.flat_memref(how.element)
    operands = [words_type(), matrix, size, copies, size, e.flat_memref(size)]
    result = [e.strided_memref(how.result, 2, unit_inner=True), *[size] * 3, ir.IntegerType.get_signless(1)]
    with e.function(block, f"{how.name}.lines", [*operands, *result, size, size]) as values:
        words, a, first_row, memory, apart, places, c, *rest = values
        column, length, count, accumulate, channels, elements = rest
        taps, neutral, finish = e.dim(a, 1), how.neutral, how.finish(words)

        def tile(
            channel: e.Value, lines: int, vectors: int, line: e.Index, at: e.Value, masks: Sequence[e.Value]
        ) -> None:
            row, start_of_first = e.index(e.add(first_row, channel)), e.add(e.mul(channel, elements), at)
            starts = [e.add(e.mul(e.add(line, n), apart), start_of_first) for n in range(lines)]
            with e.carrying_loop(0, taps, 1, [neutral] * (lines * vectors)) as tap:
                place = e.load(places, tap.index)
                factor = how.factor(a, row, tap.index)
                read = [
                    simd.load(lanes, memory, e.add(e.add(start, place), v * lanes))
                    for start in starts
                    for v in range(vectors)
                ]
                pairs = zip(tap.values, read, strict=True)
                tap.give([how.add(total, value, factor) for total, value in pairs])

            def write(is_added: bool) -> None:
                for number, total in enumerate(tap.results):
                    n, v = divmod(number, vectors)
                    here = e.add(column, e.add(e.add(e.mul(e.add(line, n), length), at), v * lanes))
                    value = total
                    if is_added:
                        old = simd.load(lanes, c, row, here, where=masks[v])
                        value = how.add(total, simd.widen(old, how.element))
                    if finish is not None:
                        value = finish.apply(value, row)
                    simd.store(simd.narrow(value, how.result), c, row, here, where=masks[v])

            # A load would wait for the preceding stores, which are to the same rows.
            e.branch(accumulate, lambda: write(True), lambda: write(False))

        def block_of(vectors: int, at: e.Value) -> None:
            masks = [_first(e.sub(length, at), v * lanes, lanes) for v in range(vectors)]
            high = _LINES[vectors]
            full = e.round_down(count, high)
            with e.loop(0, channels) as channel:
                with e.loop(0, full, high) as line:
                    tile(channel, high, vectors, line, at, masks)
                with e.loop(full, count) as line:
                    tile(channel, 1, vectors, line, at, masks)

        most = max(_LINES)
        with e.loop(0, length, most * lanes) as at:
            number = e.minimum(e.ceildiv(e.sub(length, at), lanes), most)
            e.switch(number, tuple(_LINES), lambda vectors: block_of(vectors, at))
