"""Small-M GEMMs: B is not packed, but read in place (some rows) or streamed (very few rows)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, by_parts, signature, streaming
from relax_mlir.lowering.kernels.gemm.gemm_small_n import (
    MAX_COLUMNS,
    MAX_TILE_ROWS,
    NarrowTile,
    by_tiles,
    emit_narrow_tile,
    place_in,
    tiles_of,
)
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling, even_step
from relax_mlir.lowering.kernels.gemm.gemv import max_dot_rows
from relax_mlir.mlir import arith, ir

# Small-M GEMM with row-contiguous B, which is not packed.
#
# Packing B would take as long as multiplying so few rows. But rows of B are far apart, so that hardware
# prefetchers do not find the next cache lines: tiles prefetch columns of B two tiles ahead.


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
    with e.function(block, parts.few_rows, types) as arguments:
        by_parts(tiling, part, arguments[0], arguments[2], arguments)
    with e.function(block, part, [*types, *[ir.IndexType.get()] * 4]) as values:
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
    return [NarrowTile(parts.unpacked(f"ahead_{rows}"), rows, 3, False, tiles_ahead=_TILES_AHEAD) for rows in _HEIGHTS]


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


# GEMMs with very few rows: B is streamed unpacked, by the function for its strides (`gemv`).


_Lines = Callable[[e.Value, e.Value], None]
"""A function that multiplies some columns of a row-contiguous B into columns of C."""


def emit_thin(block: e.Block, parts: Parts, sizes: Tiling, source: e.Type, element: e.Type) -> None:
    """Emit C (+)= A B for few rows; a B without unit stride is packed."""
    with e.function(block, parts.skinny, signature(source, element)) as (
        a,
        b,
        c,
        accumulate,
    ):

        def lines(right: e.Value, part: e.Value) -> None:
            rows = e.dim(c, 0)
            pairs = e.round_down(rows, 2)
            with e.loop(0, pairs, 2) as i:
                e.call(parts.rows(2), [a, i, right, part, accumulate])
            with e.loop(pairs, rows) as i:
                e.call(parts.rows(1), [a, i, right, part, accumulate])

        def pack() -> None:
            e.call(parts.packed, [a, b, c, accumulate, *ep.nothing(block).arguments])

        _by_strides(parts, sizes, a, b, c, accumulate, lines, pack)


def emit_thin_row(block: e.Block, parts: Parts, sizes: Tiling, source: e.Type, element: e.Type) -> None:
    """Emit C (+)= A B for one row; a B without unit stride is read element by element."""
    with e.function(block, parts.skinny_row, signature(source, element)) as (
        a,
        b,
        c,
        accumulate,
    ):

        def lines(right: e.Value, part: e.Value) -> None:
            e.call(parts.rows(1), [a, 0, right, part, accumulate])

        def elements() -> None:
            with e.loop(0, e.dim(c, 1)) as j:
                before = e.load_if(accumulate, c, 0, j)
                with e.carrying_loop(0, e.dim(a, 1), 1, [before]) as k:
                    left, right = (simd.widen(e.load(*x), element) for x in ((a, 0, k.index), (b, k.index, j)))
                    k.give([arith.addf(k.values[0], arith.mulf(left, right))])
                e.store(k.results[0], c, 0, j)

        _by_strides(parts, sizes, a, b, c, accumulate, lines, elements)


def _by_strides(
    parts: Parts,
    sizes: Tiling,
    a: e.Value,
    b: e.Value,
    c: e.Value,
    accumulate: e.Value,
    lines: _Lines,
    otherwise: Callable[[], None],
) -> None:
    """Emit dot products, `lines` for the columns of each thread, or the fallback for all other strides."""
    a_parts, b_parts, c_parts = e.metadata(a), e.metadata(b), e.metadata(c)
    (depth, columns), rows = b_parts.sizes, e.dim(c, 0)
    cost = streaming(e.mul(depth, columns), e.element_of(b.type))
    step = part_size(columns, sizes.columns, sizes.threads, cost)

    def by_rows() -> None:
        with parallel_loop(0, columns, step, cost) as j:
            wide = e.minimum(e.sub(columns, j), step)
            right = e.view(b_parts, (depth, wide), b_parts.strides, j, unit_inner=True)
            lines(right, e.view(c_parts, (rows, wide), c_parts.strides, j, unit_inner=True))

    def by_dots() -> None:
        work = e.maximum(cost, sizes.cycles(rows, columns, depth))
        high = e.compare("gt", rows, columns)
        along_rows = part_size(rows, max_dot_rows(sizes), sizes.threads, work)
        along_columns = part_size(columns, sizes.columns, sizes.threads, work)
        size = e.select(high, rows, columns)
        step = e.select(high, along_rows, along_columns)
        with parallel_loop(0, size, step, work) as at:
            length = e.minimum(e.sub(size, at), step)
            i, tall = e.select(high, at, 0), e.select(high, length, rows)
            j, wide = e.select(high, 0, at), e.select(high, columns, length)
            start = e.mul(i, a_parts.strides[0])
            left = e.view(a_parts, (tall, depth), a_parts.strides, start, unit_inner=True)
            start = e.mul(j, b_parts.strides[1])
            right = e.view(b_parts, (wide, depth), b_parts.strides[::-1], start, unit_inner=True)
            start = e.add(e.mul(i, c_parts.strides[0]), j)
            part = e.view(c_parts, (tall, wide), c_parts.strides, start, unit_inner=True)
            e.call(parts.dots, [left, right, part, accumulate])

    row_like = e.compare("eq", b_parts.strides[1], 1)
    dot_like = e.all_of(e.compare("eq", a_parts.strides[1], 1), e.compare("eq", b_parts.strides[0], 1))
    # Both hold only if B has a single row or column; for few columns, dot products are faster.
    few = e.compare("lt", columns, sizes.lanes)
    use_dots = e.all_of(dot_like, e.any_of(few, e.negate(row_like)))
    e.branch(use_dots, by_dots, lambda: e.branch(row_like, by_rows, otherwise))
