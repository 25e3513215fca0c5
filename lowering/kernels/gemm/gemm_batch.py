"""Batches of small GEMMs, for which the dispatch and packing of a GEMM call would cost more than the multiplication.

All GEMMs of a batch have the same sizes and strides. The entry selects a code path once. Small GEMMs run one after the
other on a register tile that reads both operands in place.
"""

from __future__ import annotations

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.addresses import address, item_bytes, memref_at
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, signature
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling
from relax_mlir.mlir import ir

_MAX_ROWS, _MAX_DEPTH, _VECTORS = 64, 64, 2
"""Limits of small GEMMs: rows, depth and vectors of columns. Their operands stay in L1."""

_TILE_ROWS = 8


def emit_batch(block: e.Block, parts: Parts, tiling: Tiling, element: e.Type) -> None:
    """Emit the entry for a batch of GEMMs, unless it is defined; requires `has_narrow`.

    Its arguments are those of `emit_gemm` for the first GEMM, the number of GEMMs, and the distance in elements to the
    next A, B and C.
    """
    if e.is_defined(block, parts.batch):
        return
    size = ir.IndexType.get()
    with e.function(
        block, parts.batch, [*signature(element, element), *[size] * 4], group=parts.groups.product
    ) as values:
        a, b, c, accumulate, count, *steps = values
        matrices = [e.metadata(matrix) for matrix in (a, b, c)]
        a_parts, b_parts, c_parts = matrices
        (rows, columns), depth = c_parts.sizes, a_parts.sizes[1]

        def one_by_one() -> None:
            with e.loop(0, count) as i:
                views = [
                    e.view(x, x.sizes, x.strides, e.mul(i, step), unit_inner=x is c_parts)
                    for x, step in zip(matrices, steps, strict=True)
                ]
                e.call(parts.entry, [*views, accumulate])

        def by_tiles(vectors: int) -> None:
            bytes_ = [e.mul(step, item_bytes(element)) for step in steps]
            places = [address(x, 0) for x in matrices]
            strides = [*a_parts.strides, b_parts.strides[0], c_parts.strides[0]]
            e.call(
                parts.unpacked(f"batch_{vectors}"), [*places, *strides, rows, columns, depth, count, *bytes_]
            )

        def small() -> None:
            e.branch(e.compare("le", columns, tiling.lanes), lambda: by_tiles(1), lambda: by_tiles(_VECTORS))

        # On AVX2 CPUs masked stores are slow, so partial vectors take the general code path.
        whole = e.any_of(*(e.compare("eq", columns, n * tiling.lanes) for n in range(1, _VECTORS + 1)))
        fits = whole if tiling.half_lines else e.compare("le", columns, _VECTORS * tiling.lanes)
        is_small = e.all_of(
            e.negate(accumulate),
            fits,
            e.compare("ge", rows, 2),
            e.compare("le", rows, _MAX_ROWS),
            e.compare("le", depth, _MAX_DEPTH),
            e.compare("eq", b_parts.strides[1], 1),
        )
        e.branch(is_small, small, one_by_one)
    for vectors in range(1, _VECTORS + 1):
        _emit_tiles(block, parts, tiling, element, vectors)


def _emit_tiles(block: e.Block, parts: Parts, tiling: Tiling, element: e.Type, vectors: int) -> None:
    """Emit the function for a batch of GEMMs with `vectors` vectors of columns, the last of which may be partial.

    Arguments: the addresses of the first A, B and C; row stride and element stride of A, row strides of B and of C;
    rows, columns, depth; the number of GEMMs, and the distances in bytes to the next A, B and C. A tile that lacks rows
    computes the last one several times.
    """
    size, lanes, rows = ir.IndexType.get(), tiling.lanes, min(tiling.rows, _TILE_ROWS)
    with e.function(
        block, parts.unpacked(f"batch_{vectors}"), [size] * 14, group=parts.groups.unpacked
    ) as values:
        starts, (a_apart, a_step, b_apart, c_apart) = values[:3], values[3:7]
        (high, columns, depth, count), steps = values[7:11], values[11:]
        last = e.sub(high, 1)
        where = None if tiling.half_lines else simd.mask(e.sub(columns, (vectors - 1) * lanes), lanes)
        masks = [*[None] * (vectors - 1), where]
        zero = e.constant(e.vector_type(lanes, element), 0)
        with e.loop(0, count) as i, e.loop(0, high, rows) as first:
            here = [e.add(start, e.mul(i, step)) for start, step in zip(starts, steps, strict=True)]
            a, b = (memref_at(at, element, [1], unit_inner=True) for at in here[:2])
            c = memref_at(here[2], element, [c_apart, 1], unit_inner=True)
            places = [e.minimum(e.add(first, r), last) for r in range(rows)]
            lines = [e.mul(place, a_apart) for place in places]
            initial = [*[zero] * (rows * vectors), e.index(0), e.index(0)]
            with e.carrying_loop(0, depth, 1, initial, unroll=False) as k:
                *sums, at, line_at = k.values
                right = [simd.load(lanes, b, e.add(line_at, v * lanes), where=m) for v, m in enumerate(masks)]
                new = []
                for r, line in enumerate(lines):
                    factor = simd.splat(e.load(a, e.add(line, at)), lanes)
                    old = sums[r * vectors : (r + 1) * vectors]
                    new += [simd.fma(factor, x, y, tiling.fused) for x, y in zip(right, old, strict=True)]
                k.give([*new, e.add(at, a_step), e.add(line_at, b_apart)])
            for r, place in enumerate(places):
                for v, mask in enumerate(masks):
                    simd.store(k.results[r * vectors + v], c, place, v * lanes, where=mask)
