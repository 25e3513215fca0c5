"""Block sizes of attention, and its copies: keys and values into panels, rows of queries, and rows of the result."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.lanes import Lanes, side_by_side
from relax_mlir.lowering.kernels.core.simd import transpose
from relax_mlir.lowering.kernels.gemm.gemm_tiling import tiling
from relax_mlir.mlir import arith, ir
from relax_mlir.target import Target

# Block sizes of attention for a target.


@dataclass(frozen=True)
class Sizes:
    """The blocking of attention for one element type of the operands.

    A tile is up to `rows` queries by a block of keys. Its scores take half of L1, and the packed keys and values of the
    block take half of L2. A panel of keys, or of columns of the values, is `panel` elements wide. The register tile is
    that of a GEMM (see `Tiling`). Accumulators are f64 for f64, else f32. The exponentials of `vectors_per_body`
    vectors of scores are interleaved.
    """

    source: e.Type
    element: e.Type
    lanes: int
    vectors: int
    rows: int
    row_step: int
    fused: bool
    l1_bytes: int
    l2_bytes: int
    avx512: bool
    vectors_per_body: int

    @staticmethod
    def of(target: Target, source: e.Type) -> Sizes:
        """The sizes for operands of a float type."""
        element = source if isinstance(source, ir.F64Type) else ir.F32Type.get()
        product = tiling(target, element.width)
        tile = (product.lanes, product.vectors, product.rows, product.row_step)
        avx512 = Lanes.of(e.vector_type(product.lanes, element), target).avx512
        vectors_per_body = side_by_side(target, element.width, carries=True)
        return Sizes(source, element, *tile, product.fused, target.l1_bytes, target.l2_bytes, avx512, vectors_per_body)

    @property
    def panel(self) -> int:
        """Columns of the register tile."""
        return self.lanes * self.vectors

    @property
    def low_precision(self) -> bool:
        """True if the operands are narrower than the accumulators."""
        return bool(self.source != self.element)

    @property
    def name(self) -> str:
        """Prefix of the functions that all attentions on this element type share."""
        return f"relax.attention.{self.source}"

    def vector(self) -> e.Type:
        """The type of a register of accumulators."""
        return e.vector_type(self.lanes, self.element)

    def keys(self, width: e.Index) -> e.Index:
        """The maximum number of keys of a block, in whole panels; a key and its value take `width` elements."""
        item = self.element.width // 8
        most = max(self.panel, self.l1_bytes // (2 * self.rows * item) // self.panel * self.panel)
        fit = e.round_down(e.div(self.l2_bytes // (2 * item), e.maximum(width, 1)), self.panel)
        return e.minimum(most, e.maximum(fit, self.panel))

    def queries(self, width: e.Index) -> e.Index:
        """The maximum number of queries that share the packed blocks; a result takes `width` elements."""
        item = self.element.width // 8
        fit = e.div(self.l2_bytes // (4 * item), e.maximum(width, 1))
        return e.maximum(e.round_down(fit, self.rows), 4 * self.rows)


def emit_pack_keys(block: e.Block, name: str, sizes: Sizes) -> None:
    """Emit the function that packs scaled keys into panels: element k of key c goes to ``k * panel + c``.

    Arguments: keys, offset of the first, stride, count (not 0), head size; the destination, its offset, the depth of
    its panels (not less than the head size rounded up to the lanes); the scale. Lanes of the last vector after the last
    key repeat it. The remaining vectors of the panel are 0: stale memory may hold denormals, which slow the GEMM down a
    hundredfold.
    """
    index = ir.IndexType.get()
    flat, packed_type = e.flat_memref(sizes.source), e.flat_memref(sizes.element)
    types = [flat, index, index, index, index, packed_type, index, index, sizes.element]
    lanes, panel = sizes.lanes, sizes.panel
    with e.function(block, name, types) as values:
        keys, at, stride, count, size, packed, start, depth, factor = values
        scale = simd.splat(factor, lanes)
        full, last = e.round_down(size, lanes), e.sub(count, 1)
        with e.loop(0, count, lanes) as j:
            first = e.round_down(j, panel)
            to = e.add(e.add(start, e.mul(first, depth)), e.sub(j, first))
            places = [e.add(at, e.mul(e.minimum(e.add(j, q), last), stride)) for q in range(lanes)]

            def square(counter: e.Index, where: e.Value | None) -> None:
                i = e.opaque(counter)
                lines = [simd.load(lanes, keys, e.add(place, i), where=where) for place in places]
                scaled = [arith.mulf(simd.widen(line, sizes.element), scale) for line in lines]
                for q, line in enumerate(transpose(scaled)):
                    simd.store(line, packed, e.add(to, e.mul(e.add(i, q), panel)))

            if sizes.low_precision:  # before AVX-512, x86 has masked loads of 32 and 64 bits only
                with e.loop(0, full, lanes) as i:
                    square(i, None)
                with e.loop(full, size) as i:
                    for q, place in enumerate(places):
                        value = simd.widen(e.load(keys, e.add(place, i)), sizes.element)
                        beside = e.add(e.add(to, e.mul(i, panel)), q)
                        e.store(arith.mulf(value, factor), packed, beside)
            elif sizes.avx512:  # AVX-512 masks are free
                with e.loop(0, size, lanes) as i:
                    square(i, simd.mask(e.sub(size, i), lanes))
            else:
                with e.loop(0, full, lanes) as i:
                    square(i, None)
                with e.when(e.compare("ne", full, size)):
                    square(full, simd.mask(e.sub(size, full), lanes))
        zero, whole = e.constant(sizes.vector(), 0), e.round_down(count, panel)
        to = e.sub(e.add(start, e.mul(whole, depth)), whole)
        with e.loop(e.round_up(count, lanes), e.round_up(count, panel), lanes) as j, e.loop(0, size) as i:
            simd.store(zero, packed, e.add(e.add(to, j), e.mul(i, panel)))


def emit_pack_values(block: e.Block, name: str, sizes: Sizes) -> None:
    """Emit the function that packs widened values into panels: column c of row k goes to ``k * panel + c``.

    Arguments: values, offset of the first row, row stride, rows, columns; the destination, its offset, the depth of its
    panels (not less than the number of rows). Vectors after the last column are 0.
    """
    index, panel = ir.IndexType.get(), sizes.panel
    source_type, packed_type = e.flat_memref(sizes.source), e.flat_memref(sizes.element)
    types = [source_type, index, index, index, index, packed_type, index, index]
    with e.function(block, name, types) as (
        source,
        at,
        stride,
        count,
        size,
        packed,
        start,
        depth,
    ):
        full = e.round_down(size, panel)

        zero = e.constant(sizes.vector(), 0)

        def copy(column: e.Index, width: e.Index) -> None:
            panel_at = e.add(start, e.mul(column, depth))
            with e.loop(0, count) as row:
                place, to = e.add(e.add(at, column), e.mul(row, stride)), e.add(panel_at, e.mul(row, panel))
                copy_row(sizes, source, place, width, packed, to)
                if width is not panel:
                    with e.loop(e.round_up(width, sizes.lanes), panel, sizes.lanes) as i:
                        simd.store(zero, packed, e.add(to, i))

        with e.loop(0, full, panel) as column:
            copy(column, panel)
        with e.when(e.compare("ne", full, size)):
            copy(full, e.sub(size, full))


def emit_pack_rows(block: e.Block, name: str, sizes: Sizes) -> None:
    """Emit the function that copies rows, widened to the accumulator type.

    Arguments: source, offset of the first row, row stride, rows, columns; the destination, its offset, its row stride
    (not less than the columns rounded up to the lanes).
    """
    index = ir.IndexType.get()
    source_type, packed_type = e.flat_memref(sizes.source), e.flat_memref(sizes.element)
    types = [source_type, index, index, index, index, packed_type, index, index]
    with (
        e.function(block, name, types) as (
            source,
            at,
            stride,
            count,
            size,
            packed,
            start,
            distance,
        ),
        e.loop(0, count) as row,
    ):
        place, to = e.add(at, e.mul(row, stride)), e.add(start, e.mul(row, distance))
        copy_row(sizes, source, place, size, packed, to)


def copy_row(sizes: Sizes, source: e.Value, at: e.Index, size: e.Index, packed: e.Value, to: e.Index) -> None:
    """Copy `size` elements, widened, and write zeros up to the next multiple of the lanes."""
    lanes = sizes.lanes
    full = e.round_down(size, lanes)
    with e.loop(0, full, lanes) as i:
        value = simd.load(lanes, source, e.add(at, i))
        simd.store(simd.widen(value, sizes.element), packed, e.add(to, i))
    if sizes.low_precision:
        with e.when(e.compare("ne", full, size)):
            simd.store(e.constant(sizes.vector(), 0), packed, e.add(to, full))
        with e.loop(full, size) as i:
            value = simd.widen(e.load(source, e.add(at, i)), sizes.element)
            e.store(value, packed, e.add(to, i))
    else:
        with e.when(e.compare("ne", full, size)):
            where = simd.mask(e.sub(size, full), lanes)
            simd.store(simd.load(lanes, source, e.add(at, full), where=where), packed, e.add(to, full))


def emit_write_rows(block: e.Block, name: str, sizes: Sizes) -> None:
    """Emit the function that divides accumulators by the total weight of their row, rounds once and writes the result.

    Arguments: accumulators, their offset, row stride, offset of the totals; rows and columns; the result, offset of its
    first row, and its row stride.
    """
    index, lanes = ir.IndexType.get(), sizes.lanes
    flat = e.flat_memref(sizes.element)
    types = [flat, index, index, index, index, index, e.flat_memref(sizes.source), index, index]
    with e.function(block, name, types) as values:
        sums, start, distance, totals, count, size, out, at, stride = values
        full = e.round_down(size, lanes)
        with e.loop(0, count) as row:
            inverse = arith.divf(e.constant(sizes.element, 1.0), e.load(sums, e.add(totals, row)))
            factor = simd.splat(inverse, lanes)
            place, to = e.add(start, e.mul(row, distance)), e.add(at, e.mul(row, stride))

            def scaled(i: e.Index) -> e.Value:
                value = arith.mulf(simd.load(lanes, sums, e.add(place, i)), factor)
                return simd.narrow(value, sizes.source)

            with e.loop(0, full, lanes) as i:
                simd.store(scaled(i), out, e.add(to, i))
            if sizes.low_precision:
                with e.loop(full, size) as i:
                    value = arith.mulf(e.load(sums, e.add(place, i)), inverse)
                    e.store(simd.narrow(value, sizes.source), out, e.add(to, i))
            else:
                with e.when(e.compare("ne", full, size)):
                    where = simd.mask(e.sub(size, full), lanes)
                    simd.store(scaled(full), out, e.add(to, full), where=where)
