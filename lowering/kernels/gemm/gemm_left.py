"""The left operand of a packed GEMM: its rows are read in place, or packed block by block."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.gemm.gemm_pack import Packing
from relax_mlir.mlir import memref

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
