"""Attention in one kernel; it materialises only the scores of one tile of queries with one block of keys.

For each batch, head and block of queries, the kernel loops over blocks of keys. It packs a block of keys (transposed
into panels) and its values. For each tile of queries it computes the scores, converts them to weights (the online
softmax of `attention_softmax`), and accumulates weights times values; the accumulators are divided by the sum of the
weights at the end. Both GEMMs use the micro-kernels of `gemm_blocks`. A single query reads keys and values in place.

After T. Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness",
arXiv:2205.14135, 2022.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from relax_mlir.lowering.kernels.attention.attention_pack import (
    Sizes,
    emit_pack_keys,
    emit_pack_rows,
    emit_pack_values,
    emit_write_rows,
)
from relax_mlir.lowering.kernels.attention.attention_softmax import Bias, Exponential, Running, weigh_row
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.core.simd import sum_each
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm import FLOATS, GemmKernel, emit_tiles
from relax_mlir.lowering.kernels.gemm.gemm_pack import rows_type
from relax_mlir.lowering.kernels.gemm.gemm_tiling import even_step
from relax_mlir.lowering.kernels.library import define
from relax_mlir.lowering.kernels.select_kernels import Emitter, Request, generates, is_contiguous
from relax_mlir.mlir import arith, ir, math, memref
from relax_mlir.target import Target

# The GEMVs of attention with a single query, which read keys and values in place.


_TOGETHER = 4
"""Panels of columns, or rows of values, with separate accumulators: one narrow row alone has too few independent
accumulators to hide the latency of the multiply-add."""


def emit_weighted_sum(block: e.Block, name: str, sizes: Sizes) -> None:
    """Emit the function that sums rows of values, each scaled by its weight.

    Arguments: weights, their offset; values, offset of the first row, row stride, rows, and the number of panels of
    columns, which must be readable in full; the accumulators, their offset, and a flag to add to them.
    """
    index, flat = ir.IndexType.get(), e.flat_memref(sizes.element)
    flag = ir.IntegerType.get_signless(1)
    types = [flat, index, e.flat_memref(sizes.source), *[index] * 4, flat, index, flag]
    with e.function(block, name, types) as arguments:
        weights, first, values, start, stride, count, panels, sums, to, accumulate = arguments
        lanes, zero = sizes.lanes, e.constant(sizes.vector(), 0)

        def step(vectors: int, column: e.Index, old: Sequence[e.Value], counter: e.Index) -> list[e.Value]:
            row = e.opaque(counter)
            weight = simd.splat(e.load(weights, e.add(first, row)), lanes)
            at = e.add(e.add(start, column), e.mul(row, stride))
            lines = [simd.load(lanes, values, e.add(at, v * lanes)) for v in range(vectors)]
            lines = [simd.widen(line, sizes.element) for line in lines]
            return [simd.fma(weight, x, y, sizes.fused) for x, y in zip(lines, old, strict=True)]

        def columns(panel: e.Index, together: int) -> None:
            vectors, chains = together * sizes.vectors, _TOGETHER // together
            column = e.mul(panel, sizes.panel)
            places = [e.add(e.add(to, column), v * lanes) for v in range(vectors)]
            total: Sequence[e.Value] = e.choose(
                accumulate,
                [sizes.vector()] * vectors,
                lambda: [simd.load(lanes, sums, place) for place in places],
                lambda: [zero] * vectors,
            )
            full: e.Index = 0
            if chains > 1:
                full = e.round_down(count, chains)
                with e.carrying_loop(0, full, chains, [*total, *[zero] * (vectors * (chains - 1))]) as many:
                    parts = _parts(many.values, chains)
                    stepped = [step(vectors, column, x, e.add(many.index, n)) for n, x in enumerate(parts)]
                    many.give([x for part in stepped for x in part])
                total = [reduce(arith.addf, each) for each in zip(*_parts(many.results, chains), strict=True)]
            with e.carrying_loop(full, count, 1, total, unroll=False) as one:
                one.give(step(vectors, column, one.values, one.index))
            for place, value in zip(places, one.results, strict=True):
                simd.store(value, sums, place)

        wide = e.round_down(panels, _TOGETHER)
        with e.loop(0, wide, _TOGETHER) as panel:
            columns(panel, _TOGETHER)
        with e.loop(wide, panels) as panel:
            columns(panel, 1)


def _parts(values: Sequence[e.Value], count: int) -> list[Sequence[e.Value]]:
    size = len(values) // count
    return [values[n * size : (n + 1) * size] for n in range(count)]


def emit_dots(block: e.Block, name: str, sizes: Sizes) -> None:
    """Emit the function that computes the scores of one query by dot products with unpacked keys.

    Arguments: queries, offset of the query; keys, offset of the first, stride, count (not 0), head size; the scores,
    their offset, and a scale. Scores are written up to the next multiple of the lanes. The query is already widened; if
    keys are narrower than the accumulators, the head size is a multiple of the lanes.
    """
    lanes, index = sizes.lanes, ir.IndexType.get()
    flat = e.flat_memref(sizes.element)
    types = [flat, index, e.flat_memref(sizes.source), index, index, index, index, flat, index, sizes.element]
    with e.function(block, name, types) as arguments:
        query, q_at, keys, k_at, stride, count, size, scores, to, factor = arguments
        full, last = e.round_down(size, lanes), e.sub(count, 1)
        # Up to lanes / 2 remaining keys are done one by one; more of them as a group that repeats the last key.
        groups = e.round_down(e.add(count, lanes // 2 - 1), lanes)

        def products(places: Sequence[e.Index]) -> list[e.Value]:
            def step(sums: Sequence[e.Value], counter: e.Index, where: e.Value | None) -> list[e.Value]:
                i = e.opaque(counter)
                left = simd.load(lanes, query, e.add(q_at, i), where=where)
                rights = [simd.load(lanes, keys, e.add(place, i), where=where) for place in places]
                rights = [simd.widen(line, sizes.element) for line in rights]
                return [simd.fma(left, x, y, sizes.fused) for x, y in zip(rights, sums, strict=True)]

            zero = e.constant(sizes.vector(), 0)
            with e.carrying_loop(0, full, lanes, [zero] * len(places)) as main:
                main.give(step(main.values, main.index, None))
            if sizes.low_precision:  # before AVX-512, x86 has masked loads of 32 and 64 bits only
                return main.results
            return e.choose(
                e.compare("ne", full, size),
                [sizes.vector()] * len(places),
                lambda: step(main.results, full, simd.mask(e.sub(size, full), lanes)),
                lambda: main.results,
            )

        with e.loop(0, groups, lanes) as j:
            places = [e.add(k_at, e.mul(e.minimum(e.add(j, q), last), stride)) for q in range(lanes)]
            result = arith.mulf(sum_each(products(places)), simd.splat(factor, lanes))
            simd.store(result, scores, e.add(to, j))
        with e.loop(groups, count) as j:
            (total,) = products([e.add(k_at, e.mul(j, stride))])
            value = arith.mulf(simd.reduce("add", total, fastmath="reassoc"), factor)
            e.store(value, scores, e.add(to, j))


SKINNY = 1
"""The maximum number of queries that do not repay packing of keys and values."""


@dataclass(frozen=True)
class Meaning:
    """The parameters of attention: its scale (None: 1 / sqrt of the head size) and its causal mask, if any."""

    scale: float | None
    causal: str | None


def emit_attention(target: Target, block: e.Block, buffers: Sequence[e.Value], meaning: Meaning) -> None:
    """Emit attention at the insertion point, and the functions that it calls at the end of `block`.

    `buffers`: query [b, s, h, d], key [b, t, g, d], value [b, t, g, e], an optional bias that broadcasts to [b, h, s,
    t], and the result [b, s, h, e]; contiguous, of one float type. g divides h: query head i reads head ``i // (h /
    g)`` of keys and values.
    """
    attention_of(target, block, buffers, meaning).emit()


def attention_of(target: Target, block: e.Block, buffers: Sequence[e.Value], meaning: Meaning) -> Attention:
    """Build the loop nest that `emit_attention` emits, and define the functions that it calls."""
    sizes = Sizes.of(target, ir.MemRefType(buffers[0].type).element_type)
    emit_parts(block, sizes, target)
    product = emit_tiles(block, GemmKernel(str(sizes.element), str(sizes.element)), target)
    nothing = ep.nothing(block)
    return Attention(sizes, *_operands(buffers), meaning, target.num_threads, product, nothing)


def emit_parts(block: e.Block, sizes: Sizes, target: Target) -> None:
    """Provide the functions that all attentions on an element type share in the module with the body `block`."""
    generators: dict[str, Callable[[e.Block, str, Sizes], None]] = {
        "pack_keys": emit_pack_keys,
        "pack_values": emit_pack_values,
        **({"pack_rows": emit_pack_rows} if sizes.low_precision else {}),
        "write_rows": emit_write_rows,
        "dots": emit_dots,
        "weighted_sum": emit_weighted_sum,
    }
    names = {f"{sizes.name}.{part}": emit for part, emit in generators.items()}

    def emit_all(body: e.Block) -> None:
        for name, emit in names.items():
            emit(body, name, sizes)

    define(block, target, tuple(names), emit_all)


@dataclass(frozen=True)
class Operand:
    """A contiguous buffer of four axes, viewed as flat, or a slice of its positions that starts at `first`."""

    flat: e.Value
    shape: tuple[e.Index, ...]
    first: e.Index = 0

    @property
    def stride(self) -> e.Index:
        """Elements between two positions of the sequence."""
        return e.mul(self.shape[2], self.shape[3])

    def place(self, batch: e.Index, position: e.Index, head: e.Index) -> e.Index:
        """The offset of a row of the last axis."""
        line = e.add(e.mul(e.add(e.mul(batch, self.shape[1]), e.add(self.first, position)), self.shape[2]), head)
        return e.mul(line, self.shape[3])

    def part(self, first: e.Index, size: e.Index) -> Operand:
        """A slice of positions of an operand with one batch."""
        batch, _, *rest = self.shape
        return Operand(self.flat, (batch, size, *rest), e.add(self.first, first))

    def clear(self, size: e.Index) -> None:
        """Zero the first `size` positions of an operand with one batch."""
        start = self.place(0, 0, 0)
        zero = e.constant(ir.MemRefType(self.flat.type).element_type, 0)
        with e.loop(0, e.mul(size, self.stride)) as i:
            e.store(zero, self.flat, e.add(start, i))


def _operands(buffers: Sequence[e.Value]) -> tuple[Operand, Operand, Operand, Bias | None, Operand]:
    query, key, value, *bias, out = buffers
    made = [
        Operand(_flat(buffer), tuple(e.dim(buffer, axis) for axis in range(4))) for buffer in (query, key, value, out)
    ]
    return made[0], made[1], made[2], Bias.of(bias[0], _flat(bias[0])) if bias else None, made[3]


def _flat(buffer: e.Value) -> e.Value:
    """View a contiguous buffer as rank 1."""
    type_ = ir.MemRefType(buffer.type)
    total: e.Index = 1
    for axis in range(type_.rank):
        total = e.mul(total, e.dim(buffer, axis))
    flat = e.flat_memref(type_.element_type)
    base = e.metadata(buffer).base if type_.rank else buffer
    return memref.reinterpret_cast(flat, base, [], [e.index(total)], [], [0], [e.DYNAMIC], [1])


@dataclass(frozen=True)
class _Place:
    """A block of queries of one batch and head, and a block of keys."""

    batch: e.Index
    head: e.Index
    key_head: e.Index
    first_query: e.Index
    queries: e.Index
    first_key: e.Index = 0
    keys: e.Index = 0


@dataclass(frozen=True)
class Attention:
    """The loop nest of one attention.

    `product` names the function that multiplies rows by packed panels; it is called with the epilogue `nothing`.
    """

    sizes: Sizes
    query: Operand
    key: Operand
    value: Operand
    bias: Bias | None
    out: Operand
    meaning: Meaning
    threads: int
    product: str
    nothing: ep.Epilogue

    def emit(self) -> None:
        """Emit the whole loop nest."""
        keys = self.key.shape[1]
        if isinstance(keys, int):
            self._emit_clear() if keys == 0 else self._emit_all()
        else:
            e.branch(e.compare("eq", keys, 0), self._emit_clear, self._emit_all)

    def _emit_clear(self) -> None:
        """Zero the result: without keys every sum is empty."""
        total: e.Index = 1
        for size in self.out.shape:
            total = e.mul(total, size)
        start = self.out.place(0, 0, 0)
        with e.loop(0, total) as i:
            e.store(e.constant(self.sizes.source, 0), self.out.flat, e.add(start, i))

    def _emit_all(self) -> None:
        sizes, (_, queries, heads, depth) = self.sizes, self.query.shape
        keys, key_heads = self.key.shape[1:3]
        key_depth = e.round_up(depth, sizes.lanes)
        width = e.round_up(self.value.shape[3], sizes.panel)
        key_step = even_step(keys, sizes.keys(e.add(key_depth, width)), sizes.panel)
        query_step = e.minimum(e.maximum(queries, 1), sizes.queries(width))
        group = 1 if key_heads is heads else e.div(heads, e.maximum(key_heads, 1))
        regions = _Regions()
        running_places = [
            regions.take(e.mul(sizes.rows, key_step)),
            *[regions.take(e.round_up(query_step, sizes.panel)) for _ in range(2)],
            regions.take(e.mul(query_step, width)),
            regions.take(key_step if sizes.low_precision and self.bias is not None else 0),
        ]
        packed_keys = regions.take(e.mul(key_step, key_depth))
        packed_values = regions.take(e.mul(key_step, width))
        packed_queries = regions.take(e.mul(query_step, key_depth) if sizes.low_precision else 0)
        scores, largest, totals, sums, bias_row = running_places
        factor, exponential = self._factor(), Exponential.of(sizes.element, keys)
        blocks = e.ceildiv(queries, query_step)
        tasks = e.mul(e.mul(self.query.shape[0], heads), blocks)
        each = e.add(e.div(e.add(depth, width), 2 * sizes.lanes), 2)
        cost = e.mul(e.mul(e.mul(self.query.shape[0], heads), e.mul(queries, keys)), each)
        step = part_size(tasks, 1, self.threads, cost)
        with (
            parallel_loop(0, tasks, step, cost) as start,
            e.scratch(sizes.element, regions.end) as buffer,
            e.loop(start, e.minimum(e.add(start, step), tasks)) as task,
        ):
            at = Running(buffer, scores, key_step, largest, totals, sums, width, bias_row, exponential)
            line, block = _divided(task, blocks)
            batch, head = _divided(line, heads)
            first = e.mul(block, query_step)
            high = e.minimum(e.sub(queries, first), query_step)
            place = _Place(batch, head, e.div(head, group), first, high)
            packed = _Packed(packed_keys, key_depth, packed_values, key_step, packed_queries)
            self._emit_block(at, place, packed, key_step, factor)

    def _factor(self) -> e.Value:
        """The factor that scales the scores."""
        element, depth = self.sizes.element, self.query.shape[3]
        if self.meaning.scale is not None:
            return e.constant(element, self.meaning.scale)
        if isinstance(depth, int):
            return e.constant(element, 1.0 / pymath.sqrt(max(depth, 1)))
        size = arith.index_cast(ir.IntegerType.get_signless(64), e.index(e.maximum(depth, 1)))
        return arith.divf(e.constant(element, 1.0), math.sqrt(arith.sitofp(element, size)))

    def _emit_block(self, at: Running, place: _Place, packed: _Packed, key_step: e.Index, factor: e.Value) -> None:
        """Emit a block of queries with all keys."""
        sizes, query = self.sizes, self.query
        queries = (query.flat, query.place(place.batch, place.first_query, place.head), query.stride)
        if sizes.low_precision:
            self._call(
                "pack_rows",
                [*queries, place.queries, query.shape[3], at.buffer, packed.queries, packed.key_depth],
            )
            queries = (at.buffer, packed.queries, packed.key_depth)
        last = self._visible(e.add(place.first_query, e.sub(place.queries, 1)))
        end = self.key.shape[1] if last is None else e.maximum(last, 1)
        skinny = e.compare("le", query.shape[1], SKINNY)
        if sizes.low_precision:
            size = query.shape[3]
            skinny = e.all_of(skinny, e.compare("eq", e.round_down(size, sizes.lanes), size))
        with e.loop(0, end, key_step) as first_key:
            keys = e.minimum(e.sub(end, first_key), key_step)
            here = _Place(place.batch, place.head, place.key_head, place.first_query, place.queries, first_key, keys)
            self._emit_keys(at, here, packed, queries, skinny, factor)
        target = self.out.place(place.batch, place.first_query, place.head)
        sums = [at.buffer, at.sums, at.sum_width, at.totals, place.queries, self.out.shape[3]]
        self._call("write_rows", [*sums, self.out.flat, target, self.out.stride])

    def _emit_keys(
        self,
        at: Running,
        place: _Place,
        packed: _Packed,
        queries: tuple[e.Value, e.Index, e.Index],
        skinny: e.Value,
        factor: e.Value,
    ) -> None:
        """Emit a block of queries with a block of keys."""
        sizes, key = self.sizes, self.key
        key_at = key.place(place.batch, place.first_key, place.key_head)
        buffer, depth = at.buffer, key.shape[3]

        def pack_keys() -> None:
            source = [key.flat, key_at, key.stride, place.keys, depth]
            self._call("pack_keys", [*source, buffer, packed.keys, packed.key_depth, factor])

        with e.when(e.negate(skinny)):
            pack_keys()
        sums = self._sums(at, place, packed, skinny)
        memory = memref.cast(rows_type(ir.MemRefType(queries[0].type).element_type), queries[0])
        matrix = e.view(e.metadata(buffer), (sizes.rows, at.width), (at.width, 1), at.scores, unit_inner=True)

        def scores(tile: _Tile) -> None:
            query_at = e.add(queries[1], e.mul(tile.row, queries[2]))

            def by_panels() -> None:
                left, right = [memory, query_at, queries[2]], [buffer, packed.keys, packed.key_depth]
                columns = e.round_up(tile.keys, sizes.panel)
                self._multiply(left, right, (depth, tile.rows, columns), matrix, 0, e.flag(False))

            def by_dots() -> None:
                source = [queries[0], query_at, key.flat, key_at, key.stride, tile.keys, depth]
                self._call("dots", [*source, buffer, at.scores, factor])

            e.branch(skinny, by_dots, by_panels)

        self._emit_tiles(at, place, scores, sums)

    def _sums(self, at: Running, place: _Place, packed: _Packed, skinny: e.Value) -> Callable[[_Tile, e.Value], None]:
        """Return a function that adds weights times values to a tile's accumulators; pack the values if needed.

        A single query reads the values in place, unless the last panel of a row would extend past the end of the
        buffer.
        """
        sizes, value = self.sizes, self.value
        start = value.place(place.batch, place.first_key, place.key_head)
        ahead = e.add(e.mul(e.sub(place.keys, 1), value.stride), at.sum_width)
        inside = e.compare("le", e.add(start, ahead), e.dim(value.flat, 0))
        in_place = e.all_of(skinny, inside)
        with e.when(e.negate(in_place)):
            source = [value.flat, start, value.stride, place.keys, value.shape[3]]
            self._call("pack_values", [*source, at.buffer, packed.values, packed.value_depth])
        weights = memref.cast(rows_type(sizes.element), at.buffer)
        shape, strides = (place.queries, at.sum_width), (at.sum_width, 1)
        matrix = e.view(e.metadata(at.buffer), shape, strides, at.sums, unit_inner=True)

        def added(tile: _Tile, first: e.Value) -> None:
            def by_rows() -> None:
                source = [at.buffer, at.scores, value.flat, start, value.stride, tile.keys]
                to = e.add(at.sums, e.mul(tile.row, at.sum_width))
                panels = e.div(at.sum_width, sizes.panel)
                self._call("weighted_sum", [*source, panels, at.buffer, to, e.negate(first)])

            def by_panels() -> None:
                left = [weights, at.scores, at.width]
                right = [at.buffer, packed.values, packed.value_depth]
                size = (tile.keys, tile.rows, at.sum_width)
                self._multiply(left, right, size, matrix, tile.row, e.negate(first))

            e.branch(in_place, by_rows, by_panels)

        return added

    def _emit_tiles(
        self,
        at: Running,
        place: _Place,
        scores: Callable[[_Tile], None],
        sums: Callable[[_Tile, e.Value], None],
    ) -> None:
        """Emit the tiles of a block of queries, of nearly equal height: a multiple of `Sizes.row_step`."""
        first, step = e.compare("eq", place.first_key, 0), self.sizes.row_step
        steps = e.ceildiv(place.queries, step)
        count = e.ceildiv(steps, self.sizes.rows // step)
        least = e.div(steps, e.maximum(count, 1))
        more = e.sub(steps, e.mul(least, count))
        with e.loop(0, count) as number:
            row = e.mul(e.add(e.mul(number, least), e.minimum(number, more)), step)
            most = e.mul(e.add(least, e.select(e.compare("lt", number, more), 1, 0)), step)
            high = e.minimum(most, e.sub(place.queries, row))
            query = e.add(place.first_query, row)
            seen = self._seen(place, e.add(query, e.sub(high, 1)))
            tile = _Tile(row, high, seen)

            def whole(tile: _Tile = tile, query: e.Index = query) -> None:
                scores(tile)
                with e.loop(0, tile.rows) as line:
                    bias = None
                    if self.bias is not None:
                        position = (place.batch, place.head, e.add(query, line))
                        bias = (self.bias, self.bias.place(position, place.first_key))
                    visible = self._seen(place, e.add(query, line))
                    row = e.add(tile.row, line)
                    weigh_row(self.sizes, at, line, row, visible, tile.keys, first, bias)
                sums(tile, first)

            if self.meaning.causal is None:
                whole()
            else:
                with e.when(e.any_of(first, e.compare("ne", seen, 0))):
                    whole()

    def _visible(self, query: e.Index) -> e.Index | None:
        """The number of keys that a query attends to; None: all."""
        if self.meaning.causal is None:
            return None
        queries, keys = self.query.shape[1], self.key.shape[1]
        if self.meaning.causal == "TopLeft":
            return e.minimum(e.add(query, 1), keys)
        end = e.add(e.add(query, 1), keys)
        return e.minimum(e.sub(e.maximum(end, queries), queries), keys)

    def _seen(self, place: _Place, query: e.Index) -> e.Index:
        """The number of keys of the block that a query attends to."""
        visible = self._visible(query)
        if visible is None:
            return place.keys
        seen = e.sub(e.maximum(visible, place.first_key), place.first_key)
        return e.minimum(seen, place.keys)

    def _call(self, part: str, arguments: Sequence[e.Index]) -> None:
        e.call(f"{self.sizes.name}.{part}", [_value(a) for a in arguments])

    def _multiply(
        self,
        left: Sequence[e.Index],
        right: Sequence[e.Index],
        size: Sequence[e.Index],
        matrix: e.Value,
        row: e.Index,
        accumulate: e.Value,
    ) -> None:
        """Multiply rows by packed panels (see `emit_block`); `size` is their depth, rows and columns."""
        place = [matrix, row, 0, accumulate, e.flag(False)]
        e.call(self.product, [*left, *right, *size, *place, *self.nothing.arguments])


@dataclass(frozen=True)
class _Packed:
    """Offsets of the packed operands, and the depth of the panels of keys and of values."""

    keys: e.Index
    key_depth: e.Index
    values: e.Index
    value_depth: e.Index
    queries: e.Index


@dataclass(frozen=True)
class _Tile:
    """Rows of a block of queries, and the number of keys of a block that they attend to."""

    row: e.Index
    rows: e.Index
    keys: e.Index


class _Regions:
    """A bump allocator for consecutive regions of one scratch buffer."""

    def __init__(self) -> None:
        self.end: e.Index = 0

    def take(self, size: e.Index) -> e.Index:
        """The offset of a new region."""
        place, self.end = self.end, e.add(self.end, size)
        return place


def _divided(number: e.Index, by: e.Index) -> tuple[e.Index, e.Index]:
    """Quotient and remainder."""
    quotient = e.div(number, by)
    return quotient, e.sub(number, e.mul(quotient, by))


def _value(x: e.Index) -> e.Value:
    return e.index(x) if isinstance(x, int) else x


# Attention over concatenated sequences of different lengths: the loop nest of `attention` for each sequence.


@dataclass(frozen=True)
class Starts:
    """Start offsets of the sequences and the end of the last one: a vector of integers."""

    buffer: e.Value
    unsigned: bool

    def between(self, number: e.Value, positions: e.Index) -> tuple[e.Index, e.Index]:
        """The start and the length of a sequence, both clamped to the number of `positions`."""
        begin, end = (self._held(e.add(number, step), e.index(positions)) for step in (0, 1))
        return begin, e.sub(e.maximum(end, begin), begin)

    def _held(self, place: e.Index, most: e.Value) -> e.Value:
        given, kind = e.load(self.buffer, place), ir.IndexType.get()
        if self.unsigned:
            return arith.minui(arith.index_castui(kind, given), most)
        return arith.maxsi(arith.minsi(arith.index_cast(kind, given), most), e.index(0))


def emit_attention_of_sequences(
    target: Target,
    block: e.Block,
    buffers: Sequence[e.Value],
    starts: tuple[Starts, Starts],
    meaning: Meaning,
) -> None:
    """Emit attention within sequences at the insertion point, and the functions that it calls at the end of `block`.

    `buffers`: query [1, s, h, d], key [1, t, g, d], value [1, t, g, e] and result [1, s, h, e], as for
    `emit_attention`. `starts`: the starts of the queries and of the keys of each sequence. Queries that attend to no
    key give 0.
    """
    whole = attention_of(target, block, buffers, meaning)
    rows, keys = whole.query.shape[1], whole.key.shape[1]
    whole.out.clear(rows)
    with e.loop(0, e.sub(e.dim(starts[0].buffer, 0), 1)) as number:
        first, count = starts[0].between(number, rows)
        first_key, key_count = starts[1].between(number, keys)
        part = replace(
            whole,
            query=whole.query.part(first, count),
            key=whole.key.part(first_key, key_count),
            value=whole.value.part(first_key, key_count),
            out=whole.out.part(first, count),
        )
        with e.when(e.all_of(e.compare("ne", count, 0), e.compare("ne", key_count, 0))):
            part.emit()
        if meaning.causal == "BottomRight":
            part.out.clear(e.sub(e.maximum(count, key_count), key_count))


# The requests that the attention kernels accept.


@generates("attention")
def request_attention(request: Request) -> Emitter | None:
    """Accept contiguous buffers of rank 4 and one float type, with or without a bias."""
    buffers = request.arguments
    inputs = [ir.MemRefType(buffer.type) for buffer in buffers]
    four_axes = [*inputs[:3], inputs[-1]]
    if len(inputs) not in (4, 5) or any(type_.rank != 4 for type_ in four_axes):
        return None
    plain = all(is_contiguous(type_) and str(type_.element_type) in FLOATS for type_ in inputs)
    if not plain or len({type_.element_type for type_ in inputs}) != 1:
        return None
    return lambda: emit_attention(request.target, request.block, buffers, _meaning(request))


@generates("attention_var_len")
def request_attention_of_sequences(request: Request) -> Emitter | None:
    """Accept query, key, value and result as `request_attention` does, with two vectors of starts before the result."""
    if len(request.arguments) != 6:
        return None
    *operands, starts, key_starts, out = request.arguments
    buffers = [*operands, out]
    types = [ir.MemRefType(buffer.type) for buffer in request.arguments]
    plain = all(is_contiguous(type_) for type_ in types)
    elements = {ir.MemRefType(buffer.type).element_type for buffer in buffers}
    if not plain or len(elements) != 1 or str(*elements) not in FLOATS:
        return None
    at = [
        Starts(buffer, "unsigned" in request.attributes[name].value)
        for name, buffer in (("starts", starts), ("key_starts", key_starts))
    ]
    return lambda: emit_attention_of_sequences(
        request.target, request.block, buffers, (at[0], at[1]), _meaning(request)
    )


def _meaning(request: Request) -> Meaning:
    scale, causal = request.attributes.get("scale"), request.attributes.get("causal_mask")
    return Meaning(scale and scale.value, causal and causal.value)
