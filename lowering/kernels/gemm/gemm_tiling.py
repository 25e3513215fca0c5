"""Block sizes of a GEMM for a target."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.target import CACHE_LINE, MIB, Target, register_tile

_FEW_ROWS, _FEW_ROWS_AVX2 = 400, 32
"""The maximum number of rows for which deep packed blocks of B do not pay off (measured; with AVX2 on Zen 3)."""

MAX_ROWS = 4
"""The maximum number of rows of GEMMs whose B is not packed; above it, packing pays off."""


@dataclass(frozen=True)
class Tiling:
    """The blocking of C = A B (all sizes in elements).

    The register tile is `rows` x `columns`; its accumulators, one row of B and one element of A fill the vector
    registers. Its rows of A (`rows` x `depth`) fit L1, or take little of L2. As many panels of B as L2 holds (`depth` x
    `block_columns`) stream past them, for one tile of rows after the other. So L2 serves few long runs, which the
    hardware prefetches, and there are few passes over C. Both caches may be shared by two hardware threads. A B that is
    packed on demand for few rows is split at `packed_depth` (see `depth_to_pack`). Up to `kept_columns` of its columns
    are packed at a time, and up to `block_rows` of the rows of A: each block takes an eighth of L3.

    `registers`: the vector registers that code can count on. `fused`: multiply-add is one instruction. `masked`: vector
    loads and stores can be masked. `group`: elements of depth that an instruction multiplies and adds in each lane;
    packed operands are padded to a multiple. `threads`: the maximum number of threads. `kept_left`: the elements of a
    block of A that stay in L2 while B streams past. `half_lines`: a vector is half a cache line (AVX2). Then tiles
    prefetch the next panels (see `gemm_blocks`), the highest tile does two steps of the depth at a time, and B is
    packed in deep blocks for fewer rows: measured on Zen 3. `l1_bytes`: the size of L1.

    After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008, where L2
    holds the block of A.
    """

    lanes: int
    vectors: int
    rows: int
    registers: int
    depth: int
    packed_depth: int
    block_rows: int
    block_columns: int
    kept_columns: int
    fused: bool
    masked: bool
    group: int = 1
    threads: int = 1
    kept_left: int = 0
    half_lines: bool = False
    l1_bytes: int = 32 << 10

    @property
    def columns(self) -> int:
        """Columns of the register tile."""
        return self.lanes * self.vectors

    def leading(self, depth: e.Index) -> e.Index:
        """The leading dimension of a packed block of A of this depth.

        The depth is often a power of two: rows at such a distance would map to few sets of L1.
        """
        return e.add(e.round_up(depth, self.columns), self.columns)

    def depth_to_pack(self, rows: e.Index) -> e.Index:
        """The maximum depth of a block of B that is packed on demand, for a GEMM of `rows` rows.

        Few rows soon need the next block, and packed data must still be in the caches then.
        """
        few = _FEW_ROWS_AVX2 if self.half_lines else _FEW_ROWS
        return e.select(e.compare("gt", rows, few), self.depth, self.packed_depth)

    @property
    def steps(self) -> int:
        """Steps of the depth that the highest tile does at a time."""
        return 2 if self.half_lines else 1

    def streamed_columns(self, rows: e.Index, depth: e.Index) -> e.Index:
        """Columns of packed B of this depth that all tiles of these rows use before the next ones.

        L2 holds them. If L2 holds all of A, and the next panel is prefetched meanwhile, one panel is enough: then every
        panel of B but the first is in cache when it is needed.
        """
        held = self._held_columns(depth)
        if not self.half_lines:
            return held
        return e.select(e.compare("le", e.mul(rows, depth), self.kept_left), self.columns, held)

    def cycles(self, rows: e.Index, columns: e.Index, depth: e.Index) -> e.Index:
        """The approximate cycles of a GEMM, at two vectors of multiplications per cycle."""
        return e.div(e.mul(e.mul(rows, columns), depth), 2 * self.lanes * self.group)

    def packed_columns(self, depth: e.Index) -> e.Index:
        """The columns of B, of this depth, to pack at a time for a GEMM with a single block of A.

        They should stay in L2 until they are used; with fewer, each page of B is read too often.
        """
        most = min(2 * self.block_columns, self.kept_columns)
        return e.minimum(self._held_columns(depth), most) if self.half_lines else most

    def _held_columns(self, depth: e.Index) -> e.Index:
        """The columns of packed B, of this depth, that L2 holds; not fewer than `block_columns`."""
        return e.round_down(e.div(self.depth * self.block_columns, e.maximum(depth, 1)), self.columns)

    @property
    def row_step(self) -> int:
        """Tile heights are multiples of this number, or the maximum; if it is more than 1, the last row may be unused.

        This limits the number of tiles.
        """
        return 1 if self.rows <= 8 else 2

    @property
    def row_counts(self) -> tuple[int, ...]:
        """The heights of the register tiles, ascending."""
        return (*range(self.row_step, self.rows, self.row_step), self.rows)

    @property
    def low_rows(self) -> int:
        """The minimum rows that repay a pass over B: of a part for a thread, and of buffered accumulators."""
        return 16 * self.rows

    def sum_rows(self, rows: e.Index, columns: e.Index, kept: bool = False) -> e.Index:
        """Rows of accumulators to buffer at a time if they are not the result: some tiles, or what the cache holds.

        The cache is L2, or L3 if B is packed again for each buffer (`kept`).
        """
        elements = (self.kept_columns if kept else self.block_columns) * self.depth // self.group
        cached = e.div(elements, e.maximum(columns, 1))
        limit = e.maximum(e.round_up(cached, self.rows), self.low_rows)
        some = e.maximum(rows, 1)
        return e.minimum(some, even_step(some, limit, self.rows))

    def sums_stride(self, columns: e.Index) -> e.Index:
        """The leading dimension of such accumulators; with a power of two, rows would map to few cache sets."""
        return e.add(e.round_up(columns, self.lanes), self.lanes)

    def tile_rows(self, rows: e.Index) -> e.Index:
        """The height of the tile for `rows` rows of C, which are no more than those of the highest tile."""
        return e.minimum(e.round_up(rows, self.row_step), self.rows)


def tiling(target: Target, bits: int, group: int = 1) -> Tiling:
    """The tiling for accumulators of `bits` bits (32 or 64) and operands narrower by a factor `group`."""
    tile = register_tile(target, bits)
    lanes, rows, columns = tile.lanes, tile.rows, tile.columns
    item = bits // 8 // group
    tile_bytes = max(3 * target.l1_bytes // 4, target.l2_bytes // 16)
    depth = min(4096 // item, max(128, _down(tile_bytes // (rows * item), lanes)))
    half_lines = 2 * target.vector_bytes == CACHE_LINE
    panel_bytes = 3 * target.l1_bytes // 4 if half_lines else target.l1_bytes
    packed_depth = min(depth, max(128, _down(panel_bytes // (columns * item), lanes)))
    block_columns = max(2 * columns, _down(3 * target.l2_bytes // (8 * depth * item), columns))
    kept_bytes = min(target.l3_bytes // 8, 4 * MIB)
    block_rows = max(rows, _down(kept_bytes // (depth * item), rows))
    kept_columns = max(block_columns, _down(kept_bytes // (depth * item), columns))
    blocks = (depth, packed_depth, block_rows, block_columns, kept_columns)
    flags = (target.has_fma, target.has_masks)
    ahead, threads, l1_bytes = (
        (target.l2_bytes // (4 * item), half_lines),
        target.num_threads,
        target.l1_bytes,
    )
    return Tiling(lanes, tile.vectors, rows, tile.registers, *blocks, *flags, group, threads, *ahead, l1_bytes)


def even_step(total: e.Index, limit: e.Index, multiple: int) -> e.Index:
    """A step up to `limit` (rounded up to `multiple`) that splits `total` (not 0) into nearly equal parts."""
    return e.round_up(e.ceildiv(total, e.ceildiv(total, limit)), multiple)


def _down(value: int, multiple: int) -> int:
    return value // multiple * multiple
