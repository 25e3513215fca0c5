"""Block sizes of attention for a target."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core.lanes import Lanes, side_by_side
from relax_mlir.lowering.kernels.gemm.gemm_tiling import tiling
from relax_mlir.mlir import ir
from relax_mlir.target import Target


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
        return Sizes(
            source, element, *tile, product.fused, target.l1_bytes, target.l2_bytes, avx512, vectors_per_body
        )

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
