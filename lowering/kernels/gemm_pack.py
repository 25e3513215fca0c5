"""Packing: copies of blocks of A and B, in the order in which the register tile reads them.

A block of A is packed row by row, the rows `Tiling.depth` apart; a block of B in panels of `Tiling.columns`
columns, each panel by rows, the panels ``depth * columns`` apart. Operands may have any strides; those with
unit stride in either direction are read by vectors. Elements narrower than the accumulator are widened on the
way.
"""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.lowering.kernels import emit as e
from relax_mlir.lowering.kernels.gemm_tiling import Tiling
from relax_mlir.mlir import ir


def emit_pack_a(block: e.Block, name: str, tiling: Tiling, source: e.Type, element: e.Type) -> None:
    """Emit the function that packs a block of A.

    Arguments: A, first row, number of rows, first column, number of columns (up to `Tiling.depth`),
    destination.
    """
    size = ir.IndexType.get()
    arguments = [e.strided_memref(source, 2), size, size, size, size, e.flat_memref(element)]
    with e.function(block, name, arguments) as (a, row, rows, column, columns, packed):
        parts = e.metadata(a)

        def by_rows() -> None:
            lines = e.view(parts, parts.sizes, parts.strides, unit_inner=True)
            with e.loop(0, rows) as i:
                _copy_line(
                    tiling, element, lines, e.add(row, i), column, columns, packed, e.mul(i, tiling.depth)
                )

        def by_columns() -> None:
            lines = e.view(parts, parts.sizes[::-1], parts.strides[::-1], unit_inner=True)
            _transpose(tiling, element, lines, (column, columns), (row, rows), packed, 0, tiling.depth)

        def by_elements() -> None:
            with e.loop(0, rows) as i, e.loop(0, columns) as k:
                value = e.widen(e.load(a, e.add(row, i), e.add(column, k)), element)
                e.store(value, packed, e.add(e.mul(i, tiling.depth), k))

        _by_stride(parts, by_rows, by_columns, by_elements)


def emit_pack_b(block: e.Block, name: str, tiling: Tiling, source: e.Type, element: e.Type) -> None:
    """Emit the function that packs a block of B.

    Arguments: B, first row, number of rows (up to `Tiling.depth`), first column, number of columns,
    destination, place of the first panel in it.
    """
    size = ir.IndexType.get()
    arguments = [e.strided_memref(source, 2), size, size, size, size, e.flat_memref(element), size]
    with e.function(block, name, arguments) as (b, row, rows, column, columns, packed, at):
        parts = e.metadata(b)
        zero = e.constant(e.vector_type(tiling.lanes, element), 0)

        def panel_of(j: e.Value) -> e.Index:
            return e.add(at, e.mul(j, tiling.depth))

        def by_rows() -> None:
            lines = e.view(parts, parts.sizes, parts.strides, unit_inner=True)
            full = e.round_down(columns, tiling.columns)
            with e.loop(0, rows) as k, e.loop(0, full, tiling.columns) as j:
                to = e.add(panel_of(j), e.mul(k, tiling.columns))
                for v in range(tiling.vectors):
                    place = e.add(e.add(column, j), v * tiling.lanes)
                    value = e.vector_load(tiling.lanes, lines, e.add(row, k), place)
                    e.vector_store(e.widen(value, element), packed, e.add(to, v * tiling.lanes))
            with e.when(e.compare("ne", full, columns)), e.loop(0, rows) as k:
                to = e.add(panel_of(full), e.mul(k, tiling.columns))
                for v in range(tiling.vectors):
                    e.vector_store(zero, packed, e.add(to, v * tiling.lanes))
                left = e.sub(columns, full)
                _copy_line(tiling, element, lines, e.add(row, k), e.add(column, full), left, packed, to)

        def by_columns() -> None:
            lines = e.view(parts, parts.sizes[::-1], parts.strides[::-1], unit_inner=True)
            with e.loop(0, columns, tiling.columns) as j:
                left = e.minimum(e.sub(columns, j), tiling.columns)
                with e.when(e.compare("ne", left, tiling.columns)):
                    _clear(tiling, zero, packed, panel_of(j), e.mul(rows, tiling.columns))
                within = (e.add(column, j), left)
                _transpose(tiling, element, lines, within, (row, rows), packed, panel_of(j), tiling.columns)

        def by_elements() -> None:
            with e.loop(0, columns, tiling.columns) as j:
                left = e.minimum(e.sub(columns, j), tiling.columns)
                with e.when(e.compare("ne", left, tiling.columns)):
                    _clear(tiling, zero, packed, panel_of(j), e.mul(rows, tiling.columns))
                with e.loop(0, rows) as k, e.loop(0, left) as n:
                    value = e.widen(e.load(b, e.add(row, k), e.add(e.add(column, j), n)), element)
                    e.store(value, packed, e.add(e.add(panel_of(j), e.mul(k, tiling.columns)), n))

        _by_stride(parts, by_rows, by_columns, by_elements)


def masks_loads(element: e.Type) -> bool:
    """Whether vectors of this element type have masked loads on common machines (x86: 32 and 64 bits)."""
    return int(element.width) >= 32


def _by_stride(
    parts: e.Strided,
    unit_inner: Callable[[], None],
    unit_outer: Callable[[], None],
    other: Callable[[], None],
) -> None:
    e.branch(
        e.compare("eq", parts.strides[1], 1),
        unit_inner,
        lambda: e.branch(e.compare("eq", parts.strides[0], 1), unit_outer, other),
    )


def _clear(tiling: Tiling, zero: e.Value, packed: e.Value, at: e.Index, count: e.Index) -> None:
    """Zero `count` elements, a multiple of the lanes."""
    with e.loop(0, count, tiling.lanes) as i:
        e.vector_store(zero, packed, e.add(at, i))


def _copy_line(
    tiling: Tiling,
    element: e.Type,
    lines: e.Value,
    line: e.Index,
    start: e.Index,
    count: e.Index,
    packed: e.Value,
    at: e.Index,
) -> None:
    """Copy `count` elements of one line with unit stride; up to a vector more may be written behind them."""
    full = e.round_down(count, tiling.lanes)
    with e.loop(0, full, tiling.lanes) as i:
        value = e.vector_load(tiling.lanes, lines, line, e.add(start, i))
        e.vector_store(e.widen(value, element), packed, e.add(at, i))
    if masks_loads(e.element_of(lines.type)):
        with e.when(e.compare("ne", full, count)):
            where = e.mask(e.sub(count, full), tiling.lanes)
            value = e.vector_load(tiling.lanes, lines, line, e.add(start, full), where=where)
            e.vector_store(e.widen(value, element), packed, e.add(at, full))
        return
    with e.loop(full, count) as i:
        e.store(e.widen(e.load(lines, line, e.add(start, i)), element), packed, e.add(at, i))


def _transpose(
    tiling: Tiling,
    element: e.Type,
    lines: e.Value,
    outer: tuple[e.Index, e.Index],
    inner: tuple[e.Index, e.Index],
    packed: e.Value,
    at: e.Index,
    stride: int,
) -> None:
    """Pack a part of some lines so that what is next to each other across the lines becomes contiguous.

    `outer` and `inner` are the first index and the count of the lines, and of the elements in each of them.
    Element i of line o goes to ``at + i * stride + o``.
    """
    lanes = tiling.lanes
    (first_line, count), (start, length) = outer, inner
    full_count, full_length = e.round_down(count, lanes), e.round_down(length, lanes)

    def place(o: e.Index, i: e.Index) -> e.Index:
        return e.add(e.add(at, e.mul(i, stride)), o)

    def copy(o: e.Index, i: e.Index) -> None:
        value = e.widen(e.load(lines, e.add(first_line, o), e.add(start, i)), element)
        e.store(value, packed, place(o, i))

    with e.loop(0, full_count, lanes) as o:
        line = e.add(first_line, o)
        with e.loop(0, full_length, lanes) as i:
            position = e.add(start, i)
            square = [
                e.widen(e.vector_load(lanes, lines, e.add(line, q), position), element) for q in range(lanes)
            ]
            for q, row in enumerate(e.transpose(square)):
                e.vector_store(row, packed, place(o, e.add(i, q)))
        with e.loop(full_length, length) as i, e.loop(0, lanes) as q:
            copy(e.add(o, q), i)
    with e.loop(full_count, count) as o, e.loop(0, length) as i:
        copy(o, i)
