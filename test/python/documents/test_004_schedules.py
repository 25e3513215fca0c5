"""Document 004: schedules, stages, and `build` of them, as the document spells them (`tvm` is this package)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import relax_mlir as tvm
from relax_mlir import te

SIZES = ((32, 32, 32), (1, 1, 1), (0, 3, 4), (3, 0, 4), (33, 65, 31), (100, 7, 257))


def gemm() -> tuple[Any, Any, Any]:
    n, m, k = te.var("n"), te.var("m"), te.var("k")
    A = te.placeholder((n, k), name="A")
    B = te.placeholder((k, m), name="B")
    K = te.reduce_axis((0, k), name="K")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, K] * B[K, j], axis=K), name="C")
    return A, B, C


def check(func: Any) -> None:
    """``func(a, b, c)`` at all sizes."""
    for n, k, m in SIZES:
        rng = np.random.default_rng(n)
        a, b = rng.random((n, k), "f4"), rng.random((k, m), "f4")
        c = np.full((n, m), np.nan, "f4")
        func(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_create_schedule_build_and_call() -> None:
    """``s = te.create_schedule(C.op)``, ``func = tvm.build(s, [A, B, C], target)``, ``func(a, b, c)``."""
    A, B, C = gemm()
    s = te.create_schedule(C.op)
    target = rx.Target("cpu")
    func = tvm.build(s, [A, B, C], target)
    check(func)


def test_vector_addition() -> None:
    """The first example: ``A + B`` of any length, split and run in parallel and on vectors, with a name."""
    n = te.var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=64)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    fadd = tvm.build(s, [A, B, C], "cpu", name="myadd")
    assert list(fadd) == ["myadd"]
    for length in (0, 1, 63, 64, 65, 1000):
        a, b = np.random.default_rng(0).random((2, length), "f4")
        c = np.empty(length, "f4")
        fadd(a, b, c)
        np.testing.assert_array_equal(c, a + b)


def test_the_computation_stays_and_the_schedule_changes() -> None:
    """Section 3: one computation, several schedules: the same results, other loops."""
    A, B, C = gemm()
    texts = set()
    for bn, factor in ((8, 4), (16, 4), (32, 1)):
        s = te.create_schedule(C.op)
        xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
        (k,) = s[C].op.reduce_axis
        ko, ki = s[C].split(k, factor=factor)
        s[C].reorder(xo, yo, ko, xi, ki, yi)
        s[C].vectorize(yi)
        s[C].parallel(xo)
        texts.add(te.lower(s, [A, B, C], simple_mode=True))
        check(tvm.build(s, [A, B, C]))
    assert len(texts) == 3


def test_the_schedule_of_the_tutorials() -> None:
    """``cache_write``, two levels of tiles, reorder, vectorize, unroll, parallel, ``compute_at``."""
    A, B, C = gemm()
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "global")
    xo, yo, _xi, _yi = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    s[CC].compute_at(s[C], yo)
    xc, yc = s[CC].op.axis
    (k,) = s[CC].op.reduce_axis
    ko, ki = s[CC].split(k, factor=4)
    s[CC].reorder(ko, xc, ki, yc)
    s[CC].unroll(ki)
    s[CC].vectorize(yc)
    s[C].parallel(xo)
    check(tvm.build(s, [A, B, C]))


def test_packed_layout() -> None:
    """The tutorials' array packing: B in panels, a separate computation that `parallel` and `vectorize` schedule."""
    n, m, k = te.var("n"), te.var("m"), te.var("k")
    bn = 16
    A, B = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    K = te.reduce_axis((0, k), name="K")
    panels = te.floordiv(m + bn - 1, bn)
    packedB = te.compute(
        (panels, k, bn),
        lambda bigN, kk, littleN: te.if_then_else(bigN * bn + littleN < m, B[kk, bigN * bn + littleN], 0.0),
        name="packedB",
    )
    C = te.compute(
        (n, m),
        lambda x, y: te.sum(A[x, K] * packedB[te.floordiv(y, bn), K, te.floormod(y, bn)], axis=K),
        name="C",
    )
    s = te.create_schedule(C.op)
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    s[C].reorder(xo, yo, s[C].op.reduce_axis[0], xi, yi)
    bigN, _, littleN = s[packedB].op.axis
    s[packedB].vectorize(littleN)
    s[packedB].parallel(bigN)
    check(tvm.build(s, [A, B, C]))


def test_stages_are_the_units_of_scheduling() -> None:
    """Section 4: a stage for each operation, with its op, its axes and its loops."""
    A, B, C = gemm()
    D = te.compute(C.shape, lambda i, j: te.maximum(C[i, j], 0.0), name="D")
    s = te.create_schedule([D.op])
    assert [stage.op for stage in s.stages] == [A.op, B.op, C.op, D.op]
    assert all(s[tensor].op is tensor.op for tensor in (A, B, C, D))
    assert s[C].leaf_iter_vars == [*C.op.axis, *C.op.reduce_axis]
    s[C].compute_at(s[D], D.op.axis[0])
    n, m, k = 5, 6, 7
    a, b = np.random.default_rng(0).standard_normal((n, k)), np.random.default_rng(1).standard_normal((k, m))
    d = np.zeros((n, m), "f4")
    tvm.build(s, [A, B, D])(a.astype("f4"), b.astype("f4"), d)
    np.testing.assert_allclose(d, np.maximum(a @ b, 0), rtol=1e-5, atol=1e-5)


def test_lower_shows_the_loops() -> None:
    """``print(tvm.lower(s, [A, B, C], simple_mode=True))``."""
    A, B, C = gemm()
    s = te.create_schedule(C.op)
    s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    text = te.lower(s, [A, B, C], simple_mode=True)
    assert "for i_outer in range((n + 31) // 32):" in text
    module = te.lower(s, [A, B, C])
    assert isinstance(module, rx.IRModule)
    assert "for i_outer in range(" in module.script()


@pytest.mark.parametrize("primitive", ["parallel", "vectorize", "unroll"])
def test_kinds_of_loops_change_no_result(primitive: str) -> None:
    A, B, C = gemm()
    s = te.create_schedule(C.op)
    _, inner = s[C].split(C.op.axis[1], factor=16)
    getattr(s[C], primitive)(inner)
    check(tvm.build(s, [A, B, C]))
