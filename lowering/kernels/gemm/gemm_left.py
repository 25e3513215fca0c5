"""The left operand of a packed product: its rows are read where they lie, or packed block by block."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.gemm.gemm_pack import Packing
from relax_mlir.mlir import memref

_SETS = 4096
"""Bytes after which the sets of a first-level cache repeat: its size over its ways, 8 of 4 KiB on most CPUs."""

_Use = Callable[[e.Value, e.Index, e.Index], None]
"""Gets memory, the place of the first row of a block in it, and how far rows are apart."""


def rows_type(element: e.Type) -> e.Type:
    """The type of the memory in which the rows of A lie: elements next to each other, from any place on."""
    return e.strided_memref(element, 1, unit_inner=True)


class LeftOperand:
    """A, of which blocks of rows and of `depth` are used.

    Rows are read where they lie if their elements are next to each other, need not be widened, and fill whole steps of
    the depth (`Tiling.group`), and if the rows of a tile do not share the same few sets of the first-level cache.
    Then there is nothing to copy, which is 2 to 4 % of the time.
    """

    def __init__(self, packing: Packing, a: e.Value, depth: e.Index) -> None:
        self.packing, self.a, self.parts = packing, a, e.metadata(a)
        self.leading = e.index(packing.tiling.leading(depth))
        """Elements from a packed row to the next."""
        self.lies: e.Value | None = None
        """Whether rows are read where they lie; None: never."""
        if packing.source == packing.element:
            leading, step = self.parts.strides
            sets = _SETS * 8 // packing.source.width
            conditions = [e.compare("eq", step, 1), e.compare("ne", leading, e.round_down(leading, sets))]
            if packing.tiling.group > 1:
                deep = self.parts.sizes[1]
                conditions.append(e.compare("eq", deep, e.round_down(deep, packing.tiling.group)))
            self.lies = e.all_of(*conditions)

    def packed_elements(self, rows: e.Index) -> e.Index:
        """How much memory packed blocks of these rows take."""
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
        """Let `use` have a block, packed at the start of the memory `packed` if need be, and if it `is_new`."""

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
