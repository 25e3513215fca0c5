"""Small-N GEMMs with a large, column-contiguous A, whose blocks are transposed.

The elements of a row of A are far apart in memory: read one by one, each cache line would be loaded for a few elements.
A block reads long contiguous runs instead, and stays in L2.
"""

from __future__ import annotations

from math import lcm

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, by_parts, signature
from relax_mlir.lowering.kernels.gemm.gemm_narrow_tall import TallTiles
from relax_mlir.lowering.kernels.gemm.gemm_pack import Packing
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling, even_step
from relax_mlir.lowering.kernels.gemm.gemv import dot_group
from relax_mlir.mlir import ir

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
    with e.function(block, parts.narrow_left, types, group=parts.groups.product) as arguments:
        by_parts(tiling, part, arguments[0], arguments[2], arguments, row_group=row_group(tiling))
    with e.function(block, part, [*types, *[ir.IndexType.get()] * 4], group=parts.groups.product) as values:
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
