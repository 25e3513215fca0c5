"""Results of unknown size, and results that are not tensors: functions return them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from programs import add, compiled, from_ffi, registered
from relax_mlir import op as R
from relax_mlir.error import ShapeError

T = rx.Tensor
N = T(("n",), "float32")


@registered
def positive(x: Any) -> Any:
    return x[x > 0]


@registered
def sizes(x: Any) -> Any:
    return tvm_ffi.Shape((x.shape[0] * 2, 3))


@registered
def fill(x: Any, out: Any) -> None:
    out[...] = x.sum()


@pytest.mark.parametrize(
    "dtype", ["int8", "int64", "uint16", "uint64", "float16", "float32", "float64", "bfloat16", "bool"]
)
def test_a_filter_of_every_dtype(dtype: str) -> None:
    def body(x: Any) -> Any:
        return R.reshape(R.match_shape(R.call_packed(positive, x, out=T(None, dtype)), ("m",)), ("m", 1))

    function = compiled(T(("n",), dtype))(body)
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    for values in ([], [0], [3], [0, 1, 0, 2, 5, 0, 1]):
        x = np.array(values).astype(kind)
        result = from_ffi(function(x))
        assert result.dtype == kind
        np.testing.assert_array_equal(result, x[x > 0].reshape(-1, 1))


def test_what_is_known_before_comes_with_what_is_not() -> None:
    """Example 3 of the language: a known size, and one that a `match_shape` determines."""

    def body(x: Any, y: Any) -> Any:
        found = R.match_shape(R.call_packed(positive, x, out=T(ndim=1)), ("m",))
        return R.exp(x), R.exp(found), (R.prim_value("n+m"), R.shape_of(found)), x + y

    function = compiled(N, N)(body)
    for n in (0, 1, 9):
        x = np.random.default_rng(n).standard_normal(n).astype("float32")
        exp, found, (total, shape), double = from_ffi(function(x, x))
        np.testing.assert_allclose(exp, np.exp(x), rtol=1e-6)
        np.testing.assert_allclose(found, np.exp(x[x > 0]), rtol=1e-6)
        np.testing.assert_array_equal(double, 2 * x)
        assert (total, shape) == (n + len(found), found.shape)


def test_the_same_value_twice() -> None:
    def body(x: Any) -> Any:
        found = R.exp(R.match_shape(R.call_packed(positive, x, out=T(ndim=1)), ("m",)))
        return found, found, R.exp(found)

    one, two, three = from_ffi(compiled(N)(body)(np.array([1, -1, 2], "float32")))
    assert not np.shares_memory(one, two)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(three, np.exp(one), rtol=1e-6)


def test_results_stay_valid() -> None:
    function = compiled(N)(lambda x: R.match_shape(R.call_packed(positive, x, out=T(ndim=1)), ("m",)))
    results = [function(np.full(50, i + 1, "float32")) for i in range(20)]
    for i, result in enumerate(results):
        np.testing.assert_array_equal(from_ffi(result), np.full(50, i + 1))


def test_a_destination_cannot_be_given_for_a_returned_result() -> None:
    function = compiled(N)(lambda x: R.match_shape(R.call_packed(positive, x, out=T(ndim=1)), ("m",)))
    with pytest.raises(rx.error.ArgumentError, match=r"main: takes 1 argument \(x\); got 2"):
        function(np.ones(3, "float32"), np.ones(3, "float32"))


def test_sizes_from_a_shape_function() -> None:
    """Example 2 of the language: a packed function computes the size of another one's result."""

    def body(x: Any) -> Any:
        flat = R.reshape(x, ("n*4",))
        R.match_shape(R.call_packed(sizes, flat, out=rx.Shape()), ("a", "b"))
        table = R.call_dps_packed(fill, [flat], T(("a", "b"), "float32"))
        found = R.match_shape(R.call_packed(positive, table, out=T(ndim=1)), ("m",))
        return R.exp(found), table

    function = compiled(T(("n", 2, 2), "float32"))(body)
    for n in (0, 1, 3):
        x = np.full((n, 2, 2), 0.125, "float32")
        exp, table = from_ffi(function(x))
        np.testing.assert_array_equal(table, np.full((n * 8, 3), n * 0.5))
        np.testing.assert_allclose(exp, np.exp(np.full(n * 24, n * 0.5)), rtol=1e-6)


def test_unknown_in_unknown_out() -> None:
    """Example 4 of the language: a tensor of unknown rank, then a shape at run time."""
    function = compiled(T(None, None))(lambda x: R.exp(R.match_shape(x, ("m",), "float32")))
    for m in (0, 1, 17):
        x = np.linspace(-1, 1, m, dtype="float32")
        np.testing.assert_allclose(from_ffi(function(x)), np.exp(x), rtol=1e-6)


def test_functions_that_return_to_functions() -> None:
    bb = rx.BlockBuilder()

    def found(x: Any) -> Any:
        y = R.match_shape(R.call_packed(positive, x, out=T(ndim=1)), ("m",))
        return y, R.shape_of(y), R.prim_value("m*n"), R.exp(x)

    add(bb, "found", [N], found, private=True)

    def main(x: Any) -> Any:
        once = bb.call("found", x)
        y = R.match_shape(R.tuple_get_item(once, 0), ("k",))
        twice = bb.call("found", R.negative(y) + 3.0)
        return once, twice, R.prim_value("k")

    add(bb, "main", [N], main)
    function = rx.build(bb.get())["main"]
    x = np.array([1, -1, 2, 5, 0], "float32")
    (y, shape, number, exp), (z, other, more, exp2), k = from_ffi(function(x))
    np.testing.assert_array_equal(y, [1, 2, 5])
    np.testing.assert_array_equal(z, [2, 1])
    np.testing.assert_allclose(exp, np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(exp2, np.exp(3 - y), rtol=1e-6)
    assert (shape, number, other, more, k) == ((3,), 15, (2,), 6, 3)


def test_in_branches() -> None:
    def body(c: Any, x: Any) -> Any:
        def filtered() -> Any:
            return R.match_shape(R.call_packed(positive, x, out=T(ndim=1)), (None,))

        return R.if_then_else(c, filtered, lambda: R.match_shape(R.exp(x), (None,)))

    function = compiled(T((), "bool"), N)(body)
    x = np.array([1, -1, 2], "float32")
    np.testing.assert_array_equal(from_ffi(function(np.array(True), x)), [1, 2])
    np.testing.assert_allclose(from_ffi(function(np.array(False), x)), np.exp(x), rtol=1e-6)


def test_known_rank_unknown_sizes() -> None:
    function = compiled(T((None, 4), "float32"), T(ndim=1))(lambda x, y: (x, y, R.shape_of(x)))
    x, y = np.ones((3, 4), "float32"), np.ones(5, "float32")
    a, b, shape = from_ffi(function(x, y))
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(b, y)
    assert shape == (3, 4)
    with pytest.raises(ShapeError, match="parameter 'x' dimension 1 is 3, expected 4"):
        function(x[:, :3], y)


def test_errors_after_a_result_is_made_leave_nothing_behind() -> None:
    def body(x: Any) -> Any:
        found = R.match_shape(R.call_packed(positive, x, out=T(ndim=1)), ("m",))
        return R.exp(found), R.match_shape(R.call_packed(positive, found, out=T(ndim=1)), ("n",))

    function = compiled(N)(body)
    np.testing.assert_allclose(from_ffi(function(np.ones(4, "float32")))[0], np.exp(np.ones(4)), rtol=1e-6)
    for _ in range(100):
        with pytest.raises(ShapeError, match="dimension 0 is 2, but n = 3"):
            function(np.array([1, 0, 2], "float32"))
