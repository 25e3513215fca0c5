"""Prim funcs in TVM's spelling: their results, and refused ones."""
# ruff: noqa: E501 - programs are quoted verbatim

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import RelaxError
from relax_mlir.script import parse

PRIM_PROGRAM = """
@I.ir_module
class Module:
    {prim}

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), s: R.Prim("float32"), k: R.Prim("int64")) -> R.Tensor(("n", 4), "float32"):
        return R.call_tir(cls.f, ({args}), out_ty=R.Tensor((n, 4), "float32"))
"""
NUMERIC = {
    "scalars": (
        '@T.prim_func\n    def f(A: T.Buffer(("n", 4), "float32"), s: T.float32, B: T.Buffer(("n", 4), "float32")):\n'
        "        for i, j in T.grid(n, 4):\n            B[i, j] = A[i, j] * s + s",
        "x, s",
        lambda x, s, k: x * s + s,
    ),
    "scalars in blocks": (
        '@T.prim_func\n    def f(A: T.Buffer(("n", 4), "float32"), s: T.float32, B: T.Buffer(("n", 4), "float32")):\n'
        '        for i, j in T.grid(n, 4):\n            with T.sblock("b"):\n'
        '                vi, vj = T.axis.remap("SS", [i, j])\n                B[vi, vj] = A[vi, vj] * s',
        "x, s",
        lambda x, s, k: x * s,
    ),
    "integers between": (
        '@T.prim_func\n    def f(A: T.Buffer(("n", 4), "float32"), k: T.int64, B: T.Buffer(("n", 4), "float32")):\n'
        "        for i, j in T.grid(n, 4):\n            B[i, j] = A[i, (j + k) % 4]",
        "x, k",
        lambda x, s, k: np.roll(x, -k, 1),
    ),
    "root block": (
        '@T.prim_func(s_tir=True)\n    def f(A: T.Buffer(("n", T.int64(4)), "float32"), B: T.Buffer(("n", T.int64(4)), "float32")):\n'
        '        with T.sblock("root"):\n            T.reads()\n            T.writes()\n'
        '            C = T.sblock_alloc_buffer((n, T.int64(4)), dtype="float32", scope="local", align=64)\n'
        "            for at in T.grid(n, T.int64(4)):\n"
        '                with T.sblock("c"):\n                    vi, vj = T.axis.remap("SS", at)\n'
        "                    C[vi, vj] = A[vi, vj] + T.float32(1)\n"
        "            for i, j in T.grid(n, T.int64(4)):\n"
        '                with T.sblock("b"):\n                    vi, vj = T.axis.remap("SS", [i, j])\n'
        '                    T.sblock_attr({"a": 1})\n                    B[vi, vj] = C[vi, vj] * C[vi, vj]',
        "x",
        lambda x, s, k: (x + 1) ** 2,
    ),
    "lets": (
        "@T.prim_func\n    def f(a: T.handle, b: T.handle):\n        n = T.int64()\n"
        '        A = T.match_buffer(a, (n, 4), "float32", offset_factor=1, elem_offset=T.int64(0))\n'
        '        B = T.match_buffer(b, [n, 4], dtype="float32")\n'
        "        for i in T.serial(n):\n            first: T.let[T.float32] = A[i, 0]\n"
        "            for j in T.serial(0, 4):\n                B[i, j] = first - A[i, j]",
        "x",
        lambda x, s, k: x[:, :1] - x,
    ),
    "sizes of buffers": (
        '@T.prim_func\n    def f(A: T.Buffer(("n", 4), "float32"), b: T.handle):\n'
        '        B = T.match_buffer(b, ("n", 4), "float32")\n'
        '        for i, j in T.grid(*A.shape):\n            B[i, j] = A[i, j] + T.exp(A[i, j] - A[i, j], dtype="float32")\n'
        "        for i in T.serial(B.shape[0]):\n            B[i, B.shape[1] - 1] = T.float32(T.meta_var(7))",
        "x",
        lambda x, s, k: np.concatenate([x[:, :3] + 1, np.full((len(x), 1), 7)], 1),
    ),
    "axes in the head": (
        '@T.prim_func\n    def f(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32")):\n'
        "        with T.block([n, 4]) as [i, j]:\n            B[i, j] = A[i, j] + 3.0",
        "x",
        lambda x, s, k: x + 3,
    ),
    "axes without brackets": (
        '@T.prim_func\n    def f(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32")):\n'
        '        with T.block(n, 4, "b") as i, j:\n            B[i, j] = A[i, 3 - j]',
        "x",
        lambda x, s, k: x[:, ::-1],
    ),
    "a grid as a block": (
        '@T.prim_func\n    def f(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32")):\n'
        "        with T.grid(n) as i:\n            with T.grid(4) as j:\n                B[i, j] = A[i, j] * A[i, j]",
        "x",
        lambda x, s, k: x * x,
    ),
    "copy of a local buffer": (
        '@T.prim_func\n    def f(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32")):\n'
        "        C = T.sblock_alloc_buffer(A.shape)\n"
        "        for iters in T.grid(*A.shape):\n"
        '            with T.sblock("c"):\n                i, j = T.axis.remap("SS", iters)\n'
        "                C[i, j] = A[i, j] * T.float32(2)\n"
        "        for i0, i1 in T.grid(n, 4):\n"
        '            with T.sblock("b"):\n                i, j = T.axis.remap("SS", [i0, i1])\n'
        "                B[i, j] = C[i, j]",
        "x",
        lambda x, s, k: x * 2,
    ),
    "threads and pragmas": (
        '@T.prim_func\n    def f(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32")):\n'
        '        T.attr(0, "pragma_scope", "seq")\n'
        '        with T.attr(0, "pragma_auto_unroll_max_step", 16):\n'
        '            for i in T.thread_binding(n, thread="blockIdx.x"):\n'
        '                for j in T.thread_binding(0, 4, thread="threadIdx.x"):\n'
        '                    with T.sblock("b"):\n'
        "                        vi = T.axis.spatial(n, i)\n                        vj = T.axis.spatial(4, T.Div(j * 3, 3))\n"
        "                        B[vi, vj] = A[vi, vj] + T.float32(1)",
        "x",
        lambda x, s, k: x + 1,
    ),
    "axes that reduce": (
        '@T.prim_func\n    def f(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32")):\n'
        "        with T.block([n, 4, T.reduce_axis(0, 4)]) as [i, j, r]:\n"
        "            with T.init():\n                B[i, j] = 0.0\n            B[i, j] = B[i, j] + A[i, r]",
        "x",
        lambda x, s, k: np.repeat(x.sum(1, keepdims=True), 4, 1),
    ),
}


@pytest.fixture(scope="module")
def built() -> dict[str, rx.Executable]:
    return {
        name: rx.build(parse(PRIM_PROGRAM.format(prim=prim, args=args + ",")))
        for name, (prim, args, _) in NUMERIC.items()
    }


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_prim_funcs(name: str, rows: int, built: dict[str, rx.Executable]) -> None:
    x = np.random.default_rng(1).standard_normal((rows, 4)).astype("float32")
    found = np.from_dlpack(built[name]["main"](x, np.array(1.5, "float32"), 3))
    np.testing.assert_allclose(found, NUMERIC[name][2](x, np.float32(1.5), 3), rtol=1e-6, atol=1e-6)


REFUSED_PRIMS = {
    "        with T.block([n]) as [i, j]:\n            B[i, j] = 0.0": "a block with 1 axes has 2 variables",
    "        with T.block([n, T.reduce_axis(1, 4)]) as [i, j]:\n            B[i, j] = 0.0": "an axis of a block begins at 0",
    "        with T.attr(n) as i:\n            B[i, 0] = 0.0": "only T.block and T.grid have variables",
    "        with T.block([n, 4]) as [i, B[0, 0]]:\n            B[i, 0] = 0.0": "the variables of a block or a loop are names",
    "        for i in range(A.shape[2]):\n            B[i, 0] = 0.0": "`A.shape` has 2 entries, not one of number 2",
    '        B[0, 0] = T.exp(A[0, 0], dtype="float64")': "the result is float32, not float64",
    '        C = T.alloc_buffer((4,), "float32", strides=[2])\n        C[0] = 1.0': "a buffer takes a shape and a dtype, not 'strides'",
}


@pytest.mark.parametrize("body", REFUSED_PRIMS)
def test_refused_prim_funcs(body: str) -> None:
    head = '@T.prim_func\ndef f(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32")):\n'
    with pytest.raises(RelaxError) as caught:
        parse(head + body + "\n")
    assert REFUSED_PRIMS[body] in str(caught.value)
