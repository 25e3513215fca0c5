"""Products with few rows (vector times matrix and the like): B is read once, as it lies in memory."""

from __future__ import annotations

from relax_mlir.lowering.kernels import emit as e
from relax_mlir.lowering.kernels import simd
from relax_mlir.lowering.kernels.gemm_tiling import Tiling
from relax_mlir.mlir import arith, ir

MAX_ROWS = 4
"""Products with more rows are worth packing."""

_WAYS = 8
"""Lines of a set of the first-level cache, at least: rows of B and of C that are some pages apart share sets."""


def emit_by_rows(
    block: e.Block, name: str, tiling: Tiling, source: e.Type, element: e.Type, rows: int
) -> None:
    """Emit C (+)= A B for `rows` rows of A and C, where B has unit stride along its rows.

    Elements of A and B (`source`) are widened to those of C (`element`).

    Some rows of B at a time are streamed and added, scaled, to the rows of C, which stay in the cache. The last
    columns, less than a register tile, are summed in registers.
    Arguments: A (any strides), the first row in A and C, B and C (unit inner stride), whether to add to C.
    """
    flag = ir.IntegerType.get_signless(1)
    lines, result = (e.strided_memref(x, 2, unit_inner=True) for x in (source, element))
    arguments = [e.strided_memref(source, 2), ir.IndexType.get(), lines, result, flag]
    with e.function(block, name, arguments) as (a, row, b, c, accumulate):
        depth, columns = e.dim(b, 0), e.dim(b, 1)
        group = min(8 // rows, _WAYS - rows)  # factors that stay in registers, lines that stay in the cache
        wide = e.round_down(columns, tiling.columns)
        with e.when(e.negate(accumulate)):
            clear_rows(tiling.lanes, c, row, rows, wide)
        full = e.round_down(depth, group)
        with e.loop(0, full, group) as k:
            _add_scaled(tiling, a, b, c, row, rows, k, group, wide)
        with e.loop(full, depth) as k:
            _add_scaled(tiling, a, b, c, row, rows, k, 1, wide)
        with e.loop(wide, columns, tiling.lanes) as j:
            where = simd.mask(e.sub(columns, j), tiling.lanes)
            _sum_columns(tiling, a, b, c, row, rows, j, where, simd.splat(accumulate, tiling.lanes))


def _sum_columns(
    tiling: Tiling,
    a: e.Value,
    b: e.Value,
    c: e.Value,
    row: e.Value,
    rows: int,
    column: e.Value,
    where: e.Value,
    accumulate: e.Value,
) -> None:
    """One vector of columns of some rows of C, its lanes in the mask `where`, over the whole depth."""
    lanes = tiling.lanes
    counts = e.all_of(where, accumulate)
    old = [simd.load(lanes, c, e.add(row, r), column, where=counts) for r in range(rows)]
    with e.carrying_loop(0, e.dim(b, 0), 1, old, unroll=False) as k:
        line = _line(lanes, b, k.index, column, c, where)
        factors = [_factor(lanes, a, e.add(row, r), k.index, c) for r in range(rows)]
        k.give([simd.fma(x, line, total, tiling.fused) for x, total in zip(factors, k.values, strict=True)])
    for r, total in enumerate(k.results):
        simd.store(total, c, e.add(row, r), column, where=where)


def clear_rows(lanes: int, c: e.Value, row: e.Index, rows: e.Index, columns: e.Index) -> None:
    """Zero some rows of a matrix with unit inner stride."""
    zero = e.constant(e.vector_type(lanes, e.element_of(c.type)), 0)
    full = e.round_down(columns, lanes)
    with e.loop(row, e.add(row, rows)) as i:
        with e.loop(0, full, lanes) as j:
            simd.store(zero, c, i, j)
        with e.loop(full, columns, lanes) as j:
            simd.store(zero, c, i, j, where=simd.mask(e.sub(columns, j), lanes))


def _add_scaled(
    tiling: Tiling,
    a: e.Value,
    b: e.Value,
    c: e.Value,
    row: e.Value,
    rows: int,
    k: e.Value,
    group: int,
    columns: e.Index,
) -> None:
    """Add to `rows` rows of C `group` rows of B, from row k on, each times its element of A.

    `columns` is a multiple of the register tile's columns.
    """
    lanes = tiling.lanes
    factors = [[_factor(lanes, a, e.add(row, r), e.add(k, g), c) for g in range(group)] for r in range(rows)]
    with e.loop(0, columns, tiling.columns) as j:
        starts = [e.add(j, v * lanes) for v in range(tiling.vectors)]
        sums = [[simd.load(lanes, c, e.add(row, r), s) for s in starts] for r in range(rows)]
        for g in range(group):
            line = [_line(lanes, b, e.add(k, g), s, c) for s in starts]
            for r in range(rows):
                sums[r] = [
                    simd.fma(factors[r][g], x, y, tiling.fused) for x, y in zip(line, sums[r], strict=True)
                ]
        for r in range(rows):
            for s, total in zip(starts, sums[r], strict=True):
                simd.store(total, c, e.add(row, r), s)


def _line(
    lanes: int, b: e.Value, row: e.Index, column: e.Index, c: e.Value, where: e.Value | None = None
) -> e.Value:
    """A vector of B in the element type of C."""
    return simd.widen(simd.load(lanes, b, row, column, where=where), e.element_of(c.type))


def _factor(lanes: int, a: e.Value, row: e.Index, column: e.Index, c: e.Value) -> e.Value:
    """An element of A in all lanes, in the element type of C."""
    return simd.splat(simd.widen(e.load(a, row, column), e.element_of(c.type)), lanes)


def emit_by_dots(block: e.Block, name: str, tiling: Tiling, source: e.Type, element: e.Type) -> None:
    """Emit C (+)= A B where A has unit stride along its rows and B along its columns: C by dot products.

    Arguments: A and the transpose of B (unit inner strides), C, whether to add to C.
    """
    flag = ir.IntegerType.get_signless(1)
    lines, result = (e.strided_memref(x, 2, unit_inner=True) for x in (source, element))
    with e.function(block, name, [lines, lines, result, flag]) as (a, b, c, accumulate):
        rows, columns = e.dim(a, 0), e.dim(b, 0)
        together = 4
        full = e.round_down(columns, together)

        def write(row: e.Value, column: e.Value, count: int) -> None:
            for n, total in enumerate(_dots(tiling, element, a, b, row, column, count)):
                at = e.add(column, n)
                before = e.load_if(accumulate, c, row, at)
                e.store(arith.addf(before, total), c, row, at)

        with e.loop(0, full, together) as j, e.loop(0, rows) as i:
            write(i, j, together)
        with e.loop(full, columns) as j, e.loop(0, rows) as i:
            write(i, j, 1)


def _dots(
    tiling: Tiling, element: e.Type, a: e.Value, b: e.Value, row: e.Value, column: e.Value, count: int
) -> list[e.Value]:
    """Products of one line of A with `count` lines of B."""
    lanes, depth = tiling.lanes, e.dim(a, 1)
    zero = e.constant(e.vector_type(lanes, element), 0)
    unroll = 2  # chains of dependent additions per product, to hide the latency of the multiply-add
    wide = lanes * unroll
    full = e.round_down(depth, wide)

    def advance(sums: list[e.Value], chains: int, k: e.Value, where: e.Value | None) -> list[e.Value]:
        result = list(sums)
        for u in range(chains):
            at = e.add(k, u * lanes)
            left = simd.widen(simd.load(lanes, a, row, at, where=where), element)
            for n in range(count):
                right = simd.widen(simd.load(lanes, b, e.add(column, n), at, where=where), element)
                result[n * unroll + u] = simd.fma(left, right, result[n * unroll + u], tiling.fused)
        return result

    with e.carrying_loop(0, full, wide, [zero] * (count * unroll), unroll=False) as main:
        main.give(advance(main.values, unroll, main.index, None))
    with e.carrying_loop(full, depth, lanes, main.results, unroll=False) as tail:
        tail.give(advance(tail.values, 1, tail.index, simd.mask(e.sub(depth, tail.index), lanes)))
    sums = [arith.addf(*tail.results[n * unroll : (n + 1) * unroll]) for n in range(count)]
    return [simd.reduce("add", total, fastmath="reassoc") for total in sums]
