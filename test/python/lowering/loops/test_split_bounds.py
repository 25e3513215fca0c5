"""Indices of split loops are proved to be in range, so prim funcs of split loops have no run-time checks."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.dialects.attributes import PRIM_FUNC, UNCHECKED
from relax_mlir.error import BoundsError
from relax_mlir.lowering.legalize.check_prim_funcs import CheckPrimFuncs
from relax_mlir.script import parse

ONE_AXIS = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in {outer}((n + {tile} - 1) // {tile}):
        for ii in {inner}(T.min({tile}, n - io * {tile})):
            C[io * {tile} + ii] = A[io * {tile} + ii]
"""
TWO_LEVELS = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in range((n + 63) // 64):
        for im in range((T.min(64, n - io * 64) + 7) // 8):
            for ii in T.vectorized(T.min(8, T.min(64, n - io * 64) - im * 8)):
                C[io * 64 + im * 8 + ii] = A[io * 64 + im * 8 + ii]
"""
IN_A_BLOCK = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32")):
    for io in T.parallel((n + 7) // 8):
        for jo in range((m + 31) // 32):
            for ii in T.unroll(T.min(8, n - io * 8)):
                for ji in T.vectorized(T.min(32, m - jo * 32)):
                    with T.block("b"):
                        vi = T.axis.spatial(n, io * 8 + ii)
                        vj = T.axis.spatial(m, jo * 32 + ji)
                        C[vi, vj] = A[vi, vj]
"""
PRODUCT_OF_SYMBOLS = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n * m",), "float32"), C: T.Buffer(("n * m",), "float32")):
    for io in range((n * m + 31) // 32):
        for ii in T.vectorized(T.min(32, n * m - io * 32)):
            C[io * 32 + ii] = B[io * 32 + ii]
"""
HALO = """
@T.prim_func
def k(A: T.Buffer(("n + 2",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in range((n + 7) // 8):
        L = T.alloc_buffer((10,), "float32", scope="local")
        for ii in T.vectorized(T.min(10, n + 2 - io * 8)):
            L[ii] = A[io * 8 + ii]
        for ii in T.vectorized(T.min(8, n - io * 8)):
            C[io * 8 + ii] = L[ii] + L[ii + 1] + L[ii + 2]
"""
FUSED = """
@T.prim_func
def k(A: T.Buffer(("n", "m", "l"), "float32"), C: T.Buffer(("n", "m", "l"), "float32")):
    for fo in T.parallel((n * m * l + 7) // 8):
        for fi in T.vectorized(T.min(8, n * m * l - fo * 8)):
            f = fo * 8 + fi
            C[f // (m * l), f // l % m, f % l] = A[f // (m * l), f // l % m, f % l]
"""
PARTS = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in T.parallel(5):
        for ii in T.vectorized(T.min((n + 4) // 5, n - io * ((n + 4) // 5))):
            C[io * ((n + 4) // 5) + ii] = A[io * ((n + 4) // 5) + ii]
"""
FUSED_TILES = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32")):
    for t in T.parallel((n + 7) // 8 * ((m + 31) // 32)):
        for ii in T.unroll(T.min(8, n - t // ((m + 31) // 32) * 8)):
            for ji in T.vectorized(T.min(32, m - t % ((m + 31) // 32) * 32)):
                C[t // ((m + 31) // 32) * 8 + ii, t % ((m + 31) // 32) * 32 + ji] = A[
                    t // ((m + 31) // 32) * 8 + ii, t % ((m + 31) // 32) * 32 + ji
                ]
"""
FUSED_BY_A_CONSTANT = """
@T.prim_func
def k(A: T.Buffer(("n", 32), "float32"), C: T.Buffer(("n", 32), "float32")):
    for f in T.parallel(n * 32):
        C[f // 32, f % 32] = A[f // 32, f % 32]
"""
PROVED = {
    **{
        f"tile_{tile}_{outer[2:] or 'range'}": ONE_AXIS.format(
            tile=tile, outer=outer or "range", inner="T.unroll"
        )
        for tile in (1, 8, 32)
        for outer in ("", "T.parallel")
    },
    "two_levels": TWO_LEVELS,
    "in_a_block": IN_A_BLOCK,
    "product_of_symbols": PRODUCT_OF_SYMBOLS,
    "halo": HALO,
    "fused": FUSED,
    "fused_by_a_constant": FUSED_BY_A_CONSTANT,
    "fused_tiles": FUSED_TILES,
    "parts": PARTS,
}

ONE_BEYOND = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in range((n + 7) // 8):
        for ii in range(T.min(8, n - io * 8 + 1)):
            C[io * 8 + ii] = A[io * 8 + ii]
"""
WITHOUT_MINIMUM = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in range((n + 7) // 8):
        for ii in range(8):
            C[io * 8 + ii] = A[io * 8 + ii]
"""
ANYWHERE = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32"), x: T.int64):
    for io in T.parallel(x):
        for ii in range(T.min(8, n - io * 8)):
            C[io * 8 + ii] = A[io * 8 + ii]
"""
COMPUTED = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32"), x: T.int64):
    y = T.max(0, x)
    for ii in range(T.min(8, n - y * 8)):
        C[y * 8 + ii] = A[y * 8 + ii]
"""
OTHER_LENGTH = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), x: T.int64):
    for f in range(x):
        C[f // m, 0 * f] = T.float32(0)
    for f in range(n + 1):
        C[0 * f, f % m] = T.float32(0)
"""
MANY_PARTS = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32"), x: T.int64):
    for io in T.parallel(x):
        for ii in range(T.min(n, n - io * n)):
            C[io * n + ii] = A[io * n + ii]
"""
CHECKED = {
    "many_parts": MANY_PARTS,
    "one_beyond": ONE_BEYOND,
    "without": WITHOUT_MINIMUM,
    "anywhere": ANYWHERE,
    "computed": COMPUTED,
    "other_length": OTHER_LENGTH,
}


def needs_checks(source: str) -> bool:
    """True if `check-prim-funcs` marks the prim func."""
    module = parse(source)
    CheckPrimFuncs().apply_(module)
    (prim,) = [op for op in module.body.operations if PRIM_FUNC in op.attributes]
    return UNCHECKED in prim.attributes


@pytest.mark.parametrize("name", PROVED)
def test_split_loops_need_no_checks(name: str) -> None:
    assert not needs_checks(PROVED[name])


@pytest.mark.parametrize("name", CHECKED)
def test_what_may_leave_the_buffers_is_checked(name: str) -> None:
    assert needs_checks(CHECKED[name])


def test_products_that_wrap_around_raise() -> None:
    """Parallel loops begin anywhere, and 8 times such a number may wrap around into the range, or be negative."""
    a, out = np.arange(12, dtype="float32"), np.empty(12, "float32")
    anywhere, computed = rx.build(parse(ANYWHERE))["k"], rx.build(parse(COMPUTED))["k"]
    with pytest.raises(BoundsError, match=r"index -8 is out of range for dimension 0 of size 12"):
        computed(a, out, 2**61 - 1)
    computed(a, out, 1)
    anywhere(a, out, 2)
    np.testing.assert_array_equal(out, a)
