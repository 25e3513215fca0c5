"""Tensor expressions of Relax values without `emit_te`: `te_tensor`, and `emit` of computed ones."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.runtime import to_numpy

X = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)


def test_emit_of_a_computation() -> None:
    bb = rx.BlockBuilder()
    n, m = te.var("n"), te.var("m")
    x, y = rx.var("x", shape=[n, m]), rx.var("y", shape=[n, m])
    with bb.function("main", [x, y]):
        A, B = rx.te_tensor(x), rx.te_tensor(y)
        C = te.compute((n, m), lambda i, j: A[i, j] * 2)
        doubled = bb.emit(C, "doubled")
        D = rx.te_tensor(doubled)
        both = bb.emit(te.compute((m, n), lambda i, j: (D[j, i] + B[j, i], D[j, i] - B[j, i]), name="both"))
        half = bb.emit(te.compute((n, 2 * te.floordiv(m, 2)), lambda i, j: A[i, j], name="even"))
        bb.emit_func_output([doubled, *both, half])
    mod = bb.get()
    names = {op.name.value for op in mod.mlir.body.operations}
    assert {"main", "doubled", "both", "even"} <= names
    for mode in ("native", "bytecode"):
        main = rx.build(mod, exec_mode=mode)["main"]
        found = [to_numpy(item) for item in main(X, 2 * X)]
        wanted = [2 * X, (4 * X).T, (0 * X).T, X[:, :2]]
        for have, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(have, want)


def test_equal_computations_are_one_prim_func() -> None:
    bb = rx.BlockBuilder()
    x = rx.var("x", shape=["n"])
    with bb.function("main", [x]):
        values = [x]
        for _ in range(3):
            A = rx.te_tensor(values[-1])
            values.append(bb.emit(te.compute(A.shape, lambda i, A=A: A[i] + 1.0, name="more")))
        bb.emit_func_output(values[-1])
    # The first reads a parameter, whose name its own parameter has.
    assert sum("more" in op.name.value for op in bb.get().mlir.body.operations) == 2


def test_call_tir_of_the_builder() -> None:
    bb = rx.BlockBuilder()
    x = rx.var("x", shape=["n"])
    A = te.placeholder(("n",), name="A")
    name = bb.add_func(te.create_prim_func([A, te.compute(("n",), lambda i: A[i] * A[i])])["main"], "square")
    with bb.function("main", [x]):
        bb.emit_func_output(bb.call_tir(name, [bb.call_tir_dyn(name, [x], x.struct_info)], x.struct_info))
    np.testing.assert_allclose(to_numpy(rx.build(bb.get())["main"](X[:, 0])), X[:, 0] ** 4, rtol=1e-6)


def test_var() -> None:
    x = rx.var("x", shape=["n", 4])
    assert isinstance(x, rx.Var) and x.struct_info == rx.Tensor(("n", 4), "float32")
    assert rx.var("y", dtype=None).struct_info == rx.Tensor(None, None)


def test_mistakes() -> None:
    bb = rx.BlockBuilder()
    x, u, d = rx.var("x", shape=["n"]), rx.var("u"), rx.var("d", shape=["n"], dtype=None)
    other = te.placeholder(("n",), name="other")
    with bb.function("main", [x, u, d]):
        with pytest.raises(ArgumentError, match="te_tensor: 'value' is 3, expected a Relax tensor"):
            rx.te_tensor(3)  # type: ignore[arg-type]  # wrong on purpose
        with pytest.raises(ShapeError, match="tensor expressions need every dimension"):
            rx.te_tensor(u)
        with pytest.raises(DTypeError, match="of unknown dtype"):
            rx.te_tensor(d)
        with pytest.raises(ArgumentError, match=r"reads the placeholder other.* with te_tensor"):
            bb.emit(te.compute(("n",), lambda i: other[i]))
        with pytest.raises(ArgumentError, match="emit: the tensor other is a placeholder: compute something of it"):
            bb.emit(other)
        bb.emit_func_output(x)
