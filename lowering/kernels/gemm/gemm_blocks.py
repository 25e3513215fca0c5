"""The packed code path of a GEMM: loops over blocks of A and B, which are packed and multiplied by micro-kernels.

B is packed on demand, beforehand (`panel_loops`), or by all threads together (`emit_shared`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import lcm

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core.emit import address, item_bytes
from relax_mlir.lowering.kernels.core.parallel import THRESHOLD, parallel_loop, part_size
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_micro import Rounding, emit_finish, emit_tile
from relax_mlir.lowering.kernels.gemm.gemm_pack import LeftOperand, Packing, rows_type
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling, even_step
from relax_mlir.mlir import arith, ir

_MAX_SHARED = 1 << 25
"""The maximum number of elements of B that threads pack jointly. Larger GEMMs have enough rows or columns to amortise
packing a block more than once."""


@dataclass(frozen=True)
class Parts:
    """Names of the functions of one GEMM; `entry`: its own name."""

    entry: str
    tiles: str | None = None
    """The function for a block, if it is shared with another GEMM."""

    @property
    def skinny(self) -> str:
        return f"{self.entry}.skinny"

    @property
    def skinny_row(self) -> str:
        return f"{self.entry}.skinny_row"

    @property
    def dots(self) -> str:
        return f"{self.entry}.dots"

    @property
    def packed(self) -> str:
        return f"{self.entry}.packed"

    @property
    def shared(self) -> str:
        return f"{self.entry}.shared"

    @property
    def block(self) -> str:
        return self.tiles or f"{self.entry}.block"

    @property
    def finish(self) -> str:
        return f"{self.entry}.tile_finish"

    @property
    def outer(self) -> str:
        return f"{self.entry}.outer"

    @property
    def narrow(self) -> str:
        return f"{self.entry}.narrow"

    @property
    def narrow_transposed(self) -> str:
        """`narrow` for a column-contiguous B."""
        return f"{self.entry}.narrow_transposed"

    @property
    def batch(self) -> str:
        """The entry for a batch of GEMMs."""
        return f"{self.entry}.batch"

    @property
    def narrow_left(self) -> str:
        """`narrow` for a large, column-contiguous A."""
        return f"{self.entry}.narrow_left"

    @property
    def few_rows(self) -> str:
        """The code path for few rows of C and many columns."""
        return f"{self.entry}.few_rows"

    def unpacked(self, kind: str) -> str:
        """A tile that reads its operands in place, or a function that it calls."""
        return f"{self.entry}.unpacked_{kind}"

    def rows(self, rows: int) -> str:
        return f"{self.entry}.rows_{rows}"

    def tile(self, rows: int) -> str:
        return f"{self.entry}.tile_{rows}"

    @property
    def narrow_tile(self) -> str:
        """The highest tile, for a panel with one remaining vector of columns."""
        return f"{self.entry}.tile_narrow"


def signature(source: e.Type, element: e.Type, right: e.Type | None = None) -> list[e.Type]:
    """The types of A, B (`right`, if it differs from A), C and the flag to add to C."""
    operand = e.strided_memref(source, 2)
    return [
        operand,
        right or operand,
        e.strided_memref(element, 2, unit_inner=True),
        ir.IntegerType.get_signless(1),
    ]


def streaming(elements: e.Index, type_: e.Type) -> e.Index:
    """The approximate cycles to read `elements` from the last-level cache, at 8 bytes per cycle."""
    return e.div(e.mul(elements, type_.width // 8), 8)


def by_parts(
    sizes: Tiling,
    name: str,
    a: e.Value,
    c: e.Value,
    arguments: Sequence[e.Value],
    is_packed: bool = False,
    row_group: int = 1,
) -> None:
    """Call a function with `arguments` and four bounds: the rows and the columns of its part of C.

    Threads split the longer side of C, and each part is a separate GEMM. If B `is_packed`, each thread gets several
    parts with enough rows: this costs little, and threads do not all run at the same speed. Parts begin at multiples of
    `row_group` rows, for GEMMs whose rounding depends on which rows are computed together.
    """
    rows, columns = e.dim(c, 0), e.dim(c, 1)
    if sizes.threads == 1:
        e.call(name, [*arguments, *map(e.index, (0, rows, 0, columns))])
        return
    cost = sizes.cycles(rows, columns, e.dim(a, 1))
    high = e.compare("ge", rows, columns)
    size = e.select(high, rows, columns)
    least = sizes.low_rows if is_packed else None
    multiple, lowest = lcm(sizes.row_step, row_group), -(-sizes.rows // row_group) * row_group
    by_row = e.maximum(part_size(size, multiple, sizes.threads, cost, least), lowest)
    by_column = part_size(size, sizes.columns, sizes.threads, cost)
    step = e.select(high, by_row, by_column)
    with parallel_loop(0, size, step, cost) as start:
        end = e.minimum(e.add(start, step), size)
        bounds = [e.select(high, *pair) for pair in ((start, 0), (end, rows), (0, start), (columns, end))]
        e.call(name, [*arguments, *bounds])


def emit_packed(block: e.Block, parts: Parts, packing: Packing, element: e.Type) -> None:
    """Emit the loops over blocks for a part of C: depth, columns, rows.

    A is packed per block of rows, and B for the first block of rows. With a single block of rows, B is packed a few
    panels at a time, and A once per block of depth. With several, B is packed in wide blocks, which are reused for all
    rows. C has the type `element`.
    """
    sizes, source = packing.tiling, packing.source
    types, part = [*signature(source, element, packing.right_type), *ep.types()], f"{parts.packed}.part"
    with e.function(block, parts.packed, types) as arguments:
        a, _, c, *_ = arguments

        def separately() -> None:
            by_parts(sizes, part, a, c, arguments)

        if sizes.threads == 1:
            separately()
        else:
            rows, columns, depth = e.dim(c, 0), e.dim(c, 1), e.dim(a, 1)
            share = e.all_of(
                e.compare("ge", rows, columns),
                e.compare("ge", sizes.cycles(rows, columns, depth), THRESHOLD),
                e.compare("le", e.mul(columns, depth), _MAX_SHARED),
            )
            e.branch(share, lambda: e.call(parts.shared, arguments), separately)
    _emit_packed_part(block, part, parts, packing, types)


def _emit_packed_part(block: e.Block, name: str, parts: Parts, packing: Packing, types: Sequence[e.Type]) -> None:
    """Emit the loops for some rows and columns of C, of which the bounds are the last arguments."""
    sizes = packing.tiling
    with e.function(block, name, [*types, *[ir.IndexType.get()] * 4]) as (
        a,
        b,
        c,
        accumulate,
        *rest,
    ):
        *carried, first_row, last_row, first_column, last_column = rest
        epilogue = ep.Epilogue(*carried)
        rows, columns, depth = e.sub(last_row, first_row), e.sub(last_column, first_column), e.dim(a, 1)
        some_rows = e.maximum(rows, 1)
        row_step = even_step(some_rows, sizes.block_rows, sizes.rows)
        depth_step = even_step(e.maximum(depth, 1), sizes.depth_to_pack(e.dim(c, 0)), sizes.lanes)
        panel_rows = e.add(depth_step, 1)  # so that panels do not map to few cache sets
        several = e.compare("gt", rows, row_step)
        column_step = e.select(several, sizes.kept_columns, sizes.packed_columns(depth_step))
        b_columns = e.minimum(e.round_up(columns, sizes.columns), column_step)
        left = LeftOperand(packing, a, depth_step)
        b_at = left.packed_elements(e.minimum(some_rows, row_step))
        elements = e.add(b_at, e.mul(b_columns, panel_rows))
        with (
            e.scratch(packing.element, elements) as packed,
            e.loop(0, depth, depth_step) as k,
            e.loop(first_column, last_column, column_step) as j,
            e.loop(first_row, last_row, row_step) as i,
        ):
            deep, high = e.minimum(e.sub(depth, k), depth_step), e.minimum(e.sub(last_row, i), row_step)
            wide = e.minimum(e.sub(last_column, j), column_step)
            with e.when(e.compare("eq", i, first_row)):
                e.call(packing.b, [b, k, deep, j, wide, packed, b_at, panel_rows])
            add = e.any_of(accumulate, e.compare("ne", k, 0))
            done = epilogue.when(e.compare("eq", e.add(k, deep), depth))

            def multiply(memory: e.Value, at: e.Index, leading: e.Index) -> None:
                right = [packed, b_at, panel_rows]
                e.call(parts.block, [memory, at, leading, *right, deep, high, wide, c, i, j, add, done, *carried])

            is_new = e.any_of(several, e.compare("eq", j, first_column))
            left.use(packed, i, high, k, deep, is_new, multiply)


def emit_shared(block: e.Block, parts: Parts, packing: Packing, element: e.Type) -> None:
    """Emit a GEMM for several threads: they pack all of B, a part each, and then all use the whole."""
    sizes, source = packing.tiling, packing.source
    with e.function(
        block,
        parts.shared,
        [*signature(source, element, packing.right_type), *ep.types()],
    ) as arguments:
        a, b, c, *rest = arguments
        depth, columns = e.dim(a, 1), e.dim(c, 1)
        leading = e.round_up(depth, sizes.group)
        elements = e.mul(leading, e.round_up(columns, sizes.columns))
        cost = streaming(elements, packing.element)
        step = part_size(columns, sizes.columns, sizes.threads, cost, sizes.block_columns)
        with e.scratch(packing.element, elements) as panels:
            with parallel_loop(0, columns, step, cost) as j:
                wide = e.minimum(e.sub(columns, j), step)
                e.call(packing.b, [b, 0, depth, j, wide, panels, e.mul(j, leading), leading])
            e.call(f"{parts.shared}.blocks", [a, panels, c, *rest])
    panel_loops(
        block,
        packing,
        parts,
        parts.shared,
        sizes.depth_to_pack,
        element,
        packing.element,
    )


def panel_loops(
    block: e.Block,
    packing: Packing,
    parts: Parts,
    name: str,
    most_depth: Callable[[e.Index], e.Index],
    element: e.Type,
    panel: e.Type,
) -> None:
    """Emit ``NAME.blocks``: the loops over blocks of depth and rows, with a B that is prepacked over its depth.

    A is packed by `packing`; `parts` has the blocks and tiles for panels of `panel`, the element type of the packed B;
    C has the type `element`. `most_depth` gives the maximum depth of a block from the rows of the GEMM. With that of a
    B packed on demand, results are bitwise equal.
    """
    sizes = packing.tiling
    matrix, flat = e.strided_memref(packing.source, 2), e.flat_memref(panel)
    types = [matrix, flat, e.strided_memref(element, 2, unit_inner=True), ir.IntegerType.get_signless(1)]
    types = [*types, *ep.types()]
    with e.function(block, f"{name}.blocks", types) as arguments:
        by_parts(sizes, f"{name}.part", arguments[0], arguments[2], arguments, is_packed=True)
    part_types = [*types, *[ir.IndexType.get()] * 4]
    with e.function(block, f"{name}.part", part_types) as (a, b, c, accumulate, *rest):
        *carried, first_row, last_row, first_column, last_column = rest
        epilogue = ep.Epilogue(*carried)
        rows, wide, depth = e.sub(last_row, first_row), e.sub(last_column, first_column), e.dim(a, 1)
        some_rows = e.maximum(rows, 1)
        row_step = even_step(some_rows, sizes.block_rows, sizes.rows)
        depth_step = even_step(e.maximum(depth, 1), most_depth(e.dim(c, 0)), sizes.lanes)
        left = LeftOperand(packing, a, depth_step)
        with (
            e.scratch(packing.element, left.packed_elements(e.minimum(some_rows, row_step))) as packed,
            e.loop(0, depth, depth_step) as k,
            e.loop(first_row, last_row, row_step) as i,
        ):
            deep, high = e.minimum(e.sub(depth, k), depth_step), e.minimum(e.sub(last_row, i), row_step)
            add = e.any_of(accumulate, e.compare("ne", k, 0))
            leading = e.round_up(depth, sizes.group)
            place = e.add(e.mul(k, sizes.columns), e.mul(first_column, leading))
            done = epilogue.when(e.compare("eq", e.add(k, deep), depth))

            def multiply(memory: e.Value, at: e.Index, row_stride: e.Index) -> None:
                what = [deep, high, wide, c, i, first_column, add, done, *carried]
                e.call(parts.block, [memory, at, row_stride, b, place, leading, *what])

            left.use(packed, i, high, k, deep, e.flag(True), multiply)


def emit_block(
    block: e.Block,
    parts: Parts,
    sizes: Tiling,
    element: e.Type,
    operands: tuple[e.Type, e.Type],
    rounding: Rounding | None,
) -> None:
    """Emit the function for a block: a block of A times packed panels of B, with the micro-kernels that it calls.

    It iterates over as many panels as L2 holds, for one tile of rows after the other. The types are those of
    `emit_tile`; `rounding` is the rounding that it may apply to accumulators. Arguments: the memory of A, the offset of
    the block in it, and its row stride; that of B, the offset of the panels and their depth; depth, rows and columns of
    the block; C, the block's first row and column in C, a flag to add to C, a flag that C is complete afterwards, and
    the epilogue for that case.
    """
    size, flag = ir.IndexType.get(), ir.IntegerType.get_signless(1)
    matrix = e.strided_memref(element, 2, unit_inner=True)
    memory = [rows_type(operands[0]), size, size, e.flat_memref(operands[1]), size, size]
    arguments = [*memory, size, size, size, matrix, size, size, flag, flag, *ep.types()]
    with e.function(block, parts.block, arguments) as values:
        a, a_at, a_stride, b, b_at, panel_depth, depth, rows, columns, c, row, column, add, done, *rest = values
        epilogue = ep.Epilogue(*rest)
        full, first, second = _cut_rows(rows, sizes)
        a_parts, c_parts = e.metadata(a), e.metadata(c)
        c_stride = c_parts.strides[0]
        starts = [address(a_parts, a_at), address(e.metadata(b), b_at)]
        item, panel_item = map(item_bytes, operands)
        result_item: e.Index = item_bytes(element)
        if rounding:
            result_item = rounding.item_bytes(epilogue.rounds, element)
        place = e.add(e.mul(row, c_stride), column)
        starts.append(arith.addi(address(c_parts, 0), e.index(e.mul(place, result_item))))

        def tiles(i: e.Index, count: e.Index, first: e.Index, last: e.Index, heights: Sequence[int]) -> None:
            a_line = e.add(starts[0], e.mul(e.mul(i, a_stride), item))
            c_line = e.add(starts[2], e.mul(e.mul(i, c_stride), result_item))
            behind = ahead.behind(i) if ahead else 0
            with e.loop(first, last, sizes.columns) as j:
                panel_at = e.add(starts[1], e.mul(e.mul(j, panel_depth), panel_item))
                c_at, left = e.add(c_line, e.mul(j, result_item)), e.sub(columns, j)
                more: list[e.Index] = [epilogue.rounds] if rounding else []
                more += [count] if sizes.row_step > 1 else []
                if ahead:
                    comes = e.compare("lt", e.add(j, streamed), columns)
                    more += [e.add(panel_at, e.select(comes, behind, 0)), e.select(comes, ahead.step, 0)]
                arguments = [a_line, a_stride, panel_at, depth, c_at, c_stride, left, add, *more]

                def tile(high: int) -> None:
                    e.call(parts.tile(high), arguments)

                if len(heights) == 1:
                    is_narrow = e.compare("le", left, sizes.lanes)
                    e.branch(is_narrow, lambda: e.call(parts.narrow_tile, arguments), lambda: tile(*heights))
                else:
                    e.switch(sizes.tile_rows(count), heights, tile)
                with e.when(done):
                    epilogue.run(e.add(row, i), count, e.add(column, j), e.minimum(left, sizes.columns))

        streamed = sizes.streamed_columns(rows, depth)
        ahead = None
        if sizes.half_lines:
            distance = e.mul(e.mul(streamed, panel_depth), panel_item)
            ahead = _Ahead(sizes, rows, depth, distance, panel_item)
        with e.loop(0, columns, streamed) as j:
            end = e.minimum(e.add(j, streamed), columns)
            with e.loop(0, full, sizes.rows) as i:
                tiles(i, sizes.rows, j, end, [sizes.rows])
            with e.loop(0, 2) as number:
                is_first = e.compare("eq", number, 0)
                start = e.add(full, e.select(is_first, 0, first))
                count = e.select(is_first, first, second)
                with e.when(e.compare("ne", count, 0)):
                    tiles(start, count, j, end, sizes.row_counts)
    emit_finish(block, parts.finish, sizes, element, rounding)
    for rows_ in sizes.row_counts:
        emit_tile(
            block,
            parts.tile(rows_),
            parts.finish,
            sizes,
            element,
            rows_,
            operands,
            rounding,
        )
    emit_tile(
        block,
        parts.narrow_tile,
        parts.finish,
        sizes,
        element,
        sizes.rows,
        operands,
        rounding,
        narrow=True,
    )


class _Ahead:
    """Prefetch addresses of micro-kernels: the panels of B that all tiles of rows use next.

    Each tile of rows prefetches its share of the panel `distance` bytes after its own, a little per step. So B streams
    from memory while all tiles compute; otherwise only the first tile would load it, and stall. (A sentence encoder, 40
    MB of weights, takes a third less time for 7 tokens on Zen 3, a quarter less for 32.)
    """

    def __init__(self, sizes: Tiling, rows: e.Index, depth: e.Index, distance: e.Index, item: int) -> None:
        self.sizes, self.distance, step = sizes, distance, sizes.columns * item
        tiles = e.maximum(e.ceildiv(rows, sizes.rows), 1)
        self.share, self.step = e.ceildiv(e.mul(depth, step), tiles), e.ceildiv(step, tiles)

    def behind(self, row: e.Index) -> e.Index:
        """The distance in bytes from a panel of B to the share that the tile beginning at this row prefetches."""
        return e.add(self.distance, e.mul(e.ceildiv(row, self.sizes.rows), self.share))


def _cut_rows(rows: e.Index, sizes: Tiling) -> tuple[e.Index, e.Index, e.Index]:
    """Split rows into full tiles and up to two lower tiles of about the same height.

    A low tile takes as long as a higher one, because it is latency-bound: 8 rows are better split into 4 and 4 than
    into 6 and 2. Only the second tile may lack a row.
    """
    tile = sizes.rows
    left = e.sub(rows, e.round_down(rows, tile))
    uneven = [e.compare("ne", left, 0), e.compare("lt", left, tile - 1), e.compare("gt", rows, tile)]
    halves = e.all_of(*uneven)
    rest = e.select(halves, e.add(left, tile), left)
    first = e.select(halves, sizes.tile_rows(e.ceildiv(rest, 2)), rest)
    return e.sub(rows, rest), first, e.sub(rest, first)
