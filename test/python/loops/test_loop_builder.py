"""LoopBuilder emits what the reader of prim funcs emits for the same statements."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from relax_mlir import te
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.ir_module import IRModule
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer
from relax_mlir.script import parse
from relax_mlir.te.tensors import LoopOp

N, M = te.var("n"), te.var("m")
HEAD = '@T.prim_func\ndef main(x: T.Buffer(("n", "m"), "float32"), out: T.Buffer(("n", "m"), "float32")):\n'


def built(body: Callable[[LoopBuilder, Buffer, Buffer], None]) -> IRModule:
    x = te.placeholder((N, M), name="x")
    return te.create_prim_func([x, *LoopOp([x], [(N, M)], ["float32"], body, "out").outputs])


def check(body: Callable[[LoopBuilder, Buffer, Buffer], None], text: str) -> None:
    assert_structural_equal(built(body), parse(HEAD + text))


def test_loops_and_elements() -> None:
    def body(b: LoopBuilder, x: Buffer, out: Buffer) -> None:
        with b.loop(N, kind="parallel") as i, b.loop(1, M, kind="vectorized") as j:
            out[i, j] = b.call("exp", -x[i, j - 1]) * 2.0 + b.min(x[i, 0], 1.0)
        with b.grid((N, M)) as at:
            out[at] = out[at] / 3.0

    check(
        body,
        """
    for i in T.parallel(n):
        for j in T.vectorized(1, m):
            out[i, j] = T.exp(-x[i, j - 1]) * 2.0 + T.min(x[i, 0], 1.0)
    for i, j in T.grid(n, m):
        out[i, j] = out[i, j] / 3.0
""",
    )


def test_branches_and_memory() -> None:
    def body(b: LoopBuilder, x: Buffer, out: Buffer) -> None:
        count = b.alloc((N,), "uint8", "count")
        with b.loop(N) as i:
            count[i] = 0
            with b.repeat(lambda: count[i] < 3):
                count[i] = count[i] + 1
            with b.when(b.both(i > 1, lambda: x[i - 2, 0] == 1.0)):
                out[i, i] = b.choose(i < 4, lambda: x[i, 0], lambda: 0.0)
            with b.otherwise():
                out[i, i] = count[i].astype("float32")

    check(
        body,
        """
    count = T.alloc_buffer(("n",), "uint8")
    for i in range(n):
        count[i] = 0
        while count[i] < 3:
            count[i] = count[i] + 1
        if i > 1 and x[i - 2, 0] == 1.0:
            out[i, i] = T.if_then_else(i < 4, x[i, 0], 0.0)
        else:
            out[i, i] = T.float32(count[i])
""",
    )


def test_sizes_and_bits() -> None:
    def body(b: LoopBuilder, x: Buffer, out: Buffer) -> None:
        with b.loop(te.floordiv(N + 3, 4)) as i:
            size = b.size(N - M)
            bits = x[i % size, (0,)].bits("int32")
            out[i, i] = b.select((bits > 0) | (i == size), b.const(1, "float32"), 0.0)

    check(
        body,
        """
    for i in range((n + 3) // 4):
        size = n - m
        bits = T.reinterpret("int32", x[i % size, 0])
        out[i, i] = T.Select((bits > 0) or (i == size), T.float32(1), 0.0)
""",
    )


def test_errors() -> None:
    def refused(body: Callable[[LoopBuilder, Buffer, Buffer], object], error: type[Exception]) -> str:
        with pytest.raises(error) as found:
            built(lambda b, x, out: (body(b, x, out), None)[1])
        return str(found.value)

    assert "no `when` just before it" in refused(lambda b, x, out: b.otherwise().__enter__(), ArgumentError)
    assert "known at run time" in refused(lambda b, x, out: bool(x[0, 0] > 1.0), ArgumentError)
    assert "write x[i, j]" in refused(lambda b, x, out: x[0], ShapeError)
    assert "expected bool" in refused(lambda b, x, out: b.when(x[0, 0]).__enter__(), DTypeError)
    assert "the literal 1.5" in refused(lambda b, x, out: x[1.5, 0], DTypeError)
    assert "'out' holds float32" in refused(lambda b, x, out: out.__setitem__((0, 0), b.size(N)), DTypeError)
    assert "is a buffer" in refused(lambda b, x, out: list(x), ArgumentError)
