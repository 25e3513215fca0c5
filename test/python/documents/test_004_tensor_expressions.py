"""Document 004: tensor expressions, their operations, and prim funcs built from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import te, topi
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import DTypeError
from relax_mlir.runtime import to_numpy
from relax_mlir.te.reductions import Reduction

GEMM_SIZES = ((3, 4, 5), (1, 1, 1), (0, 2, 3), (2, 0, 3), (17, 33, 9))


def gemm() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """The document's GEMM, of sizes that are known at the call."""
    n, m, k = te.var("n"), te.var("m"), te.var("k")
    A = te.placeholder((n, k), name="A")
    B = te.placeholder((k, m), name="B")
    K = te.reduce_axis((0, k), name="K")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, K] * B[K, j], axis=K), name="C")
    return A, B, C


def test_ir_module_of_a_prim_func() -> None:
    """``func = te.create_prim_func([A, B, C])``, ``IRModule({"main": func})``, build, ``func(a, b, c)``."""
    A, B, C = gemm()
    func = te.create_prim_func([A, B, C])
    mod = rx.IRModule({"main": func})
    assert list(mod) == ["main"]
    assert_structural_equal(mod, func)
    for made in (rx.build(mod), rx.build(func, target="cpu"), rx.build(mod)["main"]):
        for n, m, k in GEMM_SIZES:
            rng = np.random.default_rng(n)
            a, b = rng.random((n, k), "f4"), rng.random((k, m), "f4")
            c = np.empty((n, m), "f4")
            made(a, b, c)
            np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_arithmetic_on_tensors() -> None:
    """``A + 1``, ``A[i][j]``, ``value_index``."""
    n, m = te.var("n"), te.var("m")
    A, B = te.placeholder((n, m), name="A"), te.placeholder((n, m), name="B")
    C = A + 1
    D = te.compute((n, m), lambda i, j: C[i][j] * B[i, j] - A[i][j], name="D")
    low, high = te.compute((n, m), lambda i, j: (te.minimum(A[i, j], B[i, j]), te.maximum(A[i, j], B[i, j])))
    assert (A.value_index, C.value_index, low.value_index, high.value_index) == (0, 0, 0, 1)
    main = rx.build(te.create_prim_func([A, B, C, D, low, high]))["main"]
    a, b = np.random.default_rng(0).random((2, 3, 4), "f4")
    found = [np.empty_like(a) for _ in range(4)]
    main(a, b, *found)
    for have, want in zip(found, (a + 1, (a + 1) * b - a, np.minimum(a, b), np.maximum(a, b)), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-6)


def test_operation() -> None:
    """``C.op``, ``op.axis``, ``op.input_tensors``, ``op.body``."""
    A, B, C = gemm()
    op = C.op
    assert isinstance(op, te.Operation) and op.output(0) is C and op.num_outputs == 1
    assert op.input_tensors == [A, B]
    i, j = op.axis
    (K,) = op.reduce_axis
    assert [v.name for v in (i, j, K)] == ["i", "j", "K"] and i.var is i
    assert (K.dom.min, K.dom.extent) == (0, te.var("k")) and j.dom.extent == te.var("m")
    (body,) = op.body
    assert isinstance(body, Reduction) and body.axis == (K,) and str(body.source[0]) == "(A[i, K] * B[K, j])"


def test_placeholder_op() -> None:
    A, _, C = gemm()
    assert isinstance(A.op, te.PlaceholderOp) and A.op.name == "A" and A.op.input_tensors == []
    assert A.op.output(0) is A and not isinstance(C.op, te.PlaceholderOp)


def test_compute_op() -> None:
    """``te.compute(shape, fcompute, name, tag, attrs)``."""
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2, "B", "elemwise", {"hint": [1, 2]})
    assert isinstance(B.op, te.ComputeOp)
    assert (B.op.name, B.op.tag, B.op.attrs, B.op.reduce_axis) == ("B", "elemwise", {"hint": [1, 2]}, [])


def test_computes_of_numbers_and_int32_elements_beside_indices() -> None:
    n = te.var("n")
    A = te.placeholder((n,), "int32", "A")
    ones, three = te.compute((n,), lambda i: 1.0, "ones"), te.compute((n,), lambda i: 3, "three")
    shifted = te.compute((n,), lambda i: A[i] + i, "shifted")
    assert (ones.dtype, three.dtype, shifted.dtype) == ("float32", "int32", "int32")
    main = rx.build(te.create_prim_func([A, ones, three, shifted]))["main"]
    for size in (0, 1, 5):
        a = np.arange(size, dtype="i4") * 7
        found = [np.empty(size, "f4"), np.empty(size, "i4"), np.empty(size, "i4")]
        main(a, *found)
        for have, want in zip(found, (np.ones(size), np.full(size, 3), a + np.arange(size)), strict=True):
            np.testing.assert_array_equal(have, want)


def test_comm_reducer() -> None:
    """The document's argmax: tuples, identity, two outputs."""

    def fcombine(x: Any, y: Any) -> Any:
        lhs = te.if_then_else((x[1] >= y[1]), x[0], y[0])
        rhs = te.if_then_else((x[1] >= y[1]), x[1], y[1])
        return lhs, rhs

    def fidentity(t0: str, t1: str) -> Any:
        return te.const(-1, t0), te.min_value(t1)

    argmax = te.comm_reducer(fcombine, fidentity, name="argmax")
    m, n = te.var("m"), te.var("n")
    idx = te.placeholder((m, n), name="idx", dtype="int32")
    val = te.placeholder((m, n), name="val", dtype="float32")
    k = te.reduce_axis((0, n), "k")
    T0, T1 = te.compute((m,), lambda i: argmax((idx[i, k], val[i, k]), axis=k), name="T")
    main = rx.build(te.create_prim_func([idx, val, T0, T1]))["main"]
    for shape in ((3, 5), (1, 1), (2, 0), (0, 4)):
        v = np.random.default_rng(1).standard_normal(shape).astype("f4")
        places = np.broadcast_to(np.arange(shape[1], dtype="i4"), shape).copy()
        t0, t1 = np.empty(shape[0], "i4"), np.empty(shape[0], "f4")
        main(places, v, t0, t1)
        np.testing.assert_array_equal(t0, v.argmax(1) if shape[1] else np.full(shape[0], -1))
        np.testing.assert_array_equal(t1, v.max(1) if shape[1] else np.full(shape[0], np.finfo("f4").min))


@tvm_ffi.register_global_func("test.documents.004.matmul", override=True)
def _matmul(a: Any, b: Any, c: Any) -> None:
    np.from_dlpack(c)[...] = np.from_dlpack(a) @ np.from_dlpack(b)


def test_extern() -> None:
    """An `ExternOp` that a packed function computes, followed by a computation."""
    n, m, k = te.var("n"), te.var("m"), te.var("k")

    def function(A: te.Tensor, B: te.Tensor) -> te.Tensor:
        C = te.extern(
            (n, m),
            [A, B],
            lambda ins, outs: te.call_packed("test.documents.004.matmul", ins[0], ins[1], outs[0]),
            name="C",
        )
        assert isinstance(C.op, te.ExternOp) and C.op.input_tensors == [A, B]
        D = te.compute((n, m), lambda i, j: C[i, j] + 1.0, name="D")
        assert isinstance(D, te.Tensor)
        return D

    bb = rx.BlockBuilder()
    x, y = rx.var("x", shape=[n, k]), rx.var("y", shape=[k, m])
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit_te(function, x, y))
    main = rx.build(bb.get())["main"]
    for rows, columns, inner in GEMM_SIZES:
        rng = np.random.default_rng(rows)
        a, b = rng.random((rows, inner), "f4"), rng.random((inner, columns), "f4")
        np.testing.assert_allclose(to_numpy(main(a, b)), a @ b + 1, rtol=1e-5)


def test_remaining_names() -> None:
    """`select`, `size_var`, `log2`, `isnan`, `min_value`, `cast` and others, in one prim func."""
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    made = [
        te.compute((n,), lambda i: te.select(te.isnan(A[i]), te.min_value("float32"), te.log2(A[i])), "a"),
        te.compute((n,), lambda i: te.cast("int32", te.floor(A[i])), "b"),
        te.compute((n,), lambda i: te.if_then_else(te.isfinite(A[i]), te.fmod(A[i], 3.0), -1.0), "c"),
        te.compute((n,), lambda i: te.popcount(i.astype("int32")), "d"),
    ]
    with pytest.raises(DTypeError, match=r"te\.log2: the operand has dtype index"):
        te.compute((n,), lambda i: te.log2(i))
    main = rx.build(te.create_prim_func([A, *made]))["main"]
    a = np.array([1, 8, np.nan, 0.5, 100.25], "f4")
    found = [np.empty(5, t.dtype) for t in made]
    main(a, *found)
    valid = np.where(np.isnan(a), 1, a)
    np.testing.assert_allclose(found[0], np.where(np.isnan(a), np.finfo("f4").min, np.log2(valid)), rtol=1e-6)
    np.testing.assert_array_equal(found[1][[0, 1, 3, 4]], np.floor(a[[0, 1, 3, 4]]).astype("i4"))
    np.testing.assert_allclose(found[2], np.where(np.isnan(a), -1, np.fmod(valid, 3)), rtol=1e-6)
    np.testing.assert_array_equal(found[3], [0, 1, 1, 2, 1])


def test_topi() -> None:
    """Operators of `topi` on placeholders, in one prim func with a computation."""
    n, m = te.var("n"), te.var("m")
    A, B = te.placeholder((n, m), name="A"), te.placeholder((n, m), name="B")
    C = topi.add(A, B)
    D = topi.sum(topi.exp(topi.broadcast_to(A, (n, m))) * C, axis=1)
    E = topi.nn.softmax(topi.tanh(C) * 2.0)
    assert C.op.tag == "elemwise" and D.shape == (n,) and E.shape == (n, m)
    main = rx.build(te.create_prim_func([A, B, C, D, E]))["main"]
    for shape in ((3, 4), (1, 1), (0, 2), (2, 0)):
        a, b = np.random.default_rng(0).random((2, *shape), "f4")
        found = [np.empty(shape, "f4"), np.empty(shape[0], "f4"), np.empty(shape, "f4")]
        main(a, b, *found)
        e = np.exp(np.tanh(a + b) * 2)
        wanted = (a + b, (np.exp(a) * (a + b)).sum(1), e / e.sum(1, keepdims=True))
        for have, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-5)
