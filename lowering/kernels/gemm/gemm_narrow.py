"""Small-N GEMMs, whose operands are read in place: packing them takes as long as multiplying.

A register tile reads some rows of A, element by element, with any strides, and row-contiguous B. There are few columns,
so a block of B stays in L1 while all rows of A stream past. Very few remainder columns after whole vectors are dot
products: another vector in each row of a tile would be mostly idle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import lcm

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.addresses import item_bytes
from relax_mlir.lowering.kernels.core.shuffles import transpose
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, by_parts, signature
from relax_mlir.lowering.kernels.gemm.gemm_micro import emit_finish
from relax_mlir.lowering.kernels.gemm.gemm_narrow_left import (
    MAX_DEPTH,
    MAX_TILE_ROWS,
    is_near,
    narrow_product,
    row_group,
    tile_rows,
)
from relax_mlir.lowering.kernels.gemm.gemm_narrow_tall import TallTiles
from relax_mlir.lowering.kernels.gemm.gemm_narrow_tile import (
    NarrowTile,
    are_of_a_wide_tile,
    emit_narrow_tile,
    fit_beside_others,
    has_wide_tile,
    place_in,
)
from relax_mlir.lowering.kernels.gemm.gemm_pack import Packing
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling, even_step
from relax_mlir.lowering.kernels.gemm.gemv import MAX_DOTS
from relax_mlir.mlir import ir

MAX_COLUMNS = 48
"""The maximum number of columns; above it, packing pays off."""

_MAX_STRIDE = 2 * MAX_COLUMNS
"""The maximum row stride of B; rows that are further apart map to the same sets of L1."""

_IDLE_PART = 2
"""Remainder columns that fill up to 1 / `_IDLE_PART` of a vector are dot products."""

_SHORT_DOTS = 4
"""The minimum depth, in vectors, at which dot products repay their horizontal sums."""

_STEPS_AHEAD = 5
"""The prefetch distance for cache lines of A, in steps of the depth (measured on Ice Lake).

A tile of one vector does not prefetch: it is load-bound. Nor do AVX2 tiles: with half as many registers, addresses
would not fit, and nothing was gained.
"""

_MIN_DEPTH = 64
"""The minimum depth of blocks, unless the GEMM has less: each block reads and writes C."""


def has_narrow(tiling: Tiling, source: e.Type, element: e.Type) -> bool:
    """True if there is a generator: elements are not widened, and vector accesses can be masked."""
    return bool(source == element) and tiling.masked


def is_narrow(a: e.Strided, b: e.Strided, tiling: Tiling) -> e.Value:
    """True if `emit_narrow` applies, apart from the strides of B, to a GEMM with more than few rows.

    If the elements of a row of A are not contiguous, each cache line of A is read from L2 more than once.
    """
    lies = [e.compare("eq", stride, 1) for stride in a.strides]
    return e.all_of(e.compare("le", b.sizes[1], MAX_COLUMNS), e.any_of(*lies, is_near(a, tiling)))


def has_near_rows(b: e.Strided) -> e.Value:
    """True if B is row-contiguous, with rows so close together that they need not be packed."""
    return e.all_of(e.compare("eq", b.strides[1], 1), e.compare("le", b.strides[0], _MAX_STRIDE))


def emit_narrow_transposed(block: e.Block, parts: Parts, packing: Packing) -> None:
    """Emit the GEMM with a column-contiguous B, which is transposed first."""
    tiling, element = packing.tiling, packing.element
    with e.function(
        block,
        parts.narrow_transposed,
        [*signature(element, element), *ep.types()],
        group=parts.groups.product,
    ) as arguments:
        a, b, *rest = arguments
        b_parts = e.metadata(b)
        (depth, columns), strides = b_parts.sizes, b_parts.strides
        leading = e.round_up(columns, tiling.lanes)
        lines = e.view(b_parts, (columns, depth), strides[::-1], unit_inner=True)
        with e.scratch(element, e.mul(depth, leading)) as memory:
            e.call(packing.transpose, [lines, 0, columns, 0, depth, memory, 0, leading])
            right = e.view(e.metadata(memory), (depth, columns), (leading, 1))
            narrow_product(TallTiles(parts, tiling, element), e.metadata(a), columns, [a, right, *rest])


def tiles_of(parts: Parts, tiling: Tiling) -> dict[str, NarrowTile]:
    """The tiles by name: `whole` for the first columns, then those for the remainder."""
    group = parts.groups.unpacked
    one = NarrowTile(parts.unpacked("one"), group, tile_rows(tiling, 1), 1)
    high = tile_rows(tiling, 2)
    if tiling.half_lines:
        two = NarrowTile(parts.unpacked("two"), group, high, 2)
        # Masked instructions are slow.
        whole = NarrowTile(parts.unpacked("two_whole"), group, high, 2, is_masked=False)
        return {"whole": whole, "one": one, "two": two}
    ahead = partial(NarrowTile, left_ahead=_STEPS_AHEAD)
    two = ahead(parts.unpacked("two"), group, high, 2)
    tiles = {"whole": two, "one": one, "two": two}
    if has_wide_tile(tiling):
        tiles["whole"] = tiles["three"] = ahead(parts.unpacked("three"), group, high, 3)
    # For f32, dot products or tall tiles compute most of the columns that this tile would improve.
    if tiling.lanes <= 8:
        tiles["one_half"] = ahead(parts.unpacked("one_half"), group, high, 2, ends_half=True)
    return tiles


def emit_narrow(block: e.Block, parts: Parts, tiling: Tiling, element: e.Type) -> None:
    """Emit C (+)= A B with its epilogue, where `is_narrow` holds; it takes the arguments of the packed code path."""
    types = [*signature(element, element), *ep.types()]
    tiles, tall = tiles_of(parts, tiling), TallTiles(parts, tiling, element)
    with e.function(block, parts.narrow, types, group=parts.groups.product) as arguments:
        by_parts(
            tiling, f"{parts.narrow}.part", arguments[0], arguments[2], arguments, row_group=row_group(tiling)
        )
    with e.function(
        block, f"{parts.narrow}.part", [*types, *[ir.IndexType.get()] * 4], group=parts.groups.product
    ) as values:
        a, b, c, accumulate, *carried, first_row, last_row, first_column, last_column = values
        most_deep = _most_deep(tiling, element)
        most_dots = tiling.lanes // _IDLE_PART
        lines = e.stack(element, most_dots, most_deep)
        epilogue = ep.Epilogue(*carried)
        a_parts, b_parts, c_parts = map(e.metadata, (a, b, c))
        depth = a_parts.sizes[1]
        stride_bytes = e.mul(b_parts.strides[0], item_bytes(element))
        wide = e.sub(last_column, first_column)
        beyond = e.sub(wide, e.round_down(wide, tiling.lanes))
        # Use the columns of all of C, not of the part: results must not depend on the number of threads.
        columns = b_parts.sizes[1]
        by_dots = _dots_pay(a_parts, b_parts, beyond, tiling)
        beyond_tall = tall.beyond(wide)
        by_tall = tall.pays(a_parts, columns, beyond_tall)
        # With few rows each row of B is used once.
        is_once = e.all_of(e.compare("le", e.dim(c, 0), MAX_TILE_ROWS), e.compare("gt", depth, 2 * MAX_DEPTH))
        if tiling.lanes <= 8:  # then transposing B takes as long as the idle lanes of so few rows
            by_dots = e.all_of(by_dots, e.negate(is_once))
        dots = e.select(by_dots, beyond, 0)
        tiles_end = e.sub(last_column, e.select(by_tall, beyond_tall, dots))
        cached = e.div(_kept_bytes(a_parts, tiling, element), e.maximum(stride_bytes, 1))
        cached = e.select(is_once, depth, cached)
        limit = e.select(e.compare("gt", dots, 0), e.minimum(cached, most_deep - tiling.lanes), cached)
        depth_step = even_step(e.maximum(depth, 1), e.maximum(limit, _MIN_DEPTH), tiling.lanes)
        kept_rows = e.div(tiling.l1_bytes // (4 * item_bytes(element)), depth_step)
        unit = e.select(by_tall, lcm(tall.rows, row_group(tiling)), row_group(tiling))
        step = e.maximum(e.round_down(kept_rows, unit), unit)
        with e.loop(0, depth, depth_step) as k:
            deep = e.minimum(e.sub(depth, k), depth_step)
            add = e.any_of(accumulate, e.compare("ne", k, 0))
            done = epilogue.when(e.compare("eq", e.add(k, deep), depth))
            _transpose(b_parts, (k, deep), (tiles_end, dots), lines, most_dots)
            with e.loop(first_row, last_row, step) as i:
                end = e.minimum(e.add(i, step), last_row)

                def multiply(j: e.Index, left: e.Index, tile: NarrowTile) -> None:
                    arguments = [place_in(a_parts, i, k), *a_parts.strides, e.sub(end, i)]
                    arguments += [place_in(b_parts, k, j), b_parts.strides[0], deep]
                    e.call(tile.name, [*arguments, place_in(c_parts, i, j), c_parts.strides[0], left, add])

                by_tiles(tiling, tiles, first_column, tiles_end, multiply)
                with e.when(e.compare("gt", dots, 0)):
                    high, places = e.sub(end, i), (e.mul(i, a_parts.strides[0]), e.mul(i, c_parts.strides[0]))
                    lines_of_a = e.view(
                        a_parts, (high, deep), a_parts.strides, e.add(places[0], k), unit_inner=True
                    )
                    right = e.view(e.metadata(lines), (dots, deep), (most_deep, 1), unit_inner=True)
                    place = e.add(places[1], tiles_end)
                    part = e.view(c_parts, (high, dots), c_parts.strides, place, unit_inner=True)
                    e.call(parts.dots, [lines_of_a, right, part, add])
                with e.when(by_tall):
                    tall.emit_product(
                        (a_parts, b_parts, c_parts), (i, end), (tiles_end, beyond_tall), (k, deep), add
                    )
                with e.when(done):
                    epilogue.run(i, e.sub(end, i), first_column, e.sub(last_column, first_column))
    if tiling.half_lines:
        emit_finish(
            block, parts.unpacked("finish"), parts.groups.unpacked, replace(tiling, vectors=1), element, None
        )
    for tile in {tile.name: tile for tile in tiles.values()}.values():
        emit_narrow_tile(block, parts.unpacked("finish"), tile, tiling, element)
    tall.emit(block)


def _kept_bytes(a: e.Strided, tiling: Tiling, element: e.Type) -> e.Index:
    """The size in bytes of a block of B.

    High and wide tiles read it from L2 without stalls, so the block may be deep. But if the elements of a row of A are
    not contiguous, each step of the depth touches another page of A.
    """
    near = tiling.l1_bytes * 3 // 4
    if not has_wide_tile(tiling):
        return near
    deep = tiling.kept_left * item_bytes(element) // 2
    return e.select(e.compare("eq", a.strides[1], 1), deep, near)


def _most_deep(tiling: Tiling, element: e.Type) -> int:
    """The maximum depth of a block with dot products: their columns of B take half of L1 at a time."""
    return max(tiling.l1_bytes // (2 * MAX_DOTS * item_bytes(element)), _MIN_DEPTH) + tiling.lanes


def _dots_pay(a: e.Strided, b: e.Strided, beyond: e.Index, tiling: Tiling) -> e.Value:
    """True if remainder columns after whole vectors are to be dot products with rows of A.

    They are if these rows are contiguous and long, and there are few such columns, or some more without whole vectors.
    Next to other columns of a B whose rows are not padded to whole vectors (a transposed B is padded), an idle part of
    a vector takes less time (by 3 to 10 % for f32, measured with AVX-512).
    """
    columns, part = b.sizes[1], tiling.lanes // _IDLE_PART
    few = e.compare("le", beyond, min(part, MAX_DOTS))
    is_padded = e.compare("eq", b.strides[0], e.round_up(columns, tiling.lanes))
    beside = e.any_of(
        are_of_a_wide_tile(tiling, columns, beyond),
        e.all_of(fit_beside_others(tiling, columns, beyond), e.negate(is_padded)),
    )
    few = e.all_of(few, e.negate(beside))
    alone = e.all_of(e.compare("eq", columns, beyond), e.compare("le", beyond, part))
    return e.all_of(
        e.any_of(alone, few),
        e.compare("eq", a.strides[1], 1),
        e.compare("ge", a.sizes[1], _SHORT_DOTS * tiling.lanes),
    )


def _transpose(
    b: e.Strided, rows: tuple[e.Index, e.Index], columns: tuple[e.Index, e.Index], lines: e.Value, lanes: int
) -> None:
    """Transpose a part of B, given by start and count of rows and of columns, so that its columns become rows.

    `lines` has `lanes` rows, and there are no more columns; elements after the counts are undefined.
    """
    (row, high), (column, wide) = rows, columns
    matrix = e.view(b, b.sizes, b.strides, unit_inner=True)
    where, last = simd.mask(wide, lanes), e.sub(high, 1)
    with e.when(e.compare("gt", wide, 0)), e.loop(0, high, lanes) as k:
        numbers = [e.add(row, e.minimum(e.add(k, n), last)) for n in range(lanes)]
        square = [simd.load(lanes, matrix, number, column, where=where) for number in numbers]
        for n, line in enumerate(transpose(square)):
            simd.store(line, lines, n, k)


def by_tiles(
    tiling: Tiling,
    tiles: dict[str, NarrowTile],
    first: e.Value,
    end: e.Index,
    multiply: Callable[[e.Index, e.Index, NarrowTile], None],
) -> None:
    """Compute columns by tiles: the widest ones, then those that leave the fewest lanes idle."""
    lanes, whole = tiling.lanes, tiles["whole"]
    columns = whole.columns(tiling)
    kept = lanes + 1 if "three" in tiles else lanes // 2 + 1
    times = e.div(e.sub(e.maximum(e.sub(end, first), kept), kept), columns)
    last = e.add(first, e.mul(times, columns))
    with e.loop(first, last, columns) as j:
        multiply(j, e.index(columns), whole)
    left = e.sub(end, last)

    def use(*names: str) -> Callable[[], None]:
        def emit() -> None:
            done = 0
            for name in names:
                multiply(e.add(last, done), e.sub(left, done), tiles[name])
                done += tiles[name].columns(tiling)

        return emit

    limits = {"one": lanes, "one_half": lanes * 3 // 2, "two": 2 * lanes, "three": 3 * lanes}
    ways = [(e.compare("le", left, limit), use(name)) for name, limit in limits.items() if name in tiles]
    if not whole.is_masked:
        ways.insert(0, (e.compare("eq", left, columns), use("whole")))
    otherwise = use("two", "two") if "three" in tiles else use("whole", "one")
    with e.when(e.compare("gt", left, 0)):
        _first_of(ways, otherwise)


def _first_of(ways: list[tuple[e.Value, Callable[[], None]]], otherwise: Callable[[], None]) -> None:
    if not ways:
        otherwise()
        return
    (condition, emit), *rest = ways
    e.branch(condition, emit, lambda: _first_of(rest, otherwise))
