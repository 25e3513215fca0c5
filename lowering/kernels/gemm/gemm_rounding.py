"""GEMM accumulators that are rounded in registers: tiles write the narrower elements directly to the result.

If the operands are narrower than the accumulators, the result often is as narrow. If one block of the depth completes
an accumulator, it need not be stored to memory.
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
    """The rounding that tiles can apply to accumulators: to the element type of the operands.

    `by_dots`: the accumulators are results of `gemm_pairs.dot`, which are never subnormal.
    """

    element: e.Type
    by_dots: bool

    @staticmethod
    def of(source: e.Type, sums: e.Type, by_dots: bool) -> Rounding | None:
        """The rounding for operands of the type `source`; None if it is as wide as the accumulators."""
        return Rounding(source, by_dots) if source.width < sums.width else None

    def apply(self, sums: e.Value) -> e.Value:
        """Round a vector of accumulators to nearest, ties to even."""
        if self.by_dots and can_round(sums.type.shape[0]):
            return rounded(sums, self.element)
        return simd.narrow(sums, self.element)

    def item_bytes(self, rounds: e.Value, sums: e.Type) -> e.Index:
        """Bytes of an element of the result: of the rounded type if it `rounds`, else of the accumulators."""
        return e.select(rounds, item_bytes(self.element), item_bytes(sums))


def is_done_by_tiles(rows: e.Index, columns: e.Index, depth: e.Index, most_depth: e.Index) -> e.Value:
    """True if tiles complete the accumulators of a GEMM: it uses tiles, and its depth fits one block."""
    return e.all_of(
        e.compare("gt", rows, MAX_ROWS),
        e.compare("gt", columns, 1),
        e.compare("gt", depth, 0),
        e.compare("le", depth, most_depth),
    )


def result_of_sums(start: e.Index, leading: e.Index, sizes: tuple[e.Index, e.Index], sums: e.Type) -> e.Value:
    """View the result at an address as the C of a GEMM that rounds: it gets the type of the accumulators, `sums`.

    `leading`: the leading dimension of the result.
    """
    return memref_at(start, sums, [leading, 1], unit_inner=True, sizes=sizes)
