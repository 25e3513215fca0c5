"""`tir.Schedule` on reductions of several values, in any form, and on nests that fill several buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import tir
from relax_mlir.error import ScheduleError, UnsupportedError
from relax_mlir.script import parse

FREE = 'b[vi] > x[vi, vr] or (b[vi] == x[vi, vr] and a[vi] < T.cast(vr, "int32"))'
ARGMAX = """
@T.prim_func
def main(x: T.Buffer(("n", "k"), "float32"), a: T.Buffer(("n",), "int32"), b: T.Buffer(("n",), "float32")):
    for i, r in T.grid(n, k):
        with T.block("argmax"):
            vi, vr = T.axis.remap("SR", [i, r])
            with T.init():
                a[vi] = -1
                b[vi] = T.min_value("float32")
            p = T.Select(TEST, a[vi], T.cast(vr, "int32"))
            q = T.Select(TEST, b[vi], x[vi, vr])
            a[vi] = p
            b[vi] = q
"""
SIZES = ((0, 3), (3, 0), (1, 1), (5, 7), (9, 40))


def argmax(test: str) -> tuple[Any, Any, Any, Any]:
    """A schedule, and the block with its loops."""
    sch = tir.Schedule(parse(ARGMAX.replace("TEST", test)))
    block = sch.get_block("argmax")
    i, r = sch.get_loops(block)
    return sch, block, i, r


def check_argmax(module: rx.IRModule) -> None:
    """The index of the first maximum."""
    main = rx.build(module)["main"]
    for n, k in SIZES:
        x = np.random.default_rng(n).integers(-3, 4, (n, k)).astype("f4")
        a, b = np.full(n, 7, "i4"), np.full(n, 7, "f4")
        main(x, a, b)
        np.testing.assert_array_equal(a, x.argmax(1) if k else -1)
        np.testing.assert_array_equal(b, x.max(1, initial=np.finfo("f4").min))


def test_a_reduction_whose_order_is_proved_not_to_count() -> None:
    sch, block, i, r = argmax(FREE)
    assert block.name == "argmax"
    assert sch.get_block("b").stage is block.stage
    outer, inner = sch.split(r, factors=[None, 4])
    sch.reorder(inner, outer)
    i0, i1 = sch.split(i, factors=[None, 3])
    sch.reorder(i0, inner, i1)
    sch.parallel(i0)
    check_argmax(sch.mod)
    sch, block, i, r = argmax(FREE)
    _, inner = sch.split(r, factors=[None, 4])
    partial = sch.rfactor(inner)
    sch.vectorize(sch.get_loops(partial)[0])
    check_argmax(sch.mod)


def test_a_reduction_whose_order_counts_keeps_it() -> None:
    """Among equal elements, the first one is chosen."""
    sch, _, i, r = argmax("b[vi] >= x[vi, vr]")
    outer, inner = sch.split(r, factors=[None, 4])
    before = str(sch.trace)
    message = "the reduction of argmax would combine elements in another order, and it is not proved that its result"
    with pytest.raises(ScheduleError, match=message):
        sch.reorder(inner, outer)
    with pytest.raises(ScheduleError, match=message):
        sch.rfactor(inner)
    assert str(sch.trace) == before
    i0, i1 = sch.split(i, factors=[None, 3])
    sch.reorder(i0, outer, i1, inner)
    sch.unroll(i1)
    check_argmax(sch.mod)


def test_the_last_of_equal_elements() -> None:
    sch, _, _, r = argmax("b[vi] > x[vi, vr]")
    sch.split(r, factors=[4, None])
    main = rx.build(sch.mod)["main"]
    x, a, b = np.array([[1, 3, 3, 2]], "f4"), np.zeros(1, "i4"), np.zeros(1, "f4")
    main(x, a, b)
    assert (a[0], b[0]) == (2, 3)


CONVOLUTION = """
@T.prim_func
def main(x: T.Buffer(("n", "m + 2"), "float32"), w: T.Buffer((3,), "float32"), y: T.Buffer(("n", "m"), "float32")):
    for i, j, r in T.grid(n, m, 3):
        with T.block("conv"):
            vi, vj, vr = T.axis.remap("SSR", [i, j, r])
            with T.init():
                y[vi, vj] = T.float32(0)
            y[vi, vj] = y[vi, vj] + x[vi, vj + vr] * w[vr]
"""


def test_blocks_whose_accesses_are_sums() -> None:
    """Such blocks are loops on memrefs, which keep their names, and are initialised in the first iteration."""
    sch = tir.Schedule(parse(CONVOLUTION))
    block = sch.get_block("conv")
    i, j, r = sch.get_loops(block)
    assert [loop.name for loop in (i, j, r)] == ["i", "i1", "i2"]
    j0, j1 = sch.split(j, factors=[None, 8])
    sch.reorder(i, j0, r, j1)
    sch.vectorize(j1)
    sch.parallel(i)
    main = rx.build(sch.mod)["main"]
    for n, m in ((0, 3), (2, 0), (1, 1), (3, 19)):
        x, w = np.random.default_rng(m).integers(-4, 5, (n, m + 2)).astype("f4"), np.array([1, 2, 3], "f4")
        y = np.full((n, m), np.nan, "f4")
        main(x, w, y)
        np.testing.assert_array_equal(y, sum(w[t] * x[:, t : t + m] for t in range(3)))


def test_loops_stand_in_the_order_that_is_written() -> None:
    sch = tir.Schedule(parse(CONVOLUTION.replace("for i, j, r in T.grid(n, m, 3)", "for r, i, j in T.grid(3, n, m)")))
    kinds = [loop.axis.iter_type for loop in sch.get_loops(sch.get_block("conv"))]
    assert kinds == ["reduction", "data-parallel", "data-parallel"]


SEVERAL = """
@T.prim_func
def main(x: T.Buffer(("n", "k"), "float32"), s: T.Buffer(("n",), "float32"), c: T.Buffer(("n",), "float32")):
    for i in range(n):
        s[i] = T.float32(1)
        c[i] = T.float32(0)
    for i, r in T.grid(n, k):
        with T.block("both"):
            vi, vr = T.axis.remap("SR", [i, r])
            s[vi] = s[vi] * T.float32(2) - x[vi, vr]
            c[vi] = c[vi] + T.float32(1)
"""


def test_a_recurrence_and_a_count() -> None:
    sch = tir.Schedule(parse(SEVERAL))
    block = sch.get_block("both")
    i, r = sch.get_loops(block)
    outer, inner = sch.split(r, factors=[None, 3])
    i0, i1 = sch.split(i, factors=[None, 2])
    sch.reorder(i0, outer, i1, inner)
    with pytest.raises(ScheduleError, match="in another order"):
        sch.reorder(inner, outer)
    main = rx.build(sch.mod)["main"]
    for n, k in ((0, 1), (1, 0), (3, 7)):
        x = np.random.default_rng(k).integers(-4, 5, (n, k)).astype("f4")
        s, c, expected = np.full(n, np.nan, "f4"), np.full(n, np.nan, "f4"), np.ones(n, "f4")
        for column in x.T:
            expected = expected * 2 - column
        main(x, s, c)
        np.testing.assert_array_equal(s, expected)
        np.testing.assert_array_equal(c, np.full(n, k, "f4"))


def test_one_nest_that_fills_two_buffers() -> None:
    sch = tir.Schedule(
        parse("""
@T.prim_func
def main(x: T.Buffer(("n",), "float32"), y: T.Buffer(("n",), "float32"), z: T.Buffer(("n",), "float32")):
    for i in range(n):
        y[i] = x[i] * T.float32(2)
        z[i] = y[i] + x[i]
""")
    )
    (i,) = sch.get_loops(sch.get_block("z"))
    _, inner = sch.split(i, factors=[None, 8])
    sch.vectorize(inner)
    main = rx.build(sch.mod)["main"]
    for n in (0, 1, 8, 21):
        x, y, z = np.arange(n, dtype="f4"), np.zeros(n, "f4"), np.zeros(n, "f4")
        main(x, y, z)
        np.testing.assert_array_equal(y, 2 * x)
        np.testing.assert_array_equal(z, 3 * x)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "    for i, r in T.grid(n, k):\n        if r == 0:\n            y[i] = T.float32(0)\n"
            "        y[i] += x[i, r]\n",
            "elements stay what they are where the loop i1 has no iterations",
        ),
        (
            "    for i, r in T.grid(n, k):\n        if r == 1:\n            y[i] = T.float32(0)\n"
            "        y[i] += x[i, r]\n",
            "is a condition, which is no beginning of a reduction",
        ),
        (
            "    if k <= 0:\n        for i in range(n):\n            y[i] = T.float32(1)\n"
            "    for i, r in T.grid(n, k):\n        if r == 0:\n            y[i] = T.float32(0)\n"
            "        y[i] += x[i, r]\n",
            "is a condition, which is no beginning of a reduction",
        ),
        (
            "    for i in range(n):\n        y[i] = T.float32(0)\n"
            "    for i, r in T.grid(n, k):\n        y[i] = y[i] * x[i, r] + x[0, r]\n",
            "y is combined with 2 elements at a time: `x.i1, i2.`, `x.0, i2.`",
        ),
        (
            "    if k <= 0:\n        for i in range(n):\n            y[i] = T.float32(0)\n"
            "    for i, r in T.grid(n, k):\n        if r == 0:\n            y[0] = T.float32(0)\n"
            "        y[i] += x[i, r]\n",
            r"`scf.if` at .*:7:9 is a condition, which is no beginning of a reduction",
        ),
        (
            "    if k <= 0:\n        for i in range(1):\n            y[i] = T.float32(0)\n"
            "    for i, r in T.grid(n, k):\n        if r == 0:\n            y[i] = T.float32(0)\n"
            "        y[i] += x[i, r]\n",
            "the loop i has another length than the dimension of 'y' that it runs along",
        ),
        (
            "    for i in T.parallel(1, n):\n        y[i] = x[i, 0]\n",
            "a loop does not begin at 0",
        ),
        (
            "    for i in range(n):\n        y[i] = x[i, 0]\n        assert i >= 0, 'i'\n",
            r"`cf.assert` at .*:5:9 stores no element",
        ),
        (
            "    for i in range(n):\n        y[i] = x[i, 0]\n    for i, r in T.grid(n, k):\n"
            "        y[i] = y[i] * T.float32(2) - x[i, r]\n",
            "the initial values of the reduction 'y' differ by element",
        ),
        (
            "    for i, r in T.grid(n, k):\n        y[i] = y[i] - x[i, r]\n",
            "nothing says what the reduction 'y' begins with",
        ),
    ],
)
def test_what_is_no_reduction(body: str, reason: str) -> None:
    source = '@T.prim_func\ndef main(x: T.Buffer(("n", "k"), "float32"), y: T.Buffer(("n",), "float32")):\n' + body
    with pytest.raises(UnsupportedError, match=reason):
        tir.Schedule(parse(source)).get_block("y")


def test_initial_values_from_an_input() -> None:
    """They belong to the axes of the reduction, whose loops have other variables."""
    sch = tir.Schedule(
        parse("""
@T.prim_func
def main(x: T.Buffer(("n", "k"), "float32"), b: T.Buffer(("n",), "float32"), y: T.Buffer(("n",), "float32")):
    for i in range(n):
        y[i] = b[i]
    for i, r in T.grid(n, k):
        y[i] += x[i, r]
""")
    )
    (_, r) = sch.get_loops(sch.get_block("y"))
    sch.split(r, factors=[None, 4])
    main = rx.build(sch.mod)["main"]
    for n, k in SIZES:
        x, b, y = np.ones((n, k), "f4"), np.arange(n, dtype="f4"), np.zeros(n, "f4")
        main(x, b, y)
        np.testing.assert_array_equal(y, b + k)


def test_infinities_indirect_indices_and_loads_between_loops() -> None:
    sch = tir.Schedule(
        parse("""
@T.prim_func
def main(x: T.Buffer(("n", "k"), "float32"), rows: T.Buffer(("m",), "int32"), y: T.Buffer(("m", "k"), "float32")):
    top = T.alloc_buffer(("k",), "float32")
    for j, i in T.grid(k, n):
        with T.block("top"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                top[vj] = T.float32("-inf")
            top[vj] = T.max(top[vj], x[vi, vj])
    for i in range(m):
        row = T.index(rows[i]) + 1
        for j in range(k):
            y[i, j] = x[row, j] - top[j]
""")
    )
    (name,) = [name for name in sch._function("main").blocks if name != "y"]
    sch.compute_at(sch.get_block(name), sch.get_loops(sch.get_block("y"))[-1])
    main = rx.build(sch.mod)["main"]
    for n, k in ((1, 3), (5, 4)):
        x = np.random.default_rng(n).integers(-9, 9, (n, k)).astype("f4")
        rows = np.arange(n, dtype="i4") - 1
        y = np.zeros((n, k), "f4")
        main(x, rows, y)
        np.testing.assert_array_equal(y, x - x.max(0))
