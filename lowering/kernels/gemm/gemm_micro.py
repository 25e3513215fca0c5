"""The micro-kernel of a GEMM: a tile of C in vector registers, accumulated over packed operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.emit import address, item_bytes, memref_at
from relax_mlir.lowering.kernels.gemm.gemm_pack import PAIR, can_round, dot, rounded, splat_pair
from relax_mlir.lowering.kernels.gemm.gemm_tiling import MAX_ROWS, Tiling
from relax_mlir.mlir import arith, ir
from relax_mlir.target import CACHE_LINE

# GEMM accumulators that are rounded in registers: tiles write the narrower elements directly to the result.
#
# If the operands are narrower than the accumulators, the result often is as narrow. If one block of the depth
# completes an accumulator, it need not be stored to memory.


@dataclass(frozen=True)
class Rounding:
    """The rounding that tiles can apply to accumulators: to the element type of the operands.

    `by_dots`: the accumulators are results of `gemm_pairs.dot`, which are never subnormal.
    """

    element: e.Type
    by_dots: bool

    @staticmethod
    def of(source: e.Type, sums: e.Type, by_dots: bool) -> Rounding | None:
        """The rounding for operands of the type `source`; None if it is as wide as the accumulators."""
        return Rounding(source, by_dots) if source.width < sums.width else None

    def apply(self, sums: e.Value) -> e.Value:
        """Round a vector of accumulators to nearest, ties to even."""
        if self.by_dots and can_round(sums.type.shape[0]):
            return rounded(sums, self.element)
        return simd.narrow(sums, self.element)

    def item_bytes(self, rounds: e.Value, sums: e.Type) -> e.Index:
        """Bytes of an element of the result: of the rounded type if it `rounds`, else of the accumulators."""
        return e.select(rounds, item_bytes(self.element), item_bytes(sums))


def is_done_by_tiles(rows: e.Index, columns: e.Index, depth: e.Index, most_depth: e.Index) -> e.Value:
    """True if tiles complete the accumulators of a GEMM: it uses tiles, and its depth fits one block."""
    return e.all_of(
        e.compare("gt", rows, MAX_ROWS),
        e.compare("gt", columns, 1),
        e.compare("gt", depth, 0),
        e.compare("le", depth, most_depth),
    )


def result_of_sums(start: e.Index, leading: e.Index, sizes: tuple[e.Index, e.Index], sums: e.Type) -> e.Value:
    """View the result at an address as the C of a GEMM that rounds: it gets the type of the accumulators, `sums`.

    `leading`: the leading dimension of the result.
    """
    return memref_at(start, sums, [leading, 1], unit_inner=True, sizes=sizes)


_AHEAD = 32
"""Prefetch distance for B in steps of the depth, if a vector fills a cache line. Otherwise each load of B misses L1,
which costs 2 to 4 % of the time on Zen 5. (With narrower vectors the hardware prefetcher keeps up.)"""


def emit_tile(
    block: e.Block,
    name: str,
    finish: str,
    tiling: Tiling,
    element: e.Type,
    rows: int,
    operands: tuple[e.Type, e.Type],
    rounding: Rounding | None,
    narrow: bool = False,
) -> None:
    """Emit the micro-kernel for `rows` rows of one panel of C; a `narrow` one has only the first vector of columns.

    C and packed A have the type `element`, whereas packed B (`operands`) may be narrower and is widened; or both hold
    pairs for dot products.

    Arguments: the address of the first row of A and its row stride, the address of the panel of packed B, the depth of
    the block, the address of the tile in C and its leading dimension, the number of columns left from there, a flag to
    add to C, with a `rounding` a flag to store rounded accumulators, and, if tiles may lack their last row
    (`Tiling.row_step`), the number of rows: the row before is read instead. Last, if tiles prefetch
    (`Tiling.half_lines`), the prefetch address and its increment per step of the depth. The function `finish`
    (`emit_finish`) handles everything but plain stores of full tiles.
    """
    size, flag = ir.IndexType.get(), ir.IntegerType.get_signless(1)
    may_lack = tiling.row_step > 1
    types = [*[size] * 7, flag, *[flag] * bool(rounding), *[size] * may_lack]
    types += [size] * (2 * tiling.half_lines)
    with e.function(block, name, types) as values:
        a_at, a_stride, b_at, depth, c_at, c_stride, left, accumulate, *rest = values
        rounds, rest = rest[: bool(rounding)], rest[bool(rounding) :]
        counts, ahead = rest[:may_lack], rest[may_lack:]
        a, b = (memref_at(at, type_, [1], unit_inner=True) for at, type_ in zip((a_at, b_at), operands, strict=True))
        c = memref_at(c_at, element, [c_stride, 1], unit_inner=True)
        lines = c
        if rounding:
            leading = e.mul(c_stride, rounding.item_bytes(rounds[0], element))
            lines = memref_at(c_at, ir.IntegerType.get_signless(8), [leading, 1], unit_inner=True)
        for r in range(rows):  # prefetch C while the accumulation runs
            e.prefetch(lines, r, 0, write=True)
        buffer = e.stack(element, rows * tiling.columns)
        starts = [e.mul(r, a_stride) for r in range(rows - len(counts))]
        starts += [e.mul(e.sub(count, 1), a_stride) for count in counts]
        vectors = 1 if narrow else tiling.vectors
        sums = _multiply(tiling, vectors, element, a, starts, b, depth, ahead)
        count = counts[0] if counts else rows

        def finished() -> None:
            e.call(finish, [own, count, c_at, c_stride, left, accumulate, *rounds])

        own = address(e.metadata(buffer), 0)
        if narrow:
            _store(tiling, sums, _places(own, tiling.columns, element, rows, [], own))
            finished()
            return
        whole = e.all_of(e.compare("ge", left, tiling.columns), e.negate(accumulate))
        is_full = [e.compare("eq", count, rows) for count in counts]

        def write() -> None:
            """Store to C, or to memory for `finish`, by the same instructions: they are a large part of the code."""
            simple = e.all_of(whole, *map(e.negate, rounds))
            start, leading = e.select(simple, c_at, own), e.select(simple, c_stride, tiling.columns)
            has_last = [e.any_of(full, e.negate(simple)) for full in is_full]
            places = _places(start, leading, element, rows, has_last, own)
            _store(tiling, sums, places)
            with e.when(e.negate(simple)):
                finished()

        def write_rounded() -> None:
            assert rounding is not None
            rounded = [[rounding.apply(x) for x in line] for line in sums]
            _store(tiling, rounded, _places(c_at, c_stride, rounding.element, rows, is_full, own))

        if rounding and rows == tiling.rows:  # lower tiles are edge tiles
            e.branch(e.all_of(whole, *rounds), write_rounded, write)
        else:
            write()


_Place = tuple[e.Value, int]
"""A memref and a row in it."""


def _places(
    start: e.Value, leading: e.Index, element: e.Type, rows: int, has_last: Sequence[e.Value], own: e.Value
) -> list[_Place]:
    """The destinations of the rows of a tile from an address; a last row that does not exist goes to `own`."""
    matrix = memref_at(start, element, [leading, 1], unit_inner=True)
    places = [(matrix, r) for r in range(rows - len(has_last))]
    for is_there in has_last:
        last = e.add(start, e.mul(leading, (rows - 1) * item_bytes(element)))
        places.append((memref_at(e.select(is_there, last, own), element, [0, 1], unit_inner=True), 0))
    return places


def _store(tiling: Tiling, lines: Sequence[Sequence[e.Value]], places: Sequence[_Place]) -> None:
    for (memory, row), line in zip(places, lines, strict=True):
        for v, x in enumerate(line):
            simd.store(x, memory, row, v * tiling.lanes)


def _multiply(
    tiling: Tiling,
    vectors: int,
    element: e.Type,
    a: e.Value,
    starts: Sequence[e.Index],
    b: e.Value,
    depth: e.Value,
    ahead: Sequence[e.Value],
) -> list[list[e.Value]]:
    """Accumulate over the depth of the block the first `vectors` vectors of each row; its row of A begins at `starts`.

    `ahead`: empty, or the first prefetch address and its increment per step.
    """
    rows = len(starts)
    high = rows == tiling.rows  # lower tiles are edge tiles
    wide = tiling.lanes * tiling.group
    pairs = tiling.group == PAIR

    def added(left: e.Value, right: e.Value, total: e.Value) -> e.Value:
        return dot(left, right, total) if pairs else simd.fma(left, right, total, tiling.fused)

    def step(k: e.Index, sums: Sequence[e.Value]) -> list[e.Value]:
        at = e.mul(k, tiling.columns)
        places = [e.add(at, v * wide) for v in range(vectors)]
        if wide * e.element_of(b.type).width == 8 * CACHE_LINE:
            for place in places:
                e.prefetch(b, e.add(place, _AHEAD * tiling.columns * tiling.group))
        line = [simd.load(wide, b, place) for place in places]
        line = line if pairs else [simd.widen(right, element) for right in line]
        found = []
        for row, start in enumerate(starts):
            place = e.add(start, k)
            left = splat_pair(a, place, tiling.lanes) if pairs else simd.splat(e.load(a, place), tiling.lanes)
            old = sums[row * vectors : (row + 1) * vectors]
            found += [added(left, x, y) for x, y in zip(line, old, strict=True)]
        return found

    count = rows * vectors
    values = [*[e.constant(e.vector_type(tiling.lanes, element), 0)] * count, *ahead[:1]]
    done: e.Index = 0
    # Several steps at a time, then the rest of the depth one by one.
    for steps in sorted({tiling.steps, 1}, reverse=True) if high else [1]:
        size = steps * tiling.group
        end = e.round_down(depth, size) if steps > 1 else depth
        with e.carrying_loop(done, end, size, values, unroll=high) as k:
            sums, asked = k.values[:count], k.values[count:]
            for number in range(steps):
                sums = step(e.add(k.index, number * tiling.group), sums)
            for place in asked:
                e.prefetch_ahead(memref_at(place, ir.IntegerType.get_signless(8), [1], unit_inner=True), 0)
            k.give([*sums, *[e.add(place, e.mul(ahead[1], steps)) for place in asked]])
        values, done = k.results, end
    return [values[row * vectors : (row + 1) * vectors] for row in range(rows)]


def _add_in_pieces(
    lanes: int,
    sums: e.Value,
    at: e.Index,
    c: e.Value,
    place: tuple[e.Index, e.Index],
    count: e.Index,
    accumulate: e.Value,
) -> None:
    """Store or add up to a vector of accumulators: the whole vector, or pieces of powers of two."""
    element = e.element_of(c.type)

    def piece(wide: int, offset: e.Index) -> None:
        type_, here = e.vector_type(wide, element), (place[0], e.add(place[1], offset))
        there = [type_], lambda: [simd.load(wide, c, *here)], lambda: [e.constant(type_, 0)]
        total = simd.load(wide, sums, e.add(at, offset))
        simd.store(arith.addf(total, *e.choose(accumulate, *there)), c, *here)

    def pieces() -> None:
        wide = lanes // 2
        while wide:
            offset = e.round_down(count, 2 * wide)
            with e.when(e.compare("ne", offset, e.round_down(count, wide))):
                piece(wide, offset)
            wide //= 2

    e.branch(e.compare("eq", count, lanes), lambda: piece(lanes, 0), pieces)


def emit_finish(block: e.Block, name: str, tiling: Tiling, element: e.Type, rounding: Rounding | None) -> None:
    """Emit the function that stores accumulators to C, adds them, or rounds them, within the bounds of C.

    Arguments: the address of the accumulators, row-major, and the number of rows; the address of the tile in C and its
    leading dimension, the number of columns from there, a flag to add to C, and with a `rounding` a flag to store
    rounded accumulators.
    """
    size, flag = ir.IndexType.get(), ir.IntegerType.get_signless(1)
    lanes = tiling.lanes
    with e.function(block, name, [*[size] * 5, flag, *[flag] * bool(rounding)]) as values:
        sums_at, rows, c_at, c_stride, left, accumulate, *rounds = values
        sums = memref_at(sums_at, element, [1], unit_inner=True)
        c = memref_at(c_at, element, [c_stride, 1], unit_inner=True)

        def by_masks(at: e.Index, place: tuple[e.Index, e.Index], count: e.Index) -> None:
            # C is read under a mask that is empty if C is overwritten.
            mask = simd.mask(count, lanes)
            old = simd.load(lanes, c, *place, where=e.all_of(mask, simd.splat(accumulate, lanes)))
            simd.store(arith.addf(simd.load(lanes, sums, at), old), c, *place, where=mask)

        def by_pieces(at: e.Index, place: tuple[e.Index, e.Index], count: e.Index) -> None:
            _add_in_pieces(lanes, sums, at, c, place, count, accumulate)

        def rounded(at: e.Index, place: tuple[e.Index, e.Index], count: e.Index) -> None:
            assert rounding is not None
            narrow = memref_at(c_at, rounding.element, [c_stride, 1], unit_inner=True)

            def vector() -> None:
                simd.store(rounding.apply(simd.load(lanes, sums, at)), narrow, *place)

            def elements() -> None:
                with e.loop(0, count) as j:
                    value = simd.narrow(e.load(sums, e.add(at, j)), rounding.element)
                    e.store(value, narrow, place[0], e.add(place[1], j))

            e.branch(e.compare("eq", count, lanes), vector, elements)

        def write(way: Callable[[e.Index, tuple[e.Index, e.Index], e.Index], None]) -> None:
            with e.loop(0, rows) as r:
                for start in range(0, tiling.columns, lanes):
                    at = e.add(e.mul(r, tiling.columns), start)
                    count = e.minimum(e.sub(e.maximum(left, start), start), lanes)
                    way(at, (r, e.index(start)), count)

        # On AVX2 CPUs (Zen 3), a masked store of a vector takes longer than stores in pieces of 1, 2 and 4.
        exact = by_masks if tiling.masked and not tiling.half_lines else by_pieces
        if rounding:
            e.branch(rounds[0], lambda: write(rounded), lambda: write(exact))
        else:
            write(exact)
