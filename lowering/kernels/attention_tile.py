"""The products of attention: register tiles over operands that lie in panels or in rows, and dot products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

from relax_mlir.lowering.kernels import emit as e
from relax_mlir.lowering.kernels.attention_sizes import Sizes
from relax_mlir.mlir import arith, ir, vector


def _product_types(sizes: Sizes, right: e.Type) -> list[e.Type]:
    index, flat = ir.IndexType.get(), e.flat_memref(sizes.element)
    flag = ir.IntegerType.get_signless(1)
    return [index, flat, *[index] * 2, e.flat_memref(right), *[index] * 5, flat, *[index] * 2, flag]


def emit_product(block: e.Block, name: str, sizes: Sizes, rows: int, right: e.Type) -> None:
    """Emit C (+)= A B for `rows` rows and some panels of columns. B has elements of type `right`, to be widened.

    Arguments: the number of rows, perhaps one less (the last one is computed twice then); A, its place, the distance of
    its rows; B, its place, the distance of its rows and that of its panels; the depth and the number of panels; C, its
    place, the distance of its rows, and whether to add to it. Panels of C are next to each other. All is contiguous
    along the columns.

    Few rows make few sums to go on with while one waits for the other: then several panels go together, or, of
    the last ones, several steps of the depth have sums of their own.
    """
    most = max(n for n in range(1, 5) if n == 1 or _fits(sizes, rows, n))
    together = [4, 1] if most == 4 else [1]
    with e.function(block, name, _product_types(sizes, right)) as arguments:
        product = _Product(sizes, rows, *arguments)
        done: e.Index = 0
        for count in together:
            end = product.panels if count == 1 else e.round_down(product.panels, count)
            with e.loop(done, end, count) as panel:
                product.emit(panel, count, most // count)
            done = end


def _fits(sizes: Sizes, rows: int, count: int) -> bool:
    """Whether so many panels (4), or steps with sums of their own (fewer), leave the sums in registers.

    Several rows share the vectors of B, which are in registers then; loads ahead of the next step take a few more.
    """
    sums = sizes.vectors * count * rows
    line = sizes.vectors * (count if count == 4 else 1) if rows > 1 else 0
    return count * rows <= sizes.rows and sums + line + 1 <= sizes.registers * 15 // 16


def emit_choice(block: e.Block, name: str, sizes: Sizes) -> None:
    """Emit the call of the product, ``NAME_rows``, that has as many rows as the first argument says, or one more."""
    with e.function(block, name, _product_types(sizes, sizes.element)) as arguments:
        rows = arguments[0]
        even = e.minimum(e.round_up(rows, sizes.row_step), sizes.rows)
        high = e.select(e.compare("eq", rows, 1), 1, even)
        e.switch(high, sizes.row_counts, lambda count: e.call(f"{name}_{count}", arguments))


@dataclass(frozen=True)
class _Product:
    """The arguments of a product, see `emit_product`."""

    sizes: Sizes
    rows: int
    count: e.Value
    a: e.Value
    a_at: e.Value
    a_row: e.Value
    b: e.Value
    b_at: e.Value
    b_row: e.Value
    b_panel: e.Value
    depth: e.Value
    panels: e.Value
    c: e.Value
    c_at: e.Value
    c_row: e.Value
    accumulate: e.Value

    def emit(self, panel: e.Index, count: int, chains: int) -> None:
        """Some panels from one on, with so many sums of each element."""
        sizes, lanes = self.sizes, self.sizes.lanes
        vectors = count * sizes.vectors
        lines: list[e.Index] = [*range(self.rows - 1), e.sub(self.count, 1)]
        lefts = [e.add(self.a_at, e.mul(r, self.a_row)) for r in lines]
        firsts = [e.add(self.b_at, e.mul(e.add(panel, n), self.b_panel)) for n in range(count)]
        to = e.add(self.c_at, e.mul(panel, sizes.panel))
        starts = [e.add(to, e.mul(r, self.c_row)) for r in lines]
        places = [e.add(start, v * lanes) for start in starts for v in range(vectors)]

        def step(sums: Sequence[e.Value], k: e.Index) -> list[e.Value]:
            line = []
            for first in firsts:
                at = e.add(first, e.mul(k, self.b_row))
                loaded = [e.vector_load(lanes, self.b, e.add(at, v * lanes)) for v in range(sizes.vectors)]
                line += [e.widen(x, sizes.element) for x in loaded]
            result = []
            for r, left in enumerate(lefts):
                factor = e.splat(e.load(self.a, e.add(left, k)), lanes)
                old = sums[r * vectors : (r + 1) * vectors]
                result += [e.fma(factor, x, y, sizes.fused) for x, y in zip(line, old, strict=True)]
            return result

        zero = e.constant(sizes.vector(), 0)
        types = [sizes.vector()] * len(places)
        loaded = partial(_loaded, lanes, self.c, places)
        sums = e.choose(self.accumulate, types, loaded, partial(list, [zero] * len(places)))
        full: e.Index = 0
        if chains > 1:
            full = e.round_down(self.depth, chains)
            several = [*sums, *[zero] * (len(places) * (chains - 1))]
            with e.carrying_loop(0, full, chains, several) as many:
                stepped = [step(x, e.add(many.index, n)) for n, x in enumerate(_parts(many.values, chains))]
                many.give([x for part in stepped for x in part])
            sums = [reduce(arith.addf, each) for each in zip(*_parts(many.results, chains), strict=True)]
        with e.carrying_loop(full, self.depth, 1, sums, unroll=False) as one:
            one.give(step(one.values, one.index))
        for place, total in zip(places, one.results, strict=True):
            e.vector_store(total, self.c, place)


def _parts(values: Sequence[e.Value], count: int) -> list[Sequence[e.Value]]:
    size = len(values) // count
    return [values[n * size : (n + 1) * size] for n in range(count)]


def _loaded(lanes: int, buffer: e.Value, places: Sequence[e.Index]) -> list[e.Value]:
    return [e.vector_load(lanes, buffer, place) for place in places]


def emit_dots(block: e.Block, name: str, sizes: Sizes) -> None:
    """Emit the scores of one query by dot products with keys as they lie in memory.

    Arguments: queries, place of the query; keys, place of the first, distance of two, their number (not 0),
    their size; the scores, their place, and a factor. Scores are written up to the next multiple of the lanes.
    The query is widened already; keys narrower than what is computed have a size that is a multiple of the lanes.
    """
    lanes, index = sizes.lanes, ir.IndexType.get()
    flat = e.flat_memref(sizes.element)
    types = [flat, index, e.flat_memref(sizes.source), index, index, index, index, flat, index, sizes.element]
    with e.function(block, name, types) as arguments:
        query, q_at, keys, k_at, stride, count, size, scores, to, factor = arguments
        full, last = e.round_down(size, lanes), e.sub(count, 1)
        # A few keys that are left over go one by one, more of them as a group that is filled up with the last.
        groups = e.round_down(e.add(count, lanes // 2 - 1), lanes)

        def products(places: Sequence[e.Value]) -> list[e.Value]:
            def step(sums: Sequence[e.Value], i: e.Index, where: e.Value | None) -> list[e.Value]:
                left = e.vector_load(lanes, query, e.add(q_at, i), where=where)
                rights = [e.vector_load(lanes, keys, e.add(place, i), where=where) for place in places]
                rights = [e.widen(line, sizes.element) for line in rights]
                return [e.fma(left, x, y, sizes.fused) for x, y in zip(rights, sums, strict=True)]

            zero = e.constant(sizes.vector(), 0)
            with e.carrying_loop(0, full, lanes, [zero] * len(places)) as main:
                main.give(step(main.values, main.index, None))
            if sizes.half:  # x86 has masked loads of 32 and 64 bits only, before AVX-512
                return main.results
            return e.choose(
                e.compare("ne", full, size),
                [sizes.vector()] * len(places),
                lambda: step(main.results, full, e.mask(e.sub(size, full), lanes)),
                lambda: main.results,
            )

        with e.loop(0, groups, lanes) as j:
            places = [e.add(k_at, e.mul(e.minimum(e.add(j, q), last), stride)) for q in range(lanes)]
            result = arith.mulf(_sum_each(products(places)), e.splat(factor, lanes))
            e.vector_store(result, scores, e.add(to, j))
        with e.loop(groups, count) as j:
            (total,) = products([e.add(k_at, e.mul(j, stride))])
            value = arith.mulf(e.reduce("add", total, fastmath="reassoc"), factor)
            e.store(value, scores, e.add(to, j))


def _sum_each(vectors: Sequence[e.Value]) -> e.Value:
    """The sum of each of as many vectors as there are lanes: that of vector i in lane i."""
    lanes = len(vectors)
    current = list(vectors)
    half = lanes // 2
    while half:
        low = [i if i & half == 0 else lanes + i - half for i in range(lanes)]
        high = [i + half if i & half == 0 else lanes + i for i in range(lanes)]
        current = [
            arith.addf(vector.shuffle(a, b, low), vector.shuffle(a, b, high))
            for a, b in zip(current[:half], current[half:], strict=True)
        ]
        half //= 2
    return current[0]
