"""Packing: copies of blocks of A and B, in the order in which the micro-kernel reads them.

A block of A is packed row by row, with a leading dimension that the caller gives. A block of B is packed as panels of
`Tiling.columns` columns, each row-major, at a distance in rows that the caller gives. Operands may have any strides;
those with unit stride in either direction are read by vectors. Elements narrower than the accumulator are widened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.simd import transpose
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Groups, Tiling
from relax_mlir.mlir import ir, memref

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
    def groups(self) -> Groups:
        """The groups of its functions."""
        return Groups.of(self.prefix)

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
        with e.function(self.block, self.a, arguments, group=self.groups.pack) as (
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
        with e.function(self.block, self.b, arguments, group=self.groups.plain_b) as (
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
        with e.function(self.block, self.transpose, arguments, group=self.groups.pack) as values:
            lines, line, count, start, length, packed, at, stride = values
            full_count, full_length = e.round_down(count, lanes), e.round_down(length, lanes)
            with e.loop(0, full_count, lanes) as o, e.loop(0, full_length, lanes) as counter:
                i = e.opaque(counter)
                square = [
                    simd.load(lanes, lines, e.add(e.add(line, o), q), e.add(start, i)) for q in range(lanes)
                ]
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
        with e.function(self.block, self.copy, arguments, group=self.groups.pack) as values:
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
