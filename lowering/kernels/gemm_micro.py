"""The register tile of a matrix product: a part of C in vector registers, summed over packed operands."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels import emit as e
from relax_mlir.lowering.kernels.gemm_tiling import Tiling
from relax_mlir.mlir import arith, ir

Tile = list[list[e.Value]]
"""Vectors by row and column vector."""

Masks = Sequence[e.Value | None]
"""For each column vector the lanes that count; None: all."""


def emit_tile(
    block: e.Block, name: str, tiling: Tiling, element: e.Type, rows: int, panel: e.Type | None = None
) -> None:
    """Emit the function that computes `rows` rows of one panel of C.

    Packed B has the element type `panel`, which is widened (None: that of packed A and C).

    Arguments: the memory of A, the place of its first row and how far rows are apart, packed B, the place of its panel,
    the depth of the block, C, the tile's first row and column in C, the number of columns left from there, and whether
    to add to C.
    """
    matrix, size, flag = (
        e.strided_memref(element, 2, unit_inner=True),
        ir.IndexType.get(),
        ir.IntegerType.get_signless(1),
    )
    left_operand = [e.strided_memref(element, 1, unit_inner=True), size, size]
    arguments = [*left_operand, e.flat_memref(panel or element), size, size, matrix, size, size, size, flag]
    with e.function(block, name, arguments) as values:
        a, a_at, a_apart, b, b_at, depth, c, row, column, left, accumulate = values
        apart = a_apart if tiling.in_place else tiling.row_stride
        for r in range(rows):  # C comes from afar while the sums are computed
            e.prefetch(c, e.add(row, r), column, write=True)
        buffer = None if tiling.masked else e.stack(element, rows, tiling.columns)
        sums = _multiply(tiling, element, rows, a, a_at, apart, b, b_at, depth)

        def write() -> None:
            total = _added(tiling, sums, c, row, column, [None] * tiling.vectors)
            _store(tiling, total, c, row, column, [None] * tiling.vectors)

        def overwrite() -> None:
            _store(tiling, sums, c, row, column, [None] * tiling.vectors)

        def write_edge() -> None:
            # Less than a full tile is left: a vector may start beyond the last column. What C holds is read
            # through a mask that is empty if it does not count, which saves a second variant of the code.
            starts = [v * tiling.lanes for v in range(tiling.vectors)]
            masks = [e.mask(e.sub(e.maximum(left, s), s), tiling.lanes) for s in starts]
            counts = e.splat(accumulate, tiling.lanes)
            total = _added(tiling, sums, c, row, column, [e.all_of(mask, counts) for mask in masks])
            _store(tiling, total, c, row, column, masks)

        def copy_edge() -> None:
            _store(tiling, sums, buffer, 0, 0, [None] * tiling.vectors)
            with e.loop(0, rows) as r, e.loop(0, left) as j:
                place = [e.add(row, r), e.add(column, j)]
                old = e.load_if(accumulate, c, *place)
                e.store(arith.addf(e.load(buffer, r, j), old), c, *place)

        e.branch(
            e.compare("ge", left, tiling.columns),
            lambda: e.branch(accumulate, write, overwrite),
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
) -> Tile:
    """The products' sums over the depth of the block."""
    zero = e.constant(e.vector_type(tiling.lanes, element), 0)
    high = rows == tiling.rows  # lower tiles are for the edges
    with e.carrying_loop(0, depth, 1, [zero] * (rows * tiling.vectors), unroll=high) as k:
        at = e.add(b_at, e.mul(k.index, tiling.columns))
        starts = [e.add(at, v * tiling.lanes) for v in range(tiling.vectors)]
        line = [e.widen(e.vector_load(tiling.lanes, b, start), element) for start in starts]
        start = e.add(a_at, k.index)
        sums = []
        for row in range(rows):
            factor = e.splat(e.load(a, e.add(start, e.mul(row, apart))), tiling.lanes)
            old = k.values[row * tiling.vectors : (row + 1) * tiling.vectors]
            sums += [e.fma(factor, x, y, tiling.fused) for x, y in zip(line, old, strict=True)]
        k.give(sums)
    return [k.results[row * tiling.vectors : (row + 1) * tiling.vectors] for row in range(rows)]


def _added(tiling: Tiling, sums: Tile, c: e.Value, row: e.Value, column: e.Value, masks: Masks) -> Tile:
    """The sums plus what C holds."""
    return [
        [
            arith.addf(
                x,
                e.vector_load(
                    tiling.lanes, c, e.add(row, r), e.add(column, v * tiling.lanes), where=masks[v]
                ),
            )
            for v, x in enumerate(line)
        ]
        for r, line in enumerate(sums)
    ]


def _store(tiling: Tiling, tile: Tile, c: e.Value, row: e.Value, column: e.Value, masks: Masks) -> None:
    for r, line in enumerate(tile):
        for v, x in enumerate(line):
            e.vector_store(x, c, e.add(row, r), e.add(column, v * tiling.lanes), where=masks[v])
