"""GEMMs of bf16 on AMX tiles (x86), with f32 accumulators.

A tile of A holds 16 rows of 32 elements. A tile of B holds 16 pairs of depth by 16 columns, with both elements of a
pair adjacent. In units of two elements one is the transpose of the other, so one generator packs both: A directly, B
transposed. Out-of-bounds parts of tiles are zero. 2 x 2 tiles of C are accumulated at a time, and stored through a
small buffer that handles the edges.

AMX treats subnormal numbers as zeros (TDPBF16PS in Intel, "Intel 64 and IA-32 Architectures Software Developer's
Manual", volume 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_pack import interleaved, transposed
from relax_mlir.lowering.kernels.gemm.gemm_tiling import even_step
from relax_mlir.mlir import arith, ir, memref
from relax_mlir.target import Target

FEATURES = ("amx_tile", "amx_bf16")
SIDE = 16
"""Rows of a tile; rows and columns of a tile of C."""

DEPTH = 32
"""Elements of depth in a tile: rows have 64 bytes."""

BLOCK = 2 * SIDE
"""Rows and columns of C that are accumulated at a time."""


@dataclass(frozen=True)
class AmxTiling:
    """The maximum sizes of packed blocks: depth, rows of A, columns of B (multiples of a tile)."""

    depth: int
    rows: int
    columns: int


def amx_tiling(target: Target) -> AmxTiling:
    """Blocks that fill three quarters of L2, with B twice as large as A."""
    depth = 1024
    rows = max(BLOCK, target.l2_bytes // 4 // (2 * depth) // BLOCK * BLOCK)
    return AmxTiling(depth, rows, 2 * rows)


def emit_amx(block: e.Block, name: str, target: Target) -> None:
    """Emit ``NAME.packed``: ``(A, B, C, accumulate, epilogue)``, like the other packed GEMMs (see `gemm`)."""
    sizes = amx_tiling(target)
    _emit_blocks(block, name, sizes)
    _emit_pack(block, f"{name}.pack_a", pairs=False)
    _emit_pack(block, f"{name}.pack_b", pairs=True)
    _emit_sum(block, f"{name}.tiles", target.lanes(32))


def _emit_blocks(block: e.Block, name: str, sizes: AmxTiling) -> None:
    source, element = _types()
    operand, result = e.strided_memref(source, 2), e.strided_memref(element, 2, unit_inner=True)
    types = [operand, operand, result, ir.IntegerType.get_signless(1), *ep.types()]
    with e.function(block, f"{name}.packed", types) as (a, b, c, accumulate, *rest):
        rows, columns, depth = e.dim(c, 0), e.dim(c, 1), e.dim(a, 1)
        steps = [
            even_step(e.maximum(size, 1), limit, multiple)
            for size, limit, multiple in (
                (depth, sizes.depth, DEPTH),
                (rows, sizes.rows, BLOCK),
                (columns, sizes.columns, BLOCK),
            )
        ]
        deep_step, high_step, wide_step = steps
        b_at = e.mul(high_step, deep_step)
        b_parts = e.metadata(b)
        transposed = e.view(b_parts, b_parts.sizes[::-1], b_parts.strides[::-1])
        with (
            e.scratch(source, e.add(b_at, e.mul(wide_step, deep_step))) as packed,
            e.scratch(element, BLOCK * BLOCK) as sums,
            e.loop(0, depth, deep_step) as k,
            e.loop(0, columns, wide_step) as j,
        ):
            deep, wide = e.minimum(e.sub(depth, k), deep_step), e.minimum(e.sub(columns, j), wide_step)
            tiles = e.ceildiv(deep, DEPTH)
            add = e.any_of(accumulate, e.compare("ne", k, 0))
            e.call(f"{name}.pack_b", [transposed, j, wide, k, deep, packed, b_at])
            with e.loop(0, rows, high_step) as i:
                high = e.minimum(e.sub(rows, i), high_step)
                e.call(f"{name}.pack_a", [a, i, high, k, deep, packed, 0])
                with e.loop(0, wide, BLOCK) as column, e.loop(0, high, BLOCK) as row:
                    places = [
                        e.mul(row, e.mul(tiles, DEPTH)),
                        e.add(b_at, e.mul(column, e.mul(tiles, DEPTH))),
                    ]
                    at = [e.add(i, row), e.add(j, column)]
                    left = [e.minimum(e.sub(high, row), BLOCK), e.minimum(e.sub(wide, column), BLOCK)]
                    e.call(f"{name}.tiles", [packed, *places, tiles, sums, c, *at, *left, add])
                with e.when(e.compare("eq", e.add(k, deep), depth)):
                    ep.Epilogue(*rest).run(i, high, j, wide)


def _types() -> tuple[e.Type, e.Type]:
    return ir.BF16Type.get(), ir.F32Type.get()


def _emit_pack(block: e.Block, name: str, pairs: bool) -> None:
    """Emit the function that packs an operand, whose lines are rows of A or columns of B.

    Arguments: an operand, lines x depth; first line, lines, first depth, depth; destination and offset in it. Tiles of
    16 lines by 32 of depth are consecutive along the depth; lines are zero-padded to whole blocks. With `pairs` a row
    of a tile holds two elements of depth of all its lines, else all its depth of one line.
    """
    source, _ = _types()
    size, operand = ir.IndexType.get(), e.strided_memref(source, 2)
    with e.function(block, name, [operand, size, size, size, size, e.flat_memref(source), size]) as values:
        x, line, lines, depth, deep, packed, at = values
        parts = e.metadata(x)
        along = e.view(parts, parts.sizes, parts.strides, unit_inner=True)
        across = e.view(parts, parts.sizes[::-1], parts.strides[::-1], unit_inner=True)
        tiles = e.ceildiv(deep, DEPTH)
        with e.loop(0, e.round_up(lines, BLOCK), SIDE) as i, e.loop(0, tiles) as t:
            k = e.mul(t, DEPTH)
            place = e.add(at, e.mul(e.add(e.mul(e.div(i, SIDE), tiles), t), SIDE * DEPTH))
            first, start = e.add(line, i), e.add(depth, k)
            whole = e.all_of(e.compare("le", e.add(i, SIDE), lines), e.compare("le", e.add(k, DEPTH), deep))
            by_depth = e.all_of(whole, e.compare("eq", parts.strides[1], 1))
            by_line = e.all_of(whole, e.compare("eq", parts.strides[0], 1))

            def consecutive_depth() -> None:
                rows = [simd.load(DEPTH, along, e.add(first, r), start) for r in range(SIDE)]
                _store(packed, place, transposed(rows) if pairs else rows)

            def consecutive_lines() -> None:
                rows = []
                for r in range(SIDE):
                    both = [simd.load(SIDE, across, e.add(start, 2 * r + n), first) for n in (0, 1)]
                    rows.append(interleaved(*both))
                _store(packed, place, rows if pairs else transposed(rows))

            def elements() -> None:
                zero = e.constant(source, 0)
                with e.loop(0, SIDE) as r, e.loop(0, DEPTH) as d:
                    inside = e.all_of(e.compare("lt", e.add(i, r), lines), e.compare("lt", e.add(k, d), deep))
                    value = e.choose(
                        inside,
                        [source],
                        lambda: [e.load(x, e.add(first, r), e.add(start, d))],
                        lambda: [zero],
                    )[0]
                    odd = e.sub(d, e.round_down(d, 2))
                    pair = e.add(e.mul(e.div(d, 2), DEPTH), e.add(e.mul(r, 2), odd))
                    offset = pair if pairs else e.add(e.mul(r, DEPTH), d)
                    e.store(value, packed, e.add(place, offset))

            e.branch(by_depth, consecutive_depth, lambda: e.branch(by_line, consecutive_lines, elements))


def _store(packed: e.Value, place: e.Index, rows: Sequence[e.Value]) -> None:
    for r, row in enumerate(rows):
        simd.store(row, packed, e.add(place, r * DEPTH))


def _emit_sum(block: e.Block, name: str, lanes: int) -> None:
    """Emit the accumulation of 2 x 2 tiles of C over the depth of the block.

    Arguments: packed memory, offsets of the tiles of A and of B in it, tiles of depth, a buffer of 32 x 32
    accumulators, C, row and column, remaining rows and columns (up to 32), a flag to add to C.
    """
    source, element = _types()
    size, flag = ir.IndexType.get(), ir.IntegerType.get_signless(1)
    flat, matrix = e.flat_memref(source), e.strided_memref(element, 2, unit_inner=True)
    types = [flat, size, size, size, e.flat_memref(element), matrix, size, size, size, size, flag]
    with e.function(block, name, types) as values:
        packed, a_at, b_at, tiles, buffer, c, row, column, high, wide, accumulate = values
        a, b = (_fixed(packed, at, (SIDE, DEPTH)) for at in (a_at, b_at))
        sums = _fixed(buffer, 0, (BLOCK,))
        total = ir.Type.parse("!x86.amx.tile<16x16xf32>")
        (zero,) = _amx("zero", [total], [])
        with e.carrying_loop(0, tiles, 1, [zero] * 4, unroll=False) as k:
            left = [_load_tile(a, k.index), _load_tile(a, e.add(tiles, k.index))]
            right = [_load_tile(b, k.index), _load_tile(b, e.add(tiles, k.index))]
            pairs = [(x, y) for x in left for y in right]
            given = zip(pairs, k.values, strict=True)
            k.give([_amx("mulf", [total], [x, y, old])[0] for (x, y), old in given])
        for number, result in enumerate(k.results):
            place = [e.index(number // 2 * SIDE), e.index(number % 2 * SIDE)]
            _amx("store", [], [sums, *place, result], [1, 2, 1, 0])
        _add(lanes, sums, c, (row, column), (high, wide), accumulate)


def _add(
    lanes: int,
    sums: e.Value,
    c: e.Value,
    at: tuple[e.Value, e.Value],
    counts: tuple[e.Value, e.Value],
    accumulate: e.Value,
) -> None:
    """Store the accumulators to C, or add them to it."""
    (row, column), (high, wide) = at, counts
    starts = range(0, BLOCK, lanes)
    masks = [simd.mask(e.sub(e.maximum(wide, start), start), lanes) for start in starts]
    adds = simd.splat(accumulate, lanes)
    with e.loop(0, high) as i:
        for start, mask in zip(starts, masks, strict=True):
            place = (e.add(row, i), e.add(column, start))
            old = simd.load(lanes, c, *place, where=e.all_of(mask, adds))
            new = arith.addf(simd.load(lanes, sums, i, start), old)
            simd.store(new, c, *place, where=mask)


def _fixed(memory: e.Value, at: e.Index, row: tuple[int, ...]) -> e.Value:
    """View flat memory from an offset as dense rows (of rows) of static sizes."""
    strides = [1]
    for count in reversed(row):
        strides.insert(0, strides[0] * count)
    element = e.element_of(memory.type)
    layout = ir.StridedLayoutAttr.get(e.DYNAMIC_STRIDE, strides)
    count = BLOCK if len(row) == 1 else e.DYNAMIC
    type_ = ir.MemRefType.get([count, *row], element, layout=layout)
    sizes = [] if count == BLOCK else [e.index(1)]
    return memref.reinterpret_cast(type_, memory, [e.index(at)], sizes, [], [e.DYNAMIC_STRIDE], [count, *row], strides)


def _load_tile(tiles: e.Value, number: e.Index) -> e.Value:
    zero = e.index(0)
    type_ = ir.Type.parse("!x86.amx.tile<16x32xbf16>")
    return _amx("load", [type_], [tiles, e.index(number), zero, zero], [1, 3, 0])[0]


def _amx(
    name: str, results: Sequence[e.Type], operands: Sequence[e.Value], segments: Sequence[int] = ()
) -> list[e.Value]:
    """Create an AMX op and return its results."""
    attributes = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments)} if segments else {}
    op = ir.Operation.create(
        f"x86.amx.tile_{name}", results=list(results), operands=list(operands), attributes=attributes
    )
    return list(op.results)
