"""Products with few columns and a large left operand of which columns have unit stride: its blocks are transposed.

Rows of the product are columns in memory, far apart from element to element: read one by one, each cache line would
come from memory for a few elements. A block takes long pieces of lines of memory instead, and stays in the second-level
cache.
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
"""The most depth of a block: after each one C is read and written."""

MAX_TILE_ROWS = 8
"""The most rows of a tile: there are no lower ones, so that higher ones would be idle more often."""


def tile_rows(tiling: Tiling, vectors: int) -> int:
    """Rows of the tile of one vector or two. Those of one hide how long an instruction takes."""
    return MAX_TILE_ROWS if vectors == 1 else min(tiling.rows, MAX_TILE_ROWS)


def row_group(tiling: Tiling) -> int:
    """How many rows are taken together: parts of threads and blocks begin at multiples of it.

    The last bits of sums depend on how many dot products go side by side.
    """
    return lcm(tile_rows(tiling, 1), tile_rows(tiling, 2), dot_group(tiling))


def narrow_product(tall: TallTiles, a: e.Strided, columns: e.Index, arguments: list[e.Value]) -> None:
    """Call the product that reads A where it lies, or the one for an A that would come from memory several times."""
    parts = tall.parts
    e.branch(
        e.any_of(e.compare("eq", a.strides[1], 1), is_near(a, tall.tiling), tall.pays(a, columns, columns)),
        lambda: e.call(parts.narrow, arguments),
        lambda: e.call(parts.narrow_left, arguments),
    )


def is_near(a: e.Strided, tiling: Tiling) -> e.Value:
    """Whether all of A stays in the second-level cache, from which lines may come more than once."""
    rows, depth = a.sizes
    return e.compare("le", e.mul(rows, depth), max_read(tiling))


def max_read(tiling: Tiling) -> int:
    """The most elements of an A that stays in the second-level cache."""
    return 4 * tiling.kept_left


def emit_narrow_left(block: e.Block, parts: Parts, packing: Packing) -> None:
    """Emit the product; arguments as those of `emit_narrow`, which it uses."""
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
