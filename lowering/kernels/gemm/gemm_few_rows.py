"""Small-M GEMM with row-contiguous B, which is not packed.

Packing B would take as long as multiplying so few rows. But rows of B are far apart, so that hardware prefetchers do
not find the next cache lines: tiles prefetch columns of B two tiles ahead.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, by_parts, signature
from relax_mlir.lowering.kernels.gemm.gemm_narrow import MAX_COLUMNS, by_tiles, tiles_of
from relax_mlir.lowering.kernels.gemm.gemm_narrow_left import MAX_TILE_ROWS
from relax_mlir.lowering.kernels.gemm.gemm_narrow_tile import NarrowTile, emit_narrow_tile, place_in
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling, even_step
from relax_mlir.mlir import ir

MAX_FEW_ROWS = 48
"""The maximum number of rows; above it, packing pays off."""

_MAX_DEPTH = 96
"""The maximum depth of a block. Rows of B that are several pages long map to few cache sets."""

_TILES_AHEAD = 2
"""The prefetch distance in tiles: columns of the next tile would arrive too late.

These three were measured with AVX-512 on Emerald Rapids: 5 to 48 rows take 0.55 to 0.97 of the time of the packed code
path.
"""

_HEIGHTS = (6, MAX_TILE_ROWS)
"""Rows of the tiles. Rows of C are split into parts of about the same height, so that few are computed twice; more
tiles would not repay their compile time."""


def is_few_rows(a: e.Strided, b: e.Strided) -> e.Value:
    """True if `emit_few_rows` applies to a GEMM with more than very few rows."""
    return e.all_of(
        e.compare("le", a.sizes[0], MAX_FEW_ROWS),
        e.compare("gt", b.sizes[1], MAX_COLUMNS),
        e.compare("eq", b.strides[1], 1),
    )


def emit_few_rows(block: e.Block, parts: Parts, tiling: Tiling, element: e.Type) -> None:
    """Emit C (+)= A B with its epilogue, where `is_few_rows` holds; it takes the arguments of the packed code path.

    For tilings that have `narrow` and a tile of three vectors.
    """
    types, part = [*signature(element, element), *ep.types()], f"{parts.few_rows}.part"
    whole = _whole_tiles(parts)
    tiles = {**tiles_of(parts, tiling), "whole": whole[-1]}
    with e.function(block, parts.few_rows, types, group=parts.groups.product) as arguments:
        by_parts(tiling, part, arguments[0], arguments[2], arguments)
    with e.function(block, part, [*types, *[ir.IndexType.get()] * 4], group=parts.groups.product) as values:
        a, b, c, accumulate, *carried, first_row, last_row, first_column, last_column = values
        epilogue = ep.Epilogue(*carried)
        a_parts, b_parts, c_parts = map(e.metadata, (a, b, c))
        depth, high = a_parts.sizes[1], e.sub(last_row, first_row)
        height = e.ceildiv(high, e.maximum(e.ceildiv(high, MAX_TILE_ROWS), 1))
        depth_step = even_step(e.maximum(depth, 1), _MAX_DEPTH, tiling.lanes)
        with e.loop(0, depth, depth_step) as k:
            deep = e.minimum(e.sub(depth, k), depth_step)
            add = e.any_of(accumulate, e.compare("ne", k, 0))

            def multiply(j: e.Index, left: e.Index, tile: NarrowTile) -> None:
                arguments = [place_in(a_parts, first_row, k), *a_parts.strides, high]
                arguments += [place_in(b_parts, k, j), b_parts.strides[0], deep]
                arguments += [place_in(c_parts, first_row, j), c_parts.strides[0], left, add]
                _call(whole if tile is whole[-1] else [tile], height, arguments)

            by_tiles(tiling, tiles, first_column, last_column, multiply)
        epilogue.run(first_row, high, first_column, e.sub(last_column, first_column))
    for tile in whole:
        emit_narrow_tile(block, parts.unpacked("finish"), tile, tiling, element)


def _whole_tiles(parts: Parts) -> list[NarrowTile]:
    """The tiles for whole vectors, by ascending height."""
    group = parts.groups.unpacked
    return [
        NarrowTile(parts.unpacked(f"ahead_{rows}"), group, rows, 3, False, tiles_ahead=_TILES_AHEAD)
        for rows in _HEIGHTS
    ]


def _call(tiles: Sequence[NarrowTile], height: e.Index, arguments: Sequence[e.Index]) -> None:
    """Call the lowest tile with enough rows for `height`, else the highest tile."""
    first, *higher = tiles
    if not higher:
        e.call(first.name, arguments)
        return
    e.branch(
        e.compare("le", height, first.rows),
        lambda: e.call(first.name, arguments),
        lambda: _call(higher, height, arguments),
    )
