"""GEMMs with very few rows: B is streamed unpacked, by the function for its strides (`gemv`)."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, signature, streaming
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling
from relax_mlir.lowering.kernels.gemm.gemv import max_dot_rows
from relax_mlir.mlir import arith

_Lines = Callable[[e.Value, e.Value], None]
"""A function that multiplies some columns of a row-contiguous B into columns of C."""


def emit_thin(block: e.Block, parts: Parts, sizes: Tiling, source: e.Type, element: e.Type) -> None:
    """Emit C (+)= A B for few rows; a B without unit stride is packed."""
    with e.function(block, parts.skinny, signature(source, element), group=parts.groups.product) as (
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
    with e.function(block, parts.skinny_row, signature(source, element), group=parts.groups.product) as (
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
                    left, right = (
                        simd.widen(e.load(*x), element) for x in ((a, 0, k.index), (b, k.index, j))
                    )
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
