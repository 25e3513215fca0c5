"""Convolutions as GEMMs of the filters and the windows, which are packed directly from the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.emit import item_bytes, memref_at
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.epilogue import words_type
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_left_and_tiles, finished, tiling_of
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, emit_packed, emit_shared, signature
from relax_mlir.lowering.kernels.gemm.gemm_pack import Packing
from relax_mlir.lowering.kernels.gemm.gemv import clear_rows
from relax_mlir.lowering.kernels.library import define
from relax_mlir.lowering.kernels.windows.window_params import AxisWords, Kind, WindowWords
from relax_mlir.mlir import arith, ir
from relax_mlir.target import Target

# Packing of convolution windows, in the order in which the micro-kernel reads them (see `window_params`).


_LONGEST = 1 << 30
"""Longer rows of the data are read element by element: positions of lanes have 32 bits."""


_Read = Callable[[e.Value, e.Value], None]
"""A function that gets the memory from a tap of a channel on, and the offset to which its elements go."""
_ForTap = Callable[[e.Value, e.Value], _Read]
"""A function that gets the position of a tap along an image row, and the end of the row: 0 if all of it is outside."""


@dataclass(frozen=True)
class WindowPacking(Packing):
    """Packs blocks of A as a GEMM does, and windows as blocks of B."""

    @property
    def b(self) -> str:
        return f"{Kind.PRODUCT.entry(self.prefix)}.pack_b"

    @property
    def right_type(self) -> e.Type:
        return words_type()

    def emit_b(self) -> None:
        """Emit `b`; arguments as those of the base class, with the parameter block instead of B."""
        size, flat = ir.IndexType.get(), e.flat_memref(self.element)
        arguments = [words_type(), size, size, size, size, flat, size, size]
        with e.function(self.block, self.b, arguments) as values:
            words, row, rows, column, columns, packed, at, leading = values
            source = WindowWords.read(words)
            range_ = _Taps.of(source, row, rows)
            wide = self.tiling.columns
            with e.loop(0, columns, wide) as j:
                panel, left = e.add(at, e.mul(j, leading)), e.minimum(e.sub(columns, j), wide)
                with e.when(e.compare("ne", left, wide)):
                    self._clear(packed, panel, e.mul(rows, wide))
                _Panel(self, source, range_, packed, panel).emit(e.add(column, j), left)


@dataclass(frozen=True)
class _Taps:
    """Some rows of the matrix: row k is tap ``k % taps`` of channel ``k // taps``.

    `first` and `last`: the channel and the tap of the first row, and of the row after the last one.
    """

    taps: e.Index
    row: e.Index
    first: tuple[e.Index, e.Index]
    last: tuple[e.Index, e.Index]

    @classmethod
    def of(cls, source: WindowWords, row: e.Index, rows: e.Index) -> _Taps:
        """The taps of `rows` rows from `row`."""
        taps: e.Index = 1
        for axis in source.axes:
            taps = e.mul(taps, axis.taps)

        def place(k: e.Index) -> tuple[e.Index, e.Index]:
            channel = e.div(k, taps)
            return channel, e.sub(k, e.mul(channel, taps))

        return cls(taps, row, place(row), place(e.add(row, rows)))

    def channels(self, tap: e.Index) -> tuple[e.Index, e.Index]:
        """The first channel with a row for this tap, and the channel after the last one."""
        bounds = [e.add(channel, e.select(e.compare("lt", tap, at), 1, 0)) for channel, at in (self.first, self.last)]
        return bounds[0], bounds[1]


@dataclass(frozen=True)
class _Panel:
    """Packs the windows of a panel to the offset `to` of the packed memory, for the rows of `range`."""

    packing: WindowPacking
    source: WindowWords
    range: _Taps
    packed: e.Value
    to: e.Index

    @property
    def lanes(self) -> int:
        return self.packing.tiling.lanes

    def emit(self, first: e.Index, count: e.Index) -> None:
        """Pack `count` windows from index `first`: one row of the result after the other."""
        _, high, wide = self.source.axes
        last = e.add(first, count)
        lines = e.div(first, wide.windows), e.add(e.div(e.sub(last, 1), wide.windows), 1)
        near = e.all_of(e.compare("eq", wide.stride, 1), e.compare("lt", wide.size, _LONGEST))
        with e.loop(*lines) as line:
            start = e.mul(line, wide.windows)
            begin, end = e.maximum(first, start), e.minimum(last, e.add(start, wide.windows))
            deep_number = e.div(line, high.windows)
            high_number = e.sub(line, e.mul(deep_number, high.windows))

            def place(p: e.Index) -> _Place:
                return _Place.of(self.source, (deep_number, high_number, e.sub(p, start)))

            def pieces(step: int) -> None:
                """Pack vectors of neighbouring windows; `step`: the stride of windows."""
                with e.loop(begin, end, self.lanes) as p:
                    at, to = place(p), e.add(self.to, e.sub(p, first))
                    number = e.minimum(e.sub(end, p), self.lanes)

                    def whole() -> None:
                        self._vectors(at, to, step, None)

                    def part() -> None:
                        self._vectors(at, to, step, simd.mask(number, self.lanes))

                    e.branch(e.compare("eq", number, self.lanes), whole, part)

            def elements() -> None:
                with e.loop(begin, end) as p:
                    self._elements(place(p), e.add(self.to, e.sub(p, first)))

            def strided() -> None:
                e.branch(e.compare("eq", wide.step, 2), lambda: pieces(2), elements)

            def neighbours() -> None:
                e.branch(e.compare("eq", wide.step, 1), lambda: pieces(1), strided)

            e.branch(near, neighbours, elements)

    def _over_taps(self, at: _Place, to: e.Index, do: _ForTap) -> None:
        """Loop over taps, and over channels inside of them."""
        (deep, high, wide), item = self.source.axes, item_bytes(self.packing.source)
        start, columns = at.address(self.packing.source), self.packing.tiling.columns
        steps = [e.mul(self.source.channel_stride, item), e.mul(self.range.taps, columns)]
        with e.loop(0, deep.taps) as i, e.loop(0, high.taps) as j, e.loop(0, wide.taps) as k:
            reaches = [e.mul(x, axis.dilation) for x, axis in zip((i, j, k), self.source.axes, strict=True)]
            *outer, x = (e.add(first, reach) for first, reach in zip(at.firsts, reaches, strict=True))
            around = zip(outer, (deep, high), strict=True)
            inside = e.all_of(*(e.compare("lt", place, axis.size) for place, axis in around))
            end = e.select(inside, wide.size, 0)
            tap = e.add(e.mul(e.add(e.mul(i, high.taps), j), wide.taps), k)
            first, last = self.range.channels(tap)
            offset = e.mul(first, self.source.channel_stride)
            for reach, axis in zip(reaches, self.source.axes, strict=True):
                offset = e.add(offset, e.mul(reach, axis.stride))
            row = e.sub(e.add(e.mul(first, self.range.taps), tap), self.range.row)
            places = [e.add(start, e.mul(offset, item)), e.add(to, e.mul(row, columns))]
            read = do(e.index(x), end)
            with e.carrying_loop(first, last, 1, places) as channel:
                address, to_here = channel.values
                read(memref_at(address, self.packing.source, [1], unit_inner=True), to_here)
                channel.give([e.add(place, step) for place, step in zip(channel.values, steps, strict=True)])

    def _vectors(self, at: _Place, to: e.Index, step: int, where: e.Value | None) -> None:
        lanes = self.lanes

        def for_tap(x: e.Value, end: e.Value) -> _Read:
            masks = [_below(x, number * lanes, end, lanes) for number in range(step)]

            def read(line: e.Value, to: e.Value) -> None:
                parts = [simd.load(lanes, line, number * lanes, where=mask) for number, mask in enumerate(masks)]
                value = simd.every(step, parts)
                simd.store(simd.widen(value, self.packing.element), self.packed, to, where=where)

            return read

        self._over_taps(at, to, for_tap)

    def _elements(self, at: _Place, to: e.Index) -> None:
        def for_tap(x: e.Value, end: e.Value) -> _Read:
            inside = e.compare("lt", x, end)

            def read(line: e.Value, to: e.Value) -> None:
                value = e.load_if(inside, line, 0)
                e.store(simd.widen(value, self.packing.element), self.packed, to)

            return read

        self._over_taps(at, to, for_tap)


@dataclass(frozen=True)
class _Place:
    """The start of a window: along each dimension, and in memory."""

    source: WindowWords
    firsts: list[e.Index]

    @classmethod
    def of(cls, source: WindowWords, numbers: tuple[e.Index, ...]) -> _Place:
        """The start of the window with these indices along the dimensions."""
        axes: list[AxisWords] = list(source.axes)
        return cls(source, [axis.first(number) for axis, number in zip(axes, numbers, strict=True)])

    def address(self, element: e.Type) -> e.Index:
        offset: e.Index = 0
        for first, axis in zip(self.firsts, self.source.axes, strict=True):
            offset = e.add(offset, e.mul(first, axis.stride))
        return e.add(self.source.start, e.mul(offset, item_bytes(element)))


def _below(x: e.Value, more: int, end: e.Value, lanes: int) -> e.Value:
    """The mask of the positions ``x + more`` and following that are in ``[0, end)``."""
    i32 = ir.IntegerType.get_signless(32)
    numbers = np.arange(more, more + lanes, dtype=np.int32)
    offsets = ir.DenseElementsAttr.get(numbers, type=e.vector_type(lanes, i32))
    first, limit = (simd.splat(arith.index_cast(i32, value), lanes) for value in (x, end))
    places = arith.addi(first, arith.ConstantOp(e.vector_type(lanes, i32), offsets).result)
    return arith.cmpi(arith.CmpIPredicate.ult, places, limit)


# Convolutions as GEMMs: C = A B or C += A B, where the rows of A are the filters, and the columns of B the
# windows.
#
# B is packed from the data by blocks, as the micro-kernels need it (`window_gemm`), and nothing else is
# copied. After Georganas et al., "Anatomy of High-Performance Deep Learning Convolutions on SIMD
# Architectures", SC 2018, and Dukhan, "The Indirect Convolution Algorithm", 2019, where windows are read
# through tables, too.


def reads_windows(kernel: GemmKernel) -> bool:
    """True if there is a generator for windows of these types: neither for rounded results, nor for bf16 pairs."""
    return kernel.supported and kernel.result == kernel.accumulator and kernel.operand != "bf16"


def emit_gemm_windows(block: e.Block, kernel: GemmKernel, target: Target) -> str:
    """Provide the GEMM over windows in the module with the body `block`; return the name of the entry.

    Entry: ``(A: memref<?x?xT, strided<[?, ?], offset: ?>>, parameter block of the windows, C: memref<?x?xU, strided<[?,
    1], offset: ?>>, accumulate: i1)``; the sizes are those of A and C. `finished` names the entry that also takes an
    epilogue.
    """
    name = Kind.PRODUCT.entry(kernel.name)
    define(block, target, (name, finished(name)), lambda body: _emit_windows(body, kernel, target))
    return name


def _emit_windows(block: e.Block, kernel: GemmKernel, target: Target) -> None:
    """Emit the functions of the GEMM over windows."""
    name = Kind.PRODUCT.entry(kernel.name)
    emit_left_and_tiles(block, kernel, target)
    source, element = ir.Type.parse(kernel.operand), ir.Type.parse(kernel.accumulator)
    sizes = tiling_of(kernel, target)
    packing = WindowPacking(block, kernel.name, sizes, source, element)
    parts = Parts(name, Parts(kernel.name).block)
    types = signature(source, element, packing.right_type)
    with e.function(block, name, types) as arguments:
        e.call(finished(name), [*arguments, *ep.nothing(block).arguments])
    types = [*types, *ep.types()]
    with e.function(block, finished(name), types) as arguments:
        a, _, c, accumulate, *rest = arguments
        rows, columns = e.dim(c, 0), e.dim(c, 1)

        def empty_sum() -> None:
            with e.when(e.negate(accumulate)):
                clear_rows(sizes.lanes, c, 0, rows, columns)
            ep.Epilogue(*rest).run(0, rows, 0, columns)

        e.branch(e.compare("eq", e.dim(a, 1), 0), empty_sum, lambda: e.call(parts.packed, arguments))
    emit_packed(block, parts, packing, element)
    if sizes.threads > 1:
        emit_shared(block, parts, packing, element)
    packing.emit_b()
