"""Prim funcs written in script, run natively and compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op
from relax_mlir.lowering.pipeline import pipeline
from relax_mlir.script import parse


def module(prim: str, main: str) -> Any:
    """A module of prim funcs and of Relax functions, given as text."""
    body = "\n".join("    " + line for line in f"{prim}\n{main}".splitlines())
    return parse(f"@I.ir_module\nclass M:\n{body}\n")


def run(prim: str, main: str, *args: Any) -> Any:
    """Build the module, and call its main."""
    result = rx.build(module(prim, main))["main"](*args)
    if isinstance(result, (tuple, list)) or type(result).__name__ == "Array":
        return [np.from_dlpack(item) for item in result]
    return np.from_dlpack(result)


EXP = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n", "m"), "float32")):
    for i, j in T.grid(n, m):
        with T.block("exp"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj])
"""
CALL = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
    return R.call_tir(cls.k, (x,), R.Tensor(("n", "m"), "float32"))
"""


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 0), (5, 7), (16, 32)])
def test_elementwise(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    np.testing.assert_allclose(run(EXP, CALL, x), np.exp(x), rtol=1e-5)


def test_handles_and_declared_symbols() -> None:
    prim = """
@T.prim_func
def k(a: T.handle, b: T.handle):
    T.func_attr({"global_symbol": "k", "tir.noalias": True})
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i in range(n):
        for j in T.vectorized(m):
            B[i, j] = A[i, j] * 2.0
"""
    x = np.random.default_rng(1).standard_normal((3, 5)).astype("float32")
    np.testing.assert_array_equal(run(prim, CALL, x), x * 2)


MATMUL = """
@T.prim_func
def k(A: T.Buffer(("n", "l"), "float32"), B: T.Buffer(("l", "m"), "float32"), C: T.Buffer(("n", "m"), "float32")):
    for i, j, k in T.grid(n, m, l):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.mark.parametrize("sizes", [(0, 3, 2), (1, 1, 1), (3, 0, 2), (5, 7, 3), (17, 33, 65)])
def test_matmul(sizes: tuple[int, int, int]) -> None:
    n, k, m = sizes
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((n, k)).astype("float32"), rng.standard_normal((k, m)).astype("float32")
    main = """
@R.function
def main(x: R.Tensor(("n", "k"), "float32"), y: R.Tensor(("k", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
    return R.call_tir(cls.k, (x, y), R.Tensor(("n", "m"), "float32"))
"""
    np.testing.assert_allclose(run(MATMUL, main, a, b), a @ b, rtol=1e-4, atol=1e-5)
    assert "linalg.generic" in str(module(MATMUL, main))


def test_a_prim_func_alone_goes_into_a_builder() -> None:
    prims = parse(EXP)
    bb = rx.BlockBuilder()
    name = bb.add_func(prims, "k")
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.call_tir(name, [x], rx.Tensor(("n", 4), "float32")))
    array = np.random.default_rng(2).standard_normal((3, 4)).astype("float32")
    found = np.from_dlpack(rx.build(bb.get())["main"](array))
    np.testing.assert_allclose(found, np.exp(array), rtol=1e-5)


def test_prim_funcs_fuse_with_ops() -> None:
    main = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
    y = R.call_tir(cls.k, (x + 1.0,), R.Tensor(("n", "m"), "float32"))
    return y * 2.0
"""
    mod = module(EXP, main)
    mod.apply_(pipeline("relax-to-calls"))
    assert str(mod).count("relax.call_tir") == 1


def test_in_branches_and_called_twice() -> None:
    main = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", "m"), "float32"):
    if c:
        y = R.call_tir(cls.k, (x,), R.Tensor(("n", "m"), "float32"))
    else:
        y = R.call_tir(cls.cumulative, (x,), R.Tensor(("n", "m"), "float32"))
    return R.call_tir(cls.cumulative, (y,), R.Tensor(("n", "m"), "float32"))
"""
    cumulative = """
@T.prim_func
def cumulative(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n", "m"), "float32")):
    for i, j in T.grid(n, m):
        B[i, j] = A[i, j] if j == 0 else B[i, j - 1] + A[i, j]
"""
    x = np.random.default_rng(3).standard_normal((3, 5)).astype("float32")
    for flag in (True, False):
        expected = np.exp(x) if flag else np.cumsum(x, 1)
        found = run(EXP + cumulative, main, x, np.array(flag))
        np.testing.assert_allclose(found, np.cumsum(expected, 1), rtol=1e-4, atol=1e-5)
