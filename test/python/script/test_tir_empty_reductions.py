"""A block whose reduction runs over nothing leaves the value of its T.init, whatever combines it."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ScriptError
from relax_mlir.script import parse

BODIES = {
    "divide": """
        for i, k in T.grid(n, m):
            with T.block("b"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(1)
                B[vi] = B[vi] / (A[vi, vk] + T.float32(2))
""",
    "reduction_outside": """
        for k in range(m):
            for i in T.serial(0, n):
                with T.block("b"):
                    vi = T.axis.spatial(n, i)
                    vk = T.axis.reduce(m, k)
                    with T.init():
                        B[vi] = T.float32(1)
                    B[vi] = B[vi] - A[vi, vk]
""",
    "tiled": """
        for i in range(n):
            for ko, ki in T.grid((m + 3) // 4, 4):
                with T.block("b"):
                    T.where(ko * 4 + ki < m and i < n)
                    vi = T.axis.spatial(n, i)
                    vk = T.axis.reduce(m, ko * 4 + ki)
                    with T.init():
                        B[vi] = T.float32(1)
                    B[vi] = B[vi] - A[vi, vk]
""",
    "two_axes": """
        for k in range(m):
            for i in range(n):
                for l in range(1, m):
                    with T.block("b"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        vl = T.axis.reduce((1, m), l)
                        with T.init():
                            B[vi] = T.float32(1) + T.float32(i)
                        B[vi] = B[vi] - A[vi, vk] * A[vi, vl]
""",
    "beside_other_work": """
        for i in range(n):
            C = T.alloc_buffer((1,), "float32")
            C[0] = T.float32(3)
            for k in range(m):
                with T.block("b"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = C[0]
                    B[vi] = B[vi] - A[vi, vk]
""",
}
HEAD = '    @T.prim_func\n    def {name}(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n",), "float32")):'
MAIN = """
    @R.function
    def call_{name}(x: R.Tensor(("n", "m"), "float32")):
        return R.call_tir(cls.{name}, (x,), R.Tensor((n,), "float32"))
"""


def expected(name: str, a: np.ndarray) -> np.ndarray:
    n = len(a)
    if name == "divide":
        return np.prod(1 / (a.astype("f8") + 2), axis=1)
    if name == "two_axes":
        products = np.einsum("ik,il->ikl", a, a[:, 1:]).sum((1, 2))
        return 1 + np.arange(n) - products
    return (3 if name == "beside_other_work" else 1) - a.sum(1, dtype="f8")


def test_initial_values() -> None:
    text = "@I.ir_module\nclass M:\n" + "".join(
        HEAD.format(name=name) + body + MAIN.format(name=name) for name, body in BODIES.items()
    )
    module = parse(text)
    again = parse(module.script())
    for executable in (rx.build(module), rx.build(again)):
        for n, m in ((100, 10), (100, 0), (3, 1), (3, 0), (0, 3), (0, 0), (5, 2)):
            a = np.random.default_rng(n + m).random((n, m)).astype("f4")
            for name in BODIES:
                got = np.from_dlpack(executable[f"call_{name}"](a))
                np.testing.assert_allclose(got, expected(name, a), rtol=1e-4, atol=1e-5, err_msg=f"{name} {n}x{m}")


def test_a_range_that_depends_on_the_reduction() -> None:
    body = """
        for k in range(m):
            for l in range(k):
                with T.block("b"):
                    vk, vl = T.axis.remap("RR", [k, l])
                    with T.init():
                        B[0] = T.float32(1)
                    B[0] = B[0] / A[vk, vl]
"""
    with pytest.raises(ScriptError, match=r"the range of the reduction depends on a loop around it.*in the place"):
        parse("@I.ir_module\nclass M:\n" + HEAD.format(name="k") + body)
