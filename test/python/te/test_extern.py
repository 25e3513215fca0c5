"""Tensors that packed functions and prim funcs compute, between computed ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import te
from relax_mlir.error import ArgumentError, UnsupportedError
from relax_mlir.runtime import to_numpy

N, M = te.var("n"), te.var("m")


@tvm_ffi.register_global_func("test.te.extern.sorted", override=True)
def _sorted(x: Any, factor: int, values: Any, places: Any) -> None:
    array = np.from_dlpack(x)
    order = np.argsort(array, axis=1, kind="stable")
    np.from_dlpack(values)[...] = np.take_along_axis(array, order, 1) * factor
    np.from_dlpack(places)[...] = order


def prim() -> rx.IRModule:
    x, y = te.placeholder((N, M), name="x"), te.placeholder((N, M), name="y")
    return te.create_prim_func([x, y, te.compute((N, M), lambda i, j: x[i, j] * y[i, j], "product")], "product")


def chain(a: te.Tensor) -> tuple[te.Tensor, ...]:
    b = te.compute(a.shape, lambda i, j: a[i, j] + 1.0, "b")
    values, places = te.extern(
        [a.shape, a.shape],
        [b],
        lambda ins, outs: te.call_packed("test.te.extern.sorted", ins[0], 3, *outs),
        "sorted",
        dtype=["float32", "int64"],
    )
    c = te.compute(a.shape, lambda i, j: values[i, j] - b[i, j], "c")
    squared = te.extern(a.shape, [c, b], lambda ins, outs: te.call_prim(prim(), ins[0], ins[1], outs[0]), "squared")
    return te.compute(a.shape, lambda i, j: squared[i, j] + places[i, j].astype("float32"), "last"), places


def test_extern_between_computes() -> None:
    bb = rx.BlockBuilder()
    x = rx.var("x", shape=[N, M])
    with bb.function("main", [x]):
        last, places = bb.emit_te(chain, x)
        alone = bb.emit(chain(rx.te_tensor(x))[1])
        bb.emit_func_output([last, places, alone])
    mod = bb.get()
    text = mod.script()
    assert text.count("call_dps_packed") == 2 and "product" in text
    for mode in ("native", "bytecode"):
        main = rx.build(mod, exec_mode=mode)["main"]
        for shape in ((3, 4), (1, 1), (0, 2)):
            a = np.random.default_rng(0).standard_normal(shape).astype("f4")
            order = np.argsort(a, axis=1, kind="stable")
            b = a + 1
            wanted = (np.take_along_axis(b, order, 1) * 3 - b) * b + order
            found = [to_numpy(item) for item in main(a)]
            np.testing.assert_allclose(found[0], wanted, rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(found[1], order)
            np.testing.assert_array_equal(found[2], order)


def test_the_operation() -> None:
    a = te.placeholder((N, M), name="A")
    e = te.extern((N,), [a], lambda ins, outs: te.call_packed("f", ins[0], outs[0]), "e", tag="t", attrs={"k": 1})
    assert isinstance(e.op, te.ExternOp) and e.op.input_tensors == [a] and (e.shape, e.dtype) == ((N,), "float32")
    assert (e.op.tag, e.op.attrs) == ("t", {"k": 1})
    with pytest.raises(UnsupportedError, match=r"'e' is a te\.extern, which a prim func cannot call: emit it"):
        te.create_prim_func([a, te.compute((N,), lambda i: e[i] + 1.0)])


def test_mistakes() -> None:
    a, other = te.placeholder((N, M), name="A"), te.placeholder((N, M), "int8", "other")
    cases: list[tuple[Any, str]] = [
        (lambda: te.extern((N,), [a], lambda ins, outs: 3), r"'fcompute' gives 3, expected te\.call_packed"),
        (
            lambda: te.extern((N,), [a], lambda ins, outs: te.call_packed("f", *outs, *ins)),
            "the last arguments",
        ),
        (lambda: te.extern((N,), [a], lambda ins, outs: te.call_packed("f", other, *outs)), "add it there"),
        (
            lambda: te.extern((N,), [a, other], lambda ins, outs: te.call_packed("f", *outs)),
            "do not tell one dtype; give 'dtype'",
        ),
        (
            lambda: te.extern((N,), [3], lambda ins, outs: te.call_packed("f", *outs)),
            r"expected a te\.Tensor",
        ),
        (
            lambda: te.extern(3, [a], lambda ins, outs: te.call_packed("f", *outs)),
            "a shape, or a list of shapes",
        ),
        (lambda: te.call_packed(3), "the name of a registered function"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: te.call_prim(3), "a prim func"),  # type: ignore[arg-type]  # wrong on purpose
    ]
    for make, message in cases:
        with pytest.raises(ArgumentError, match=message):
            make()
