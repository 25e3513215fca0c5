"""Products with B packed beforehand: C = A B or C += A B, where B lies in memory as panels of columns.

Panel p holds columns ``p * columns`` to ``(p + 1) * columns`` of B (`Tiling.columns`; the last panel is filled up
with zeros), row by row over the whole depth, and the panels follow each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels import emit as e
from relax_mlir.lowering.kernels import epilogue as ep
from relax_mlir.lowering.kernels.gemm import FLOATS, GemmKernel, emit_tiles, finished, uses_amx
from relax_mlir.lowering.kernels.gemm_blocks import panel_loops
from relax_mlir.lowering.kernels.gemm_tiling import Tiling, tiling
from relax_mlir.lowering.kernels.parallel import parallel_loop
from relax_mlir.mlir import arith, ir
from relax_mlir.target import Target

_SUMS = 8
"""Vectors of sums in a strip: enough to hide the latency of the multiply-add, and they fit any register file."""


def has_panels(kernel: GemmKernel, target: Target) -> bool:
    """Whether there is a generator for packed B: for results that are not rounded, and not for AMX tiles."""
    return kernel.accumulator == kernel.result and not uses_amx(kernel, target)


def emit_gemm_panels(block: e.Block, kernel: GemmKernel, target: Target) -> str:
    """Emit the product with packed B at the end of a module's body; gives the name of the entry.

    Entry: ``(A: memref<?x?xT, strided<[?, ?], offset: ?>>, panels of B: memref<?xT>, C: memref<?x?xU,
    strided<[?, 1], offset: ?>>, accumulate: i1)``; the sizes are those of A and C. `finished` names the entry that
    takes an epilogue besides.
    """
    name = panels_name(kernel)
    if e.is_defined(block, name):
        return name
    emit_tiles(block, kernel, target)
    source, element = ir.Type.parse(kernel.operand), ir.Type.parse(kernel.result)
    sizes = tiling(target, FLOATS[kernel.result])
    flat, flag = e.flat_memref(source), ir.IntegerType.get_signless(1)
    a_type, c_type = e.strided_memref(source, 2), e.strided_memref(element, 2, unit_inner=True)
    signature = [a_type, flat, c_type, flag]
    with e.function(block, name, signature) as arguments:
        e.call(finished(name), [*arguments, *ep.nothing(block).arguments])
    with e.function(block, finished(name), [*signature, *ep.types()]) as (a, b, c, accumulate, *rest):

        def few_rows() -> None:
            _thin(name, sizes, a, b, c, accumulate)
            ep.Epilogue(*rest).run(0, e.dim(c, 0), 0, e.dim(c, 1))

        def blocks() -> None:
            e.call(f"{name}.blocks", [a, b, c, accumulate, *rest])

        e.branch(e.compare("le", e.dim(c, 0), 2), few_rows, blocks)
    panel_loops(block, kernel.name, name, sizes, lambda _: sizes.depth, source, element, source)
    for rows in (1, 2):
        for panels in {1, _panels(sizes, rows)}:
            _emit_strip(block, _strip(name, rows, panels), sizes, signature[:3], rows, panels)
    return name


def panels_name(kernel: GemmKernel) -> str:
    """Name of the entry."""
    return f"{kernel.name}.panels"


def _strip(name: str, rows: int, panels: int) -> str:
    return f"{name}.strip_{rows}x{panels}"


def _panels(sizes: Tiling, rows: int) -> int:
    return max(1, _SUMS // (rows * sizes.vectors))


def _thin(name: str, sizes: Tiling, a: e.Value, b: e.Value, c: e.Value, accumulate: e.Value) -> None:
    """One row or two: strips of several panels, A as it lies in memory."""
    columns = e.dim(c, 1)

    def strips(rows: int) -> None:
        panels = _panels(sizes, rows)
        full = e.round_down(columns, panels * sizes.columns)
        cost = e.mul(columns, e.div(e.dim(a, 1), 2))
        with parallel_loop(0, full, panels * sizes.columns, cost) as j:
            e.call(_strip(name, rows, panels), [a, b, c, j, accumulate])
        with e.loop(full, columns, sizes.columns) as j:
            e.call(_strip(name, rows, 1), [a, b, c, j, accumulate])

    e.switch(e.dim(c, 0), (1, 2), strips)


def _emit_strip(
    block: e.Block, name: str, sizes: Tiling, types: Sequence[e.Type], rows: int, panels: int
) -> None:
    """Arguments: A (any strides), panels of B, C (these of `types`), the first column, whether to add to C."""
    lanes, element = sizes.lanes, e.element_of(types[2])
    more = [ir.IndexType.get(), ir.IntegerType.get_signless(1)]
    with e.function(block, name, [*types, *more]) as (a, b, c, column, accumulate):
        depth, left = e.dim(a, 1), e.sub(e.dim(c, 1), column)
        starts = [v * lanes for v in range(panels * sizes.vectors)]
        masks = [e.mask(e.sub(e.maximum(left, s), s), lanes) for s in starts]
        counts = e.splat(accumulate, lanes)
        zero = e.constant(e.vector_type(lanes, element), 0)
        first = e.mul(column, depth)
        with e.carrying_loop(0, depth, 1, [zero] * (rows * len(starts))) as k:
            line = []
            for p in range(panels):
                at = e.add(e.add(first, e.mul(depth, p * sizes.columns)), e.mul(k.index, sizes.columns))
                places = [e.add(at, v * lanes) for v in range(sizes.vectors)]
                line += [e.widen(e.vector_load(lanes, b, place), element) for place in places]
            sums: list[e.Value] = []
            for row in range(rows):
                factor = e.splat(e.widen(e.load(a, row, k.index), element), lanes)
                old = k.values[row * len(starts) : (row + 1) * len(starts)]
                sums += [e.fma(factor, x, y, sizes.fused) for x, y in zip(line, old, strict=True)]
            k.give(sums)
        for row in range(rows):
            for v, (start, where) in enumerate(zip(starts, masks, strict=True)):
                at = e.add(column, start)
                before = e.vector_load(lanes, c, row, at, where=e.all_of(where, counts))
                total = arith.addf(k.results[row * len(starts) + v], before)
                e.vector_store(total, c, row, at, where=where)
