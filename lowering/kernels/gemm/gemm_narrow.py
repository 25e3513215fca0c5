"""Products with few columns, of operands that are read where they lie: packing them takes as long as multiplying.

A register tile reads some rows of A, element by element, with any strides, and rows of B, whose elements are next to
each other. There are few columns, so that a block of B stays in the first-level cache while all rows of A go by.
Very few columns beyond whole vectors are dot products: a vector more in each row of a tile would be mostly idle.
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
"""Products with more columns are worth packing."""

_MAX_STRIDE = 2 * MAX_COLUMNS
"""Rows of B that are further apart share sets of the first-level cache."""

_IDLE_PART = 2
"""Columns beyond whole vectors that are at most such a part of a vector are dot products."""

_SHORT_DOTS = 4
"""Vectors of depth from which on these are worth adding up their lanes."""

_STEPS_AHEAD = 5
"""How many steps of the depth ahead tiles ask for lines of A (measured on Ice Lake).

A tile of one vector does not: it loads more often than it multiplies. Nor do those with AVX2, which has half as many
registers: addresses would not fit, and nothing was gained.
"""

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
    """The tiles by their names: `whole` for the first columns, then those for what is left."""
    group = parts.groups.unpacked
    one = NarrowTile(parts.unpacked("one"), group, tile_rows(tiling, 1), 1)
    high = tile_rows(tiling, 2)
    if tiling.half_lines:
        two = NarrowTile(parts.unpacked("two"), group, high, 2)
        # Lanes are masked by slow instructions.
        whole = NarrowTile(parts.unpacked("two_whole"), group, high, 2, is_masked=False)
        return {"whole": whole, "one": one, "two": two}
    ahead = partial(NarrowTile, left_ahead=_STEPS_AHEAD)
    two = ahead(parts.unpacked("two"), group, high, 2)
    tiles = {"whole": two, "one": one, "two": two}
    if has_wide_tile(tiling):
        tiles["whole"] = tiles["three"] = ahead(parts.unpacked("three"), group, high, 3)
    # Of f32, dot products or tall tiles do most of the columns for which this would be of use.
    if tiling.lanes <= 8:
        tiles["one_half"] = ahead(parts.unpacked("one_half"), group, high, 2, ends_half=True)
    return tiles


def emit_narrow(block: e.Block, parts: Parts, tiling: Tiling, element: e.Type) -> None:
    """Emit C (+)= A B with its epilogue, where `is_narrow` holds; arguments as those of the packed way."""
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
        # All of C counts, and not the part: sums are not to depend on threads.
        columns = b_parts.sizes[1]
        by_dots = _dots_pay(a_parts, b_parts, beyond, tiling)
        beyond_tall = tall.beyond(wide)
        by_tall = tall.pays(a_parts, columns, beyond_tall)
        # Few rows use each line of B once.
        is_once = e.all_of(e.compare("le", e.dim(c, 0), MAX_TILE_ROWS), e.compare("gt", depth, 2 * MAX_DEPTH))
        if tiling.lanes <= 8:  # then making lines of B takes as long as the idle lanes of so few rows
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
    """How much of B a block of depth takes.

    High and wide tiles read it from the second-level cache without waiting, so that the block may be deep; but where
    elements of a row of A are apart, each step of the depth takes another page of it.
    """
    near = tiling.l1_bytes * 3 // 4
    if not has_wide_tile(tiling):
        return near
    deep = tiling.kept_left * item_bytes(element) // 2
    return e.select(e.compare("eq", a.strides[1], 1), deep, near)


def _most_deep(tiling: Tiling, element: e.Type) -> int:
    """The most depth of a block with dot products: their lines of B take half of the first-level cache at a time."""
    return max(tiling.l1_bytes // (2 * MAX_DOTS * item_bytes(element)), _MIN_DEPTH) + tiling.lanes


def _dots_pay(a: e.Strided, b: e.Strided, beyond: e.Index, tiling: Tiling) -> e.Value:
    """Whether columns beyond whole vectors are to be dot products with lines of A.

    They are if those are long, lie so, and it pays: if there are few such columns, and without whole vectors some more.
    Beside other columns of a B whose rows do not begin with whole vectors, as those of a B that was turned do, an idle
    part of a vector takes less time (by 3 to 10 % for f32, measured with AVX-512).
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
    """Copy a part of B, of rows and columns from some on, as many as are given, so that columns are lines.

    There are `lanes` lines, and no more columns; what is behind either of them is not defined.
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
    """Do some columns by tiles: the widest ones, then those that leave the fewest lanes idle."""
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
