"""GEMMs with a prepacked B: C = A B or C += A B, where B is stored as panels of columns.

Panel p holds columns ``p * columns`` to ``(p + 1) * columns`` of B (`Tiling.columns`; the last panel is zero-padded),
row by row over the whole depth, and panels are consecutive. For pair dot products (`gemm_dot_pairs`) two rows at a time
are interleaved, and the number of rows is even.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.parallel import parallel_loop
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm import (
    GemmKernel,
    emit_left_and_tiles,
    finished,
    packing_of,
    rounding_of,
    uses_amx,
)
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, emit_block, panel_loops
from relax_mlir.lowering.kernels.gemm.gemm_pack import PAIR, halves
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling
from relax_mlir.lowering.kernels.library import define
from relax_mlir.mlir import arith, ir
from relax_mlir.target import Target

_SUMS = 8
"""Accumulator vectors in a strip: enough to hide the latency of the multiply-add, and they fit any register file."""


def has_panels(kernel: GemmKernel, target: Target) -> bool:
    """True if there is a generator for a prepacked B: results are not rounded, and tiles are not AMX's."""
    return kernel.accumulator == kernel.result and not uses_amx(kernel, target)


def emit_gemm_panels(block: e.Block, kernel: GemmKernel, target: Target) -> str:
    """Provide the GEMM with a prepacked B in the module with the body `block`; return the name of the entry.

    Entry: ``(A: memref<?x?xT, strided<[?, ?], offset: ?>>, panels of B: memref<?xT>, C: memref<?x?xU,
    strided<[?, 1], offset: ?>>, accumulate: i1)``; the sizes are those of A and C. `finished` names the entry that
    also takes an epilogue.
    """
    name = panels_name(kernel)
    define(block, target, (name, finished(name)), lambda body: _emit_panels(body, kernel, target))
    return name


def _emit_panels(block: e.Block, kernel: GemmKernel, target: Target) -> None:
    """Emit the functions of the GEMM with a prepacked B."""
    name = panels_name(kernel)
    emit_left_and_tiles(block, kernel, target)
    source, element = ir.Type.parse(kernel.operand), ir.Type.parse(kernel.result)
    packing = packing_of(block, kernel, target)
    sizes = packing.tiling
    flat, flag = e.flat_memref(source), ir.IntegerType.get_signless(1)
    a_type, c_type = e.strided_memref(source, 2), e.strided_memref(element, 2, unit_inner=True)
    signature = [a_type, flat, c_type, flag]
    with e.function(block, name, signature) as arguments:
        e.call(finished(name), [*arguments, *ep.nothing(block).arguments])
    with e.function(block, finished(name), [*signature, *ep.types()]) as (
        a,
        b,
        c,
        accumulate,
        *rest,
    ):

        def few_rows() -> None:
            _thin(name, sizes, a, b, c, accumulate)
            ep.Epilogue(*rest).run(0, e.dim(c, 0), 0, e.dim(c, 1))

        def blocks() -> None:
            e.call(f"{name}.blocks", [a, b, c, accumulate, *rest])

        e.branch(e.compare("le", e.dim(c, 0), 2), few_rows, blocks)
    # Narrow panels have separate tiles.
    own = source != packing.element
    parts = Parts(name if own else kernel.name)
    panel_loops(block, packing, parts, name, lambda _: sizes.depth, element, source)
    if own:
        emit_block(block, parts, sizes, element, (element, source), rounding_of(kernel, target))
    for rows in (1, 2):
        _emit_strip(block, _strip(name, rows), sizes, signature[:3], rows)


def panels_name(kernel: GemmKernel) -> str:
    """Name of the entry."""
    return f"{kernel.name}.panels"


def _strip(name: str, rows: int) -> str:
    return f"{name}.strip_{rows}"


def _panels(sizes: Tiling, rows: int) -> int:
    return max(1, _SUMS // (rows * sizes.vectors))


def _thin(name: str, sizes: Tiling, a: e.Value, b: e.Value, c: e.Value, accumulate: e.Value) -> None:
    """Emit one row or two: strips of several panels, with A in place."""
    columns = e.dim(c, 1)

    def strips(rows: int) -> None:
        cost = e.mul(columns, e.div(e.dim(a, 1), 2))
        with parallel_loop(0, columns, _panels(sizes, rows) * sizes.columns, cost) as j:
            e.call(_strip(name, rows), [a, b, c, j, accumulate])

    e.switch(e.dim(c, 0), (1, 2), strips)


def _emit_strip(block: e.Block, name: str, sizes: Tiling, types: Sequence[e.Type], rows: int) -> None:
    """Emit the function for a strip of several panels.

    Arguments: A (any strides), panels of B, C (as in `types`), the first column, a flag to add to C. Missing panels
    repeat the last one, and their accumulators are not stored.
    """
    lanes, element, panels = sizes.lanes, e.element_of(types[2]), _panels(sizes, rows)
    more = [ir.IndexType.get(), ir.IntegerType.get_signless(1)]
    with e.function(block, name, [*types, *more]) as (a, b, c, column, accumulate):
        depth, left = e.dim(a, 1), e.sub(e.dim(c, 1), column)
        step, panel_depth = sizes.group, e.round_up(depth, sizes.group)
        starts = [v * lanes for v in range(panels * sizes.vectors)]
        masks = [simd.mask(e.sub(e.maximum(left, s), s), lanes) for s in starts]
        counts = simd.splat(accumulate, lanes)
        zero = e.constant(e.vector_type(lanes, element), 0)
        last = e.div(e.sub(left, 1), sizes.columns)
        firsts = [e.mul(panel_depth, e.add(column, e.mul(e.minimum(p, last), sizes.columns))) for p in range(panels)]

        def advance(sums: list[e.Value], k: e.Value, count: int) -> list[e.Value]:
            """Add the products of `count` elements of the depth from `k`."""
            lines: list[list[e.Value]] = [[] for _ in range(step)]
            for first in firsts:
                at = e.add(first, e.mul(k, sizes.columns))
                for v in range(sizes.vectors):
                    value = simd.load(lanes * step, b, e.add(at, v * lanes * step))
                    parts = halves(value) if step == PAIR else [simd.widen(value, element)]
                    for line, part in zip(lines, parts, strict=True):
                        line.append(part)
            for n, line in enumerate(lines[:count]):
                factors = [simd.splat(simd.widen(e.load(a, row, e.add(k, n)), element), lanes) for row in range(rows)]
                pairs = [(factor, x) for factor in factors for x in line]
                sums = [simd.fma(*pair, total, sizes.fused) for pair, total in zip(pairs, sums, strict=True)]
            return sums

        full = e.round_down(depth, step)
        with e.carrying_loop(0, full, step, [zero] * (rows * len(starts)), unroll=False) as k:
            k.give(advance(k.values, k.index, step))
        if step > 1:
            with e.carrying_loop(full, depth, step, k.results, unroll=False) as k:
                k.give(advance(k.values, k.index, 1))
        for row in range(rows):
            for v, (start, where) in enumerate(zip(starts, masks, strict=True)):
                at = e.add(column, start)
                before = simd.load(lanes, c, row, at, where=e.all_of(where, counts))
                total = arith.addf(k.results[row * len(starts) + v], before)
                simd.store(total, c, row, at, where=where)
