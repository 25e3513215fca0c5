"""The register tile of a matrix product: a part of C in vector registers, summed over packed operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from relax_mlir.lowering.kernels import emit as e
from relax_mlir.lowering.kernels.gemm_pairs import PAIR, dot, splat_pair
from relax_mlir.lowering.kernels.gemm_tiling import Tiling
from relax_mlir.mlir import arith, ir

Line = list[e.Value]
"""The vectors of a row of the tile."""

_LINE = 64
"""Bytes of a cache line. Where a vector fills one, each load of B misses the first-level cache unless it was asked
for: 2 to 4 % of the time on Zen 5. (With narrower vectors the hardware keeps up.)"""

_AHEAD = 32
"""How many steps of the depth ahead to ask for B."""

Masks = Sequence[e.Value | None]
"""For each column vector the lanes that count; None: all."""


def emit_tile(
    block: e.Block, name: str, tiling: Tiling, element: e.Type, rows: int, operands: tuple[e.Type, e.Type]
) -> None:
    """Emit the function that computes `rows` rows of one panel of C.

    C has the type `element`, and so has packed A, whereas packed B (`operands`) may be narrower and is widened; or both
    hold pairs to be multiplied together.

    Arguments: the memory of A, the place of its first row and how far rows are apart, packed B, the place of its panel,
    the depth of the block, C, the tile's first row and column in C, the number of columns left from there, whether
    to add to C, and, where tiles may lack their last row (`Tiling.row_step`), the number of rows.
    """
    matrix, size, flag = (
        e.strided_memref(element, 2, unit_inner=True),
        ir.IndexType.get(),
        ir.IntegerType.get_signless(1),
    )
    left, right = e.strided_memref(operands[0], 1, unit_inner=True), e.flat_memref(operands[1])
    arguments = [left, size, size, right, size, size, matrix, size, size, size, flag]
    may_lack = tiling.row_step > 1
    with e.function(block, name, [*arguments, *[size] * may_lack]) as values:
        a, a_at, a_apart, b, b_at, depth, c, row, column, left, accumulate, *counts = values
        apart = a_apart if tiling.in_place else tiling.row_stride
        for r in range(rows):  # C comes from afar while the sums are computed
            e.prefetch(c, e.add(row, r), column, write=True)
        buffer = None if tiling.masked else e.stack(element, rows, tiling.columns)
        sums = _multiply(tiling, element, rows, a, a_at, apart, b, b_at, depth)
        whole: Masks = [None] * tiling.vectors

        def each_row(write: Callable[[int], None]) -> None:
            for r in range(rows - len(counts)):
                write(r)
            for count in counts:
                with e.when(e.compare("eq", count, rows)):
                    write(rows - 1)

        def write(r: int, masks: Masks = whole, added: Masks | None = None) -> None:
            at = e.add(row, r)
            line = sums[r] if added is None else _added(tiling, sums[r], c, at, column, added)
            _store(tiling, line, c, at, column, masks)

        def write_edge() -> None:
            # Less than a full tile is left: a vector may start beyond the last column. What C holds is read
            # through a mask that is empty if it does not count, which saves a second variant of the code.
            starts = [v * tiling.lanes for v in range(tiling.vectors)]
            masks = [e.mask(e.sub(e.maximum(left, s), s), tiling.lanes) for s in starts]
            counted = e.splat(accumulate, tiling.lanes)
            each_row(partial(write, masks=masks, added=[e.all_of(mask, counted) for mask in masks]))

        def copy_edge() -> None:
            for r, line in enumerate(sums):
                _store(tiling, line, buffer, r, 0, whole)
            with e.loop(0, counts[0] if counts else rows) as r, e.loop(0, left) as j:
                place = [e.add(row, r), e.add(column, j)]
                old = e.load_if(accumulate, c, *place)
                e.store(arith.addf(e.load(buffer, r, j), old), c, *place)

        e.branch(
            e.compare("ge", left, tiling.columns),
            lambda: e.branch(
                accumulate, lambda: each_row(partial(write, added=whole)), lambda: each_row(write)
            ),
            write_edge if buffer is None else copy_edge,
        )


def _multiply(
    tiling: Tiling,
    element: e.Type,
    rows: int,
    a: e.Value,
    a_at: e.Value,
    apart: e.Index,
    b: e.Value,
    b_at: e.Value,
    depth: e.Value,
) -> list[Line]:
    """The products' sums over the depth of the block."""
    zero = e.constant(e.vector_type(tiling.lanes, element), 0)
    high = rows == tiling.rows  # lower tiles are for the edges
    wide = tiling.lanes * tiling.together
    pairs = tiling.together == PAIR

    def added(left: e.Value, right: e.Value, total: e.Value) -> e.Value:
        return dot(left, right, total) if pairs else e.fma(left, right, total, tiling.fused)

    with e.carrying_loop(0, depth, tiling.together, [zero] * (rows * tiling.vectors), unroll=high) as k:
        at = e.add(b_at, e.mul(k.index, tiling.columns))
        places = [e.add(at, v * wide) for v in range(tiling.vectors)]
        if wide * e.element_of(b.type).width == 8 * _LINE:
            for place in places:
                e.prefetch(b, e.add(place, _AHEAD * tiling.columns * tiling.together))
        line = [e.vector_load(wide, b, place) for place in places]
        line = line if pairs else [e.widen(right, element) for right in line]
        start = e.add(a_at, k.index)
        sums = []
        for row in range(rows):
            place = e.add(start, e.mul(row, apart))
            left = splat_pair(a, place, tiling.lanes) if pairs else e.splat(e.load(a, place), tiling.lanes)
            old = k.values[row * tiling.vectors : (row + 1) * tiling.vectors]
            sums += [added(left, x, y) for x, y in zip(line, old, strict=True)]
        k.give(sums)
    return [k.results[row * tiling.vectors : (row + 1) * tiling.vectors] for row in range(rows)]


def _added(tiling: Tiling, line: Line, c: e.Value, row: e.Value, column: e.Value, masks: Masks) -> Line:
    """A row of sums plus what C holds, as far as the masks go."""
    return [
        arith.addf(x, e.vector_load(tiling.lanes, c, row, e.add(column, v * tiling.lanes), where=masks[v]))
        for v, x in enumerate(line)
    ]


def _store(tiling: Tiling, line: Line, c: e.Value, row: e.Index, column: e.Index, masks: Masks) -> None:
    for v, x in enumerate(line):
        e.vector_store(x, c, row, e.add(column, v * tiling.lanes), where=masks[v])
