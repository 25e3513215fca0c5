"""Values whose rank, dtype or kind is known only at run time: parameters, results, calls, conditionals."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import torch
import tvm_ffi
from memory_growth import growth
from programs import add, compiled, from_ffi, registered
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, DTypeError, PackedFunctionError, ShapeError

T = rx.Tensor
N = T(("m",), "float32")
X = np.arange(6, dtype="float32").reshape(2, 3)
DTYPES = [
    *(np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *(np.dtype(f"float{bits}") for bits in (16, 32, 64)),
    np.dtype(ml_dtypes.bfloat16),
    np.dtype("bool"),
]


@registered
def several(x: Any) -> Any:
    return x + 1, (3, tvm_ffi.Shape((4, 5)), "text"), x.astype("int32")


@registered
def increment(x: Any) -> Any:
    x += 1
    return x


@registered
def echo(*args: Any) -> Any:
    return args


@registered
def give(x: Any) -> Any:
    return x


@pytest.fixture(scope="module")
def identity() -> Any:
    return compiled(rx.Object())(lambda x: x)


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        -(2**60),
        2.5,
        True,
        "short",
        "a string that does not fit a word",
        b"bytes",
        b"many bytes more than 7",
    ],
)
def test_any_value_passes_through(identity: Any, value: Any) -> None:
    assert identity(value) == value


def test_objects_pass_through(identity: Any) -> None:
    for value in (tvm_ffi.from_dlpack(X), tvm_ffi.get_global_func(echo)):
        assert identity(value).same_as(value)
    assert identity(tvm_ffi.Shape((1, 2))) == (1, 2)
    assert list(identity([1, "two", None])) == [1, "two", None]
    assert dict(identity({"a": 1}).items()) == {"a": 1}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_of_every_dtype(dtype: np.dtype[Any]) -> None:
    function = compiled(T(None, None))(lambda x: (x, R.shape_of(x)))
    for shape in ((), (0,), (1,), (5, 3), (2, 0, 3)):
        x = np.ones(shape, dtype)
        same, sizes = from_ffi(function(x))
        np.testing.assert_array_equal(same, x)
        assert same.dtype == dtype
        assert sizes == shape


def test_strided_and_foreign_tensors() -> None:
    function = compiled(T(None, "float32"))(lambda x: (x, R.exp(R.match_shape(x, ("n", "m")))))
    for x in (X, X.T, X[:, ::2], np.asfortranarray(X)):
        same, exp = from_ffi(function(x))
        np.testing.assert_array_equal(same, x)
        np.testing.assert_allclose(exp, np.exp(x), rtol=1e-6)
    y = torch.arange(6, dtype=torch.float32).reshape(2, 3).T
    kept, exp = function(y)
    del y
    np.testing.assert_array_equal(torch.from_dlpack(kept).numpy(), np.arange(6).reshape(2, 3).T)
    np.testing.assert_allclose(torch.from_dlpack(exp).numpy(), np.exp(np.arange(6)).reshape(2, 3).T, rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_match_shape_gives_the_elements(dtype: np.dtype[Any]) -> None:
    function = compiled(T(None, None))(lambda x: R.reshape(R.match_shape(x, ("n", "m"), str(dtype)), ("n*m",)))
    for shape in ((2, 3), (0, 4), (1, 1), (7, 5)):
        x = np.arange(shape[0] * shape[1]).reshape(shape).astype(dtype)
        for array in (x, np.asfortranarray(x)):
            result = from_ffi(function(array))
            assert result.dtype == dtype
            np.testing.assert_array_equal(result, x.reshape(-1))


@pytest.mark.parametrize(
    ("info", "value", "kind", "message"),
    [
        (T(None, None), 3, ArgumentError, "parameter 'x' is of type int, expected x: Tensor(?, ?)"),
        (
            T(None, "int8"),
            X,
            DTypeError,
            "parameter 'x' has dtype float32, expected int8 (x: Tensor(?, \"int8\"))",
        ),
        (
            T(ndim=1, dtype=None),
            X,
            ShapeError,
            "parameter 'x' has rank 2, expected rank 1 (x: Tensor((?,), ?))",
        ),
        (T((2, "n"), None), X.T, ShapeError, "parameter 'x' dimension 0 is 3, expected 2"),
        (
            T(("n", "n"), None),
            X,
            ShapeError,
            "parameter 'x' dimension 1 is 3, but n = 2, taken from parameter 'x' dim",
        ),
        (
            rx.Shape(),
            3,
            ArgumentError,
            "parameter 'x' is of type int, expected a shape, or ints (x: Shape())",
        ),
        (
            rx.Shape(),
            (1, "a"),
            ArgumentError,
            "parameter 'x' is of type ffi.Array, expected a shape, or ints",
        ),
    ],
)
def test_wrong_arguments(info: Any, value: Any, kind: type[Exception], message: str) -> None:
    function = compiled(info)(lambda x: x)
    with pytest.raises(kind) as caught:
        function(value)
    assert str(caught.value).startswith(f"main: {message}")


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (X[0], ShapeError, 'the tensor has rank 1, expected rank 2 (expected Tensor((n, n), "float32"))'),
        (X.astype("f8"), DTypeError, "the tensor has dtype float64, expected float32"),
        (X, ShapeError, "dimension 1 is 3, but n = 2, taken from dimension 0 of match_shape"),
    ],
)
def test_match_shape_checks(value: Any, kind: type[Exception], message: str) -> None:
    function = compiled(T(None, None))(lambda x: R.match_shape(x, ("n", "n"), "float32"))
    with pytest.raises(kind) as caught:
        function(value)
    assert "main: match_shape at " in str(caught.value)
    assert message in str(caught.value)
    np.testing.assert_array_equal(from_ffi(function(X[:, :2])), X[:, :2])


def test_shapes_of_unknown_rank() -> None:
    function = compiled(rx.Shape())(lambda x: (x, R.match_shape(x, ("a", "b")), R.prim_value("a*b")))
    assert from_ffi(function((4, 5))) == ((4, 5), (4, 5), 20)
    assert from_ffi(function(tvm_ffi.Shape((0, 1)))) == ((0, 1), (0, 1), 0)
    with pytest.raises(ShapeError, match=r"the shape has 3 entries, expected 2 \(expected Shape\(\(a, b\)\)\)"):
        function((1, 2, 3))


def test_known_rank_unknown_dtype() -> None:
    function = compiled(T(("n", 3), None))(lambda x: (x, R.shape_of(x), R.prim_value("2*n")))
    for dtype in ("float32", "int8", "bool"):
        same, shape, double = from_ffi(function(X.astype(dtype)))
        assert (same.dtype, shape, double) == (np.dtype(dtype), (2, 3), 4)


def test_packed_calls_give_values_of_all_kinds() -> None:
    info = rx.Tuple([T(("n", 3), "float32"), rx.Tuple([rx.Prim(), rx.Shape(ndim=2), rx.Object()]), T(None, None)])
    one, (number, shape, text), other = from_ffi(
        compiled(T(("n", 3), "float32"))(lambda x: R.call_packed(several, x, out=info))(X)
    )
    np.testing.assert_array_equal(one, X + 1)
    np.testing.assert_array_equal(other, X.astype("int32"))
    assert (number, shape, text, other.dtype) == (3, (4, 5), "text", np.dtype("int32"))


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (T(None, "int8"), "is of type ffi.Array, expected a tensor"),
        (rx.Tuple([rx.Object()]), "has 3 elements, expected 1"),
        (rx.Tuple([rx.Object(), rx.Object(), T((None,), "int32")]), "has rank 2, expected rank 1"),
        (rx.Tuple([rx.Object(), rx.Object(), T((None, None), "int8")]), "has dtype int32, expected int8"),
        (rx.Tuple([T((None, 4), "float32"), rx.Object(), rx.Object()]), "has dimension 1 of 3, expected 4"),
        (
            rx.Tuple([T((None, "n"), "float32"), rx.Object(), rx.Object()]),
            "has dimension 1 of 3, expected n = 2",
        ),
        (rx.Tuple([rx.Prim(), rx.Object(), rx.Object()]), "is of type ffi.Tensor, expected an int"),
    ],
)
def test_packed_results_are_checked(info: rx.StructInfo, message: str) -> None:
    function = compiled(T(("n", 3), "float32"))(lambda x: R.call_packed(several, x, out=info))
    with pytest.raises(PackedFunctionError) as caught:
        function(X)
    assert str(caught.value).startswith(f"main: packed function '{several}' (called at ")
    assert message in str(caught.value)


def test_arguments_of_all_kinds() -> None:
    def body(x: Any, y: Any, z: Any) -> Any:
        inner = R.make_tuple(y, R.shape_of(x), R.prim_value("n"), R.shape_of(y))
        return R.call_packed(echo, R.make_tuple(x, inner), y, z, x, 7, out=rx.Object())

    function = compiled(T(("n", 3), "float32"), T(None, None), rx.Object())(body)
    (x, (y, shape, n, short)), again, z, same, seven = from_ffi(function(X, X[0], "z"))
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, X[0])
    np.testing.assert_array_equal(again, X[0])
    np.testing.assert_array_equal(same, X)
    assert (shape, n, short, z, seven) == ((2, 3), 2, (3,), "z", 7)


@pytest.mark.parametrize("info", [T(None, "float32"), T(("n", "m"), "float32")])
def test_in_place_changes_are_values(info: rx.StructInfo) -> None:
    def body(x: Any) -> Any:
        before = R.match_shape(x, ("a", "b"))
        kept = R.call_packed(increment, x, out=rx.Object())
        middle = R.match_shape(x, ("a", "b")) * 1.0
        R.call_packed(increment, x)
        R.call_packed(increment, kept)
        return before, kept, middle, x

    x = X.copy()
    before, kept, middle, after = from_ffi(compiled(info)(body)(x))
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(before, X)
    np.testing.assert_array_equal(kept, X + 2)
    np.testing.assert_array_equal(middle, X + 1)
    np.testing.assert_array_equal(after, X + 2)


def test_results_may_share_the_memory_of_arguments() -> None:
    def body(x: Any) -> Any:
        return R.call_packed(give, R.exp(x), out=T(None, None))

    function = compiled(T(("n", "m"), "float32"))(body)
    exp = from_ffi(function(X))
    function(X * 2)
    np.testing.assert_allclose(exp, np.exp(X), rtol=1e-6)


def test_conditionals_yield_handles() -> None:
    def body(c: Any, x: Any, y: Any) -> Any:
        one = R.if_then_else(c, lambda: x, lambda: y)
        two = R.if_then_else(
            c,
            lambda: R.call_packed(several, x, out=rx.Object()),
            lambda: R.call_packed(give, y, out=rx.Object()),
        )
        return one, two, R.if_then_else(c, lambda: R.shape_of(x), lambda: R.shape_of(y))

    function = compiled(T((), "bool"), T(None, None), T(None, None))(body)
    one, two, shape = from_ffi(function(np.array(True), X, X[0]))
    np.testing.assert_array_equal(one, X)
    np.testing.assert_array_equal(two[0], X + 1)
    assert shape == (2, 3)
    one, two, shape = from_ffi(function(np.array(False), X, X[0]))
    np.testing.assert_array_equal(one, X[0])
    np.testing.assert_array_equal(two, X[0])
    assert shape == (3,)


def test_tuples_of_unknown_values() -> None:
    info = rx.Tuple([T(None, None), rx.Tuple([rx.Object(), rx.Shape()])])

    def body(t: Any) -> Any:
        inner = R.tuple_get_item(t, 1)
        return R.tuple_get_item(inner, 0), R.tuple_get_item(t, 0), t

    a, x, whole = from_ffi(compiled(info)(body)((X, ("a", (1, 2)))))
    assert (a, whole[1]) == ("a", ("a", (1, 2)))
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(whole[0], X)


def test_calls_of_functions() -> None:
    bb = rx.BlockBuilder()
    add(bb, "same", [T(None, None), rx.Object()], lambda x, o: (x, o, R.shape_of(x)), private=True)
    add(bb, "rows", [T(None, "float32")], lambda x: R.exp(R.match_shape(x, ("n", 3))), private=True)
    add(bb, "count", [rx.Shape(), T(("m",), "float32")], lambda s, x: (s, R.prim_value("m"), x), private=True)

    def main(x: Any, y: Any) -> Any:
        first = bb.call("same", R.exp(x), y)
        rows = bb.call("rows", x)
        assert rows.struct_info == T((None, 3), "float32")
        return first, rows, bb.call("count", R.shape_of(x), R.flatten(x))

    add(bb, "main", [T(("n", "m"), "float32"), rx.Object()], main)
    (exp, obj, shape), rows, (given, size, flat) = from_ffi(rx.build(bb.get())["main"](X, "y"))
    np.testing.assert_allclose(exp, np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(rows, np.exp(X), rtol=1e-6)
    np.testing.assert_array_equal(flat, X.reshape(-1))
    assert (obj, shape, given, size) == ("y", (2, 3), (2, 3), 6)


def test_dps_calls_take_handles() -> None:
    @registered
    def fill(x: Any, o: Any, out: Any) -> None:
        out[...] = x.sum() + o

    def body(x: Any, o: Any) -> Any:
        return R.call_dps_packed(fill, [x, o], T((2,), "float32"))

    function = compiled(T(None, None), rx.Object())(body)
    np.testing.assert_array_equal(from_ffi(function(X, 3)), [18, 18])


def everything(x: Any, o: Any) -> Any:
    y = R.match_shape(x, ("n", "m"), "float32")
    t = R.call_packed(several, y, out=rx.Tuple([T(None, None), rx.Object(), T(None, None)]))
    z = R.exp(R.match_shape(R.tuple_get_item(t, 0), ("n", "m"), "float32"))
    R.call_packed(increment, x)
    last = R.match_shape(R.tuple_get_item(t, 2), (2, "k"), "int32")
    return z, x, R.shape_of(x), o, t, last


def test_nothing_leaks() -> None:
    function = compiled(T(None, None), rx.Object())(everything)
    big = np.ones((2, 5000), "float32")
    inputs = [
        (big, "a long string that is an object"),
        (big.T[:2], None),
        (np.ones((3, 4000), "f4"), [1]),
        (big[0], 2),
    ]

    def call(i: int) -> None:
        try:
            function(*inputs[i % len(inputs)])
        except ShapeError:
            assert i % len(inputs) >= 2

    assert growth(call, 2000) < 2 << 20


def test_threads() -> None:
    function = compiled(T(None, None), rx.Object())(everything)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for n in range(100):
            x = np.random.default_rng(n).random((2, (n * seed) % 40), "float32")
            z, y, shape, o, *_ = from_ffi(function(x, n))
            if not (np.allclose(z, np.exp(x + 1)) and np.allclose(y, x + 1) and (shape, o) == (x.shape, n)):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 7, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def calling(info: rx.StructInfo) -> Any:
    """`main(x, y)` that calls a function of known parameters with arguments that are known less well."""
    bb = rx.BlockBuilder()

    def inner(x: Any, y: Any) -> Any:
        return R.exp(x), R.prim_value("n+m"), R.concat([y, y])

    add(bb, "inner", [T(("n", 3), "float32"), T(("m",), "float32")], inner, private=True)

    def main(x: Any, y: Any) -> Any:
        result = bb.call("inner", x, y)
        exp = R.tuple_get_item(result, 0)
        return result, R.shape_of(exp), R.negative(R.match_shape(exp, ("a", "b")))

    add(bb, "main", [info, N], main)
    return rx.build(bb.get())["main"]


@pytest.mark.parametrize("info", [T(None, None), T((None, 3), "float32"), T(("k", 3), None), T(None, "float32")])
def test_callees_check_what_callers_do_not_know(info: rx.StructInfo) -> None:
    function = calling(info)
    for n in (0, 1, 5):
        x, y = np.ones((n, 3), "float32"), np.arange(n + 1, dtype="float32")
        (exp, total, twice), shape, negative = from_ffi(function(x, y))
        np.testing.assert_allclose(exp, np.exp(x), rtol=1e-6)
        np.testing.assert_array_equal(twice, np.concatenate([y, y]))
        np.testing.assert_array_equal(negative, -exp)
        assert (total, shape) == (2 * n + 1, (n, 3))


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (X[0], ShapeError, 'argument 0 has rank 1, expected rank 2 (expected Tensor((n, 3), "float32"))'),
        (X.astype("i4"), DTypeError, "argument 0 has dtype int32, expected float32"),
        (X[:, :2], ShapeError, "inner: parameter 'x' dimension 1 is 2, expected 3"),
    ],
)
def test_what_callees_find(value: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        calling(T(None, None))(value, np.ones(2, "float32"))
    assert message in str(caught.value)


def test_an_object_may_be_a_tensor() -> None:
    function = compiled(rx.Object())(lambda x: R.exp(R.match_shape(x, ("n", 3), "float32")))
    np.testing.assert_allclose(from_ffi(function(X)), np.exp(X), rtol=1e-6)
    with pytest.raises(ArgumentError, match=r"main: match_shape at .*: the object is of type int, expected a tensor"):
        function(3)
    with pytest.raises(ShapeError, match="the tensor has rank 1, expected rank 2"):
        function(X[0])
