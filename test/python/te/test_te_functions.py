"""The functions of tensor expressions against NumPy, and operators on whole tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, UnsupportedError

N = te.var("n")
FLOATS = np.array([0.5, 1.0, 2.5, -2.5, 3.5, -0.0, 0.0, 7.25, np.inf, -np.inf, np.nan, 1e-3], "f4")
DIVISORS = np.array([0.25, -3, 2, 2, -0.5, 1, -1, 0.75, 2, 2, 2, np.inf], "f4")
INTEGERS = np.array([0, 1, -1, 7, -8, 2**31 - 1, -(2**31), 12], "i4")


def evaluated(inputs: list[te.Tensor], outputs: list[te.Tensor], args: list[Any]) -> list[Any]:
    main = rx.build(te.create_prim_func([*inputs, *outputs]))["main"]
    found = [np.zeros(len(args[0]), t.dtype) for t in outputs]
    main(*args, *found)
    return found


@np.errstate(all="ignore")
def test_functions_of_floats() -> None:
    x, y = te.placeholder((N,), name="x"), te.placeholder((N,), name="y")
    cases = {
        "log2": np.log2(np.abs(FLOATS)),
        "log10": np.log10(np.abs(FLOATS)),
        "log1p": np.log1p(np.abs(FLOATS)),
        "exp2": np.exp2(np.abs(FLOATS)),
        "expm1": np.expm1(np.abs(FLOATS)),
    }
    outputs = [te.compute((N,), lambda i, name=name: getattr(te, name)(te.abs(x[i])), name) for name in cases]
    wanted: list[Any] = list(cases.values())
    for name, reference in (("isnan", np.isnan), ("isfinite", np.isfinite), ("isinf", np.isinf)):
        outputs.append(te.compute((N,), lambda i, name=name: getattr(te, name)(x[i]), name))
        wanted.append(reference(FLOATS))
    pairs = [
        (lambda i: te.fmod(x[i], y[i]), np.fmod(FLOATS, DIVISORS)),
        (lambda i: te.div(x[i], y[i]), FLOATS / DIVISORS),
        (lambda i: te.nearbyint(x[i]), np.rint(FLOATS)),
        (lambda i: te.add(x[i], te.multiply(te.subtract(y[i], 1), 2)), FLOATS + (DIVISORS - 1) * 2),
        (lambda i: te.cast(x[i], "float64"), FLOATS.astype("f8")),
        (lambda i: te.cast("float64", y[i]), DIVISORS.astype("f8")),
        (lambda i: te.infinity("float32"), np.full(12, np.inf, "f4")),
        (lambda i: te.max_value("float32"), np.full(12, np.finfo("f4").max)),
        (lambda i: te.min_value("float32"), np.full(12, np.finfo("f4").min)),
    ]
    outputs += [te.compute((N,), f, f"p{number}") for number, (f, _) in enumerate(pairs)]
    wanted += [reference for _, reference in pairs]
    for have, want in zip(evaluated([x, y], outputs, [FLOATS, DIVISORS]), wanted, strict=True):
        np.testing.assert_allclose(have, want, rtol=2e-6)


def test_functions_of_integers() -> None:
    x = te.placeholder((N,), "int32", "x")
    bits = INTEGERS.view("u4")
    cases: list[tuple[Any, Any]] = [
        (lambda i: te.popcount(x[i]), [int(b).bit_count() for b in bits]),
        (lambda i: te.clz(x[i]), [32 - int(b).bit_length() for b in bits]),
        (lambda i: te.div(x[i], 3), np.trunc(INTEGERS / 3)),
        (lambda i: te.indexdiv(x[i], 5), INTEGERS // 5),
        (lambda i: te.indexmod(x[i], 5), INTEGERS % 5),
        (lambda i: te.ceildiv(i, 3), -(-np.arange(8) // 3)),
        (lambda i: te.isnan(x[i]), np.zeros(8)),
        (lambda i: te.isfinite(x[i]), np.ones(8)),
        (lambda i: te.max_value("int8"), np.full(8, 127)),
        (lambda i: te.min_value("int16"), np.full(8, -(2**15))),
        (lambda i: x[i] + i, (INTEGERS.astype("i8") + np.arange(8)).astype("i4")),
        (lambda i: i * x[i], (INTEGERS.astype("i8") * np.arange(8)).astype("i4")),
        (lambda i: 3 | (x[i] & 7), 3 | (INTEGERS & 7)),
        (lambda i: te.cast(1 << (x[i] & 3), "int32"), 1 << (INTEGERS & 3)),
        (lambda i: 2.5, np.full(8, 2.5)),
        (lambda i: 3, np.full(8, 3)),
        (lambda i: True, np.ones(8)),
        (lambda i: 2**40, np.full(8, 2**40)),
    ]
    outputs = [te.compute((N,), f, f"c{number}") for number, (f, _) in enumerate(cases)]
    assert [t.dtype for t in outputs][-8:-6] == ["int32", "int32"]
    assert [t.dtype for t in outputs][-4:] == ["float32", "int32", "bool", "int64"]
    for number, (have, (_, want)) in enumerate(zip(evaluated([x], outputs, [INTEGERS]), cases, strict=True)):
        np.testing.assert_array_equal(have, want, err_msg=str(number))


@np.errstate(all="ignore")
def test_extremes_of_values() -> None:
    x, y = te.placeholder((N,), name="x"), te.placeholder((N,), name="y")
    z, k = te.placeholder((N,), "int32", "z"), te.reduce_axis((0, N), "k")
    whole = np.concatenate([INTEGERS, [3, 4, 5, -6]]).astype("i4")
    cases: list[tuple[Any, Any]] = [
        (lambda i: te.max(x[i], y[i]), np.maximum(FLOATS, DIVISORS)),
        (lambda i: te.min(x[i], y[i]), np.minimum(FLOATS, DIVISORS)),
        (lambda i: te.max(x[i], y[i], 0.5), np.maximum(np.maximum(FLOATS, DIVISORS), np.float32(0.5))),
        (lambda i: te.min(0, x[i]), np.minimum(np.float32(0), FLOATS)),
        (lambda i: te.max(z[i], 4) - te.min(2, z[i]), np.maximum(whole, 4) - np.minimum(2, whole)),
        (lambda i: te.max(z[i], i), np.maximum(whole, np.arange(12))),
        (lambda i: te.min(i, N - 3, 7).astype("int32"), np.minimum(np.arange(12), 7)),
        (lambda i: te.max(z[k], k), np.full(12, whole.max())),
        (lambda i: te.min(z[k], [k], z[k] > 2, 100), np.full(12, 3)),
    ]
    outputs = [te.compute((N,), f, f"c{number}") for number, (f, _) in enumerate(cases)]
    assert [t.dtype for t in outputs] == ["float32"] * 4 + ["int32"] * 5
    found = evaluated([x, y, z], outputs, [FLOATS, DIVISORS, whole])
    for number, (have, (_, want)) in enumerate(zip(found, cases, strict=True)):
        np.testing.assert_array_equal(have, want.astype(have.dtype), err_msg=str(number))


def test_extremes_that_are_refused() -> None:
    a, k = te.placeholder((N,), name="A"), te.reduce_axis((0, N), "k")
    for wrong, message in (
        (
            lambda: te.sum(a[0], 4),
            r"te\.sum: 'axis' is 4 \(int\), expected a reduce_axis, or a list",
        ),
        (lambda: te.prod(a[0], a[1]), r"te\.prod: 'axis' is A\[1\].*expected a reduce_axis"),
        (lambda: te.max(a[0], 4, where=a[0] > 3), r"te\.max: 'axis' is 4.*'where' and 'init' belong to"),
        (lambda: te.min(a[k], k, a[k] > 0, 0.0, 3), r"te\.min: a reduction takes 'where' and 'init' at most"),
        (lambda: te.min(a[k], k, a[k] > 0, where=a[k] < 9), r"te\.min: 'where' is given twice"),
        (lambda: te.max(a[0], te.min(a[k], k)), r"a reduction \(min\) is the whole value of a compute"),
        (lambda: te.max(a[0], None), "None .NoneType. is no tensor expression"),
        (lambda: te.max(a[k], []), "'axis' is empty"),
    ):
        with pytest.raises(ArgumentError, match=message):
            wrong()


def test_sizes() -> None:
    assert te.max(N, 4) == te.max(4, N) != N and te.compute((te.min(N, 4),), lambda i: i).shape != (N,)
    assert te.max(3, 9, 4) == 9 and te.min(N, N) == N
    assert te.ceildiv(N, 4) == (N + 3) // 4 and te.indexdiv(N, 4) == N // 4 and te.size_var("n") == N
    with pytest.raises(DTypeError, match="size_var 'n': the dtype is 'float32'"):
        te.size_var("n", "float32")
    with pytest.raises(UnsupportedError, match=r"te\.thread_axis: its threads are those of a GPU"):
        te.thread_axis((0, 32), "threadIdx.x")


def test_operators_on_tensors() -> None:
    m = te.var("m")
    a, b, s = te.placeholder((N, m), name="A"), te.placeholder((N, 1), name="B"), te.placeholder((), name="s")
    x = te.placeholder((m,), "int32", "x")
    both = (a + 1) * b - 2 / a
    more = (1 - a) * s + -b * np.float32(0.5)
    bits = ((x << 1) | 1) ^ (x & 6) % 5 + x // 2 >> 1
    assert ((a * b).op.tag, (a + 1).op.tag, both.shape, both.name) == (
        "broadcast",
        "elemwise",
        (N, m),
        "T_subtract",
    )
    mixed = N - x.astype("int64")
    main = rx.build(te.create_prim_func([a, b, s, x, both, more, bits, mixed]))["main"]
    for n, k in ((3, 4), (1, 1), (0, 2), (2, 0)):
        rng = np.random.default_rng(n)
        u, v, w = rng.random((n, k), "f4") + 1, rng.random((n, 1), "f4"), np.array(3, "f4")
        y = rng.integers(0, 99, k).astype("i4")
        found = [np.zeros((n, k), "f4"), np.zeros((n, k), "f4"), np.zeros(k, "i4"), np.zeros(k, "i8")]
        main(u, v, w, y, *found)
        np.testing.assert_allclose(found[0], (u + 1) * v - 2 / u, rtol=1e-5)
        np.testing.assert_allclose(found[1], (1 - u) * w - v * 0.5, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(found[2], ((y << 1) | 1) ^ (y & 6) % 5 + y // 2 >> 1)
        np.testing.assert_array_equal(found[3], n - y.astype("i8"))


def test_operators_that_are_refused() -> None:
    a, b = te.placeholder((N, 3), name="A"), te.placeholder((N, 4), name="B")
    with pytest.raises(ShapeError, match=r"'\+' of tensors: shapes \(n, 3\) and \(n, 4\), dimension -1"):
        a + b
    with pytest.raises(ArgumentError, match=r"the element B\[i, 0\] beside the value is the tensor A.*A\[i, j\]"):
        te.compute((N,), lambda i: b[i, 0] * a)
    with pytest.raises(ArgumentError, match=r"an operand is a NumPy array; hand it to emit_te"):
        a * np.ones(3, "f4")
    with pytest.raises(ShapeError, match="1 indices for the tensor A"):
        a[0] + 1
    with pytest.raises(DTypeError, match=r"te\.popcount: the operand has dtype float32"):
        te.compute((N,), lambda i: te.popcount(a[i, 0]))
    with pytest.raises(DTypeError, match=r"te\.fmod: the operands have dtype index"):
        te.compute((N,), lambda i: te.fmod(i, i))
    with pytest.raises(DTypeError, match=r"te\.infinity: int8 has no infinity; use te\.max_value"):
        te.infinity("int8")


def test_tag_scope() -> None:
    with te.tag_scope("conv"):
        inside = te.compute((N,), lambda i: i)
        with pytest.raises(ArgumentError, match="the tag 'b' inside tag_scope 'conv'"):
            te.compute((N,), lambda i: i, tag="b")
        with pytest.raises(ArgumentError, match="inside tag_scope 'conv'"), te.tag_scope("other"):
            pass

    @te.tag_scope("decorated")
    def made() -> te.Tensor:
        found = te.compute((N,), lambda i: i)
        assert isinstance(found, te.Tensor)
        return found

    assert (inside.op.tag, made().op.tag, te.compute((N,), lambda i: i).op.tag) == ("conv", "decorated", "")


def test_arg_max_by_a_reducer_of_your_own() -> None:
    """As in the tutorials: two values combined, with the first index of the maximum."""

    def fcombine(x: Any, y: Any) -> Any:
        return te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])

    def fidentity(t0: str, t1: str) -> Any:
        return te.const(-1, t0), te.min_value(t1)

    argmax = te.comm_reducer(fcombine, fidentity, name="argmax")
    m = te.var("m")
    idx, val = te.placeholder((N, m), "int32", "idx"), te.placeholder((N, m), "int32", "val")
    k, q = te.reduce_axis((0, m), "k"), te.reduce_axis((0, m), "q")
    t0, t1 = te.compute((N,), lambda i: argmax((idx[i, k], val[i, k]), axis=k), name="T")
    product = te.comm_reducer(lambda x, y: x * y, lambda t: te.const(1, t), name="prod")
    odd = te.compute((N,), lambda i: product(val[i, q], axis=q, where=val[i, q] % 2 == 1), name="odd")
    assert t0.op is t1.op and t0.op.reduce_axis == [k] and t0.op.input_tensors == [idx, val]
    main = rx.build(te.create_prim_func([idx, val, t0, t1, odd]))["main"]
    for n, size in ((4, 7), (3, 1), (2, 0), (0, 3)):
        values = np.random.default_rng(n).integers(0, 9, (n, size)).astype("i4")
        places = np.broadcast_to(np.arange(size, dtype="i4"), (n, size)).copy()
        found = [np.zeros(n, "i4") for _ in range(3)]
        main(places, values, *found)
        wanted = values.argmax(1) if size else np.full(n, -1)
        np.testing.assert_array_equal(found[0], wanted)
        np.testing.assert_array_equal(found[1], values.max(1) if size else np.full(n, -(2**31)))
        np.testing.assert_array_equal(found[2], np.where(values % 2 == 1, values, 1).prod(1, dtype="i4"))


def test_reducers_that_are_refused() -> None:
    a = te.placeholder((N, 3), name="A")
    k = te.reduce_axis((0, 3), "k")
    pair = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] + y[1]), lambda s, t: (te.const(0, s), te.const(0, t)))
    with pytest.raises(ArgumentError, match=r"the reduction 'reduce' has 2 results: give all of them, each once"):
        te.compute((N,), lambda i: pair((a[i, k], a[i, k]), axis=k)[0])
    with pytest.raises(ArgumentError, match=r"'fcombine' gives 1 values for 2"):
        te.comm_reducer(lambda x, y: x[0], lambda s, t: (0, 0))((a[0, k], a[0, k]), axis=k)
    with pytest.raises(ArgumentError, match=r"are made of the values that they are given"):
        te.comm_reducer(lambda x, y: x + a[0, 0], lambda t: 0)(a[0, k], axis=k)
    with pytest.raises(ArgumentError, match=r"'fidentity' is 0, expected a function"):
        te.comm_reducer(lambda x, y: x + y, 0)(a[0, k], axis=k)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(DTypeError, match="'fcombine': a value has dtype bool, expected float32"):
        te.comm_reducer(lambda x, y: x < y, lambda t: 0)(a[0, k], axis=k)
