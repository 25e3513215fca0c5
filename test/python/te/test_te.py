"""Tensor expressions compute the same as NumPy, at error-prone sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse, script_constants
from relax_mlir.te.prim_func import build

Array = Any


def array(*shape: int, dtype: str = "float32") -> Array:
    rng = np.random.default_rng(sum(shape) + len(shape))
    if dtype.startswith(("int", "uint")):
        return rng.integers(0, 50, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def module(function: Callable[..., Any], *infos: rx.Tensor) -> rx.IRModule:
    """A module whose `main` calls the prim func created by `function`."""
    bb = rx.BlockBuilder()
    params = [rx.Var(f"p{i}", info) for i, info in enumerate(infos)]
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(bb.emit_te(function, *params))
        bb.emit_func_output(out)
    return bb.get()


def run(mod: rx.IRModule, *args: Array) -> Any:
    result = rx.build(mod)["main"](*args)
    return to_numpy(result) if hasattr(result, "shape") else [to_numpy(item) for item in result]


def check(mod: rx.IRModule, reference: Callable[..., Any], *cases: tuple[Array, ...], rtol: float = 1e-5) -> None:
    """All cases against NumPy; the script form reads back as the same module."""
    main = rx.build(mod)["main"]
    for args in cases:
        found, expected = main(*args), reference(*args)
        for ours, theirs in zip(
            found if isinstance(expected, tuple) else [found],
            expected if isinstance(expected, tuple) else [expected],
            strict=True,
        ):
            np.testing.assert_allclose(
                to_numpy(ours).astype("float64"), np.asarray(theirs).astype("float64"), rtol=rtol, atol=1e-5
            )
    assert_structural_equal(mod, parse(mod.script(), script_constants(mod.mlir)))


NM = rx.Tensor(("n", "m"))
SIZES = [(0, 3), (1, 1), (3, 0), (5, 7), (16, 33)]


def test_elementwise() -> None:
    def double(a: te.Tensor) -> te.Tensor:
        return te.compute(a.shape, lambda i, j: te.exp(a[i, j]) * 2 + 1.0, "double")

    mod = module(double, NM)
    assert "linalg.generic" in str(mod)
    check(mod, lambda a: np.exp(a) * 2 + 1, *((array(*s),) for s in SIZES))


def test_broadcast_and_transpose() -> None:
    def function(a: te.Tensor, b: te.Tensor) -> te.Tensor:
        n, m = a.shape
        return te.compute((m, n), lambda i, j: a[j, i] - b[i])

    mod = module(function, NM, rx.Tensor(("m",)))
    assert "linalg.generic" in str(mod)
    check(mod, lambda a, b: a.T - b[:, None], *((array(*s), array(s[1])) for s in SIZES))


@pytest.mark.parametrize("combiner", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("dtype", sweep.quick(["float32", "float64", "int32", "uint8", "bfloat16"], "float32", "uint8"))
def test_reductions(combiner: str, dtype: str) -> None:
    """Over one axis and over all; an empty reduction gives the identity."""

    def function(a: te.Tensor) -> tuple[te.Tensor, te.Tensor]:
        n, m = a.shape
        reduce = getattr(te, combiner)
        k, i0, i1 = te.reduce_axis((0, m), "k"), te.reduce_axis((0, n)), te.reduce_axis((0, m))
        rows = te.compute((n,), lambda i: reduce(a[i, k], k), "rows")
        return rows, te.compute((), lambda: reduce(a[i0, i1], [i0, i1]), "whole")

    info = rx.Tensor(("n", "m"), dtype)
    mod = module(function, info)
    main = rx.build(mod)["main"]
    wanted = getattr(np, combiner)
    for shape in [(3, 4), (1, 1), (2, 5)]:
        a = array(*shape, dtype="int32" if dtype == "uint8" else "float32").astype(to_dtype(dtype))
        rows, whole = (to_numpy(item) for item in main(a))
        tolerance = 0.05 if dtype == "bfloat16" else 1e-4
        wide = a.astype("float64") if dtype != "uint8" else a
        exact = {"dtype": a.dtype} if combiner in ("sum", "prod") and dtype != "bfloat16" else {}
        np.testing.assert_allclose(
            rows.astype("float64"), wanted(wide, axis=1, **exact).astype("float64"), tolerance, tolerance
        )
        np.testing.assert_allclose(np.float64(whole), np.float64(wanted(wide, **exact)), tolerance, tolerance)
    rows, whole = (to_numpy(item) for item in main(np.zeros((2, 0), to_dtype(dtype))))
    is_float = dtype in ("float32", "float64", "bfloat16")
    limits = (-np.inf, np.inf) if is_float else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    identity = {"sum": 0, "prod": 1, "max": limits[0], "min": limits[1]}[combiner]
    assert rows.tolist() == [identity, identity] and float(whole) == identity


def to_dtype(name: str) -> Any:
    from relax_mlir.dialects.dtypes import dtype

    return dtype(name).numpy


def test_matmul_runs_on_the_kernel() -> None:
    def matmul(a: te.Tensor, b: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, a.shape[1]), "k")
        return te.compute((a.shape[0], b.shape[1]), lambda i, j: te.sum(a[i, k] * b[k, j], k), "matmul")

    mod = module(matmul, NM, rx.Tensor(("m", "p")))
    check(mod, lambda a, b: a @ b, *((array(*s), array(s[1], 9)) for s in SIZES), rtol=1e-4)


def test_softmax_in_stages() -> None:
    def softmax(a: te.Tensor) -> te.Tensor:
        n, m = a.shape
        k, q = te.reduce_axis((0, m), "k"), te.reduce_axis((0, m), "q")
        top = te.compute((n,), lambda i: te.max(a[i, k], k), "top")
        e = te.compute((n, m), lambda i, j: te.exp(a[i, j] - top[i]), "e")
        total = te.compute((n,), lambda i: te.sum(e[i, q], q), "total")
        return te.compute((n, m), lambda i, j: e[i, j] / total[i], "softmax")

    def reference(a: Array) -> Array:
        e = np.exp(a - a.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    check(module(softmax, NM), reference, *((array(*s),) for s in [(1, 1), (5, 7), (3, 33)]))


def test_convolution_with_padding_and_stride() -> None:
    def conv(x: te.Tensor, w: te.Tensor) -> te.Tensor:
        n, c, h, width = x.shape
        o, _, kh, kw = w.shape
        padded = te.compute(
            (n, c, h + 2, width + 2),
            lambda b, q, i, j: te.if_then_else(
                te.all(i >= 1, i < h + 1, j >= 1, j < width + 1), x[b, q, i - 1, j - 1], 0.0
            ),
            "padded",
        )
        q, di, dj = te.reduce_axis((0, c)), te.reduce_axis((0, kh)), te.reduce_axis((0, kw))
        shape = (n, o, te.floordiv(h + 2 - kh, 2) + 1, te.floordiv(width + 2 - kw, 2) + 1)
        return te.compute(
            shape,
            lambda b, f, i, j: te.sum(padded[b, q, 2 * i + di, 2 * j + dj] * w[f, q, di, dj], [q, di, dj]),
        )

    def reference(x: Array, w: Array) -> Array:
        import torch

        return torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w), stride=2, padding=1).numpy()

    mod = module(conv, rx.Tensor(("b", 3, "h", "w")), rx.Tensor((4, 3, 3, 3)))
    check(mod, reference, *((array(b, 3, h, h + 1), array(4, 3, 3, 3)) for b, h in [(1, 4), (2, 7)]), rtol=1e-4)


def test_gather_window_and_offset() -> None:
    def function(a: te.Tensor, rows: te.Tensor) -> tuple[te.Tensor, te.Tensor]:
        n, m = a.shape
        k = te.reduce_axis((1, 3), "k")
        taken = te.compute((*rows.shape, m), lambda i, j: a[rows[i], j], "taken")
        windows = te.compute((n, m - 2), lambda i, j: te.max(a[i, j + k], k), "windows")
        return taken, windows

    def reference(a: Array, rows: Array) -> tuple[Array, Array]:
        return a[rows], np.maximum(a[:, 1:-1], a[:, 2:])

    mod = module(function, rx.Tensor(("n", "m + 2")), rx.Tensor(("r",), "int64"))
    check(mod, reference, (array(4, 6), np.array([3, 0, 0])), (array(2, 2), np.zeros(0, "int64")))


def test_arg_max_in_two_stages() -> None:
    def argmax(a: te.Tensor) -> te.Tensor:
        n, m = a.shape
        k, q = te.reduce_axis((0, m)), te.reduce_axis((0, m))
        top = te.compute((n,), lambda i: te.max(a[i, k], k))
        return te.compute((n,), lambda i: te.min(q.astype("int64"), q, where=a[i, q] == top[i]), "argmax")

    check(module(argmax, NM), lambda a: a.argmax(1), (array(3, 5),), (array(1, 1),))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float64"])
def test_arithmetic_of_dtypes(dtype: str) -> None:
    def function(a: te.Tensor) -> te.Tensor:
        return te.compute(
            a.shape,
            lambda i: te.select(a[i] > 3, a[i] * 2 - 1, te.maximum(a[i], 1) + np.float32(1.5).astype(dtype)),
        )

    def reference(a: Array) -> Array:
        one = np.array(1, a.dtype)
        return np.where(a > 3, a * 2 - one, np.maximum(a, one) + np.float32(1.5).astype(a.dtype))

    check(
        module(function, rx.Tensor(("n",), dtype)),
        reference,
        (array(9, dtype=dtype),),
        (array(0, dtype=dtype),),
    )


def test_indices_as_numbers() -> None:
    def function(a: te.Tensor) -> tuple[te.Tensor, te.Tensor]:
        (n,) = a.shape
        iota = te.compute((n,), lambda i: i * 2 + n, "iota")
        return iota, te.compute((n,), lambda i: te.if_then_else(i < n // 2, a[n - 1 - i], -a[i]))

    def reference(a: Array) -> tuple[Array, Array]:
        n = len(a)
        return np.arange(n) * 2 + n, np.where(np.arange(n) < n // 2, a[::-1], -a)

    check(module(function, rx.Tensor(("n",))), reference, *((array(n),) for n in (0, 1, 5)))


def test_several_values_of_one_computation() -> None:
    def function(a: te.Tensor) -> tuple[te.Tensor, ...]:
        return te.compute(a.shape, lambda i, j: (te.sin(a[i, j]), te.cos(a[i, j])), "both")

    check(module(function, NM), lambda a: (np.sin(a), np.cos(a)), *((array(*s),) for s in SIZES[:4]))


def test_equal_prim_funcs_are_one() -> None:
    def double(a: te.Tensor) -> te.Tensor:
        return te.compute(a.shape, lambda i: a[i] * 2.0)

    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n",)))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit_te(double, bb.emit_te(double, x), primfunc_name_hint="twice"))
    mod = bb.get()
    assert str(mod).count("relax.prim_func") == 2, "they differ in the names of their parameters"
    np.testing.assert_array_equal(run(mod, array(3)), array(3) * 4)

    bb, y = rx.BlockBuilder(), rx.Var("y", rx.Tensor(("n",)))
    with bb.function("main", [y]):
        bb.emit_func_output((bb.emit_te(double, y), bb.call_te(double, y)))
    assert str(bb.get()).count("relax.prim_func") == 1


def test_arguments_of_all_kinds() -> None:
    weights = array(4)

    def function(pair: list[te.Tensor], shape: tuple[Any, ...], scale: float, w: te.Tensor, *, shift: int) -> te.Tensor:
        a, b = pair
        return te.compute(shape, lambda i: (a[i] + b[i]) * scale + w[i] + shift)

    bb, x, y = rx.BlockBuilder(), rx.Var("x", rx.Tensor((4,))), rx.Var("y", rx.Tensor((4,)))
    with bb.function("main", [x, y]):
        out = bb.emit_te(function, R.make_tuple(x, y), R.shape_of(x), 2.0, weights, shift=3)
        bb.emit_func_output(out)
    mod, a, b = bb.get(), array(4), array(4) + 1
    np.testing.assert_allclose(run(mod, a, b), (a + b) * 2 + weights + 3, rtol=1e-6)


def test_places_are_the_lines_of_the_expressions() -> None:
    def function(a: te.Tensor) -> te.Tensor:
        here = te.compute(a.shape, lambda i: a[i] * 2.0, "here")
        return te.compute(a.shape, lambda i: here[i] + 1.0)

    mod = module(function, rx.Tensor(("n",)))
    first = function.__code__.co_firstlineno + 1
    text = mod.asm(locations=True)
    assert f'{__file__}":{first}:' in text and f'{__file__}":{first + 1}:' in text


A = te.placeholder(("n", "m"), name="A")
I8 = te.placeholder(("n",), "int8", name="I8")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: te.compute(("n",), lambda i: A[i]),
            ShapeError,
            r"A\[…\]: 1 indices for the tensor A: \(n, m\) float32, which has 2 dimensions",
        ),
        (lambda: A[0, 1:2], ShapeError, "one index per dimension, not slices"),
        (lambda: A[0, 1.5], DTypeError, "the index 1.5 is no integer"),
        (lambda: A[0, A[0, 0]], DTypeError, "an index has dtype float32, expected an integer"),
        (
            lambda: A[0, 0] + I8[0],
            DTypeError,
            "operands have dtypes float32 and int8; convert one with astype",
        ),
        (lambda: te.compute(("n",), lambda i: A[i, 0] + i), DTypeError, r"an index is an integer: i\.astype"),
        (
            lambda: te.compute(("n", "m"), lambda i: A[i, i]),
            ArgumentError,
            r"takes 1 indices \(i\), but the shape has 2",
        ),
        (lambda: te.compute(("n",), lambda i: A), ArgumentError, "the value is the tensor A"),
        (lambda: te.compute(("n",), lambda i: "x"), ArgumentError, "is no tensor expression"),
        (lambda: te.compute("n", lambda i: i), RelaxError, "'shape'"),
        (lambda: te.compute((None,), lambda i: i), ShapeError, "dimension 0 is unknown"),
        (lambda: te.exp(I8[0]), DTypeError, "te.exp: the operand has dtype int8, expected a float"),
        (lambda: te.sum(A[0, 0], 0), RelaxError, "te.sum: 'axis'"),
        (lambda: te.sum(A[0, 0], []), ArgumentError, "'axis' is empty"),
        (
            lambda: te.if_then_else(A[0, 0], 1, 2),
            DTypeError,
            "the condition has dtype float32, expected bool",
        ),
        (lambda: bool(A[0, 0] > 1), ArgumentError, "use te.if_then_else"),
        (lambda: te.reduce_axis(5), ArgumentError, "expected a pair"),
        (lambda: te.create_prim_func([A]), ArgumentError, "nothing is computed"),
        (
            lambda: te.create_prim_func([te.compute(("n",), lambda i: A[i, 0])]),
            ArgumentError,
            "the placeholder A: .* is not among the inputs",
        ),
        (lambda: module(lambda a: 3, NM), ArgumentError, "returns 3, expected a computed te.Tensor"),
        (
            lambda: module(lambda a: a, rx.Tensor(("n", None))),
            ShapeError,
            "need every dimension: match_shape it",
        ),
        (lambda: module(lambda a: a, rx.Tensor(("n",), None)), DTypeError, "of unknown dtype"),
    ],
)
def test_mistakes(make: Callable[[], Any], error: type[RelaxError], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_kept_dimensions() -> None:
    """The index 0 along a dimension of 1, in any position; the script has blocks, with their initial values."""

    def shifted(x: te.Tensor) -> te.Tensor:
        i, k = te.reduce_axis((0, "m"), name="i"), te.reduce_axis((0, "n"), name="k")
        most = te.compute(("n", 1), lambda a, b: te.max(x[a, i], axis=i), name="most")
        total = te.compute((1, "m"), lambda a, b: te.sum(x[k, b], axis=k), name="total")
        return te.compute(("n", "m"), lambda a, b: x[a, b] - most[a, 0] + total[0, b], name="shifted")

    mod = module(shifted, rx.Tensor(("n", "m"), "float32"))
    script = mod.script()
    assert ", 0]" in script and "[0, " in script
    assert "-T.float32" in script and "I.mlir" not in script
    check(
        mod,
        lambda x: x - x.max(1, keepdims=True, initial=-np.inf) + x.sum(0, keepdims=True),
        *[(array(*shape),) for shape in ((5, 33), (1, 1), (0, 3), (3, 0), (64, 17))],
    )


def test_what_linalg_can_say_is_linalg() -> None:
    """Axes in any order, all of them reduced, dimensions kept: fusion and reduction kernels recognise these."""
    x, s = te.placeholder(("n", "m"), name="x"), te.placeholder((), name="s")
    k, i = te.reduce_axis((0, "n"), name="k"), te.reduce_axis((0, "m"), name="i")
    total = te.compute(("n", 1), lambda a, b: te.sum(x[a, i], axis=i), name="total")
    results = {
        "kept": te.compute(("n", "m"), lambda a, b: x[a, b] - total[a, 0], name="kept"),
        "turned": te.compute(("m", "n"), lambda a, b: x[b, a] + s(), name="turned"),
        "rows": te.compute(("n",), lambda a: te.sum(x[a, i], axis=i), name="rows"),
        "whole": te.compute((), lambda: te.sum(x[k, i], axis=[k, i]), name="whole"),
    }
    for name, result in results.items():
        inputs = [x, s] if name == "turned" else [x]
        text = str(build(inputs, [result], name).module)
        assert "linalg.generic" in text and "memref" not in text, text
