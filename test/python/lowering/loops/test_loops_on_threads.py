"""Parallel loops with enough work run on several threads, and compute the same as one thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.script import parse
from relax_mlir.transform import LoopReport, explain_loops

N, M = 517, 403

SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func
    def rows(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), D: T.Buffer(("n",), "float32")):
        for io in T.parallel((n + 7) // 8):
            own = T.alloc_buffer((8, 4), "float32")
            row = T.alloc_buffer((m,), "float32")
            for ii in range(T.min(8, n - io * 8)):
                for t in T.vectorized(4):
                    own[ii, t] = T.float32(0)
                for j in T.vectorized(m):
                    row[j] = A[io * 8 + ii, j] * T.float32(2)
                for j in range(m):
                    own[ii, j % 4] = own[ii, j % 4] + row[j]
                for j in T.vectorized(m):
                    C[io * 8 + ii, j] = row[m - 1 - j]
                D[io * 8 + ii] = (own[ii, 0] + own[ii, 1]) + (own[ii, 2] + own[ii, 3])

    @T.prim_func
    def fused(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), D: T.Buffer(("n",), "float32")):
        for fo in T.parallel((n * m + 63) // 64):
            for fi in T.vectorized(T.min(64, n * m - fo * 64)):
                C[(fo * 64 + fi) // m, (fo * 64 + fi) % m] = A[(fo * 64 + fi) // m, (fo * 64 + fi) % m] + T.float32(1)
        for i in T.parallel(n):
            D[i] = T.float32(0)
            for j in range(m):
                D[i] = D[i] + A[i, j]

    @T.prim_func
    def columns(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), D: T.Buffer(("n",), "float32")):
        for i in range(n):
            for jo in T.parallel((m + 15) // 16):
                for k in range(50):
                    for ji in T.unroll(T.min(16, m - jo * 16)):
                        C[i, jo * 16 + ji] = A[i, jo * 16 + ji] - T.float32(k)
        for i in T.parallel(n):
            D[i] = T.float32(i)

    @T.prim_func
    def tiles(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), D: T.Buffer(("n",), "float32")):
        for t in T.parallel((n + 7) // 8 * ((m + 31) // 32)):
            for ii in T.unroll(T.min(8, n - t // ((m + 31) // 32) * 8)):
                for ji in T.vectorized(T.min(32, m - t % ((m + 31) // 32) * 32)):
                    C[t // ((m + 31) // 32) * 8 + ii, t % ((m + 31) // 32) * 32 + ji] = (
                        A[t // ((m + 31) // 32) * 8 + ii, t % ((m + 31) // 32) * 32 + ji] * T.float32(5)
                    )
        for i in T.parallel(n):
            D[i] = T.float32(i)

    @T.prim_func
    def parts(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), D: T.Buffer(("n",), "float32")):
        for io in T.parallel(5):
            for ii in range(T.min((n + 4) // 5, n - io * ((n + 4) // 5))):
                D[io * ((n + 4) // 5) + ii] = T.float32(7)
                for j in T.vectorized(m):
                    C[io * ((n + 4) // 5) + ii, j] = A[io * ((n + 4) // 5) + ii, j] * T.float32(3)
"""


def rows(a: Any) -> tuple[Any, Any]:
    return (2 * a)[:, ::-1], (2 * a).sum(axis=1)


def fused(a: Any) -> tuple[Any, Any]:
    return a + 1, a.sum(axis=1)


def columns(a: Any) -> tuple[Any, Any]:
    return a - 49, np.arange(len(a), dtype="float32")


def parts(a: Any) -> tuple[Any, Any]:
    return 3 * a, np.full(len(a), 7, "float32")


def tiles(a: Any) -> tuple[Any, Any]:
    return 5 * a, np.arange(len(a), dtype="float32")


@cache
def built(threads: int) -> tuple[Any, LoopReport]:
    with explain_loops() as report:
        executable = rx.build(parse(SCRIPT), f"cpu -num-threads={threads}", cache=False)
    return executable, report


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("reference", [rows, fused, columns, tiles, parts])
def test_results_are_those_of_one_thread(reference: Callable[[Any], tuple[Any, Any]], threads: int) -> None:
    a = np.random.default_rng(0).integers(-4, 5, (N, M)).astype("float32")
    wanted = reference(a)
    function = built(threads)[0][reference.__name__]
    for _ in range(5):
        c, d = np.full((N, M), np.nan, "float32"), np.full(N, np.nan, "float32")
        function(a, c, d)
        np.testing.assert_array_equal(c, wanted[0])
        np.testing.assert_array_equal(d, wanted[1])


def test_all_of_them_are_jobs() -> None:
    decisions = built(2)[1].decisions
    assert sum(d.kind == "parallel" for d in decisions) >= 5
    assert [d for d in decisions if not d.honoured] == []
