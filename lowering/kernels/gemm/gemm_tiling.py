"""Sizes of the blocks of a matrix product, from the target."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.register_tiles import register_tile
from relax_mlir.target import CACHE_LINE, MIB, Target

_FEW_ROWS, _FEW_ROWS_AVX2 = 400, 32
"""Up to this many rows it does not pay to pack B in deep blocks (measured; with AVX2 on Zen 3)."""


@dataclass(frozen=True)
class Tiling:
    """How C = A B is cut up (all sizes in elements).

    The register tile is `rows` x `columns`; its accumulators, one row of B and one element of A fill the vector
    registers. Its rows of A (`rows` x `depth`) fit the first-level cache, or take little of the second-level one;
    past them stream panels of B, as many as the second-level cache holds (`depth` x `block_columns`), for one tile
    of rows after the other. So what comes from the second-level cache are few long pieces of memory, which the
    hardware fetches ahead, and few passes over C. Both caches may belong to two hardware threads. A B that is
    packed when few rows need it is cut at `packed_depth` (see `depth_to_pack`). Of its columns up to `kept_columns`
    are packed at a time, of the rows of A up to `block_rows`: each block takes an eighth of the third-level cache.
    `registers`: the vector registers that code can count on. `fused`: multiply and add are one instruction.
    `masked`: some lanes of a vector can be read and written. `group`: elements of depth that an instruction
    multiplies and adds in each lane; packed operands are filled up to a multiple. `threads`: how many there may be.
    `kept_left`: the elements of a block of A that stay in the second-level cache while B streams past. `half_lines`:
    a vector is half a cache line (AVX2). Then tiles ask for the panels that come next (see `gemm_blocks`), the highest
    does two steps of the depth at a time, and B is packed in deep blocks for fewer rows: measured on Zen 3.
    `l1_bytes`: the size of the first-level cache.

    After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008, where the
    block of A is what the second-level cache holds.
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
        """Elements from a row of a packed block of A, of so much depth, to the next.

        The depth is often a power of two: rows as far apart would share few sets of the first-level cache.
        """
        return e.add(e.round_up(depth, self.columns), self.columns)

    def depth_to_pack(self, rows: e.Index) -> e.Index:
        """The most depth of a block of B that is packed when it is needed, for a product of `rows` rows.

        Few rows soon need the next block, and what was packed should not have left the caches by then.
        """
        few = _FEW_ROWS_AVX2 if self.half_lines else _FEW_ROWS
        return e.select(e.compare("gt", rows, few), self.depth, self.packed_depth)

    @property
    def steps(self) -> int:
        """How many steps of the depth the highest tile does at a time."""
        return 2 if self.half_lines else 1

    def streamed_columns(self, rows: e.Index, depth: e.Index) -> e.Index:
        """Columns of packed B of this depth that all tiles of these rows use before the next ones.

        They are what the second-level cache holds. If it holds all of A, and what comes next is asked for meanwhile, a
        panel is enough: so all of B but the first panel is there when it is needed.
        """
        held = self._held_columns(depth)
        if not self.half_lines:
            return held
        return e.select(e.compare("le", e.mul(rows, depth), self.kept_left), self.columns, held)

    def cycles(self, rows: e.Index, columns: e.Index, depth: e.Index) -> e.Index:
        """About how long a product takes, at two vectors of multiplications per cycle."""
        return e.div(e.mul(e.mul(rows, columns), depth), 2 * self.lanes * self.group)

    def packed_columns(self, depth: e.Index) -> e.Index:
        """How many columns of B, of such a depth, to pack at a time for a product with a single block of A.

        They should not leave the second-level cache before they are used; with fewer, each page of B is read too often.
        """
        most = min(2 * self.block_columns, self.kept_columns)
        return e.minimum(self._held_columns(depth), most) if self.half_lines else most

    def _held_columns(self, depth: e.Index) -> e.Index:
        """Columns of packed B, of such a depth, that the second-level cache holds, at least `block_columns`."""
        return e.round_down(e.div(self.depth * self.block_columns, e.maximum(depth, 1)), self.columns)

    @property
    def row_step(self) -> int:
        """Tiles have a multiple of this many rows, or all; where it is more than 1, the last row may be unused.

        So there are not too many of them.
        """
        return 1 if self.rows <= 8 else 2

    @property
    def row_counts(self) -> tuple[int, ...]:
        """Numbers of rows for which there is a register tile, ascending."""
        return (*range(self.row_step, self.rows, self.row_step), self.rows)

    @property
    def low_rows(self) -> int:
        """The fewest rows that are worth a pass over B: of a part for a thread, and of sums that are kept."""
        return 16 * self.rows

    def sum_rows(self, rows: e.Index, columns: e.Index, kept: bool = False) -> e.Index:
        """How many rows of sums to keep at a time where they are not the result: some tiles, or what the cache holds.

        That is the second-level cache, or the third-level one if B is packed anew for them (`kept`).
        """
        elements = (self.kept_columns if kept else self.block_columns) * self.depth // self.group
        cached = e.div(elements, e.maximum(columns, 1))
        limit = e.maximum(e.round_up(cached, self.rows), self.low_rows)
        some = e.maximum(rows, 1)
        return e.minimum(some, even_step(some, limit, self.rows))

    def sums_stride(self, columns: e.Index) -> e.Index:
        """Elements from a row of such sums to the next; a power of two would let rows share few sets of the caches."""
        return e.add(e.round_up(columns, self.lanes), self.lanes)

    def tile_rows(self, rows: e.Index) -> e.Index:
        """The rows of the tile for `rows` rows of C, which are no more than those of the highest tile."""
        return e.minimum(e.round_up(rows, self.row_step), self.rows)


def tiling(target: Target, bits: int, group: int = 1) -> Tiling:
    """The tiling for sums of this many bits (32 or 64), and operands that are so much narrower (see `Tiling`)."""
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
    return Tiling(
        lanes, tile.vectors, rows, tile.registers, *blocks, *flags, group, threads, *ahead, l1_bytes
    )


def even_step(total: e.Index, limit: e.Index, multiple: int) -> e.Index:
    """A step up to `limit` (its multiple) that cuts `total` (not 0) into parts of nearly the same size."""
    return e.round_up(e.ceildiv(total, e.ceildiv(total, limit)), multiple)


def _down(value: int, multiple: int) -> int:
    return value // multiple * multiple
