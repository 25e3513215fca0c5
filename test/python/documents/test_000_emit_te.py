"""Document 000, "EmitTE": tensor expressions of Relax values, and symbols that no buffer determines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op, te, tir, topi, transform
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, VerifyError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

MODES = ("native", "bytecode")
SHAPES = ((3, 4), (0, 2), (1, 1), (5, 17))


def functions(mod: rx.IRModule, name: str = "rx_func") -> Iterator[Any]:
    """The function `name` in each mode."""
    for mode in MODES:
        yield rx.build(mod, exec_mode=mode)[name]  # type: ignore[call-overload]  # a mode of two


def test_var_and_symbols() -> None:
    """``rx.var("x", shape=[n, m])`` with ``tir.var("n")``."""
    n, m = tir.var("n"), tir.Var("m", "int64")
    assert (n, m) == (te.var("n"), te.var("m"))
    x = rx.var("x", shape=[n, m])
    assert x.struct_info == rx.Tensor(("n", "m"), "float32")
    assert rx.var("y", shape=[tir.floordiv(n, 2), n % 4], dtype="int32").struct_info == rx.Tensor(
        ("n // 2", "n % 4"), "int32"
    )
    with pytest.raises(DTypeError, match="symbol 'n' of dtype 'float32'"):
        tir.var("n", "float32")
    with pytest.raises(ArgumentError, match="'name' is 3"):
        tir.var(3)  # type: ignore[arg-type]  # wrong on purpose


def test_emit_of_an_operator_and_emit_te() -> None:
    """``a = bb.emit(x + 1)``, then ``bb.emit_te(fn, x, a)``."""

    def fn(x: te.Tensor, a: te.Tensor) -> te.Tensor:
        return te.compute(x.shape, lambda i, j: x[i, j] * a[i, j], "product")

    bb = rx.BlockBuilder()
    n, m = tir.var("n"), tir.var("m")
    x = rx.var("x", shape=[n, m])
    with bb.function("rx_func", [x]):
        a = bb.emit(x + 1)
        b = bb.emit_te(fn, x, a)
        bb.emit_func_output(b)
    for rx_func in functions(bb.get()):
        for shape in SHAPES:
            given = np.random.default_rng(0).random(shape, dtype=np.float32)
            np.testing.assert_allclose(to_numpy(rx_func(given)), given * (given + 1), rtol=1e-6)


def test_emit_straight_after_the_builder() -> None:
    """A parameter is a value only inside its function; the error explains this."""
    bb = rx.BlockBuilder()
    x, y = rx.var("x", shape=["n"]), rx.var("y", shape=["n"])
    message = r'add: no function is being built.*with bb\.function\("main", \[x\]\)'
    with pytest.raises(ArgumentError, match=message):
        bb.emit(x + 1)
    with pytest.raises(ArgumentError, match=r'multiply: .*with bb\.function\("main", \[x, y\]\)'):
        bb.emit(x * y)
    with pytest.raises(ArgumentError, match="emit_te: no function is being built"):
        bb.emit_te(lambda a: a, x)


def test_te_tensor() -> None:
    """``A = rx.te_tensor(a)``, ``te.compute``, ``bb.emit(B)``: the prim func and its call."""
    bb = rx.BlockBuilder()
    n, m = tir.var("n"), tir.var("m")
    x = rx.var("x", shape=[n, m])
    with bb.function("rx_func", [x]):
        a = bb.emit(x + 1)
        A = rx.te_tensor(a)
        B = te.compute((n, m), lambda i, j: A[i, j] * 2, "B")
        b = bb.emit(B)
        bb.emit_func_output(b)
    mod = bb.get()
    assert_structural_equal(parse(mod.script()), mod)
    assert "def B(" in mod.script() and "R.call_tir(cls.B, (" in mod.script()
    for rx_func in functions(mod):
        for shape in SHAPES:
            given = np.random.default_rng(0).random(shape, dtype=np.float32)
            np.testing.assert_allclose(to_numpy(rx_func(given)), (given + 1) * 2, rtol=1e-6)


def dynamic() -> rx.IRModule:
    """The result of ``(n, 2 * floordiv(m, 2))`` is read by another computation: only m itself determines its loops."""
    bb = rx.BlockBuilder()
    n, m = tir.var("n"), tir.var("m")
    x = rx.var("x", shape=[n, m])
    even = (n, 2 * tir.floordiv(m, 2))
    with bb.function("rx_func", [x]):
        A = rx.te_tensor(x)
        cut = bb.emit(te.compute(even, lambda i, j: A[i, j] * 2, "cut"))
        C = rx.te_tensor(cut)
        bb.emit_func_output(
            bb.emit(te.compute(even, lambda i, j: te.select(j + 1 < m, C[i, j] * 2, C[i, j]), "doubled"))
        )
    return bb.get()


def test_a_symbol_becomes_a_parameter() -> None:
    """m is passed as an integer after the output, as no buffer determines it."""
    mod = dynamic()
    text = mod.script()
    assert "m: T.int64" in text and 'tir_vars=["m"]' in text
    assert_structural_equal(parse(text), mod)
    for rx_func in functions(mod):
        for n, m in ((3, 4), (3, 5), (0, 2), (2, 1), (1, 0), (5, 17)):
            given = np.random.default_rng(0).random((n, m), dtype=np.float32)
            wanted = given[:, : m // 2 * 2] * 2
            wanted[:, : max(m - 1, 0)] *= 2
            np.testing.assert_allclose(to_numpy(rx_func(given)), wanted, rtol=1e-6)


def test_a_symbol_that_nothing_tells() -> None:
    """A parameter of that shape does not determine m; a shape parameter does."""
    n, m = tir.var("n"), tir.var("m")
    x, s = rx.var("x", shape=[n, 2 * tir.floordiv(m, 2)]), rx.Var("s", rx.Shape((m,)))
    for params in ([x], [x, s]):
        bb = rx.BlockBuilder()
        with bb.function("rx_func", params):
            A = rx.te_tensor(x)
            doubled = te.compute(A.shape, lambda i, j, A=A: te.select(j + 1 < m, A[i, j] * 2, A[i, j]))
            bb.emit_func_output(bb.emit(doubled))
        if len(params) == 1:
            with pytest.raises(VerifyError, match=r"uses symbol 'm'.*add a parameter Shape\(\(\"m\",\)\)"):
                bb.get()
            continue
        for rx_func in functions(bb.get()):
            for size in (4, 5, 0, 1):
                given = np.ones((3, size // 2 * 2), "f4")
                wanted = given.copy()
                wanted[:, : max(size - 1, 0)] *= 2
                np.testing.assert_array_equal(to_numpy(rx_func(given, (size,))), wanted)


DYNAMIC = """
@I.ir_module
class Module:
    @T.prim_func
    def shifted(A: T.Buffer((n, "m // 2 * 2"), "float32"), B: T.Buffer((n, "m // 2 * 2"), "float32"), m: T.int64):
        for i, j in T.grid(n, m // 2 * 2):
            B[i, j] = A[i, j] + T.cast(m, "float32")

    @R.function
    def rx_func(x: R.Tensor[(n, "m // 2 * 2"), "f32"], s: R.Shape([m])):
        {body}
        return gv
"""
CALLS = {
    "shape first, tir_vars": "gv = R.call_tir((n, 2 * (m // 2)), shifted, [x], tir_vars=(m,))",
    "later": 'gv = R.call_tir(cls.shifted, (x,), R.Tensor((n, "m // 2 * 2"), "float32"), tir_vars=R.shape([m]))',
    "call_tir_dyn, the shape among the arguments": "gv = R.call_tir_dyn((n, 2 * (m // 2)), shifted, [x, (m,)])",
    "call_tir_dyn, the shape behind them": "gv = R.call_tir_dyn((n, 2 * (m // 2)), shifted, [x], (m,))",
    "call_tir_dyn, callee first": 'gv = R.call_tir_dyn(cls.shifted, [x, (m,)], R.Tensor((n, "m // 2 * 2"), "f32"))',
}
ON_MEMORY = {
    "vm.call_tir_dyn": "R.vm.call_tir_dyn(cls.shifted, (x, gv), R.shape([m]))",
    "vm.call_tir_dyn as TVM writes it": "R.vm.call_tir_dyn(cls.shifted, (x, gv, R.shape([m])))",
    "the builtin": 'R.call_packed("vm.builtin.call_tir_dyn", shifted, x, gv, (m,))',
}


def check_dynamic(rx_func: Any) -> None:
    for size in (4, 5, 0, 1):
        given = np.random.default_rng(0).random((3, size // 2 * 2), dtype=np.float32)
        np.testing.assert_allclose(to_numpy(rx_func(given, (size,))), given + size, rtol=1e-6)
    with pytest.raises(RelaxError, match="dimension 1"):
        rx_func(np.zeros((3, 4), "f4"), (7,))


@pytest.mark.parametrize("name", CALLS)
def test_call_tir_dyn(name: str) -> None:
    """All spellings are one module."""
    mod = parse(DYNAMIC.format(body=CALLS[name]))
    assert_structural_equal(mod, parse(DYNAMIC.format(body=CALLS["later"])))
    if name == "later":
        for rx_func in functions(mod):
            check_dynamic(rx_func)


def test_call_tir_dyn_in_the_builder() -> None:
    prim = parse(DYNAMIC.format(body=CALLS["later"]))
    bb = rx.BlockBuilder()
    shifted = bb.add_func(prim, "shifted")
    n, m = tir.var("n"), tir.var("m")
    even = (n, 2 * tir.floordiv(m, 2))
    x, s = rx.var("x", shape=even), rx.Var("s", rx.Shape((m,)))
    with bb.function("rx_func", [x, s]):
        bb.emit_func_output(bb.call_tir_dyn(even, shifted, [x], [m]))
    assert_structural_equal(parse(bb.get().script()), bb.get())
    assert op.call_tir_dyn is op.call_tir
    for rx_func in functions(bb.get()):
        check_dynamic(rx_func)


@pytest.mark.parametrize("name", ON_MEMORY)
def test_the_intrinsic_unpacks_the_shape(name: str) -> None:
    """`vm.call_tir_dyn` on memory: the entries of the shape become integers after the tensors."""
    body = f'gv = R.builtin.alloc_tensor((n, "m // 2 * 2"), "float32", 0)\n        {ON_MEMORY[name]}'
    mod = parse(DYNAMIC.format(body=body))
    other = body.replace(ON_MEMORY[name], ON_MEMORY["vm.call_tir_dyn"])
    assert_structural_equal(mod, parse(DYNAMIC.format(body=other)))
    check_dynamic(rx.VirtualMachine(rx.vm.build(mod))["rx_func"])


def test_the_builtin_unpacks_the_shape() -> None:
    """``vm.builtin.call_tir_dyn(f, x, (4, 5))`` calls ``f(x, 4, 5)``."""
    called = rx.vm.builtin("call_tir_dyn")(
        tvm_ffi.convert(lambda *args: tvm_ffi.Shape([args[0], *args[1:]])), 3, tvm_ffi.Shape((4, 5))
    )
    assert tuple(called) == (3, 4, 5)


def test_the_lowering_of_a_dynamic_call() -> None:
    """`CallTIRRewrite` creates it, and each form of the module runs."""
    mod = parse(DYNAMIC.format(body=CALLS["later"]))
    for made in (
        transform.ToNonDataflow(),
        transform.CallTIRRewrite(),
        transform.VMMemoryLower(),
        transform.VMShapeLower(),
    ):
        mod = made(mod)
        if made.name != "to-non-dataflow":
            assert "R.vm.call_tir_dyn(cls.shifted, " in mod.script()
        check_dynamic(rx.VirtualMachine(rx.vm.build(mod))["rx_func"])


def test_topi_through_emit_te() -> None:
    """``bb.emit_te(topi.add, x, y)``: tensors, numbers and shapes as arguments."""
    bb = rx.BlockBuilder()
    n, m = tir.var("n"), tir.var("m")
    x, y = rx.var("x", shape=[n, m]), rx.var("y", shape=[m])
    with bb.function("rx_func", [x, y]):
        total = bb.emit_te(topi.add, x, y)
        rows = bb.emit_te(topi.sum, total, axis=1, keepdims=True)
        dense = bb.emit_te(topi.nn.dense, total, x)
        halves = bb.emit_te(topi.concatenate, [x, total], axis=0)
        places = bb.emit_te(topi.argmax, x, 0)
        bb.emit_func_output([rows, dense, halves, places])
    mod = bb.get()
    assert "def add(" in mod.script() and "def concatenate(" in mod.script()
    assert_structural_equal(parse(mod.script()), mod)
    for rx_func in functions(mod):
        for shape in ((3, 4), (1, 1), (5, 17)):
            a = np.random.default_rng(0).random(shape, dtype=np.float32)
            b = np.random.default_rng(1).random(shape[1], dtype=np.float32)
            wanted = ((a + b).sum(1, keepdims=True), (a + b) @ a.T, np.concatenate([a, a + b]), a.argmax(0))
            for have, want in zip(rx_func(a, b), wanted, strict=True):
                np.testing.assert_allclose(to_numpy(have), want, rtol=1e-5)
