"""`tensorize`: intrinsics in place of loops compute the same as the loops, at all sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.script import parse

Array = np.ndarray[Any, Any]
SIZES = (
    (0, 3, 4),
    (3, 0, 4),
    (2, 3, 0),
    (1, 1, 1),
    (8, 5, 32),
    (9, 16, 33),
    (30, 7, 41),
    (16, 64, 64),
    (64, 65, 70),
)
"""Rows, depth, columns."""
N, M, K = te.var("n"), te.var("m"), te.var("k")


@dataclass
class Case:
    """A schedule of tensors of the sizes n, k, m, and its NumPy reference."""

    schedule: Any
    tensors: list[Any]
    reference: Callable[..., Any]


def product(dtype: str = "float32", batch: tuple[Any, ...] = ()) -> tuple[Any, Any, Any]:
    a, b = te.placeholder((*batch, N, K), dtype, "A"), te.placeholder((*batch, K, M), dtype, "B")
    r = te.reduce_axis((0, K), "r")
    c = te.compute((*batch, N, M), lambda *i: te.sum(a[(*i[:-1], r)] * b[(*i[:-2], r, i[-1])], axis=r), "C")
    return a, b, c


def tiled(dtype: str, rows: int, columns: int, depth: int | None = None) -> Case:
    """A matmul with accumulators in a separate buffer."""
    a, b, c = product(dtype)
    s = te.create_schedule(c.op)
    sums = s.cache_write(c, "local")
    _, j_outer, _, j_inner = s[c].tile(*c.op.axis, rows, columns)
    s[c].vectorize(j_inner)
    s[sums].compute_at(s[c], j_outer)
    i, j = s[sums].op.axis
    (r,) = s[sums].op.reduce_axis
    first = r
    if depth is not None:
        outer, first = s[sums].split(r, factor=depth)
        s[sums].reorder(outer, first, i, j)
    else:
        s[sums].reorder(r, i, j)
    s[sums].unroll(i)
    s[sums].vectorize(j)
    s[sums].tensorize(first, te.intrin.gemm(dtype, rows, columns))
    return Case(s, [a, b, c], lambda x, y: x @ y)


def in_place() -> Case:
    """The tile of the output itself, with split depth and the tile loops innermost."""
    a, b, c = product()
    s = te.create_schedule(c.op)
    i_outer, j_outer, i, j = s[c].tile(*c.op.axis, 8, 32)
    outer, r = s[c].split(s[c].op.reduce_axis[0], factor=16)
    s[c].reorder(i_outer, outer, j_outer, i, j, r)
    s[c].parallel(i_outer)
    s[c].tensorize(i, "gemm_float32_8x32")
    return Case(s, [a, b, c], lambda x, y: x @ y)


def batched() -> Case:
    """One matrix of a batch; the tile is in the last dimensions."""
    a, b, c = product("float64", (3,))
    s = te.create_schedule(c.op)
    _, i, j = c.op.axis
    _, _, i_inner, _ = s[c].tile(i, j, 4, 8)
    s[c].tensorize(i_inner, te.intrin.gemm("float64", 4, 8))
    return Case(s, [a, b, c], lambda x, y: x @ y)


def of_parts() -> Case:
    """B copied into panels, a block of A, and a reader of the result."""
    a, b, c = product()
    d = te.compute((N, M), lambda i, j: te.maximum(c[i, j], 1.0), "D")
    s = te.create_schedule(d.op)
    _, j_outer, _, j_inner = s[d].tile(*d.op.axis, 8, 32)
    s[d].vectorize(j_inner)
    s[c].compute_at(s[d], j_outer)
    s[c].set_scope("local")
    i, j = c.op.axis
    (r,) = c.op.reduce_axis
    outer, inner = s[c].split(r, factor=8)
    s[c].reorder(outer, i, j, inner)
    panel = s.cache_read(b, "local", [c])
    block = s.cache_read(a, "local", [c])
    s[panel].compute_at(s[c], outer)
    s[block].compute_at(s[c], outer)
    s[c].tensorize(i, te.intrin.gemm(rows=8, columns=32))
    return Case(s, [a, b, d], lambda x, y: np.maximum(x @ y, 1))


def with_init() -> Case:
    """A reduction whose initial value differs from that of the intrinsic."""
    a, b = te.placeholder((N, K), name="A"), te.placeholder((K, M), name="B")
    r = te.reduce_axis((0, K), "r")
    c = te.compute((N, M), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r, init=2.0), "C")
    s = te.create_schedule(c.op)
    _, _, i, _ = s[c].tile(*c.op.axis, 8, 32)
    s[c].tensorize(i, "gemm_float32_8x32")
    return Case(s, [a, b, c], lambda x, y: x @ y + 2)


def swapped() -> Case:
    """The operands exchanged, and a matmul of one row."""
    a, b = te.placeholder((N, K), name="A"), te.placeholder((K, M), name="B")
    r = te.reduce_axis((0, K), "r")
    c = te.compute((N, M), lambda i, j: te.sum(b[r, j] * a[i, r], axis=r), "C")
    s = te.create_schedule(c.op)
    _, j = c.op.axis
    _, j_inner = s[c].split(j, factor=32)
    s[c].tensorize(j_inner, "gemm_float32_1x32")
    return Case(s, [a, b, c], lambda x, y: x @ y)


def dots(dtype: str) -> Case:
    a, b = te.placeholder((N, K), dtype, "A"), te.placeholder((M, K), dtype, "B")
    r = te.reduce_axis((0, K), "r")
    c = te.compute((N, M), lambda i, j: te.sum(a[i, r] * b[j, r], axis=r), "C")
    s = te.create_schedule(c.op)
    s[c].tensorize(r, te.intrin.dot(dtype))
    return Case(s, [a, b, c], lambda x, y: x @ y.T)


def split_dots() -> Case:
    """A dot product in parts, which the intrinsic accumulates."""
    a, b = te.placeholder((N, K), name="A"), te.placeholder((M, K), name="B")
    r = te.reduce_axis((0, K), "r")
    c = te.compute((N, M), lambda i, j: te.sum(a[i, r] * b[j, r], axis=r), "C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(r, factor=50)
    s[c].reorder(outer, *c.op.axis, inner)
    s[c].tensorize(inner, "dot_float32")
    return Case(s, [a, b, c], lambda x, y: x @ y.T)


def rows(dtype: str) -> Case:
    """Multiples of rows of B added to a row of C, of any length."""
    a, b, c = product(dtype)
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    s[c].reorder(i, *c.op.reduce_axis, j)
    s[c].tensorize(j, te.intrin.axpy(dtype))
    return Case(s, [a, b, c], lambda x, y: x @ y)


def elementwise() -> Case:
    x = te.placeholder((16,), name="x")
    y = te.compute((16,), lambda i: te.maximum(x[i], 0.0) + 1.0, "y")
    relu = te.decl_tensor_intrin(
        y.op,
        parse("""
@T.prim_func
def relu(x: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")):
    for i in T.vectorized(16):
        y[i] = T.max(T.float32(0), x[i]) + T.float32(1)
"""),
        "relu_16",
    )
    a = te.placeholder((N, K), name="A")
    first = te.compute((N, K), lambda i, j: a[i, j] * 2.0, "first")
    c = te.compute((N, K), lambda i, j: te.maximum(0.0, first[i, j]) + 1.0, "C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[1], factor=16)
    s[first].compute_at(s[c], outer)
    s[c].tensorize(inner, relu)
    return Case(s, [a, c], lambda x: np.maximum(x * 2, 0) + 1)


def neighbours() -> Case:
    """An intrinsic whose accesses have several offsets in one buffer."""
    x = te.placeholder((9,), name="x")
    y = te.compute((8,), lambda i: x[i + 1] - x[i], "y")
    steps = te.decl_tensor_intrin(
        y.op,
        parse("""
@T.prim_func
def steps(x: T.Buffer((9,), "float32"), y: T.Buffer((8,), "float32")):
    before = T.alloc_buffer((1,), "float32")
    before[0] = x[0]
    for i in range(8):
        y[i] = x[i + 1] - before[0]
        before[0] = x[i + 1]
"""),
        "steps",
    )
    a = te.placeholder((N, K + 3), name="A")
    c = te.compute((N, K), lambda i, j: a[i, j + 3] - a[i, j + 2], "C")
    s = te.create_schedule(c.op)
    _, inner = s[c].split(c.op.axis[1], factor=8)
    s[c].tensorize(inner, steps)
    return Case(s, [a, c], lambda x: x[:, 3:] - x[:, 2:-1])


def with_reset() -> Case:
    """User-defined body, reset and update, with marks of which of them ran."""
    x = te.placeholder((4, "d"), name="x")
    r = te.reduce_axis((0, te.var("d")), "r")
    y = te.compute((4,), lambda i: te.max(x[i, r], axis=r), "y")
    reset = """
@T.prim_func
def reset(y: T.Buffer((4,), "float32")):
    for i in T.vectorized(4):
        y[i] = -T.infinity("float32")
"""
    update = """
@T.prim_func
def update(x: T.Buffer((4, "d"), "float32"), y: T.Buffer((4,), "float32")):
    for r, i in T.grid(d, 4):
        y[i] = T.max(x[i, r], y[i])
"""
    most = te.decl_tensor_intrin(y, lambda ins, outs: (None, parse(reset), parse(update)), "most")
    a = te.placeholder((N, K), name="A")
    k = te.reduce_axis((0, K), "k")
    c = te.compute((N,), lambda i: te.max(a[i, k], axis=k), "C")
    s = te.create_schedule(c.op)
    _, i = s[c].split(c.op.axis[0], factor=4)
    outer, inner = s[c].split(k, factor=3)
    s[c].reorder(outer, i, inner)
    s[c].tensorize(i, most)
    return Case(s, [a, c], lambda x: np.max(x, axis=1, initial=-np.inf))


def inner_reset() -> Case:
    case = with_reset()
    a = te.placeholder((N, K), name="A")
    k = te.reduce_axis((0, K), "k")
    c = te.compute((N,), lambda i: te.max(a[i, k], axis=k), "C")
    s = te.create_schedule(c.op)
    _, i = s[c].split(c.op.axis[0], factor=4)
    s[c].tensorize(i, case.schedule["C"].tensorized.intrin)
    return Case(s, [a, c], case.reference)


def turned() -> Case:
    """An intrinsic that takes a matrix with any strides reads it transposed."""
    x = te.placeholder((4, "d"), name="x")
    r = te.reduce_axis((0, te.var("d")), "r")
    y = te.compute((4,), lambda i: te.sum(x[i, r], axis=r), "y")
    update = """
@T.prim_func
def add(x: T.Buffer((4, "d"), "float32"), y: T.Buffer((4,), "float32")):
    for i, r in T.grid(4, d):
        y[i] += x[i, r]
"""
    anywhere = te.decl_buffer((4, "d"), "float32", "x", strides=[te.var("a"), te.var("b")])
    sums = te.decl_tensor_intrin(y, lambda ins, outs: (None, None, parse(update)), "sums", binds={x: anywhere})
    a = te.placeholder((K, N), name="A")
    k = te.reduce_axis((0, K), "k")
    c = te.compute((N,), lambda i: te.sum(a[k, i], axis=k), "C")
    s = te.create_schedule(c.op)
    _, i = s[c].split(c.op.axis[0], factor=4)
    s[c].tensorize(i, sums)
    return Case(s, [a, c], lambda x: x.sum(axis=0))


def best() -> Case:
    """Two results of one reduction."""
    argmax = te.comm_reducer(
        lambda a, b: (
            te.select(te.any(a[1] > b[1], te.all(a[1] == b[1], a[0] < b[0])), a[0], b[0]),
            te.maximum(a[1], b[1]),
        ),
        lambda t0, t1: (te.const(2**31 - 1, t0), te.min_value(t1)),
        name="argmax",
    )

    def of(index: Any, value: Any, rows: Any, depth: Any) -> Any:
        k = te.reduce_axis((0, depth), "k")
        return te.compute((rows,), lambda i: argmax((index[i, k], value[i, k]), axis=k), "best")

    d = te.var("d")
    found = of(te.placeholder((2, d), "int32", "p"), te.placeholder((2, d), "int32", "q"), 2, d)
    body = """
@T.prim_func
def best(
    p: T.Buffer((2, "d"), "int32"),
    q: T.Buffer((2, "d"), "int32"),
    a: T.Buffer((2,), "int32"),
    b: T.Buffer((2,), "int32"),
):
    for i in range(2):
        a[i] = T.int32(2147483647)
        b[i] = T.min_value("int32")
        for k in range(d):
            if q[i, k] > b[i] or (q[i, k] == b[i] and p[i, k] < a[i]):
                a[i] = p[i, k]
                b[i] = q[i, k]
"""
    intrin = te.decl_tensor_intrin(found[0].op, parse(body), "best")
    x, y = te.placeholder((N, K), "int32", "A"), te.placeholder((N, K), "int32", "B")
    c = of(x, y, N, K)
    s = te.create_schedule(c[0].op)
    _, i = s[c[0]].split(c[0].op.axis[0], factor=2)
    s[c[0]].tensorize(i, intrin)

    def reference(p: Array, q: Array) -> tuple[Array, Array]:
        top = np.max(q, axis=1, initial=np.iinfo("int32").min)
        first = np.where(q == top[:, None], p, 2**31 - 1)
        return np.min(first, axis=1, initial=2**31 - 1).astype("int32"), top

    return Case(s, [x, y, *c], reference)


def blocks() -> Case:
    """An implementation on tensors: blocks, with a local buffer, an index as a value and a dimension of 1."""
    body = """
@T.prim_func
def sums(x: T.Buffer((4, "d"), "uint8"), w: T.Buffer((1,), "uint8"), y: T.Buffer((4,), "uint8")):
    larger = T.alloc_buffer((4, d), "uint8")
    for i, j in T.grid(4, d):
        with T.block("larger"):
            vi, vj = T.axis.remap("SS", [i, j])
            larger[vi, vj] = T.Select(vj >= 0, T.max(x[vi, vj], w[0]), x[vi, vj])
    for i, j in T.grid(4, d):
        with T.block("sums"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                y[vi] = T.uint8(0)
            y[vi] = y[vi] + larger[vi, vj]
"""

    def of(x: Any, w: Any, rows: Any, depth: Any) -> Any:
        r = te.reduce_axis((0, depth), "r")
        return te.compute((rows,), lambda i: te.sum(te.maximum(x[i, r], w[0]), axis=r), "C")

    d = te.var("d")
    intrin_of = of(te.placeholder((4, d), "uint8", "x"), te.placeholder((1,), "uint8", "w"), 4, d)
    module = parse(body)
    assert "linalg.generic" in str(module)
    intrin = te.decl_tensor_intrin(intrin_of, module, "sums")
    a, w = te.placeholder((N, K), "uint8", "A"), te.placeholder((1,), "uint8", "W")
    c = of(a, w, N, K)
    s = te.create_schedule(c.op)
    _, i = s[c].split(c.op.axis[0], factor=4)
    s[c].tensorize(i, intrin)
    assert "T.grid(4, k)" in te.lower(s, [a, w, c], simple_mode=True)
    return Case(s, [a, w, c], lambda x, y: np.maximum(x, y).sum(axis=1, dtype="u1"))


CASES: dict[str, Callable[[], Case]] = {
    "tiled_f32": lambda: tiled("float32", 8, 32),
    "tiled_f64": lambda: tiled("float64", 4, 16),
    "own_tile": lambda: tiled("float32", 14, 32, 20),
    "one_column": lambda: tiled("float32", 3, 1),
    "in_place": in_place,
    "batched": batched,
    "of_parts": of_parts,
    "with_init": with_init,
    "swapped": swapped,
    "dot_f32": lambda: dots("float32"),
    "dot_i32": lambda: dots("int32"),
    "split_dots": split_dots,
    "rows_f32": lambda: rows("float32"),
    "rows_i64": lambda: rows("int64"),
    "elementwise": elementwise,
    "neighbours": neighbours,
    "with_reset": with_reset,
    "inner_reset": inner_reset,
    "turned": turned,
    "best": best,
    "blocks": blocks,
}


def test_tiles_on_threads() -> None:
    """Each job has its own buffers of an intrinsic."""
    case = in_place()
    function = rx.build(te.lower(case.schedule, case.tensors), "cpu -num-threads=3")["main"]
    rng = np.random.default_rng(0)
    x, y = rng.integers(-4, 5, (203, 65)).astype("f4"), rng.integers(-4, 5, (65, 131)).astype("f4")
    out = np.full((203, 131), np.nan, "f4")
    for _ in range(5):
        function(x, y, out)
        np.testing.assert_array_equal(out, x @ y)


@pytest.fixture(scope="module")
def built() -> tuple[dict[str, Case], Any]:
    cases = {name: make() for name, make in CASES.items()}
    bb = rx.BlockBuilder()
    for name, case in cases.items():
        bb.add_func(te.lower(case.schedule, case.tensors, name), name)
    return cases, rx.build(bb.get())


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_loops(built: tuple[dict[str, Case], Any], name: str) -> None:
    case, function = built[0][name], built[1][name]
    rng = np.random.default_rng(0)
    for n, k, m in SIZES:
        sizes = {"n": n, "k": k, "m": m}

        def dims(tensor: Any, sizes: dict[str, int] = sizes) -> tuple[int, ...]:
            return tuple(d if isinstance(d, int) else rx.symbolic.evaluate(d, sizes) for d in tensor.shape)

        inputs = [t for t in case.tensors if isinstance(t.op, te.PlaceholderOp)]
        outputs = case.tensors[len(inputs) :]
        given = [rng.integers(-4, 5, dims(t)).astype(t.dtype) for t in inputs]
        results = [np.full(dims(t), 77, t.dtype) for t in outputs]
        function(*given, *results)
        expected = case.reference(*given)
        for ours, theirs in zip(results, expected if isinstance(expected, tuple) else [expected], strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{name}, {sizes}")
