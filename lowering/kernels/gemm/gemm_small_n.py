"""Small-N GEMMs, whose operands are read in place: packing them takes as long as multiplying."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import lcm

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.emit import address, item_bytes, memref_at
from relax_mlir.lowering.kernels.core.simd import transpose
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, by_parts, signature
from relax_mlir.lowering.kernels.gemm.gemm_micro import emit_finish
from relax_mlir.lowering.kernels.gemm.gemm_pack import Packing
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling, even_step
from relax_mlir.lowering.kernels.gemm.gemv import MAX_DOTS, dot_group
from relax_mlir.mlir import arith, ir

# The register tiles of small-N GEMMs, which read both operands in place.
#
# A tile reads some rows of A, element by element, with any strides, and row-contiguous B.


@dataclass(frozen=True)
class NarrowTile:
    """A register tile: its rows, the vectors in each of them, and whether the last one may be masked.

    `ends_half`: the last vector has half as many lanes as the others; a CPU may process twice as many of these at a
    time. Prefetch distances (0: none): `tiles_ahead`, in tiles, for columns of B; `left_ahead` and `right_ahead`, in
    steps of the depth, for A and B. Hardware prefetchers do not find the next cache lines if steps read rows that are
    far apart.
    """

    name: str
    rows: int
    vectors: int
    is_masked: bool = True
    ends_half: bool = False
    tiles_ahead: int = 0
    left_ahead: int = 0
    right_ahead: int = 0

    def lanes(self, tiling: Tiling) -> list[int]:
        """The lanes of each vector."""
        last = tiling.lanes // (1 + self.ends_half)
        return [tiling.lanes] * (self.vectors - 1) + [last]

    def columns(self, tiling: Tiling) -> int:
        """The maximum number of columns."""
        return sum(self.lanes(tiling))


def has_wide_tile(tiling: Tiling) -> bool:
    """True if the registers hold a tile of three vectors, whose lanes may be masked."""
    return tiling.registers >= 32 and not tiling.half_lines


def are_of_a_wide_tile(tiling: Tiling, columns: e.Index, beyond: e.Index) -> e.Value:
    """True if remainder columns after whole vectors, of `columns` in all, fit into a tile that other columns need, too.

    They do if the others do not fill tiles of three vectors. An idle part of a vector costs little there, for elements
    of 64 bits (measured with AVX-512).
    """
    return fit_beside_others(tiling, columns, beyond) if tiling.lanes <= 8 else e.flag(False)


def fit_beside_others(tiling: Tiling, columns: e.Index, beyond: e.Index) -> e.Value:
    """`are_of_a_wide_tile` for elements of any width."""
    if not has_wide_tile(tiling):
        return e.flag(False)
    return e.compare("ne", e.sub(columns, beyond), e.round_down(columns, 3 * tiling.lanes))


def emit_narrow_tile(block: e.Block, finish: str, tile: NarrowTile, tiling: Tiling, element: e.Type) -> None:
    """Emit the function of a tile.

    Arguments: the address of the first element of A, row stride and element stride of A, the number of rows (a tile
    that lacks rows computes and writes the last one several times); the address of the first element of B, its row
    stride, the depth; the address of the first element of C, its leading dimension, the number of columns from there, a
    flag to add to C.
    """
    size, flag = ir.IndexType.get(), ir.IntegerType.get_signless(1)
    lanes, rows, vectors = tiling.lanes, tile.rows, tile.vectors
    wide, places = tile.lanes(tiling), [v * lanes for v in range(vectors)]
    # `finish` stores masked vectors where masked instructions are slow.
    direct = vectors - (tile.is_masked and tiling.half_lines)
    with e.function(block, tile.name, [*[size] * 10, flag]) as values:
        a_at, a_stride, a_step, total_rows, b_at, b_stride, depth, c_at, c_stride, left, accumulate = values
        a, b, c = (memref_at(at, element, [1], unit_inner=True) for at in (a_at, b_at, c_at))
        own = e.stack(element, rows * lanes) if direct < vectors else None
        where = simd.mask(e.sub(left, places[-1]), wide[-1]) if tile.is_masked else None
        masks = [*[None] * (vectors - 1), where]
        zeros = [e.constant(e.vector_type(count, element), 0) for count in wide] * rows
        offsets = [[e.mul(r, stride) for r in range(rows)] for stride in (a_stride, c_stride)]
        with e.loop(0, total_rows, rows) as row:
            count = e.sub(total_rows, row)
            is_there = [e.compare("lt", r, count) for r in range(rows)]

            def starts_of(stride: e.Value, known: list[e.Index]) -> list[e.Index]:
                first, last = e.mul(row, stride), e.mul(e.sub(total_rows, 1), stride)
                return [
                    e.select(there, e.add(first, offset), last) for there, offset in zip(is_there, known, strict=True)
                ]

            starts, c_starts = starts_of(a_stride, offsets[0]), starts_of(c_stride, offsets[1])

            def old() -> list[e.Value]:
                found = []
                for start in c_starts:
                    found += [simd.load(wide[v], c, e.add(start, places[v]), where=masks[v]) for v in range(direct)]
                    found += zeros[direct:vectors]
                return found

            types = [value.type for value in zeros]
            initial = e.choose(accumulate, types, old, lambda: zeros) if direct else zeros

            def multiply(asks_left: bool) -> list[e.Value]:
                """The accumulators at the end of the depth."""
                with e.carrying_loop(0, depth, 1, [*initial, e.index(0), e.index(0)], unroll=False) as k:
                    *sums, at, line_at = k.values
                    line = [simd.load(wide[v], b, e.add(line_at, places[v]), where=masks[v]) for v in range(vectors)]
                    if tile.tiles_ahead:
                        beyond = tile.tiles_ahead * tile.columns(tiling)
                        for column in places:
                            e.prefetch_ahead(b, e.add(line_at, beyond + column))
                    if asks_left:  # in one step, adjacent rows of A share a cache line or two
                        later = e.add(at, e.mul(a_step, tile.left_ahead))
                        for start in (starts[0], starts[-1]):
                            e.prefetch(a, e.add(start, later))
                    if tile.right_ahead:
                        later = e.add(line_at, e.mul(b_stride, tile.right_ahead))
                        for column in (*places, tile.columns(tiling) - 1):
                            e.prefetch(b, e.add(later, column))
                    new = []
                    for r, start in enumerate(starts):
                        factor = simd.splat(e.load(a, e.add(start, at)), lanes)
                        factors = [factor if count == lanes else simd.lanes_of(factor, 0, count) for count in wide]
                        before = sums[r * vectors : (r + 1) * vectors]
                        new += [
                            simd.fma(factor, x, y, tiling.fused)
                            for factor, x, y in zip(factors, line, before, strict=True)
                        ]
                    k.give([*new, e.add(at, a_step), e.add(line_at, b_stride)])
                return k.results[: rows * vectors]

            if tile.left_ahead:
                are_apart = e.all_of(e.compare("ne", a_step, 1), e.compare("gt", depth, 2 * tile.left_ahead))
                sums = e.choose(are_apart, types, lambda: multiply(True), lambda: multiply(False))
            else:
                sums = multiply(False)
            totals = [sums[r * vectors : (r + 1) * vectors] for r in range(rows)]
            for start, total in zip(c_starts, totals, strict=True):
                for v in range(direct):
                    simd.store(total[v], c, e.add(start, places[v]), where=masks[v])
            if own is not None:
                for r, total in enumerate(totals):
                    simd.store(total[direct], own, r * lanes)
                first = e.add(e.mul(row, c_stride), direct * lanes)
                place = e.add(c_at, e.mul(first, item_bytes(element)))
                beside = [place, c_stride, e.sub(left, direct * lanes), accumulate]
                e.call(finish, [address(e.metadata(own), 0), e.minimum(count, rows), *beside])


def place_in(parts: e.Strided, row: e.Index, column: e.Index) -> e.Value:
    """The address of an element of a matrix."""
    (down, right) = parts.strides
    return address(parts, e.add(e.mul(row, down), e.mul(column, right)))


# Few columns of a GEMM with column-contiguous A: vectors run along the rows of C.
#
# In the other tiles of such a GEMM each lane is a column of C, so that lanes after the last column are idle.
# Here each lane is a row: a tall tile reads vectors of A and elements of B, and its accumulators are
# transposed on their way to C.


_HIGH = 4
"""Columns of C that a tall tile computes together."""

_TALL_STEPS_AHEAD = 4
"""The prefetch distance for cache lines of A, in steps of the depth (measured on Ice Lake)."""

_MIN_TALL_DEPTH = 2
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
            _HIGH,
            vectors,
            is_masked=False,
            right_ahead=_TALL_STEPS_AHEAD,
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
        few = e.all_of(e.compare("le", beyond, beside), e.negate(are_of_a_wide_tile(self.tiling, columns, beyond)))
        return e.all_of(
            e.compare("gt", beyond, 0),
            e.any_of(e.compare("eq", columns, beyond), few),
            e.compare("eq", a.strides[0], 1),
            e.compare("ne", a.strides[1], 1),
            e.compare("le", beyond, self._max_columns),
            e.compare("ge", a.sizes[0], self.rows),
            e.compare("ge", a.sizes[1], e.mul(beyond, _MIN_TALL_DEPTH)),
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
        with e.function(block, self.parts.unpacked("tall_write"), [*[size] * 6, flag]) as values:
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

                    def old(places: list[tuple[e.Index, e.Value]] = places, where: e.Value = where) -> list[e.Value]:
                        return [simd.load(_HIGH, c, *place, where=where) for place in places]

                    # A load, even under an empty mask, waits for the store of the previous row where the two overlap.
                    zeros = [e.constant(type_, 0)] * _HIGH
                    before = e.choose(accumulate, [type_] * _HIGH, old, partial(list[e.Value], zeros))
                    lines = transpose([simd.load(_HIGH, sums, e.add(j, n), r) for n in range(_HIGH)])
                    for place, line, value in zip(places, lines, before, strict=True):
                        simd.store(arith.addf(line, value), c, *place, where=where)
            elements(end, last)


# Small-N GEMMs with a large, column-contiguous A, whose blocks are transposed.
#
# The elements of a row of A are far apart in memory: read one by one, each cache line would be loaded for a
# few elements. A block reads long contiguous runs instead, and stays in L2.


MAX_DEPTH = 128
"""The maximum depth of a block: each block reads and writes C."""

MAX_TILE_ROWS = 8
"""The maximum number of rows of a tile: there are no lower ones, so that higher ones would be idle more often."""


def tile_rows(tiling: Tiling, vectors: int) -> int:
    """Rows of the tile of one vector or two. One-vector tiles need more rows to hide the latency."""
    return MAX_TILE_ROWS if vectors == 1 else min(tiling.rows, MAX_TILE_ROWS)


def row_group(tiling: Tiling) -> int:
    """The row granularity: parts of threads and blocks begin at multiples of it.

    The last bits of results depend on how many dot products are interleaved.
    """
    return lcm(tile_rows(tiling, 1), tile_rows(tiling, 2), dot_group(tiling))


def narrow_product(tall: TallTiles, a: e.Strided, columns: e.Index, arguments: list[e.Value]) -> None:
    """Call the GEMM that reads A in place, or the one for an A that would be read from memory several times."""
    parts = tall.parts
    e.branch(
        e.any_of(e.compare("eq", a.strides[1], 1), is_near(a, tall.tiling), tall.pays(a, columns, columns)),
        lambda: e.call(parts.narrow, arguments),
        lambda: e.call(parts.narrow_left, arguments),
    )


def is_near(a: e.Strided, tiling: Tiling) -> e.Value:
    """True if all of A stays in L2, from which cache lines may be read more than once."""
    rows, depth = a.sizes
    return e.compare("le", e.mul(rows, depth), max_read(tiling))


def max_read(tiling: Tiling) -> int:
    """The maximum number of elements of an A that stays in L2."""
    return 4 * tiling.kept_left


def emit_narrow_left(block: e.Block, parts: Parts, packing: Packing) -> None:
    """Emit the GEMM; it takes the arguments of `emit_narrow`, whose loops it calls."""
    tiling, element = packing.tiling, packing.element
    types, part = [*signature(element, element), *ep.types()], f"{parts.narrow_left}.part"
    with e.function(block, parts.narrow_left, types) as arguments:
        by_parts(tiling, part, arguments[0], arguments[2], arguments, row_group=row_group(tiling))
    with e.function(block, part, [*types, *[ir.IndexType.get()] * 4]) as values:
        a, b, c, accumulate, *carried, first_row, last_row, first_column, last_column = values
        epilogue, nothing = ep.Epilogue(*carried), ep.nothing(block)
        a_parts, b_parts, c_parts = map(e.metadata, (a, b, c))
        depth, columns = b_parts.sizes
        lines = e.view(a_parts, a_parts.sizes[::-1], a_parts.strides[::-1], unit_inner=True)
        leading = MAX_DEPTH + tiling.lanes
        most = max(tiling.rows, tiling.kept_left // MAX_DEPTH)
        unit = lcm(tiling.lanes, row_group(tiling))
        rows_step = even_step(e.maximum(e.sub(last_row, first_row), 1), max(most, unit), unit)
        depth_step = even_step(e.maximum(depth, 1), MAX_DEPTH, tiling.lanes)
        with (
            e.scratch(element, e.mul(rows_step, leading)) as memory,
            e.loop(first_row, last_row, rows_step) as i,
        ):
            high = e.minimum(e.sub(last_row, i), rows_step)
            below = e.mul(i, c_parts.strides[0])
            result = e.view(c_parts, (high, columns), c_parts.strides, below, unit_inner=True)
            with e.loop(0, depth, depth_step) as k:
                deep = e.minimum(e.sub(depth, k), depth_step)
                e.call(packing.transpose, [lines, k, deep, i, high, memory, e.index(0), e.index(leading)])
                left = e.view(e.metadata(memory), (high, deep), (leading, 1))
                right = e.view(b_parts, (deep, columns), b_parts.strides, e.mul(k, b_parts.strides[0]))
                add = e.any_of(accumulate, e.compare("ne", k, 0))
                bounds = [e.index(0), high, first_column, last_column]
                e.call(f"{parts.narrow}.part", [left, right, result, add, *nothing.arguments, *bounds])
            with e.when(epilogue.when(e.flag(True))):
                epilogue.run(i, high, first_column, e.sub(last_column, first_column))


# Small-N GEMMs, whose operands are read in place: packing them takes as long as multiplying.
#
# A register tile reads some rows of A, element by element, with any strides, and row-contiguous B. There are
# few columns, so a block of B stays in L1 while all rows of A stream past. Very few remainder columns after
# whole vectors are dot products: another vector in each row of a tile would be mostly idle.


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
    one = NarrowTile(parts.unpacked("one"), tile_rows(tiling, 1), 1)
    high = tile_rows(tiling, 2)
    if tiling.half_lines:
        two = NarrowTile(parts.unpacked("two"), high, 2)
        # Masked instructions are slow.
        whole = NarrowTile(parts.unpacked("two_whole"), high, 2, is_masked=False)
        return {"whole": whole, "one": one, "two": two}
    ahead = partial(NarrowTile, left_ahead=_STEPS_AHEAD)
    two = ahead(parts.unpacked("two"), high, 2)
    tiles = {"whole": two, "one": one, "two": two}
    if has_wide_tile(tiling):
        tiles["whole"] = tiles["three"] = ahead(parts.unpacked("three"), high, 3)
    # For f32, dot products or tall tiles compute most of the columns that this tile would improve.
    if tiling.lanes <= 8:
        tiles["one_half"] = ahead(parts.unpacked("one_half"), high, 2, ends_half=True)
    return tiles


def emit_narrow(block: e.Block, parts: Parts, tiling: Tiling, element: e.Type) -> None:
    """Emit C (+)= A B with its epilogue, where `is_narrow` holds; it takes the arguments of the packed code path."""
    types = [*signature(element, element), *ep.types()]
    tiles, tall = tiles_of(parts, tiling), TallTiles(parts, tiling, element)
    with e.function(block, parts.narrow, types) as arguments:
        by_parts(tiling, f"{parts.narrow}.part", arguments[0], arguments[2], arguments, row_group=row_group(tiling))
    with e.function(block, f"{parts.narrow}.part", [*types, *[ir.IndexType.get()] * 4]) as values:
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
                    lines_of_a = e.view(a_parts, (high, deep), a_parts.strides, e.add(places[0], k), unit_inner=True)
                    right = e.view(e.metadata(lines), (dots, deep), (most_deep, 1), unit_inner=True)
                    place = e.add(places[1], tiles_end)
                    part = e.view(c_parts, (high, dots), c_parts.strides, place, unit_inner=True)
                    e.call(parts.dots, [lines_of_a, right, part, add])
                with e.when(by_tall):
                    tall.emit_product((a_parts, b_parts, c_parts), (i, end), (tiles_end, beyond_tall), (k, deep), add)
                with e.when(done):
                    epilogue.run(i, e.sub(end, i), first_column, e.sub(last_column, first_column))
    if tiling.half_lines:
        emit_finish(block, parts.unpacked("finish"), replace(tiling, vectors=1), element, None)
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
