"""The products of attention: register tiles over operands that lie in panels or in rows, and dot products."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels import emit as e
from relax_mlir.lowering.kernels.attention_sizes import Sizes
from relax_mlir.mlir import arith, ir, vector


def product_types(sizes: Sizes) -> list[e.Type]:
    """Types of the arguments of a product, see `emit_product`."""
    index, flat = ir.IndexType.get(), e.flat_memref(sizes.element)
    flag = ir.IntegerType.get_signless(1)
    return [flat, index, index, flat, index, index, index, index, index, flat, index, index, flag]


def emit_product(block: e.Block, name: str, sizes: Sizes, rows: int) -> None:
    """Emit C (+)= A B for `rows` rows and some panels of columns.

    Arguments: A, its place, the distance of its rows; B, its place, the distance of its rows and that of its
    panels; the depth and the number of panels; C, its place, the distance of its rows, and whether to add to
    it. Panels of C are next to each other. All is contiguous along the columns.

    Few rows make few sums to go on with while one waits for the other: then several steps of the depth have
    sums of their own.
    """
    lanes, vectors = sizes.lanes, sizes.vectors
    chains = max(1, min(4, sizes.rows // rows))
    with e.function(block, name, product_types(sizes)) as arguments:
        a, a_at, a_row, b, b_at, b_row, b_panel, depth, panels, c, c_at, c_row, accumulate = arguments
        lefts = [e.add(a_at, e.mul(r, a_row)) for r in range(rows)]
        added = e.splat(accumulate, lanes)
        zero = e.constant(sizes.vector(), 0)
        with e.loop(0, panels) as panel:
            right = e.add(b_at, e.mul(panel, b_panel))
            to = e.add(c_at, e.mul(panel, sizes.panel))
            places = [
                e.add(e.add(to, e.mul(r, c_row)), v * lanes) for r in range(rows) for v in range(vectors)
            ]

            def step(sums: Sequence[e.Value], k: e.Index) -> list[e.Value]:
                at = e.add(right, e.mul(k, b_row))
                line = [e.vector_load(lanes, b, e.add(at, v * lanes)) for v in range(vectors)]
                result = []
                for r in range(rows):
                    factor = e.splat(e.load(a, e.add(lefts[r], k)), lanes)
                    old = sums[r * vectors : (r + 1) * vectors]
                    result += [e.fma(factor, x, y, sizes.fused) for x, y in zip(line, old, strict=True)]
                return result

            sums = [e.vector_load(lanes, c, place, where=added) for place in places]
            full: e.Index = 0
            if chains > 1:
                full = e.round_down(depth, chains)
                count = len(places)
                with e.carrying_loop(0, full, chains, [*sums, *[zero] * (count * (chains - 1))]) as many:
                    parts = [many.values[n * count : (n + 1) * count] for n in range(chains)]
                    stepped = [step(part, e.add(many.index, n)) for n, part in enumerate(parts)]
                    many.give([x for part in stepped for x in part])
                sums = many.results[:count]
                for n in range(1, chains):
                    part = many.results[n * count : (n + 1) * count]
                    sums = [arith.addf(x, y) for x, y in zip(sums, part, strict=True)]
            with e.carrying_loop(full, depth, 1, sums) as one:
                one.give(step(one.values, one.index))
            for place, total in zip(places, one.results, strict=True):
                e.vector_store(total, c, place)


def emit_dots(block: e.Block, name: str, sizes: Sizes) -> None:
    """Emit the scores of one query by dot products with keys as they lie in memory.

    Arguments: queries, place of the query; keys, place of the first, distance of two, their number (not 0),
    their size; the scores, their place, and a factor. Scores are written up to the next multiple of the lanes.
    """
    lanes, index = sizes.lanes, ir.IndexType.get()
    flat = e.flat_memref(sizes.element)
    types = [flat, index, flat, index, index, index, index, flat, index, sizes.element]
    with e.function(block, name, types) as arguments:
        query, q_at, keys, k_at, stride, count, size, scores, to, factor = arguments
        full, last = e.round_down(size, lanes), e.sub(count, 1)
        zero = e.constant(sizes.vector(), 0)
        with e.loop(0, count, lanes) as j:
            places = [e.add(k_at, e.mul(e.minimum(e.add(j, q), last), stride)) for q in range(lanes)]

            def step(sums: Sequence[e.Value], i: e.Index, where: e.Value | None) -> list[e.Value]:
                left = e.vector_load(lanes, query, e.add(q_at, i), where=where)
                rights = [e.vector_load(lanes, keys, e.add(place, i), where=where) for place in places]
                return [e.fma(left, x, y, sizes.fused) for x, y in zip(rights, sums, strict=True)]

            with e.carrying_loop(0, full, lanes, [zero] * lanes) as main:
                main.give(step(main.values, main.index, None))
            totals = e.choose(
                e.compare("ne", full, size),
                [sizes.vector()] * lanes,
                lambda: step(main.results, full, e.mask(e.sub(size, full), lanes)),
                lambda: main.results,
            )
            result = arith.mulf(_sum_each(totals), e.splat(factor, lanes))
            e.vector_store(result, scores, e.add(to, j))


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
