"""`tensorize`: loops that differ from the intrinsic's computation are errors with the first difference; checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.dialects.attributes import PROVED, UNCHECKED
from relax_mlir.error import (
    ArgumentError,
    BoundsError,
    DTypeError,
    RelaxError,
    ScheduleError,
    ShapeError,
    UnknownNameError,
)
from relax_mlir.lowering.kernels.gemm.gemm_tiling import tiling
from relax_mlir.lowering.legalize.check_prim_funcs import CheckPrimFuncs
from relax_mlir.script import parse
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

N, M, K = te.var("n"), te.var("m"), te.var("k")
GEMM = te.intrin.gemm(rows=8, columns=32)


def product(
    value: Callable[[Any, Any, Any, Any, Any], Any] = lambda a, b, i, j, r: a[i, r] * b[r, j],
    reduce: Any = te.sum,
    dtype: str = "float32",
    shape: tuple[Any, Any] = (N, M),
) -> tuple[Any, Any, Any]:
    """A schedule of a matmul in tiles of 8 and 32, and its loops i_inner, j_inner and r."""
    a, b = te.placeholder((shape[0], K), dtype, "A"), te.placeholder((K, shape[1]), dtype, "B")
    r = te.reduce_axis((0, K), "r")
    c = te.compute(shape, lambda i, j: reduce(value(a, b, i, j, r), axis=r), "C")
    s = te.create_schedule(c.op)
    s[c].tile(*c.op.axis, 8, 32)
    return s, c, [a, b, c]


def inner(s: Any, c: Any, number: int = 2) -> Any:
    return s[c].leaf_iter_vars[number]


DIFFERENT: dict[str, tuple[Callable[[], tuple[Any, Any, Any]], str]] = {
    "op": (
        lambda: product(lambda a, b, i, j, r: a[i, r] + b[r, j]),
        r"it computes `\(A\[i, r\] \+ B\[r, j\]\)` where",
    ),
    "dtype": (
        lambda: product(dtype="float64"),
        r"`C\[i, j\]` has dtype float64, and `c\[i, j\]` of the intrinsic float32",
    ),
    "combiner": (lambda: product(reduce=te.max), "it combines by max, and the intrinsic by sum"),
    "index": (
        lambda: product(lambda a, b, i, j, r: a[i, r] * b[r, j - j]),
        r"`B\[r, \(j - j\)\]` runs along its dimensions otherwise than `b\[r, j\]` of the intrinsic",
    ),
    "number": (
        lambda: product(lambda a, b, i, j, r: a[i, r] * 2.0),
        r"it computes `2.0` where the intrinsic computes `b\[",
    ),
    "data": (
        lambda: product(lambda a, b, i, j, r: a[i, r] * b[r, a[i, r].astype("int64")]),
        "runs along its dimensions otherwise",
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_first_difference_is_told(name: str) -> None:
    make, message = DIFFERENT[name]
    s, c, _ = make()
    before = str(s.trace)
    with pytest.raises(ScheduleError, match=message) as error:
        s[c].tensorize(inner(s, c), GEMM)
    assert str(error.value).startswith("s[C].tensorize(i_inner, 'gemm_float32_8x32'): ")
    assert (error.value.stage, error.value.axis) == ("C", "i_inner")
    assert str(s.trace) == before
    assert s[c].tensorized is None


def lowering(s: Any, tensors: Any) -> str:
    """The reason why lowering fails."""
    with pytest.raises(ScheduleError) as error:
        te.lower(s, tensors)
    assert error.value.step.startswith("s[C].tensorize(")
    assert "test_tensorize_errors.py" in str(error.value)
    return error.value.reason


def test_lengths_are_compared_when_the_loops_are_made() -> None:
    s, c, tensors = product()
    s[c].tensorize(inner(s, c), te.intrin.gemm(rows=4, columns=32))
    assert lowering(s, tensors) == (
        "the axis i has the length min(n - 8*i_outer, 8), which may be more than the 4 of i of the intrinsic: split it "
        "by 4"
    )
    s[c].tensorize(inner(s, c), te.intrin.gemm(rows=16, columns=32))
    assert lowering(s, tensors) == (
        "the axis i has the length min(n - 8*i_outer, 8), and i of the intrinsic 16, which it never reaches"
    )
    s[c].tensorize(inner(s, c), GEMM)
    assert "if (n - i_outer * 8 >= 8) & (m - j_outer * 32 >= 32):" in te.lower(s, tensors, simple_mode=True)


def test_a_tile_that_is_always_full_needs_no_loops() -> None:
    s, c, tensors = product(shape=(16, 64))
    s[c].tensorize(inner(s, c), GEMM)
    text = te.lower(s, tensors, simple_mode=True)
    assert "if " not in text
    assert "i_inner" not in text


def test_loops_of_other_numbers() -> None:
    s, c, tensors = product()
    dot = te.decl_tensor_intrin(te.intrin.dot().op, alone(), "dot_alone")
    s[c].reorder(inner(s, c, 4), inner(s, c, 3))
    with pytest.raises(ScheduleError, match=r"the loop r of the reduction is outside of j_inner, .*no update") as error:
        s[c].tensorize(inner(s, c, 4), dot)
    assert error.value.axis == "j_inner"
    s, c, tensors = product()
    s[c].tensorize(inner(s, c), "dot_float32")
    assert lowering(s, tensors) == ("its loops run along 2 axes (i, j), and those of the intrinsic along 0 (none)")


def alone() -> Any:
    """A dot product by a body only."""
    return parse("""
@T.prim_func
def dot(a: T.Buffer(("k",), "float32"), b: T.Buffer(("k",), "float32"), c: T.Buffer((), "float32")):
    c[()] = T.float32(0)
    for i in range(k):
        c[()] += a[i] * b[i]
""")


def test_what_later_steps_do_is_found_when_the_loops_are_made() -> None:
    s, c, tensors = product()
    s[c].tensorize(inner(s, c), GEMM)
    s[c].split(inner(s, c), factor=2)
    assert lowering(s, tensors) == "the axis i_inner is no loop of C any more: it was split or fused since"
    s, c, tensors = product()
    copy = s.cache_read(tensors[0], "local", [c])
    s[c].tensorize(inner(s, c), GEMM)
    s[copy].compute_at(s[c], inner(s, c, 3))
    assert lowering(s, tensors) == (
        "another stage is computed inside the loop j_inner, which the intrinsic takes the place of"
    )


def test_loops_that_visit_no_box() -> None:
    s, c, _ = product()
    i_outer, _, i_inner, _, _ = s[c].leaf_iter_vars
    s[c].reorder(i_inner, i_outer)
    with pytest.raises(ScheduleError, match="the values of i inside the loop do not follow each other"):
        s[c].tensorize(i_outer, GEMM)
    s, c, _ = product()
    parts, rest = s[c].split(inner(s, c, 0), nparts=4)
    _, last = s[c].split(rest, factor=3)
    assert parts.name == "i_outer_outer"
    s[c].reorder(inner(s, c, 3), last, inner(s, c, 4))
    with pytest.raises(ScheduleError, match="a part of an outer part of i, whose last tile is not told"):
        s[c].tensorize(last, "dot_float32")
    s, c, _ = product()
    fused = s[c].fuse(inner(s, c, 0), inner(s, c, 1))
    _, part = s[c].split(fused, factor=3)
    with pytest.raises(ScheduleError, match="the values of i inside the loop do not follow each other"):
        s[c].tensorize(part, GEMM)


def test_stages_without_these_loops() -> None:
    s, c, tensors = product()
    with pytest.raises(ScheduleError, match="the loops of A are: none"):
        s[tensors[0]].tensorize(inner(s, c), GEMM)
    with pytest.raises(ArgumentError, match=r"s\[C\].tensorize: 'tensor_intrin' is 3"):
        s[c].tensorize(inner(s, c), 3)
    with pytest.raises(UnknownNameError, match="unknown tensor intrinsic 'gem_float32'"):
        s[c].tensorize(inner(s, c), "gem_float32")
    d = te.compute((N, M), lambda i, j: c[i, j] + 1.0, "D")
    s = te.create_schedule(d.op)
    x = te.placeholder(("z",), name="x")
    y = te.compute((te.var("z"),), lambda i: x[i] + 1.0, "y")
    plus = te.decl_tensor_intrin(
        y,
        parse(
            '@T.prim_func\ndef plus(x: T.Buffer(("z",), "float32"), y: T.Buffer(("z",), "float32")):\n'
            "    for i in range(z):\n        y[i] = x[i] + T.float32(1)\n"
        ),
        "plus",
    )
    e = te.compute((N, M), lambda i, j: d[i, j] + 1.0, "E")
    s = te.create_schedule(e.op)
    s[d].tensorize(d.op.axis[1], plus)
    s[d].compute_inline()
    with pytest.raises(ScheduleError, match=r"s\[D\].tensorize\(j, plus\): D is computed inline, without loops"):
        te.lower(s, [*tensors[:2], e])
    with pytest.raises(ScheduleError, match="D has a schedule already"):
        s[d].compute_root()
        s.cache_write(d, "local")


def test_intrinsics_deeper_than_a_script_may_have() -> None:
    x = te.placeholder(("d",), name="x")
    y = te.compute((te.var("d"),), lambda i: x[i] + 1.0, "y")
    plus = te.decl_tensor_intrin(
        y,
        parse(
            '@T.prim_func\ndef plus(x: T.Buffer(("d",), "float32"), y: T.Buffer(("d",), "float32")):\n'
            "    for i in range(d):\n        if x[i] >= x[i]:\n            y[i] = x[i] + T.float32(1)\n"
        ),
    )
    a = te.placeholder((N,) * 8, name="A")
    c = te.compute((N,) * 8, lambda *i: a[i] + 1.0, "C")
    s = te.create_schedule(c.op)
    for number, axis in enumerate(c.op.axis):
        outer = axis
        for _ in range(9 - (number == 0)):
            outer, _ = s[c].split(outer, factor=2)
    s[c].tensorize(s[c].leaf_iter_vars[-1], plus)
    assert "its statements are inside of 81 loops and conditions, and 80 are all" in lowering(s, [a, c])


def test_strides() -> None:
    a, b = te.placeholder((K, N), name="A"), te.placeholder((K, M), name="B")
    r = te.reduce_axis((0, K), "r")
    c = te.compute((N, M), lambda i, j: te.sum(a[r, i] * b[r, j], axis=r), "C")
    s = te.create_schedule(c.op)
    s[c].tile(*c.op.axis, 8, 32)
    s[c].tensorize(inner(s, c), GEMM)
    assert lowering(s, [a, b, c]) == (
        "elements of A along its dimension 0 are n apart, and those of a of the intrinsic along dimension 1 1"
    )
    x = te.placeholder((4, 4), name="x")
    y = te.compute((4, 4), lambda i, j: x[i, j] + 1.0, "y")
    body = parse(
        '@T.prim_func\ndef plus(x: T.Buffer((4, 4), "float32"), y: T.Buffer((4, 4), "float32")):\n'
        "    for i, j in T.grid(4, 4):\n        y[i, j] = x[i, j] + T.float32(1)\n"
    )
    dense = te.decl_tensor_intrin(y, body, "dense", binds={x: te.decl_buffer((4, 4), strides=[4, 1])})
    for size, fits in ((4, True), (8, False)):
        big = te.placeholder((8, size), name="big")
        c = te.compute((8, size), lambda i, j, big=big: big[i, j] + 1.0, "C")
        s = te.create_schedule(c.op)
        s[c].tile(*c.op.axis, 4, 4)
        s[c].tensorize(inner(s, c), dense)
        if fits:
            te.lower(s, [big, c])
        else:
            assert "elements of big along its dimension 0 are 8 apart" in lowering(s, [big, c])


X = te.placeholder((8, "d"), name="x")
R = te.reduce_axis((0, te.var("d")), "r")
Y = te.compute((8,), lambda i: te.sum(X[i, R], axis=R), "y")
ADD = (
    '@T.prim_func\ndef add(x: T.Buffer((8, "d"), "float32"), y: T.Buffer((8,), "float32")):\n'
    "    for i, r in T.grid(8, d):\n        y[i] += x[i, r]\n"
)
RESET = '@T.prim_func\ndef zero(y: T.Buffer((8,), "float32")):\n    for i in range(8):\n        y[i] = T.float32(0)\n'


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: te.decl_tensor_intrin(X, parse(ADD)),
            ArgumentError,
            "'op' is .*, expected the op of a te.compute",
        ),
        (lambda: te.decl_tensor_intrin(Y, 7), ArgumentError, "its body is 7 .int., expected a prim func"),
        (
            lambda: te.decl_tensor_intrin(Y, parse(RESET)),
            ArgumentError,
            "its parameters are y; expected a buffer for each of x, y",
        ),
        (
            lambda: te.decl_tensor_intrin(Y, parse(ADD.replace("float32", "float64"))),
            DTypeError,
            "'x' has dtype float64, and x float32",
        ),
        (
            lambda: te.decl_tensor_intrin(Y, parse(ADD.replace("8", "4"))),
            ShapeError,
            r"'x' has shape \(4, d\), and x \(8, d\)",
        ),
        (
            lambda: te.decl_tensor_intrin(Y, lambda i, o: (None, parse(RESET), None)),
            ArgumentError,
            "a reset is for updates, of which none is given",
        ),
        (
            lambda: te.decl_tensor_intrin(Y, lambda i, o: (None, None)),
            ArgumentError,
            "expected one prim func, or three",
        ),
        (
            lambda: te.decl_tensor_intrin(Y, parse(ADD), binds={X: te.decl_buffer((8, "e"))}),
            ShapeError,
            "the buffer of x",
        ),
        (
            lambda: te.decl_tensor_intrin(Y, parse(ADD), binds={X: te.decl_buffer((8, "d"), "int32")}),
            DTypeError,
            "int32",
        ),
        (
            lambda: te.decl_tensor_intrin(te.compute((4,), lambda i: X[i, te.var("e")], "y"), parse(ADD)),
            ShapeError,
            "no axis has the length",
        ),
        (lambda: te.decl_buffer((8, 4), strides=[1]), ArgumentError, "1 strides for 2 dimensions"),
        (lambda: te.decl_buffer((8, 4), offset_factor=8), ArgumentError, "parts of tensors begin anywhere"),
        (lambda: te.intrin.gemm("int8"), DTypeError, "gemm: 'dtype' is 'int8'"),
        (lambda: te.intrin.gemm(rows=0), ArgumentError, "gemm: 'rows' is 0, expected 1 to 64"),
        (lambda: te.intrin.dot("bool"), DTypeError, "dot: 'dtype' is 'bool'"),
        (lambda: te.TensorIntrin.get("gemm_float32_99x32"), UnknownNameError, "unknown tensor intrinsic"),
    ],
)
def test_declarations_that_do_not_fit(make: Callable[[], Any], kind: type[RelaxError], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


def test_names() -> None:
    made = te.decl_tensor_intrin(Y, lambda ins, outs: (None, None, parse(ADD)), "sums_8")
    assert repr(made) == "sums_8"
    known = te.TensorIntrin.register("sums_of_8", made)
    assert te.TensorIntrin.get("sums_of_8") is known
    assert repr(known) == "'sums_of_8'"
    with pytest.raises(ArgumentError, match="there is an intrinsic 'sums_of_8' already"):
        te.TensorIntrin.register("sums_of_8", made)
    assert te.TensorIntrin.register("sums_of_8", made, override=True) is te.TensorIntrin.get("sums_of_8")


@pytest.mark.parametrize("target", ["cpu", "cpu -mcpu=haswell", "cpu -mcpu=x86-64", "cpu -mcpu=neoverse-n1"])
@pytest.mark.parametrize(("dtype", "bits"), [("float32", 32), ("float64", 64)])
def test_the_tile_is_that_of_the_products_of_the_target(target: str, dtype: str, bits: int) -> None:
    tile = tiling(Target.parse(target), bits)
    assert te.intrin.gemm(dtype, target=target).name == f"gemm_{dtype}_{tile.rows}x{tile.columns}"


# -- checks at run time


def is_checked(module: rx.IRModule) -> bool:
    """True if a prim func gets run-time checks."""
    work = module.clone()
    with work.context:
        CheckPrimFuncs().run(work.mlir, PassContext())
        return UNCHECKED in work["main"].attributes


def test_intrinsics_that_are_proved_are_not_checked() -> None:
    s, c, tensors = product()
    s[c].tensorize(inner(s, c), GEMM)
    module = te.lower(s, tensors)
    assert PROVED in module["main"].attributes
    assert not is_checked(module)
    s, c, tensors = product()
    i_outer, j_outer, i, j, r = s[c].leaf_iter_vars
    s[c].reorder(i_outer, j_outer, i, r, j)
    s[c].tensorize(j, "axpy_float32")
    assert not is_checked(te.lower(s, tensors))
    a, b = te.placeholder((K,), name="A"), te.placeholder((K,), name="B")
    r = te.reduce_axis((0, K), "r")
    c = te.compute((), lambda: te.sum(a[r] * b[r], axis=r), "C")
    s = te.create_schedule(c.op)
    s[c].tensorize(r, "dot_float32")
    assert not is_checked(te.lower(s, [a, b, c]))


def odd(shape: int, index: str) -> tuple[Any, Any, Any]:
    """Every other element, by an intrinsic that reads one element at a separate index."""
    x = te.placeholder((shape,), name="x")
    y = te.compute((4,), lambda i: x[2 * i], "y")
    body = (
        f'@T.prim_func\ndef f(x: T.Buffer(({shape},), "float32"), y: T.Buffer((4,), "float32")):\n'
        f"    for i in range(4):\n        y[i] = x[{index}]\n"
    )
    found = te.decl_tensor_intrin(y, parse(body), "odd")
    a = te.placeholder((2 * N,), name="A")
    c = te.compute((N,), lambda i: a[2 * i], "C")
    s = te.create_schedule(c.op)
    _, part = s[c].split(c.op.axis[0], factor=4)
    s[c].tensorize(part, found)
    return s, a, c


def test_an_intrinsic_that_may_read_more_than_the_loops_is_checked() -> None:
    s, a, c = odd(9, "2 * i + 2 - 2")
    module = te.lower(s, [a, c])
    assert PROVED not in module["main"].attributes
    function = rx.build(s, [a, c])
    out = np.zeros(8, "f4")
    function(np.arange(16, dtype="f4"), out)
    np.testing.assert_array_equal(out, np.arange(0, 16, 2))
    s, a, c = odd(9, "2 * i + 2")
    function = rx.build(s, [a, c])
    with pytest.raises(BoundsError, match="'A'"):
        function(np.arange(16, dtype="f4"), out)


def test_an_intrinsic_that_leaves_its_buffers_is_checked() -> None:
    s, a, c = odd(7, "3 * i")
    module = te.lower(s, [a, c])
    assert is_checked(module)
    function = rx.build(s, [a, c])
    with pytest.raises(BoundsError, match="'A'"):
        function(np.arange(8, dtype="f4"), np.zeros(4, "f4"))


def test_traces_repeat_an_intrinsic() -> None:
    s, c, tensors = product()
    s[c].tensorize(inner(s, c), GEMM)
    assert str(s.trace).splitlines()[-1] == "s[C].tensorize(i_inner, 'gemm_float32_8x32')"
    again = te.create_schedule(c.op)
    s.trace.apply(again)
    assert te.lower(again, tensors, simple_mode=True) == te.lower(s, tensors, simple_mode=True)
    assert again.trace == s.trace
