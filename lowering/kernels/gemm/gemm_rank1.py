"""GEMMs of depth 1: each row of C is the row of B scaled by an element of A."""

from __future__ import annotations

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.parallel import parallel_loop
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, streaming
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling
from relax_mlir.mlir import arith

_AT_ONCE = 1 << 14
"""The approximate number of elements of C that are computed before their epilogue."""

_SIDE_BY_SIDE = 4


def outer_product(
    parts: Parts, a: e.Value, b: e.Value, c: e.Value, element: e.Type, epilogue: ep.Epilogue
) -> None:
    """Emit C = A B and its epilogue, some rows at a time; B is row-contiguous, whatever its type says."""
    a_parts, b_parts, c_parts = e.metadata(a), e.metadata(b), e.metadata(c)
    rows, columns = c_parts.sizes
    row = e.view(b_parts, (1, columns), b_parts.strides, unit_inner=True)
    step = e.maximum(e.div(_AT_ONCE, e.maximum(columns, 1)), 1)
    with parallel_loop(0, rows, step, streaming(e.mul(rows, columns), element)) as i:
        high = e.minimum(e.sub(rows, i), step)
        left = e.view(a_parts, (high, 1), a_parts.strides, e.mul(i, a_parts.strides[0]))
        start = e.mul(i, c_parts.strides[0])
        result = e.view(c_parts, (high, columns), c_parts.strides, start, unit_inner=True)
        e.call(parts.outer, [left, row, result])
        with e.when(epilogue.when(e.flag(True))):
            epilogue.run(i, high, 0, columns)


def emit_outer(block: e.Block, parts: Parts, tiling: Tiling, element: e.Type) -> None:
    """Emit the function of A (any strides), B and C (unit inner stride): C = A B, for a depth of 1."""
    lines = e.strided_memref(element, 2, unit_inner=True)
    with e.function(
        block, parts.outer, [e.strided_memref(element, 2), lines, lines], group=parts.groups.unpacked
    ) as (a, b, c):
        columns, lanes = e.dim(c, 1), tiling.lanes
        with e.when(e.compare("ne", columns, 0)):
            wide = e.compare("ge", columns, lanes)
            e.branch(wide, lambda: _wide(lanes, a, b, c), lambda: _narrow(lanes, a, b, c))


def _factor(lanes: int, a: e.Value, row: e.Index) -> e.Value:
    return simd.splat(e.load(a, row, 0), lanes)


def _wide(lanes: int, a: e.Value, b: e.Value, c: e.Value) -> None:
    """Emit rows of one vector or more; the last vector ends at the row's end, and some elements are written twice."""
    columns, step = e.dim(c, 1), lanes * _SIDE_BY_SIDE
    full, end = e.round_down(columns, step), e.round_down(columns, lanes)
    with e.loop(0, e.dim(c, 0)) as i:
        factor = _factor(lanes, a, i)

        def vector(at: e.Index, i: e.Value = i, factor: e.Value = factor) -> None:
            simd.store(arith.mulf(factor, simd.load(lanes, b, 0, at)), c, i, at)

        with e.loop(0, full, step) as j:
            for v in range(_SIDE_BY_SIDE):
                vector(e.add(j, v * lanes))
        with e.loop(full, end, lanes) as j:
            vector(j)
        with e.when(e.compare("ne", end, columns)):
            vector(e.sub(columns, lanes))


def _narrow(lanes: int, a: e.Value, b: e.Value, c: e.Value) -> None:
    """Emit rows shorter than a vector.

    If C is contiguous, each row but the last ones is written as a whole vector, and the next rows overwrite the excess.
    (x86 CPUs are slow in masked stores.)
    """
    (rows, columns), (leading, _) = e.metadata(c).sizes, e.metadata(c).strides
    where = simd.mask(columns, lanes)
    row = simd.load(lanes, b, 0, 0, where=where)
    # A whole vector of one of the last rows could exceed the end of C.
    last = e.ceildiv(lanes, columns)
    dense = e.select(e.compare("eq", leading, columns), e.sub(e.maximum(rows, last), last), 0)
    with e.loop(0, dense) as i:
        simd.store(arith.mulf(_factor(lanes, a, i), row), c, i, 0)
    with e.loop(dense, rows) as i:
        simd.store(arith.mulf(_factor(lanes, a, i), row), c, i, 0, where=where)
