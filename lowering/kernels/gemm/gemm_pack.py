"""Packing: copies of blocks of A and B in the order in which the micro-kernel reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.simd import transpose
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling
from relax_mlir.mlir import arith, ir, llvm, memref, vector
from relax_mlir.target import Target

_LINES = 4
"""Rows of B that are packed together, so that several cache lines of a panel are written one after the other."""


@dataclass(frozen=True)
class Packing:
    """Emits the packing functions at the end of `block`; their names begin with `prefix`, the name of the GEMM.

    Attributes:
        source: element type of the operands.
        element: element type of the packed blocks.
    """

    block: e.Block
    prefix: str
    tiling: Tiling
    source: e.Type
    element: e.Type

    @property
    def a(self) -> str:
        """Name of the function that packs a block of A."""
        return f"{self.prefix}.pack_a"

    @property
    def b(self) -> str:
        """Name of the function that packs a block of B."""
        return f"{self.prefix}.pack_b"

    @property
    def right_type(self) -> e.Type:
        """The type of the unpacked B."""
        return e.strided_memref(self.source, 2)

    @property
    def transpose(self) -> str:
        """Name of the function that packs transposed."""
        return f"{self.prefix}.pack_transpose"

    @property
    def copy(self) -> str:
        """Name of the function that packs element by element."""
        return f"{self.prefix}.pack_elements"

    @property
    def left_names(self) -> tuple[str, ...]:
        """The names of the functions that `emit_a` emits for others."""
        return (self.a, self.transpose, self.copy)

    def emit_a(self) -> None:
        """Emit `a`, `transpose` and `copy`.

        Arguments: A, first row, number of rows, first column, number of columns, destination, and its leading
        dimension.
        """
        size, flat = ir.IndexType.get(), e.flat_memref(self.element)
        arguments = [e.strided_memref(self.source, 2), size, size, size, size, flat, size]
        with e.function(self.block, self.a, arguments) as (
            a,
            row,
            rows,
            column,
            columns,
            packed,
            leading,
        ):
            parts = e.metadata(a)

            def by_rows() -> None:
                lines = e.view(parts, parts.sizes, parts.strides, unit_inner=True)
                with e.loop(0, rows) as i:
                    self._copy_line(lines, e.add(row, i), column, columns, packed, e.mul(i, leading))

            def by_columns() -> None:
                lines = e.view(parts, parts.sizes[::-1], parts.strides[::-1], unit_inner=True)
                e.call(self.transpose, [lines, column, columns, row, rows, packed, 0, leading])

            def by_elements() -> None:
                e.call(self.copy, [a, row, rows, column, columns, packed, 0, leading, 1])

            e.branch(
                e.compare("eq", parts.strides[1], 1),
                by_rows,
                lambda: e.branch(e.compare("eq", parts.strides[0], 1), by_columns, by_elements),
            )
        self._emit_transpose()
        self._emit_copy()

    def emit_b(self) -> None:
        """Emit `b`, which calls functions that `emit_a` emits.

        Arguments: B, first row, number of rows, first column, number of columns, destination, offset, and the distance
        of panels in rows.
        """
        size, wide = ir.IndexType.get(), self.tiling.columns
        flat = e.flat_memref(self.element)
        arguments = [e.strided_memref(self.source, 2), size, size, size, size, flat, size, size]
        with e.function(self.block, self.b, arguments) as (
            b,
            row,
            rows,
            column,
            columns,
            packed,
            at,
            leading,
        ):
            parts = e.metadata(b)

            def by_rows() -> None:
                lines = e.view(parts, parts.sizes, parts.strides, unit_inner=True)
                self._pack_rows(lines, row, rows, column, columns, packed, at, leading)

            def by_panels() -> None:
                unit_outer = e.compare("eq", parts.strides[0], 1)
                with e.loop(0, columns, wide) as j:
                    first, left = e.add(column, j), e.minimum(e.sub(columns, j), wide)
                    panel = e.add(at, e.mul(j, leading))
                    with e.when(e.compare("ne", left, wide)):
                        self._clear(packed, panel, e.mul(rows, wide))

                    def by_columns() -> None:
                        lines = e.view(parts, parts.sizes[::-1], parts.strides[::-1], unit_inner=True)
                        e.call(self.transpose, [lines, first, left, row, rows, packed, panel, wide])

                    def by_elements() -> None:
                        e.call(self.copy, [b, row, rows, first, left, packed, panel, wide, 1])

                    e.branch(unit_outer, by_columns, by_elements)

            e.branch(e.compare("eq", parts.strides[1], 1), by_rows, by_panels)

    def _pack_rows(
        self,
        lines: e.Value,
        row: e.Value,
        rows: e.Value,
        column: e.Value,
        columns: e.Value,
        packed: e.Value,
        at: e.Value,
        leading: e.Value,
    ) -> None:
        """Pack a block of row-contiguous B: full panels, then one that is zero-padded."""
        lanes, wide = self.tiling.lanes, self.tiling.columns
        starts = [v * lanes for v in range(self.tiling.vectors)]
        full = e.round_down(columns, wide)

        def copy(k: e.Value, j: e.Value, count: int) -> None:
            to = e.add(e.add(at, e.mul(j, leading)), e.mul(k, wide))
            for r in range(count):
                line, place = e.add(e.add(row, k), r), e.add(to, r * wide)
                for start in starts:
                    value = simd.load(lanes, lines, line, e.add(e.add(column, j), start))
                    simd.store(simd.widen(value, self.element), packed, e.add(place, start))

        groups = e.round_down(rows, _LINES)
        with e.loop(0, groups, _LINES) as k, e.loop(0, full, wide) as j:
            copy(k, j, _LINES)
        with e.loop(groups, rows) as k, e.loop(0, full, wide) as j:
            copy(k, j, 1)
        with e.when(e.compare("ne", full, columns)):
            panel = e.add(at, e.mul(full, leading))
            self._clear(packed, panel, e.mul(rows, wide))
            with e.loop(0, rows) as k:
                to = e.add(panel, e.mul(k, wide))
                self._copy_line(lines, e.add(row, k), e.add(column, full), e.sub(columns, full), packed, to)

    def _clear(self, packed: e.Value, at: e.Index, count: e.Index) -> None:
        """Zero `count` elements, a multiple of the lanes."""
        zero = e.constant(e.vector_type(self.tiling.lanes, self.element), 0)
        with e.loop(0, count, self.tiling.lanes) as i:
            simd.store(zero, packed, e.add(at, i))

    def _copy_line(
        self, lines: e.Value, line: e.Index, start: e.Index, count: e.Index, packed: e.Value, at: e.Index
    ) -> None:
        """Copy `count` elements of one row with unit stride.

        Zeros may be written after them, up to the next multiple of the lanes.
        """
        lanes = self.tiling.lanes
        full = e.round_down(count, lanes)
        with e.loop(0, full, lanes, unroll=True) as i:
            value = simd.load(lanes, lines, line, e.add(start, i))
            simd.store(simd.widen(value, self.element), packed, e.add(at, i))
        if self.source.width < 32:  # before AVX-512, x86 has masked loads of 32 and 64 bits only
            with e.loop(full, count) as i:
                value = e.load(lines, line, e.add(start, i))
                e.store(simd.widen(value, self.element), packed, e.add(at, i))
            return
        with e.when(e.compare("ne", full, count)):
            where = simd.mask(e.sub(count, full), lanes)
            value = simd.load(lanes, lines, line, e.add(start, full), where=where)
            simd.store(simd.widen(value, self.element), packed, e.add(at, full))

    def _emit_transpose(self) -> None:
        """Emit the function that packs some rows transposed.

        Arguments: the rows (unit inner stride), the first one and their number, the first element in each and the
        number of elements, destination, offset in it, stride. Element i of row o goes to ``offset + i * stride + o``.
        """
        size, lanes = ir.IndexType.get(), self.tiling.lanes
        source = e.strided_memref(self.source, 2, unit_inner=True)
        arguments = [source, size, size, size, size, e.flat_memref(self.element), size, size]
        with e.function(self.block, self.transpose, arguments) as values:
            lines, line, count, start, length, packed, at, stride = values
            full_count, full_length = e.round_down(count, lanes), e.round_down(length, lanes)
            with e.loop(0, full_count, lanes) as o, e.loop(0, full_length, lanes) as counter:
                i = e.opaque(counter)
                square = [simd.load(lanes, lines, e.add(e.add(line, o), q), e.add(start, i)) for q in range(lanes)]
                transposed = transpose([simd.widen(row, self.element) for row in square])
                for q, row in enumerate(transposed):
                    simd.store(row, packed, e.add(e.add(at, e.mul(e.add(i, q), stride)), o))
            matrix = memref.cast(e.strided_memref(self.source, 2), lines)
            beside = [e.add(start, full_length), e.sub(length, full_length)]
            to = e.add(at, e.mul(full_length, stride))
            e.call(self.copy, [matrix, line, full_count, *beside, packed, to, 1, stride])
            below = [e.add(line, full_count), e.sub(count, full_count)]
            e.call(self.copy, [matrix, *below, start, length, packed, e.add(at, full_count), 1, stride])

    def _emit_copy(self) -> None:
        """Emit the function that packs element by element.

        Arguments: a matrix, first row, number of rows, first column, number of columns, destination, offset in it, and
        the destination strides of rows and of columns.
        """
        size, matrix = ir.IndexType.get(), e.strided_memref(self.source, 2)
        arguments = [matrix, size, size, size, size, e.flat_memref(self.element), size, size, size]
        with e.function(self.block, self.copy, arguments) as values:
            source, row, rows, column, columns, packed, at, down, right = values
            with e.loop(0, rows) as i, e.loop(0, columns) as j:
                value = simd.widen(e.load(source, e.add(row, i), e.add(column, j)), self.element)
                e.store(value, packed, e.add(e.add(at, e.mul(i, down)), e.mul(j, right)))


# The left operand of a packed GEMM: its rows are read in place, or packed block by block.


_SETS = 4096
"""The period of L1 sets in bytes: cache size over associativity, 4 KiB on most CPUs (8 ways)."""

_Use = Callable[[e.Value, e.Index, e.Index], None]
"""A function that gets memory, the offset of the first row of a block in it, and the row stride."""


def rows_type(element: e.Type) -> e.Type:
    """The type of the memory of rows of A: contiguous elements, at any offset."""
    return e.strided_memref(element, 1, unit_inner=True)


class LeftOperand:
    """A, used in blocks of rows and of `depth`.

    Rows are read in place if their elements are contiguous, need not be widened and fill whole steps of the depth
    (`Tiling.group`), and if the rows of a tile do not map to the same few sets of L1. This saves the copy, 2 to 4 % of
    the time.
    """

    def __init__(self, packing: Packing, a: e.Value, depth: e.Index) -> None:
        self.packing, self.a, self.parts = packing, a, e.metadata(a)
        self.leading = e.index(packing.tiling.leading(depth))
        """Leading dimension of packed rows."""
        self.lies: e.Value | None = None
        """True if rows are read in place; None: never."""
        if packing.source == packing.element:
            leading, step = self.parts.strides
            sets = _SETS * 8 // packing.source.width
            conditions = [e.compare("eq", step, 1), e.compare("ne", leading, e.round_down(leading, sets))]
            if packing.tiling.group > 1:
                deep = self.parts.sizes[1]
                conditions.append(e.compare("eq", deep, e.round_down(deep, packing.tiling.group)))
            self.lies = e.all_of(*conditions)

    def packed_elements(self, rows: e.Index) -> e.Index:
        """The number of elements of packed blocks of these rows; 0 if rows are read in place."""
        elements = e.mul(rows, self.leading)
        return elements if self.lies is None else e.select(self.lies, 0, elements)

    def use(
        self,
        packed: e.Value,
        row: e.Index,
        rows: e.Index,
        column: e.Index,
        columns: e.Index,
        is_new: e.Value,
        use: _Use,
    ) -> None:
        """Call `use` for a block, which is first packed to the start of `packed` if it needs packing and `is_new`."""

        def from_copy() -> None:
            with e.when(is_new):
                e.call(self.packing.a, [self.a, row, rows, column, columns, packed, self.leading])
            use(memref.cast(rows_type(self.packing.element), packed), 0, self.leading)

        def as_it_lies() -> None:
            (high, wide), (stride, _) = self.parts.sizes, self.parts.strides
            length = e.add(e.mul(e.sub(high, 1), stride), wide)
            line = e.view(self.parts, [length], [1], unit_inner=True)
            use(line, e.add(e.mul(row, stride), column), stride)

        if self.lies is None:
            from_copy()
        else:
            e.branch(self.lies, as_it_lies, from_copy)


# Packing for pair dot products: bf16 operands whose neighbours along the depth are adjacent.
#
# x86's `vdpbf16ps` multiplies two pairs of bf16 in each 32-bit lane and adds both products to an f32. So a packed row
# of A is a copy padded to an even depth, and a packed panel of B holds, for two rows of B at a time, both elements of
# each column. The instruction treats subnormal inputs as zeros and flushes subnormal results to zero (Intel, "Intel 64
# and IA-32 Architectures Software Developer's Manual", volume 2, VDPBF16PS).


PAIR = 2


def has_dots(operand: str, target: Target) -> bool:
    """True if the target multiplies pairs of elements of this type, in vectors of its full width."""
    needed = ["avx512_bf16", *["avx512vl"] * (target.vector_bytes < 64)]
    return operand == "bf16" and target.has(*needed) and 16 <= target.vector_bytes <= 64


def dot(left: e.Value, right: e.Value, total: e.Value) -> e.Value:
    """`total` (f32) plus, in each lane, the products of two pairs of bf16."""
    return ir.Operation.create("x86.avx512.dot", results=[total.type], operands=[total, left, right]).results[0]


def can_round(lanes: int) -> bool:
    """True if an instruction rounds this many f32 to bf16, on targets with `dot`."""
    return lanes in (8, 16)


def rounded(sums: e.Value, element: e.Type) -> e.Value:
    """Round a vector of f32 to the `element` bf16 in one instruction.

    It treats subnormal numbers as zeros, like `dot`. (LLVM's own rounding, which selects the same instruction, does not
    state this.)
    """
    lanes = sums.type.shape[0]
    name = f"llvm.x86.avx512bf16.cvtneps2bf16.{lanes * sums.type.element_type.width}"
    return llvm.CallIntrinsicOp(e.vector_type(lanes, element), name, [sums], [], []).result


def splat_pair(memory: e.Value, at: e.Index, lanes: int) -> e.Value:
    """Broadcast the pair of elements at an offset to all 32-bit lanes."""
    element = e.element_of(memory.type)
    bits = vector.BitCastOp(_words(1), simd.load(PAIR, memory, at)).result
    wide = simd.splat(simd.lane(bits, 0), lanes)
    return vector.BitCastOp(e.vector_type(PAIR * lanes, element), wide).result


def halves(pairs: e.Value) -> list[e.Value]:
    """Split a vector of pairs of bf16 into first and second elements, in f32."""
    lanes = pairs.type.shape[0] // PAIR
    words, wide = vector.BitCastOp(_words(lanes), pairs).result, e.vector_type(lanes, ir.F32Type.get())
    first = arith.shli(words, e.constant(words.type, 16))
    second = arith.andi(words, e.constant(words.type, -1 << 16))
    return [vector.BitCastOp(wide, bits).result for bits in (first, second)]


class PairPacking(Packing):
    """Packing by squares: N lines (rows of A, columns of B) by N pairs, for vectors of N lanes."""

    @property
    def square(self) -> str:
        """Name prefix of the functions that pack a square (see `_emit_square`)."""
        return f"{self.prefix}.pack_square"

    @property
    def left_names(self) -> tuple[str, ...]:
        return (self.a,)

    def emit_a(self) -> None:
        """Emit `a`, as `Packing.emit_a` does."""
        size, flat = ir.IndexType.get(), e.flat_memref(self.element)
        arguments = [e.strided_memref(self.source, 2), size, size, size, size, flat, size]
        name = self._emit_square("a", by_pair=False)
        lanes, deep = self.tiling.lanes, PAIR * self.tiling.lanes
        with e.function(self.block, self.a, arguments) as values:
            a, row, rows, column, columns, packed, leading = values
            with e.loop(0, rows, lanes) as i, e.loop(0, columns, deep) as k:
                place = e.add(e.mul(i, leading), k)
                what = [e.add(row, i), e.sub(rows, i), e.add(column, k), e.sub(columns, k)]
                e.call(name, [a, *what, packed, place, leading])

    def emit_b(self) -> None:
        """Emit `b`, as `Packing.emit_b` does."""
        size, flat = ir.IndexType.get(), e.flat_memref(self.element)
        arguments = [e.strided_memref(self.source, 2), size, size, size, size, flat, size, size]
        name = self._emit_square("b", by_pair=True)
        lanes, wide = self.tiling.lanes, self.tiling.columns
        deep = PAIR * lanes
        with e.function(self.block, self.b, arguments) as (
            b,
            row,
            rows,
            column,
            columns,
            packed,
            at,
            leading,
        ):
            parts = e.metadata(b)
            lines = e.view(parts, parts.sizes[::-1], parts.strides[::-1])
            full_rows, full_columns = e.round_down(rows, _LINES), e.round_down(columns, wide)

            def pack(j: e.Index, k: e.Index) -> None:
                panel = e.add(at, e.add(e.mul(j, leading), e.mul(k, wide)))
                with e.loop(0, wide, lanes) as v:
                    first = e.add(j, v)
                    left = e.sub(e.maximum(columns, first), first)
                    what = [e.add(column, first), left, e.add(row, k), e.sub(rows, k)]
                    place = e.add(panel, e.mul(v, PAIR))
                    e.call(name, [lines, *what, packed, place, e.index(PAIR * wide)])

            def by_rows() -> None:
                consecutive = e.view(parts, parts.sizes, parts.strides, unit_inner=True)
                with e.loop(0, full_rows, _LINES) as k, e.loop(0, full_columns, wide) as j:
                    place = e.add(at, e.add(e.mul(j, leading), e.mul(k, wide)))
                    self._pack_lines(consecutive, e.add(row, k), e.add(column, j), packed, place)
                with e.loop(full_rows, rows, deep) as k, e.loop(0, full_columns, wide) as j:
                    pack(j, k)
                with e.when(e.compare("ne", full_columns, columns)), e.loop(0, rows, deep) as k:
                    pack(full_columns, k)

            def by_squares() -> None:
                with e.loop(0, columns, wide) as j, e.loop(0, rows, deep) as k:
                    pack(j, k)

            e.branch(e.compare("eq", parts.strides[1], 1), by_rows, by_squares)

    def _pack_lines(self, lines: e.Value, row: e.Index, column: e.Index, packed: e.Value, place: e.Index) -> None:
        """Pack several rows of a panel of B, each loaded as one vector."""
        lanes, wide = self.tiling.lanes, self.tiling.columns
        for r in range(0, _LINES, PAIR):
            pair = [simd.load(wide, lines, e.add(row, r + n), column) for n in range(PAIR)]
            for v in range(self.tiling.vectors):
                value = interleaved(*(simd.lanes_of(x, v * lanes, lanes) for x in pair))
                simd.store(value, packed, e.add(place, r * wide + v * lanes * PAIR))

    def _emit_square(self, ending: str, by_pair: bool) -> str:
        """Emit the function that packs a square, and return its name.

        Arguments: an operand, lines x depth; first line, and the number of lines from there; first depth, and the depth
        from there; destination, offset in it, and its stride. The destination gets rows of some pairs of a line, or,
        `by_pair`, rows of a pair of each line. Out-of-bounds elements are zeros.
        """
        name = f"{self.square}_{ending}"
        size, lanes = ir.IndexType.get(), self.tiling.lanes
        wide = PAIR * lanes
        type_, operand = e.vector_type(wide, self.source), e.strided_memref(self.source, 2)
        arguments = [operand, size, size, size, size, e.flat_memref(self.source), size, size]
        with e.function(self.block, name, arguments) as values:
            x, line, lines, depth, deep, packed, at, leading = values
            parts, buffer = e.metadata(x), e.stack(self.source, lanes * wide)

            def where(whole: bool, number: int, numbers: e.Value, count: e.Value, most: int) -> e.Value | None:
                """The mask of the in-bounds elements of a vector: the first `count`, if `number` is below `numbers`."""
                if whole:
                    return None
                return simd.mask(e.select(e.compare("lt", number, numbers), count, 0), most)

            def along(whole: bool) -> list[e.Value]:
                view = e.view(parts, parts.sizes, parts.strides, unit_inner=True)
                masks = [where(whole, q, lines, deep, wide) for q in range(lanes)]
                rows = [simd.load(wide, view, e.add(line, q), depth, where=m) for q, m in enumerate(masks)]
                return transposed(rows) if by_pair else rows

            def across(whole: bool) -> list[e.Value]:
                view = e.view(parts, parts.sizes[::-1], parts.strides[::-1], unit_inner=True)
                masks = [where(whole, k, deep, lines, lanes) for k in range(wide)]
                single = [simd.load(lanes, view, e.add(depth, k), line, where=m) for k, m in enumerate(masks)]
                pairs = [interleaved(*single[k : k + PAIR]) for k in range(0, wide, PAIR)]
                return pairs if by_pair else transposed(pairs)

            def elements() -> list[e.Value]:
                with e.loop(0, lanes) as q, e.loop(0, wide) as k:
                    inside = e.all_of(e.compare("lt", q, lines), e.compare("lt", k, deep))
                    value = e.load_if(inside, x, e.add(line, q), e.add(depth, k))
                    e.store(value, buffer, e.add(e.mul(q, wide), k))
                rows = [simd.load(wide, buffer, q * wide) for q in range(lanes)]
                return transposed(rows) if by_pair else rows

            types = [type_] * lanes
            is_along, is_across = (e.compare("eq", parts.strides[axis], 1) for axis in (1, 0))
            is_whole = e.all_of(e.compare("ge", lines, lanes), e.compare("ge", deep, wide))

            def loaded(way: Callable[[bool], list[e.Value]]) -> list[e.Value]:
                return e.choose(is_whole, types, lambda: way(True), lambda: way(False))

            def others() -> list[e.Value]:
                return e.choose(is_across, types, lambda: loaded(across), elements)

            vectors = e.choose(is_along, types, lambda: loaded(along), others)
            count = e.ceildiv(e.minimum(deep, wide), PAIR) if by_pair else e.minimum(lines, lanes)

            def all_of_them() -> None:
                for q, value in enumerate(vectors):
                    simd.store(value, packed, e.add(at, e.mul(leading, q)))

            def some() -> None:
                for q, value in enumerate(vectors):
                    simd.store(value, buffer, q * wide)
                with e.loop(0, count) as line:
                    value = simd.load(wide, buffer, e.mul(line, wide))
                    simd.store(value, packed, e.add(at, e.mul(leading, line)))

            e.branch(e.compare("eq", count, lanes), all_of_them, some)
        return name


def _words(count: int) -> e.Type:
    return e.vector_type(count, ir.IntegerType.get_signless(32))


def transposed(rows: Sequence[e.Value]) -> list[e.Value]:
    """Transpose a square of pairs."""
    words = transpose([vector.BitCastOp(_words(len(rows)), row).result for row in rows])
    return [vector.BitCastOp(rows[0].type, row).result for row in words]


def interleaved(a: e.Value, b: e.Value) -> e.Value:
    """Interleave elements of `a` and `b`, as bits, like other moves of bf16."""
    lanes, element = a.type.shape[0], a.type.element_type
    half = e.vector_type(lanes, ir.IntegerType.get_signless(16))
    result = vector.InterleaveOp(*(vector.BitCastOp(half, x).result for x in (a, b))).result
    return vector.BitCastOp(e.vector_type(PAIR * lanes, element), result).result
