"""Sums of a matrix product that are rounded in registers: tiles write the narrower elements straight to the result.

Where the operands are narrower than the sums, a result often is as narrow as they are. If all products of an element
are added up in one block of the depth, its sum need not go through memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.addresses import item_bytes, memref_at
from relax_mlir.lowering.kernels.gemm.gemm_pairs import can_round, rounded
from relax_mlir.lowering.kernels.gemm.gemv import MAX_ROWS


@dataclass(frozen=True)
class Rounding:
    """What tiles can round their sums to: the element type of the operands.

    `by_dots`: the sums are those of `gemm_pairs.dot`, which are never subnormal.
    """

    element: e.Type
    by_dots: bool

    @staticmethod
    def of(source: e.Type, sums: e.Type, by_dots: bool) -> Rounding | None:
        """The rounding for operands of the type `source`; None if it is as wide as the sums."""
        return Rounding(source, by_dots) if source.width < sums.width else None

    def apply(self, sums: e.Value) -> e.Value:
        """A vector of sums, rounded to nearest, ties to even."""
        if self.by_dots and can_round(sums.type.shape[0]):
            return rounded(sums, self.element)
        return simd.narrow(sums, self.element)

    def item_bytes(self, rounds: e.Value, sums: e.Type) -> e.Index:
        """Bytes from an element of the result to the next: that of sums, if it does not round."""
        return e.select(rounds, item_bytes(self.element), item_bytes(sums))


def is_done_by_tiles(rows: e.Index, columns: e.Index, depth: e.Index, most_depth: e.Index) -> e.Value:
    """Whether the sums of a product are complete in tiles: it is done by tiles, with at most so much depth a block."""
    return e.all_of(
        e.compare("gt", rows, MAX_ROWS),
        e.compare("gt", columns, 1),
        e.compare("gt", depth, 0),
        e.compare("le", depth, most_depth),
    )


def result_of_sums(start: e.Index, leading: e.Index, sizes: tuple[e.Index, e.Index], sums: e.Type) -> e.Value:
    """The result at an address as the C of a product with an epilogue that rounds: of the type of the `sums`.

    `leading`: elements of the result from a row to the next.
    """
    return memref_at(start, sums, [leading, 1], unit_inner=True, sizes=sizes)
