"""Products with few columns, of operands that are read where they lie: packing them takes as long as multiplying.

A register tile reads some rows of A, element by element, with any strides, and rows of B, whose elements are next to
each other. There are few columns, so that a block of B stays in the first-level cache while all rows of A go by.
"""

from __future__ import annotations

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.addresses import address, memref_at
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, by_parts, signature
from relax_mlir.lowering.kernels.gemm.gemm_micro import emit_finish
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling, even_step
from relax_mlir.mlir import ir

MAX_COLUMNS = 48
"""Products with more columns are worth packing."""

_MAX_APART = 2 * MAX_COLUMNS
"""Rows of B that are further apart share sets of the first-level cache."""

_DEPTH = 512
"""The depth of a block."""

_ROWS = 8
"""The most rows of a tile: there are no lower ones, so that higher ones would be idle more often."""


def has_narrow(tiling: Tiling, source: e.Type, element: e.Type) -> bool:
    """Whether there is a generator: for elements that are not widened, where vectors can be read in part."""
    return bool(source == element) and tiling.masked


def is_narrow(b: e.Strided) -> e.Value:
    """Whether a product with this B is one for `emit_narrow`, if it has more than few rows."""
    columns = b.sizes[1]
    lies = [e.compare("eq", b.strides[1], 1), e.compare("le", b.strides[0], _MAX_APART)]
    return e.all_of(e.compare("le", columns, MAX_COLUMNS), *lies)


def emit_narrow(block: e.Block, parts: Parts, tiling: Tiling, element: e.Type) -> None:
    """Emit C (+)= A B with its epilogue, where `is_narrow` holds; arguments as those of the packed way."""
    types = [*signature(element, element), *ep.types()]
    with e.function(block, parts.narrow, types) as arguments:
        by_parts(tiling, f"{parts.narrow}.part", arguments[0], arguments[2], arguments)
    with e.function(block, f"{parts.narrow}.part", [*types, *[ir.IndexType.get()] * 4]) as values:
        a, b, c, accumulate, *carried, first_row, last_row, first_column, last_column = values
        epilogue = ep.Epilogue(*carried)
        a_parts, b_parts, c_parts = map(e.metadata, (a, b, c))
        rows, depth = _rows(tiling), a_parts.sizes[1]
        depth_step = even_step(e.maximum(depth, 1), _DEPTH, tiling.lanes)
        with (
            e.loop(0, depth, depth_step) as k,
            e.loop(first_row, last_row, rows) as i,
            e.loop(first_column, last_column, tiling.columns) as j,
        ):
            deep, high = e.minimum(e.sub(depth, k), depth_step), e.minimum(e.sub(last_row, i), rows)
            left, add = e.sub(last_column, j), e.any_of(accumulate, e.compare("ne", k, 0))
            arguments = [_place(a_parts, i, k), *a_parts.strides, high]
            arguments += [_place(b_parts, k, j), b_parts.strides[0], deep]
            arguments += [_place(c_parts, i, j), c_parts.strides[0], left, add]
            e.branch(
                e.compare("ge", left, tiling.columns),
                lambda: e.call(parts.lying("full"), arguments),
                lambda: e.branch(
                    e.compare("gt", left, tiling.lanes),
                    lambda: e.call(parts.lying("part"), arguments),
                    lambda: e.call(parts.lying("vector"), arguments),
                ),
            )
            with e.when(epilogue.when(e.compare("eq", e.add(k, deep), depth))):
                epilogue.run(i, high, j, e.minimum(left, tiling.columns))
    emit_finish(block, parts.lying("finish"), tiling, element, None)
    _emit_tile(block, parts, "full", tiling, element, tiling.vectors, is_masked=False)
    _emit_tile(block, parts, "part", tiling, element, tiling.vectors, is_masked=True)
    _emit_tile(block, parts, "vector", tiling, element, 1, is_masked=True)


def _rows(tiling: Tiling) -> int:
    return min(tiling.rows, _ROWS)


def _place(parts: e.Strided, row: e.Index, column: e.Index) -> e.Value:
    (down, right) = parts.strides
    return address(parts, e.add(e.mul(row, down), e.mul(column, right)))


def _emit_tile(
    block: e.Block, parts: Parts, kind: str, tiling: Tiling, element: e.Type, vectors: int, is_masked: bool
) -> None:
    """Emit the function that sums `vectors` vectors of some rows of C; the last one may be read in part.

    Arguments: the address of the first element of A, how far rows and elements of a row are apart, the number of rows
    (where there are less than the tile has, it computes the last one several times); the address of the first element
    of B, how far its rows are apart, the depth; the address of the tile in C, how far rows are apart there, the number
    of columns from there, whether to add to C.
    """
    size, flag = ir.IndexType.get(), ir.IntegerType.get_signless(1)
    lanes, rows = tiling.lanes, _rows(tiling)
    with e.function(block, parts.lying(kind), [*[size] * 10, flag]) as values:
        a_at, a_apart, a_step, count, b_at, b_apart, depth, c_at, c_apart, left, accumulate = values
        a, b = (memref_at(at, element, [1], unit_inner=True) for at in (a_at, b_at))
        last = e.sub(count, 1)
        starts = [e.mul(e.minimum(r, last), a_apart) for r in range(rows)]
        where = simd.mask(e.sub(left, (vectors - 1) * lanes), lanes) if is_masked else None
        masks = [*[None] * (vectors - 1), where]
        zero = e.constant(e.vector_type(lanes, element), 0)
        initial = [*[zero] * (rows * vectors), e.index(0), e.index(0)]
        with e.carrying_loop(0, depth, 1, initial, unroll=False) as k:
            *sums, at, line_at = k.values
            line = [
                simd.load(lanes, b, e.add(line_at, v * lanes), where=mask) for v, mask in enumerate(masks)
            ]
            new = []
            for r, start in enumerate(starts):
                factor = simd.splat(e.load(a, e.add(start, at)), lanes)
                old = sums[r * vectors : (r + 1) * vectors]
                new += [simd.fma(factor, x, y, tiling.fused) for x, y in zip(line, old, strict=True)]
            k.give([*new, e.add(at, a_step), e.add(line_at, b_apart)])
        sums = list(k.results[: rows * vectors])
        buffer = e.stack(element, rows * tiling.columns)
        own = address(e.metadata(buffer), 0)

        def write(start: e.Value, apart: e.Index) -> None:
            matrix = memref_at(start, element, [apart, 1], unit_inner=True)
            for place, total in enumerate(sums):
                simd.store(total, matrix, place // vectors, place % vectors * lanes)

        def by_way_of_memory() -> None:
            write(own, tiling.columns)
            e.call(parts.lying("finish"), [own, count, c_at, c_apart, left, accumulate])

        if is_masked:
            by_way_of_memory()
        else:
            simple = e.all_of(e.compare("eq", count, rows), e.negate(accumulate))
            e.branch(simple, lambda: write(c_at, c_apart), by_way_of_memory)
