"""Few columns of a GEMM with column-contiguous A: vectors run along the rows of C.

In the other tiles of such a GEMM each lane is a column of C, so that lanes after the last column are idle. Here each
lane is a row: a tall tile reads vectors of A and elements of B, and its accumulators are transposed on their way to C.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.addresses import address, memref_at
from relax_mlir.lowering.kernels.core.shuffles import transpose
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts
from relax_mlir.lowering.kernels.gemm.gemm_narrow_tile import (
    NarrowTile,
    are_of_a_wide_tile,
    emit_narrow_tile,
    place_in,
)
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling
from relax_mlir.mlir import arith, ir

_HIGH = 4
"""Columns of C that a tall tile computes together."""

_STEPS_AHEAD = 4
"""The prefetch distance for cache lines of A, in steps of the depth (measured on Ice Lake)."""

_MIN_DEPTH = 2
"""The minimum depth per column at which transposing the accumulators takes less time than idle lanes."""


@dataclass(frozen=True)
class TallTiles:
    """The functions for columns of C that tall tiles compute, and the conditions for their use."""

    parts: Parts
    tiling: Tiling
    element: e.Type

    @property
    def _tile(self) -> NarrowTile:
        vectors = 4 if self.tiling.registers >= 32 else 3
        return NarrowTile(
            self.parts.unpacked("tall"),
            self.parts.groups.unpacked,
            _HIGH,
            vectors,
            is_masked=False,
            right_ahead=_STEPS_AHEAD,
        )

    @property
    def rows(self) -> int:
        """Rows of C that are computed at a time."""
        return self._tile.columns(self.tiling)

    @property
    def _max_columns(self) -> int:
        """The maximum number of columns of C that tall tiles compute without other tiles."""
        return self.tiling.lanes

    def beyond(self, columns: e.Index) -> e.Index:
        """The number of columns for tall tiles, if these pay off: all, or the remainder after whole vectors."""
        others = e.sub(columns, e.round_down(columns, self.tiling.lanes))
        return e.select(e.compare("le", columns, self._max_columns), columns, others)

    def pays(self, a: e.Strided, columns: e.Index, beyond: e.Index) -> e.Value:
        """True if tall tiles compute the remainder `beyond` of `columns` columns in less time than other tiles."""
        beside = min(self.tiling.lanes - _HIGH, _HIGH)
        few = e.all_of(
            e.compare("le", beyond, beside), e.negate(are_of_a_wide_tile(self.tiling, columns, beyond))
        )
        return e.all_of(
            e.compare("gt", beyond, 0),
            e.any_of(e.compare("eq", columns, beyond), few),
            e.compare("eq", a.strides[0], 1),
            e.compare("ne", a.strides[1], 1),
            e.compare("le", beyond, self._max_columns),
            e.compare("ge", a.sizes[0], self.rows),
            e.compare("ge", a.sizes[1], e.mul(beyond, _MIN_DEPTH)),
        )

    def emit_product(
        self,
        operands: tuple[e.Strided, e.Strided, e.Strided],
        rows: tuple[e.Index, e.Index],
        columns: tuple[e.Index, e.Index],
        depth: tuple[e.Index, e.Index],
        accumulate: e.Value,
    ) -> None:
        """Emit the GEMM for rows given by bounds, and for columns and depth given by start and count.

        Only where `pays` holds.
        """
        a, b, c = operands
        (column, wide), (k, deep), high = columns, depth, self.rows
        sums = e.stack(self.element, self._max_columns, high)
        own = address(e.metadata(sums), 0)
        with e.loop(*rows, high) as i:
            # The last tile begins earlier, but writes only new rows.
            start = e.minimum(i, e.sub(a.sizes[0], high))
            left = [place_in(b, k, column), *b.strides[::-1], wide]
            right = [place_in(a, start, k), a.strides[1], deep]
            e.call(self._tile.name, [*left, *right, own, high, high, e.flag(False)])
            new = [e.sub(i, start), e.sub(e.minimum(e.add(i, high), rows[1]), start)]
            e.call(
                self.parts.unpacked("tall_write"),
                [own, *new, wide, place_in(c, start, column), c.strides[0], accumulate],
            )

    def emit(self, block: e.Block) -> None:
        """Emit the functions that `emit_product` calls."""
        emit_narrow_tile(block, "", self._tile, self.tiling, self.element)
        self._emit_write(block)

    def _emit_write(self, block: e.Block) -> None:
        """Emit the function that writes transposed accumulators to C, or adds them.

        Arguments: the address of the accumulators (a row per column of C), the first and the end element of each row,
        the number of rows; the address in C of the first element, and the leading dimension of C; a flag to add to C.
        """
        size, flag = ir.IndexType.get(), ir.IntegerType.get_signless(1)
        element, leading = self.element, self.rows
        with e.function(
            block, self.parts.unpacked("tall_write"), [*[size] * 6, flag], group=self.parts.groups.unpacked
        ) as values:
            sums_at, first, last, wide, c_at, c_stride, accumulate = values
            sums = memref_at(sums_at, element, [leading, 1], unit_inner=True)
            c = memref_at(c_at, element, [c_stride, 1], unit_inner=True)
            whole = e.minimum(e.round_up(first, _HIGH), last)
            end = e.maximum(e.round_down(last, _HIGH), whole)

            def elements(start: e.Index, stop: e.Index) -> None:
                with e.loop(start, stop) as r, e.loop(0, wide) as j:
                    e.store(arith.addf(e.load(sums, j, r), e.load_if(accumulate, c, r, j)), c, r, j)

            elements(first, whole)
            with e.loop(0, wide, _HIGH) as j:
                where, type_ = simd.mask(e.sub(wide, j), _HIGH), e.vector_type(_HIGH, element)
                with e.loop(whole, end, _HIGH) as r:
                    places = [(e.add(r, n), j) for n in range(_HIGH)]

                    def old(
                        places: list[tuple[e.Index, e.Value]] = places, where: e.Value = where
                    ) -> list[e.Value]:
                        return [simd.load(_HIGH, c, *place, where=where) for place in places]

                    # A load, even under an empty mask, waits for the store of the previous row where the two overlap.
                    zeros = [e.constant(type_, 0)] * _HIGH
                    before = e.choose(accumulate, [type_] * _HIGH, old, partial(list[e.Value], zeros))
                    lines = transpose([simd.load(_HIGH, sums, e.add(j, n), r) for n in range(_HIGH)])
                    for place, line, value in zip(places, lines, before, strict=True):
                        simd.store(arith.addf(line, value), c, *place, where=where)
            elements(end, last)
