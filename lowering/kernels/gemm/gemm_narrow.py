"""Products with few columns, of operands that are read where they lie: packing them takes as long as multiplying.

A register tile reads some rows of A, element by element, with any strides, and rows of B, whose elements are next to
each other. There are few columns, so that a block of B stays in the first-level cache while all rows of A go by.
Very few columns beyond whole vectors are dot products: a vector more in each row of a tile would be mostly idle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.addresses import address, item_bytes, memref_at
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, by_parts, signature
from relax_mlir.lowering.kernels.gemm.gemm_micro import emit_finish
from relax_mlir.lowering.kernels.gemm.gemm_narrow_left import is_near, narrow_product, row_group, tile_rows
from relax_mlir.lowering.kernels.gemm.gemm_pack import Packing
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling, even_step
from relax_mlir.lowering.kernels.gemm.gemv import LONG_DOTS
from relax_mlir.mlir import ir

MAX_COLUMNS = 48
"""Products with more columns are worth packing."""

_MAX_STRIDE = 2 * MAX_COLUMNS
"""Rows of B that are further apart share sets of the first-level cache."""

_IDLE_PART = 4
"""Columns beyond whole vectors that are at most such a part of a vector are dot products."""

_MIN_DEPTH = 64
"""Blocks are at least so deep, unless there is less: after each one C is read and written."""


def has_narrow(tiling: Tiling, source: e.Type, element: e.Type) -> bool:
    """Whether there is a generator: for elements that are not widened, where vectors can be read in part."""
    return bool(source == element) and tiling.masked


def is_narrow(a: e.Strided, b: e.Strided, tiling: Tiling) -> e.Value:
    """Whether a product is one for `emit_narrow`, but for the strides of B, if it has more than few rows.

    Where elements of a row of A are apart, each line of A comes from the second-level cache more than once.
    """
    lies = [e.compare("eq", stride, 1) for stride in a.strides]
    return e.all_of(e.compare("le", b.sizes[1], MAX_COLUMNS), e.any_of(*lies, is_near(a, tiling)))


def has_near_rows(b: e.Strided) -> e.Value:
    """Whether rows of B have unit stride, and are so near to each other that they need not be packed."""
    return e.all_of(e.compare("eq", b.strides[1], 1), e.compare("le", b.strides[0], _MAX_STRIDE))


def emit_narrow_transposed(block: e.Block, parts: Parts, packing: Packing) -> None:
    """Emit the product with a B of which columns have unit stride: it is transposed first."""
    tiling, element = packing.tiling, packing.element
    with e.function(block, parts.narrow_transposed, [*signature(element, element), *ep.types()]) as arguments:
        a, b, *rest = arguments
        b_parts = e.metadata(b)
        (depth, columns), strides = b_parts.sizes, b_parts.strides
        leading = e.round_up(columns, tiling.lanes)
        lines = e.view(b_parts, (columns, depth), strides[::-1], unit_inner=True)
        with e.scratch(element, e.mul(depth, leading)) as memory:
            e.call(packing.transpose, [lines, 0, columns, 0, depth, memory, 0, leading])
            right = e.view(e.metadata(memory), (depth, columns), (leading, 1))
            narrow_product(parts, e.metadata(a), tiling, [a, right, *rest])


@dataclass(frozen=True)
class _Tile:
    """A register tile: its sums, as many vectors in each of its rows, and whether the last one may be read in part."""

    name: str
    rows: int
    vectors: int
    is_masked: bool


def _tiles(parts: Parts, tiling: Tiling) -> tuple[_Tile, _Tile, _Tile, _Tile]:
    """For one vector of columns, two, two that are whole, and three."""
    rows, low = tile_rows(tiling)
    return (
        _Tile(parts.unpacked("one"), rows, 1, is_masked=True),
        _Tile(parts.unpacked("two"), rows, 2, is_masked=True),
        _Tile(parts.unpacked("two_whole"), rows, 2, is_masked=False),
        _Tile(parts.unpacked("three"), low, 3, is_masked=True),
    )


def emit_narrow(block: e.Block, parts: Parts, tiling: Tiling, element: e.Type) -> None:
    """Emit C (+)= A B with its epilogue, where `is_narrow` holds; arguments as those of the packed way."""
    types = [*signature(element, element), *ep.types()]
    tiles = _tiles(parts, tiling)
    with e.function(block, parts.narrow, types) as arguments:
        by_parts(
            tiling, f"{parts.narrow}.part", arguments[0], arguments[2], arguments, row_group=row_group(tiling)
        )
    with e.function(block, f"{parts.narrow}.part", [*types, *[ir.IndexType.get()] * 4]) as values:
        a, b, c, accumulate, *carried, first_row, last_row, first_column, last_column = values
        most_deep = _most_deep(tiling, element)
        lines = e.stack(element, max(1, tiling.lanes // _IDLE_PART), most_deep)
        epilogue = ep.Epilogue(*carried)
        a_parts, b_parts, c_parts = map(e.metadata, (a, b, c))
        depth, columns = a_parts.sizes[1], 2 * tiling.lanes
        step, stride_bytes = row_group(tiling), e.mul(b_parts.strides[0], item_bytes(element))
        cached = e.div(tiling.l1_bytes * 3 // 4, e.maximum(stride_bytes, 1))
        depth_step = even_step(e.maximum(depth, 1), e.maximum(cached, _MIN_DEPTH), tiling.lanes)
        beyond = _columns_beyond(a_parts, b_parts, e.sub(last_column, first_column), tiling)
        dots_from = e.sub(last_column, beyond)
        with e.loop(0, depth, depth_step) as k:
            deep = e.minimum(e.sub(depth, k), depth_step)
            _transpose(b, (k, deep), (dots_from, beyond), lines)
            with e.loop(first_row, last_row, step) as i:
                end = e.minimum(e.add(i, step), last_row)
                add = e.any_of(accumulate, e.compare("ne", k, 0))
                done = epilogue.when(e.compare("eq", e.add(k, deep), depth))

                def multiply(j: e.Index, left: e.Index, tile: _Tile) -> None:
                    with e.loop(i, end, tile.rows) as row:
                        high = e.minimum(e.sub(end, row), tile.rows)
                        arguments = [_place(a_parts, row, k), *a_parts.strides, high]
                        arguments += [_place(b_parts, k, j), b_parts.strides[0], deep]
                        e.call(
                            tile.name, [*arguments, _place(c_parts, row, j), c_parts.strides[0], left, add]
                        )
                    with e.when(done):
                        wide = e.minimum(left, tile.vectors * tiling.lanes)
                        epilogue.run(i, e.sub(end, i), j, wide)

                with e.when(e.compare("gt", beyond, 0)):
                    high, places = e.sub(end, i), (e.mul(i, a_parts.strides[0]), e.mul(i, c_parts.strides[0]))
                    lines_of_a = e.view(
                        a_parts, (high, deep), a_parts.strides, e.add(places[0], k), unit_inner=True
                    )
                    right = e.view(e.metadata(lines), (beyond, deep), (most_deep, 1), unit_inner=True)
                    place = e.add(places[1], dots_from)
                    part = e.view(c_parts, (high, beyond), c_parts.strides, place, unit_inner=True)
                    e.call(parts.dots, [lines_of_a, right, part, add])
                    with e.when(done):
                        epilogue.run(i, high, dots_from, beyond)

                one, two, whole, three = tiles
                # Two vectors at a time, until one, two or three are left.
                wide = e.sub(dots_from, first_column)
                pairs = e.mul(
                    e.div(e.sub(e.maximum(wide, tiling.lanes + 1), tiling.lanes + 1), columns), columns
                )
                last = e.add(first_column, pairs)
                with e.loop(first_column, last, columns) as j:
                    multiply(j, e.index(columns), whole)
                left = e.sub(dots_from, last)
                ways = [(e.compare("eq", left, columns), whole)]
                ways += [(e.compare("le", left, n * tiling.lanes), tile) for n, tile in ((1, one), (2, two))]
                _first_of(ways, three, partial(multiply, last, left))
    emit_finish(block, parts.unpacked("finish"), replace(tiling, vectors=1), element, None)
    for tile in tiles:
        _emit_tile(block, parts.unpacked("finish"), tile, tiling, element)


def _most_deep(tiling: Tiling, element: e.Type) -> int:
    """The most depth of a block whose rows of B have more than a vector."""
    cached = tiling.l1_bytes * 3 // 4 // ((tiling.lanes + 1) * item_bytes(element))
    return max(cached, _MIN_DEPTH) + tiling.lanes


def _columns_beyond(a: e.Strided, b: e.Strided, columns: e.Index, tiling: Tiling) -> e.Value:
    """The last columns that are to be dot products with lines of A: if those are long, lie so, and it pays; else 0."""
    beyond = e.sub(columns, e.round_down(columns, tiling.lanes))
    pays = e.all_of(
        e.compare("le", beyond, tiling.lanes // _IDLE_PART),
        e.compare("gt", columns, tiling.lanes),
        e.compare("gt", b.strides[0], tiling.lanes),
        e.compare("eq", a.strides[1], 1),
        e.compare("ge", a.sizes[1], LONG_DOTS * tiling.lanes),
    )
    return e.select(pays, beyond, 0)


def _transpose(
    b: e.Value, rows: tuple[e.Index, e.Index], columns: tuple[e.Index, e.Index], lines: e.Value
) -> None:
    """Copy a part of B, of rows and columns from some on, as many as are given, so that columns are lines."""
    (row, high), (column, wide) = rows, columns
    with e.loop(0, wide) as j, e.loop(0, high) as k:
        e.store(e.load(b, e.add(row, k), e.add(column, j)), lines, j, k)


def _first_of(ways: list[tuple[e.Value, _Tile]], otherwise: _Tile, emit: Callable[[_Tile], None]) -> None:
    if not ways:
        emit(otherwise)
        return
    (condition, tile), *rest = ways
    e.branch(condition, lambda: emit(tile), lambda: _first_of(rest, otherwise, emit))


def _place(parts: e.Strided, row: e.Index, column: e.Index) -> e.Value:
    (down, right) = parts.strides
    return address(parts, e.add(e.mul(row, down), e.mul(column, right)))


def _emit_tile(block: e.Block, finish: str, tile: _Tile, tiling: Tiling, element: e.Type) -> None:
    """Emit the function of a tile.

    Arguments: the address of the first element of A, how far rows and elements of a row are apart, the number of rows
    (where there are less than the tile has, it computes the last one several times); the address of the first element
    of B, how far its rows are apart, the depth; the address of the tile in C, how far rows are apart there, the number
    of columns from there, whether to add to C.
    """
    size, flag = ir.IndexType.get(), ir.IntegerType.get_signless(1)
    lanes, rows, vectors = tiling.lanes, tile.rows, tile.vectors
    with e.function(block, tile.name, [*[size] * 10, flag]) as values:
        a_at, a_stride, a_step, count, b_at, b_stride, depth, c_at, c_stride, left, accumulate = values
        a, b = (memref_at(at, element, [1], unit_inner=True) for at in (a_at, b_at))
        c = memref_at(c_at, element, [c_stride, 1], unit_inner=True)
        last = e.sub(count, 1)
        starts = [e.mul(e.minimum(r, last), a_stride) for r in range(rows)]
        where = simd.mask(e.sub(left, (vectors - 1) * lanes), lanes) if tile.is_masked else None
        masks = [*[None] * (vectors - 1), where]
        places = [(r, v * lanes) for r in range(rows) for v in range(vectors)]
        zeros = [e.constant(e.vector_type(lanes, element), 0)] * len(places)
        is_whole, initial = e.compare("eq", count, rows), zeros
        if not tile.is_masked:
            adds = e.all_of(is_whole, accumulate)
            types = [zero.type for zero in zeros]
            initial = e.choose(
                adds, types, lambda: [simd.load(lanes, c, *at) for at in places], lambda: zeros
            )
        with e.carrying_loop(0, depth, 1, [*initial, e.index(0), e.index(0)], unroll=False) as k:
            *sums, at, line_at = k.values
            line = [
                simd.load(lanes, b, e.add(line_at, v * lanes), where=mask) for v, mask in enumerate(masks)
            ]
            new = []
            for r, start in enumerate(starts):
                factor = simd.splat(e.load(a, e.add(start, at)), lanes)
                old = sums[r * vectors : (r + 1) * vectors]
                new += [simd.fma(factor, x, y, tiling.fused) for x, y in zip(line, old, strict=True)]
            k.give([*new, e.add(at, a_step), e.add(line_at, b_stride)])
        own = address(e.metadata(e.stack(element, rows * vectors * lanes)), 0)

        def place_of(v: int) -> e.Index:
            return e.add(own, v * rows * lanes * item_bytes(element))

        def keep(v: int) -> None:
            memory = memref_at(place_of(v), element, [lanes, 1], unit_inner=True)
            for r in range(rows):
                simd.store(k.results[r * vectors + v], memory, r, 0)

        def write_kept(v: int) -> None:
            beside, at = e.sub(left, v * lanes), e.add(c_at, v * lanes * item_bytes(element))
            e.call(finish, [place_of(v), count, at, c_stride, beside, accumulate])

        whole = range(vectors - tile.is_masked)

        def directly() -> None:
            for r, start in places:
                if start // lanes in whole:
                    simd.store(k.results[r * vectors + start // lanes], c, r, start)

        def by_way_of_memory() -> None:
            for v in whole:
                keep(v)
            for v in whole:
                write_kept(v)

        # Calls take all registers: what is written behind them is in memory before.
        for v in range(len(whole), vectors):
            keep(v)
        if whole:
            simple = e.all_of(is_whole, e.negate(accumulate)) if tile.is_masked else is_whole
            e.branch(simple, directly, by_way_of_memory)
        for v in range(len(whole), vectors):
            write_kept(v)
