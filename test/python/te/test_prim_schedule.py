"""`tir.Schedule`: the primitives on prim funcs, by the names of their blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te, tir
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, ScheduleError, ShapeError, UnknownNameError, UnsupportedError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

PRODUCT = """
@T.prim_func
def main(A: T.Buffer(("n", "k"), "float32"), B: T.Buffer(("k", "m"), "float32"), D: T.Buffer(("n", "m"), "float32")):
    C = T.alloc_buffer(("n", "m"), "float32")
    for i, j, r in T.grid(n, m, k):
        with T.block("product"):
            vi, vj, vr = T.axis.remap("SSR", [i, j, r])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]
    for i, j in T.grid(n, m):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""
SIZES = ((5, 7, 9), (1, 1, 1), (0, 3, 4), (3, 0, 4), (16, 8, 32), (17, 33, 40))


def check(module: rx.IRModule) -> None:
    """The prim func computes the product's positive part."""
    main = rx.build(module)["main"]
    for n, k, m in SIZES:
        rng = np.random.default_rng(n)
        a, b = rng.integers(-4, 5, (n, k)).astype("f4"), rng.integers(-4, 5, (k, m)).astype("f4")
        out = np.full((n, m), np.nan, "f4")
        main(a, b, out)
        np.testing.assert_array_equal(out, np.maximum(a @ b, 0))


def test_blocks_have_the_names_that_were_written() -> None:
    module = parse(PRODUCT)
    assert 'T.block("product")' in module.script()
    sch = tir.Schedule(module)
    assert sch.get_block("product").name == "product"
    with pytest.raises(UnknownNameError, match="unknown block 'prodct'; did you mean 'product'"):
        sch.get_block("prodct")
    with pytest.raises(UnknownNameError, match="unknown prim func 'f'; known: main"):
        sch.get_block("product", func_name="f")


def test_split_reorder_and_kinds() -> None:
    sch = tir.Schedule(parse(PRODUCT))
    block = sch.get_block("product")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, factors=[None, 8])
    j0, j1 = sch.split(j, factors=[None, 16])
    k0, k1 = sch.split(k, factors=[4, None])
    sch.reorder(i0, j0, k0, k1, i1, j1)
    sch.parallel(i0)
    sch.vectorize(j1)
    sch.unroll(i1)
    text = sch.mod.script()
    assert "T.parallel" in text
    assert "T.vectorized" in text
    check(sch.mod)
    assert 'T.block("product")' in parse(PRODUCT).script()


def test_cache_write_and_reverse_compute_at_as_in_tvm() -> None:
    """The loops stay with the computation; the copy, and its reader, follow inside."""
    sch = tir.Schedule(parse(PRODUCT))
    block, relu = sch.get_block("product"), sch.get_block("relu")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, factors=[None, 8])
    j0, j1 = sch.split(j, factors=[None, 16])
    sch.reorder(i0, j0, k, i1, j1)
    copy = sch.cache_write(block, 0, "local")
    assert copy.name == "product_local"
    sch.reverse_compute_at(copy, j0)
    sch.reverse_compute_at(relu, sch.get_loops(copy)[-1])
    assert [loop.name for loop in sch.get_loops(copy)] == ["i_outer", "i1_outer", "ax0", "ax1"]
    sch.vectorize(j1)
    check(sch.mod)


def test_compute_at_inline_and_cache_read() -> None:
    sch = tir.Schedule(parse(PRODUCT))
    block, relu = sch.get_block("product"), sch.get_block("relu")
    i, j = sch.get_loops(relu)
    i0, _ = sch.split(i, factors=[None, 4])
    j0, _ = sch.split(j, factors=[None, 4])
    sch.reorder(i0, j0)
    sch.compute_at(block, i0)
    panel = sch.cache_read(block, 1, "local")
    sch.compute_at(panel, sch.get_loops(block)[-1])
    check(sch.mod)
    module = te.create_prim_func(_chain())
    chain = tir.Schedule(module)
    chain.compute_inline(chain.get_block("twice"))
    x, out = np.arange(5, dtype="f4"), np.zeros(5, "f4")
    rx.build(chain.mod)["main"](x, out)
    np.testing.assert_array_equal(out, 2 * x + 1)
    assert "alloc_buffer" not in chain.mod.script()


def _chain() -> list[Any]:
    x = te.placeholder(("n",), name="x")
    twice = te.compute(("n",), lambda i: x[i] * 2.0, "twice")
    return [x, te.compute(("n",), lambda i: twice[i] + 1.0, "more")]


def test_rfactor_fuse_and_set_scope() -> None:
    sch = tir.Schedule(parse(PRODUCT))
    block = sch.get_block("product")
    _, _, k = sch.get_loops(block)
    _, inner = sch.split(k, factors=[None, 8])
    partial = sch.rfactor(inner, factor_axis=2)
    assert partial.name == "product_rf"
    i, j, *_ = sch.get_loops(sch.get_block("relu"))
    sch.compute_at(block, sch.fuse(i, j))
    sch.set_scope(block, 0, "local")
    check(sch.mod)


def test_loops_without_blocks_are_computations_too() -> None:
    """The lowered form of tensor expressions with accesses of sums: a convolution with padding."""
    n = te.var("n")
    x, w = te.placeholder((n,), name="x"), te.placeholder((3,), name="w")
    padded = te.compute((n + 2,), lambda i: te.if_then_else(te.all(i >= 1, i < n + 1), x[i - 1], 0.0), "padded")
    k = te.reduce_axis((0, 3), "k")
    conv = te.compute((n,), lambda i: te.sum(padded[i + k] * w[k], axis=k), "conv")
    sch = tir.Schedule(te.create_prim_func([x, w, conv]))
    (i, _) = sch.get_loops(sch.get_block("conv"))
    outer, _ = sch.split(i, factors=[None, 8])
    (other,) = [b for b in sch._function("main").blocks if b != "conv"]
    sch.compute_at(sch.get_block(other), outer)
    main = rx.build(sch.mod)["main"]
    for size in (0, 1, 7, 8, 30):
        given, weights = np.arange(size, dtype="f4"), np.array([1, 2, 3], "f4")
        out = np.zeros(size, "f4")
        main(given, weights, out)
        wide = np.pad(given, 1)
        np.testing.assert_array_equal(out, sum(weights[t] * wide[t : t + size] for t in range(3)))


def test_a_prim_func_that_relax_calls_stays_in_its_place() -> None:
    module = parse(
        "@I.ir_module\nclass M:\n"
        + "".join(f"    {line}\n" for line in PRODUCT.replace("def main(", "def f(").strip().splitlines())
        + '    @R.function\n    def main(x: R.Tensor(("n", "k"), "float32"), y: R.Tensor(("k", 5), "float32")):\n'
        + '        n = T.int64()\n        return R.call_tir(cls.f, (x, y), R.Tensor((n, 5), "float32"))\n'
    )
    sch = tir.Schedule(module)
    i, *_ = sch.get_loops(sch.get_block("relu", func_name="f"))
    sch.parallel(i)
    x, y = np.ones((3, 4), "f4"), np.ones((4, 5), "f4")
    found = rx.build(sch.mod)["main"](x, y)
    np.testing.assert_array_equal(to_numpy(found), x @ y)


def test_the_trace_is_python_and_repeats() -> None:
    sch = tir.Schedule(parse(PRODUCT))
    block = sch.get_block("product")
    i, _, _ = sch.get_loops(block)
    outer, _ = sch.split(i, factors=[None, 8])
    sch.parallel(outer)
    text = str(sch.trace)
    assert text == (
        "b0 = sch.get_block('product', func_name='main')\n"
        "l0, l1, l2 = sch.get_loops(b0)\n"
        "l3, l4 = sch.split(l0, factors=[None, 8])\n"
        "sch.parallel(l3)\n"
    )
    assert repr(sch) == text
    again, run = tir.Schedule(parse(PRODUCT)), tir.Schedule(parse(PRODUCT))
    sch.trace.apply(again)
    exec(text, {"sch": run})
    assert str(again.trace) == str(run.trace) == text
    assert again.trace == sch.trace
    assert_structural_equal(again.mod, sch.mod)
    assert_structural_equal(run.mod, sch.mod)


def test_what_is_refused() -> None:
    sch = tir.Schedule(parse(PRODUCT))
    block, relu = sch.get_block("product"), sch.get_block("relu")
    i, j, k = sch.get_loops(block)
    with pytest.raises(ScheduleError, match=r"it is the loop of a reduction"):
        sch.vectorize(k)
    with pytest.raises(ScheduleError, match=r"there are no GPUs"):
        sch.bind(i, "threadIdx.x")
    with pytest.raises(ScheduleError, match="give two factors or more, of which one may be None"):
        sch.split(i, factors=[None, None])
    with pytest.raises(
        ScheduleError, match="the product 32 is not known to reach the length n: let one factor be None"
    ):
        sch.split(i, factors=[4, 8])
    with pytest.raises(ScheduleError, match="i3 is a loop of D, and i one of product"):
        sch.fuse(i, sch.get_loops(relu)[0])
    with pytest.raises(ScheduleError, match="it is a reduction, which is no expression"):
        sch.compute_inline(block)
    with pytest.raises(ScheduleError, match="the loop i2 is inside the reduction"):
        sch.reverse_compute_at(relu, k)
        sch.mod  # noqa: B018 - the loops are made here
    with pytest.raises(ArgumentError, match=r"sch.parallel: 3.5 .float. is no block or loop"):
        sch.parallel(3.5)  # type: ignore[arg-type]  # tested here
    with pytest.raises(ArgumentError, match="buffer 2 of block 'product', which reads 2"):
        sch.cache_read(block, 2, "local")
    assert j.name == "i1"


def test_what_is_no_sequence_of_computations() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(n):
        if A[i] > T.float32(0):
            B[i] = A[i]
"""
    with pytest.raises(UnsupportedError, match="prim func 'main' is no sequence of loop nests that fill buffers"):
        tir.Schedule(parse(source)).get_block("B")


UPDATE = """
@T.prim_func
def update(A: T.Buffer((8, "k"), "float32"), B: T.Buffer(("k", 16), "float32"), C: T.Buffer((8, 16), "float32")):
    for i, j, r in T.grid(8, 16, k):
        with T.block("update"):
            vi, vj, vr = T.axis.remap("SSR", [i, j, r])
            C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]
"""
WRITTEN = """
@T.prim_func
def tile(A: T.Buffer((8, "k"), "float32"), B: T.Buffer(("k", 16), "float32"), C: T.Buffer((8, 16), "float32")):
    for r in range(k):
        for i in T.unroll(8):
            for j in T.vectorized(16):
                C[i, j] += A[i, r] * B[r, j]
"""


def test_tensorize_by_the_name_of_an_intrinsic() -> None:
    tir.TensorIntrin.register("tile_8x16", parse(UPDATE), parse(WRITTEN), override=True)
    sch = tir.Schedule(parse(PRODUCT))
    block = sch.get_block("product")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, factors=[None, 8])
    j0, j1 = sch.split(j, factors=[None, 16])
    k0, k1 = sch.split(k, factors=[None, 4])
    sch.reorder(i0, j0, k0, i1, j1, k1)
    sch.tensorize(i1, "tile_8x16")
    assert str(sch.trace).splitlines()[-1] == "sch.tensorize(l4, 'tile_8x16')"
    check(sch.mod)
    again = tir.Schedule(parse(PRODUCT))
    sch.trace.apply(again)
    assert_structural_equal(again.mod, sch.mod)
    rows = tir.Schedule(parse(PRODUCT))
    block = rows.get_block("product")
    i, j, k = rows.get_loops(block)
    rows.reorder(i, k, j)
    rows.tensorize(j, "axpy_float32")
    check(rows.mod)
    whole = tir.Schedule(parse(PRODUCT.replace('"n"', "8").replace('"m"', "16").replace("n, m", "8, 16")))
    whole.tensorize(whole.get_block("product"), "tile_8x16")
    assert "T.unroll(8)" in whole.mod.script()


def test_intrinsics_of_prim_funcs_that_do_not_fit() -> None:
    tir.TensorIntrin.register("tile_8x16", parse(UPDATE), parse(WRITTEN), override=True)
    with pytest.raises(ArgumentError, match="there is an intrinsic 'tile_8x16' already"):
        tir.TensorIntrin.register("tile_8x16", parse(UPDATE), parse(WRITTEN))
    with pytest.raises(ArgumentError, match="'desc' has 2 loop nests, and an intrinsic is one"):
        tir.TensorIntrin.register("two", parse(PRODUCT), parse(PRODUCT))
    with pytest.raises(ShapeError, match=r"its update: 'A' has shape \(4, k\), and A \(8, k\)"):
        tir.TensorIntrin.register("other", parse(UPDATE), parse(WRITTEN.replace("8", "4")))
    with pytest.raises(ArgumentError, match=r"'desc' is 3 .int., expected a prim func"):
        tir.TensorIntrin.register("three", 3, parse(WRITTEN))  # type: ignore[arg-type]  # tested here
    assert tir.TensorIntrin.get("tile_9x9", allow_missing=True) is None
    with pytest.raises(UnknownNameError, match=r"unknown tensor intrinsic 'tile_8x17'; did you mean 'tile_8x16'"):
        tir.TensorIntrin.get("tile_8x17")
    sch = tir.Schedule(parse(PRODUCT))
    block = sch.get_block("product")
    i, *_ = sch.get_loops(block)
    with pytest.raises(ScheduleError, match=r"s\[product\].tensorize\(i, 'dot_float32'\)|has no form"):
        sch.tensorize(i, "dot_float32")
        sch.mod  # noqa: B018 - the loops are made here
