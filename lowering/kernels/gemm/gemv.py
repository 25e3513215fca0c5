"""GEMMs with few rows (vector times matrix and the like), whose B is read once, in place; and GEMMs of depth 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.parallel import parallel_loop
from relax_mlir.lowering.kernels.core.simd import sum_each
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, streaming
from relax_mlir.lowering.kernels.gemm.gemm_tiling import MAX_ROWS, Tiling
from relax_mlir.mlir import arith, ir

MAX_NARROW_ROWS = 8
"""The maximum number of rows if C is no wider than a vector; above it, packing pays off."""

LONG_DOTS = 8
"""The minimum depth, in vectors, at which dot products along contiguous depth repay their horizontal sums."""

MAX_DOTS = 4
"""The maximum number of columns of C whose dot products are interleaved."""

_FEW_DOTS = 3
"""Columns of a block for fewer than `MAX_DOTS` remaining columns: it computes the last one several times."""


_WAYS = 8
"""The minimum associativity of L1: rows of B and of C that are some pages apart map to one set."""


def high_dots(tiling: Tiling) -> int:
    """Rows of C whose dot products are interleaved: one dot product for each lane of a vector."""
    return max(1, tiling.lanes // MAX_DOTS)


def dot_group(tiling: Tiling) -> int:
    """The row granularity of parts of a GEMM by dot products: the rounding of results depends on the block."""
    return max(_block_rows(tiling, columns) for columns in (MAX_DOTS, _FEW_DOTS))


def _block_rows(tiling: Tiling, columns: int) -> int:
    """Rows of a block of dot products: accumulators, and a vector of each column, stay in registers."""
    return 4 if tiling.registers >= 32 or columns < MAX_DOTS else 2


def max_dot_rows(tiling: Tiling) -> int:
    """The maximum number of rows for dot products along contiguous depth; above it, packing pays off.

    A block of dot products reads 1 / 4 + 1 / `high_dots` vectors per multiply-add. The limit was measured with AVX-512
    and AVX2 on Zen 4.
    """
    return max(2 * MAX_ROWS, 2 * high_dots(tiling) ** 2)


def emit_by_rows(block: e.Block, name: str, tiling: Tiling, source: e.Type, element: e.Type, rows: int) -> None:
    """Emit C (+)= A B for `rows` rows of A and C, with a row-contiguous B.

    Elements of A and B (`source`) are widened to those of C (`element`).

    Some rows of B at a time are streamed, scaled and added to the rows of C, which stay in the cache. The remaining
    columns, fewer than a register tile has, are accumulated in registers. Arguments: A (any strides), the first row in
    A and C, B and C (unit inner stride), a flag to add to C.
    """
    flag = ir.IntegerType.get_signless(1)
    lines, result = (e.strided_memref(x, 2, unit_inner=True) for x in (source, element))
    arguments = [e.strided_memref(source, 2), ir.IndexType.get(), lines, result, flag]
    with e.function(block, name, arguments) as (a, row, b, c, accumulate):
        depth, columns = e.dim(b, 0), e.dim(b, 1)
        count = min(8 // rows, _WAYS - rows)  # factors stay in registers, rows in the cache
        wide = e.round_down(columns, tiling.columns)
        with e.when(e.negate(accumulate)):
            clear_rows(tiling.lanes, c, row, rows, wide)
        full = e.round_down(depth, count)
        with e.loop(0, full, count) as k:
            _add_scaled(tiling, a, b, c, row, rows, k, count, wide)
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
    """Accumulate one vector of columns of some rows of C, under the mask `where`, over the whole depth."""
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
    """Add `group` rows of B from row k, each scaled by its element of A, to `rows` rows of C.

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
                sums[r] = [simd.fma(factors[r][g], x, y, tiling.fused) for x, y in zip(line, sums[r], strict=True)]
        for r in range(rows):
            for s, total in zip(starts, sums[r], strict=True):
                simd.store(total, c, e.add(row, r), s)


def _line(lanes: int, b: e.Value, row: e.Index, column: e.Index, c: e.Value, where: e.Value | None = None) -> e.Value:
    """Load a vector of B in the element type of C."""
    return simd.widen(simd.load(lanes, b, row, column, where=where), e.element_of(c.type))


def _factor(lanes: int, a: e.Value, row: e.Index, column: e.Index, c: e.Value) -> e.Value:
    """Broadcast an element of A in the element type of C."""
    return simd.splat(simd.widen(e.load(a, row, column), e.element_of(c.type)), lanes)


def emit_by_dots(block: e.Block, name: str, tiling: Tiling, source: e.Type, element: e.Type) -> None:
    """Emit C (+)= A B by dot products, with a row-contiguous A and a column-contiguous B.

    As many dot products as a vector has lanes are interleaved, for some rows at a time, so that their sums form one
    vector. Arguments: A and the transpose of B (unit inner strides), C, a flag to add to C.
    """
    flag = ir.IntegerType.get_signless(1)
    lines, result = (e.strided_memref(x, 2, unit_inner=True) for x in (source, element))
    with e.function(block, name, [lines, lines, result, flag]) as (a, b, c, accumulate):
        rows, columns = e.dim(a, 0), e.dim(b, 0)
        most = max_dot_rows(tiling)
        full = e.round_down(columns, MAX_DOTS)

        def simd_sums(rows: list[e.Index], columns: list[e.Index], chains: int) -> list[e.Value]:
            return _dots(tiling, element, a, b, rows, columns, chains)

        def blocks(start: e.Value, end: e.Index, column: e.Index, wide: int, count: e.Index) -> None:
            """Emit blocks of `wide` columns, `count` of which exist."""
            high = _block_rows(tiling, wide)
            with e.loop(start, end, high) as i:
                numbers, lines = [e.add(i, r) for r in range(high)], [e.add(column, n) for n in range(wide)]
                if wide == _FEW_DOTS:
                    lines = [e.minimum(line, e.add(column, e.sub(count, 1))) for line in lines]
                sums = simd_sums(numbers, lines, 1)
                _write_sums(tiling, sums, c, [(number, column) for number in numbers], count, accumulate)

        def one_row(row: e.Value, column: e.Index, count: int) -> None:
            lines = [e.add(column, n) for n in range(count)]
            for at, line in zip(lines, simd_sums([row], lines, 2), strict=True):
                before = e.load_if(accumulate, c, row, at)
                e.store(arith.addf(before, simd.reduce("add", line, fastmath="reassoc")), c, row, at)

        def whole_blocks(start: e.Value, end: e.Index, wide: int) -> e.Index:
            """The first row after the whole blocks of `wide` columns."""
            return e.add(start, e.round_down(e.sub(end, start), _block_rows(tiling, wide)))

        with e.loop(0, rows, most) as start:  # rows of A that stay in the caches while B streams past
            end = e.minimum(e.add(start, most), rows)
            first = whole_blocks(start, end, MAX_DOTS)
            with e.loop(0, full, MAX_DOTS) as j:
                blocks(start, first, j, MAX_DOTS, MAX_DOTS)
                with e.loop(first, end) as i:
                    one_row(i, j, MAX_DOTS)
            first = whole_blocks(start, end, _FEW_DOTS)
            with e.when(e.compare("ne", full, columns)):
                blocks(start, first, full, _FEW_DOTS, e.sub(columns, full))
                with e.loop(first, end) as i, e.loop(full, columns) as j:
                    one_row(i, j, 1)


def _write_sums(
    tiling: Tiling,
    vectors: Sequence[e.Value],
    c: e.Value,
    places: Sequence[tuple[e.Index, e.Index]],
    count: e.Index,
    accumulate: e.Value,
) -> None:
    """Reduce each vector, and store the first `count` sums of each position, or add them to C."""
    wide, step = len(vectors) // len(places), MAX_DOTS
    padded = [v for n in range(0, len(vectors), wide) for v in [*vectors[n : n + wide], *vectors[:1]][:step]]
    lanes = min(tiling.lanes, len(padded))
    groups = [padded[n : n + lanes] for n in range(0, len(padded), lanes)]
    totals = [sum_each([_folded(v, lanes) for v in group]) for group in groups]

    def total(r: int) -> e.Value:
        """The sums of a position."""
        group, lane = divmod(r * step, lanes)
        if lanes < step:
            return simd.joined(totals[group : group + step // lanes])
        return simd.lanes_of(totals[group], lane, step)

    element = e.element_of(c.type)
    if wide < step and (not tiling.masked or tiling.half_lines):
        for r, place in enumerate(places):
            for n in range(wide):
                at = (place[0], e.add(place[1], n))
                with e.when(e.compare("lt", n, count)):
                    e.store(arith.addf(simd.lane(total(r), n), e.load_if(accumulate, c, *at)), c, *at)
        return
    where = simd.mask(count, step) if wide < step else None
    type_ = e.vector_type(step, element)

    def old() -> list[e.Value]:
        return [simd.load(step, c, *place, where=where) for place in places]

    before = e.choose(accumulate, [type_] * len(places), old, lambda: [e.constant(type_, 0)] * len(places))
    for r, (place, value) in enumerate(zip(places, before, strict=True)):
        simd.store(arith.addf(total(r), value), c, *place, where=where)


def _folded(value: e.Value, lanes: int) -> e.Value:
    """Add the upper half of a vector to the lower one until it has `lanes` lanes."""
    while (count := value.type.shape[0]) > lanes:
        half = count // 2
        value = arith.addf(simd.lanes_of(value, 0, half), simd.lanes_of(value, half, half))
    return value


def _dots(
    tiling: Tiling,
    element: e.Type,
    a: e.Value,
    b: e.Value,
    rows: Sequence[e.Index],
    columns: Sequence[e.Index],
    chains: int,
) -> list[e.Value]:
    """Vectors whose horizontal sums are the dot products of some rows of A with some of B, in order.

    `chains`: independent accumulators of each dot product, to hide the latency of the multiply-add.
    """
    lanes, depth = tiling.lanes, e.dim(a, 1)
    high, wide = len(rows), len(columns)
    zero = e.constant(e.vector_type(lanes, element), 0)
    step = lanes * chains
    full = e.round_down(depth, step)

    def advance(sums: list[e.Value], chains_now: int, counter: e.Value, where: e.Value | None) -> list[e.Value]:
        result, k = list(sums), e.opaque(counter)
        for u in range(chains_now):
            at = e.add(k, u * lanes)

            def line(memory: e.Value, number: e.Index, at: e.Index = at) -> e.Value:
                return simd.widen(simd.load(lanes, memory, number, at, where=where), element)

            rights = [line(b, number) for number in columns]
            for r, number in enumerate(rows):
                left = line(a, number)
                for n, right in enumerate(rights):
                    place = (r * wide + n) * chains + u
                    result[place] = simd.fma(left, right, result[place], tiling.fused)
        return result

    with e.carrying_loop(0, full, step, [zero] * (high * wide * chains), unroll=False) as main:
        main.give(advance(main.values, chains, main.index, None))
    with e.carrying_loop(full, depth, lanes, main.results, unroll=False) as tail:
        tail.give(advance(tail.values, 1, tail.index, simd.mask(e.sub(depth, tail.index), lanes)))
    return [reduce(arith.addf, tail.results[n : n + chains]) for n in range(0, high * wide * chains, chains)]


# GEMMs of depth 1: each row of C is the row of B scaled by an element of A.


_AT_ONCE = 1 << 14
"""The approximate number of elements of C that are computed before their epilogue."""

_SIDE_BY_SIDE = 4


def outer_product(parts: Parts, a: e.Value, b: e.Value, c: e.Value, element: e.Type, epilogue: ep.Epilogue) -> None:
    """Emit C = A B and its epilogue, some rows at a time; B is row-contiguous, whatever its type says."""
    a_parts, b_parts, c_parts = e.metadata(a), e.metadata(b), e.metadata(c)
    rows, columns = c_parts.sizes
    row = e.view(b_parts, (1, columns), b_parts.strides, unit_inner=True)
    step = e.maximum(e.div(_AT_ONCE, e.maximum(columns, 1)), 1)
    with parallel_loop(0, rows, step, streaming(e.mul(rows, columns), element)) as i:
        high = e.minimum(e.sub(rows, i), step)
        left = e.view(a_parts, (high, 1), a_parts.strides, e.mul(i, a_parts.strides[0]))
        start = e.mul(i, c_parts.strides[0])
        result = e.view(c_parts, (high, columns), c_parts.strides, start, unit_inner=True)
        e.call(parts.outer, [left, row, result])
        with e.when(epilogue.when(e.flag(True))):
            epilogue.run(i, high, 0, columns)


def emit_outer(block: e.Block, parts: Parts, tiling: Tiling, element: e.Type) -> None:
    """Emit the function of A (any strides), B and C (unit inner stride): C = A B, for a depth of 1."""
    lines = e.strided_memref(element, 2, unit_inner=True)
    with e.function(block, parts.outer, [e.strided_memref(element, 2), lines, lines]) as (a, b, c):
        columns, lanes = e.dim(c, 1), tiling.lanes
        with e.when(e.compare("ne", columns, 0)):
            wide = e.compare("ge", columns, lanes)
            e.branch(wide, lambda: _wide(lanes, a, b, c), lambda: _narrow(lanes, a, b, c))


def _row_factor(lanes: int, a: e.Value, row: e.Index) -> e.Value:
    return simd.splat(e.load(a, row, 0), lanes)


def _wide(lanes: int, a: e.Value, b: e.Value, c: e.Value) -> None:
    """Emit rows of one vector or more; the last vector ends at the row's end, and some elements are written twice."""
    columns, step = e.dim(c, 1), lanes * _SIDE_BY_SIDE
    full, end = e.round_down(columns, step), e.round_down(columns, lanes)
    with e.loop(0, e.dim(c, 0)) as i:
        factor = _row_factor(lanes, a, i)

        def vector(at: e.Index, i: e.Value = i, factor: e.Value = factor) -> None:
            simd.store(arith.mulf(factor, simd.load(lanes, b, 0, at)), c, i, at)

        with e.loop(0, full, step) as j:
            for v in range(_SIDE_BY_SIDE):
                vector(e.add(j, v * lanes))
        with e.loop(full, end, lanes) as j:
            vector(j)
        with e.when(e.compare("ne", end, columns)):
            vector(e.sub(columns, lanes))


def _narrow(lanes: int, a: e.Value, b: e.Value, c: e.Value) -> None:
    """Emit rows shorter than a vector.

    If C is contiguous, each row but the last ones is written as a whole vector, and the next rows overwrite the excess.
    (x86 CPUs are slow in masked stores.)
    """
    (rows, columns), (leading, _) = e.metadata(c).sizes, e.metadata(c).strides
    where = simd.mask(columns, lanes)
    row = simd.load(lanes, b, 0, 0, where=where)
    # A whole vector of one of the last rows could exceed the end of C.
    last = e.ceildiv(lanes, columns)
    dense = e.select(e.compare("eq", leading, columns), e.sub(e.maximum(rows, last), last), 0)
    with e.loop(0, dense) as i:
        simd.store(arith.mulf(_row_factor(lanes, a, i), row), c, i, 0)
    with e.loop(dense, rows) as i:
        simd.store(arith.mulf(_row_factor(lanes, a, i), row), c, i, 0, where=where)
