"""The GEMVs of attention with a single query, which read keys and values in place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from relax_mlir.lowering.kernels.attention.attention_sizes import Sizes
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.shuffles import sum_each
from relax_mlir.mlir import arith, ir

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
    with e.function(block, name, types, group=sizes.name) as arguments:
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
    with e.function(block, name, types, group=sizes.name) as arguments:
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
