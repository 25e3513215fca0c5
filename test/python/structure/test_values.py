"""Structure ops through native code: shapes as values, match_shape, tuples, constants, aliases, sizes."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from programs import Program, numpy
from relax_mlir import op as R
from relax_mlir.error import ShapeError

N = rx.Tensor(("n",), "float32")
X = np.arange(4, dtype="float32")
BIG = np.arange(100, dtype="float32")
CONSTANTS = [
    np.array([1, 0, 3]).astype(dtype)
    for dtype in ["f2", "f4", "f8", ml_dtypes.bfloat16, "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
] + [np.zeros((0, 3), "float32"), np.array(2.5), np.array([-1, 2], "int8"), np.array([255], "uint8")]
LARGE = [np.arange(100).astype(c.dtype) for c in CONSTANTS[:13]]

program = Program()


@program.function(rx.Tensor((None, None), "float32"), rx.Tensor((None, None), "float32"))
def match_three_ways(bb: Any, x: Any, y: Any) -> Any:
    a = bb.match_shape(x, ("n", "m"))
    b = bb.match_shape(y, ("n", "m"))
    bb.match_shape(R.shape_of(y), ("n", "k"))
    return R.sum(a + b)


@program.function(rx.Tensor((None,), "float32"))
def match_expression(bb: Any, x: Any) -> Any:
    return bb.match_shape(x, (4,)) + np.ones(4, "float32")


@program.function(rx.Tensor(("n",), "float32"), rx.Tensor((None,), "float32"))
def match_formula(bb: Any, x: Any, y: Any) -> Any:
    return bb.match_shape(y, ("2*n",))


@program.function(rx.Shape(("n", "m")), rx.Prim("int64"))
def shape_parameter(bb: Any, s: Any, k: Any) -> Any:
    return R.zeros(("n*m", 2), "int32")


@program.function(rx.Tuple([N, rx.Tuple([N, rx.Tensor(("m",), "int32")])]))
def nested_tuple(bb: Any, t: Any) -> Any:
    inner = R.tuple_get_item(t, 1)
    x = R.tuple_get_item(t, 0)
    return x + R.tuple_get_item(inner, 0), inner


@program.function(N)
def itself(bb: Any, x: Any) -> Any:
    return x


@program.function(N)
def twice(bb: Any, x: Any) -> Any:
    y = x + x
    return y, y, x, x


@program.function(N)
def views(bb: Any, x: Any) -> Any:
    return R.reshape(x, ("n", 1)), R.expand_dims(x, 0)


@program.function()
def empty_tuple(bb: Any) -> Any:
    return ()


@program.function()
def constants(bb: Any) -> Any:
    return [bb.const(c) for c in CONSTANTS + LARGE]


@program.function()
def one_constant(bb: Any) -> Any:
    return bb.const(BIG)


@program.function()
def same_constant_twice(bb: Any) -> Any:
    c = bb.const(BIG)
    return c, bb.const(BIG), c


@program.function(
    rx.Tensor(("2*n",), "float32"),
    rx.Tensor(("n//2", "n % 3", "min(n, m)"), "float32"),
    rx.Tensor(("n", "m"), "float32"),
)
def formulas(bb: Any, x: Any, y: Any, z: Any) -> Any:
    return x + x, R.zeros(("n*m", "n//2", "n % 3", "max(n, m)"), "float32")


@program.function(rx.Tensor((), "bool"), rx.Tensor((), "bool"), N)
def nested_branches(bb: Any, x: Any, y: Any, z: Any) -> Any:
    def inner() -> Any:
        return R.if_then_else(y, lambda: R.make_tuple(z + z, z), lambda: R.make_tuple(z, z * z))

    pair = R.if_then_else(x, inner, lambda: R.make_tuple(z, z))
    return R.tuple_get_item(pair, 0) + R.tuple_get_item(pair, 1), pair


@program.function(rx.Tensor((), "bool"), N, rx.Tensor((None,), "float32"))
def match_in_branch(bb: Any, x: Any, y: Any, z: Any) -> Any:
    return R.if_then_else(x, lambda: y + bb.match_shape(z, ("n",)), lambda: y)


@program.function(rx.Tensor((), "bool"), N, N)
def parameters_from_branches(bb: Any, x: Any, y: Any, z: Any) -> Any:
    return R.if_then_else(x, lambda: y, lambda: z)


@program.function(rx.Tensor(("index", "class", "arg0", "c0"), "float32"))
def keywords(bb: Any, x: Any) -> Any:
    return R.zeros(("index*2", "class", "arg0", "c0"), "float32")


@program.function(N, N)
def add_f32(bb: Any, x: Any, y: Any) -> Any:
    return x + y


@pytest.fixture(scope="module")
def ex() -> Any:
    return program.compile()


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert isinstance(found, tuple) and len(found) == len(expected)
        for have, want in zip(found, expected, strict=True):
            same(have, want)
        return
    assert found.shape == np.shape(expected)
    np.testing.assert_array_equal(found, expected)


def f(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


M = np.arange(3, dtype="int32")
YES, NO = np.array(True), np.array(False)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("match_three_ways", [f(2, 3), f(2, 3)], np.float32(30)),
        ("match_three_ways", [f(0, 3), f(0, 3)], np.float32(0)),
        ("match_expression", [X], X + 1),
        ("match_formula", [f(2), X], X),
        ("shape_parameter", [tvm_ffi.Shape((2, 3)), 7], np.zeros((6, 2))),
        ("shape_parameter", [tvm_ffi.Shape((2, 0)), 7], np.zeros((0, 2))),
        ("nested_tuple", [(X, (X, M))], (2 * X, (X, M))),
        ("itself", [X], X),
        ("twice", [X], (2 * X, 2 * X, X, X)),
        ("views", [X], (X.reshape(4, 1), X.reshape(1, 4))),
        ("empty_tuple", [], ()),
        ("one_constant", [], BIG),
        ("same_constant_twice", [], (BIG, BIG, BIG)),
        ("formulas", [f(8), f(2, 1, 3), f(4, 3)], (2 * f(8), np.zeros((12, 2, 1, 4)))),
        ("formulas", [f(0), f(0, 0, 0), f(0, 3)], (f(0), np.zeros((0, 0, 0, 3)))),
        ("nested_branches", [YES, YES, X], (3 * X, (2 * X, X))),
        ("nested_branches", [YES, NO, X], (X + X * X, (X, X * X))),
        ("nested_branches", [NO, YES, X], (2 * X, (X, X))),
        ("match_in_branch", [YES, X, X], 2 * X),
        ("match_in_branch", [NO, X, f(9)], X),
        ("parameters_from_branches", [YES, X, X + 1], X),
        ("parameters_from_branches", [NO, X, X + 1], X + 1),
        ("keywords", [f(1, 2, 3, 4)], np.zeros((2, 2, 3, 4))),
        ("add_f32", [X, X], 2 * X),
    ],
)
def test_values(ex: Any, name: str, args: list[Any], expected: Any) -> None:
    same(numpy(ex[name](*args)), expected)


def test_constants_of_all_dtypes(ex: Any) -> None:
    found = ex["constants"]()
    assert len(found) == len(CONSTANTS + LARGE)
    for have, want in zip(found, CONSTANTS + LARGE, strict=True):
        assert (tuple(have.shape), str(have.dtype)) == (want.shape, str(want.dtype).replace("bool_", "bool"))
        if want.dtype == ml_dtypes.bfloat16:
            import torch

            np.testing.assert_array_equal(torch.from_dlpack(have).float().numpy(), want.astype("float32"))
        else:
            np.testing.assert_array_equal(numpy(have), want)


@pytest.mark.parametrize(
    ("name", "args"),
    [("itself", [X]), ("twice", [X]), ("views", [X]), ("same_constant_twice", []), ("one_constant", [])],
)
def test_results_are_tensors_of_their_own(ex: Any, name: str, args: list[Any]) -> None:
    """Writing to one result changes no other result, argument, or constant."""
    result = ex[name](*args)
    arrays = [*numpy(result)] if isinstance(result, tuple | tvm_ffi.Array) else [numpy(result)]
    expected = [array.copy() for array in arrays]
    for index, array in enumerate(arrays):
        assert not any(np.shares_memory(array, other) for other in [*arrays[:index], *args, BIG])
        array[...] = -1
    again = numpy(ex[name](*args))
    for have, want in zip(again if isinstance(again, tuple) else [again], expected, strict=True):
        np.testing.assert_array_equal(have, want)


HERE = r"match_shape at .*test_values\.py:\d+(:\d+)?"


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        (
            "match_three_ways",
            [f(2, 3), f(2, 4)],
            f"match_three_ways: {HERE}: dimension 1 is 4, but m = 3, taken from dimension 1 of {HERE} "
            r"\(expected \(n, m\), got \(2, 4\)\)",
        ),
        ("match_expression", [f(5)], f"match_expression: {HERE}: dimension 0 is 5, expected 4 .*"),
        (
            "match_formula",
            [f(2), f(5)],
            rf"match_formula: {HERE}: dimension 0 is 5, but 2\*n = 4, with n = 2 taken from parameter 'x' "
            r"dimension 0 .*",
        ),
        ("match_in_branch", [YES, X, f(9)], f"match_in_branch: {HERE}: dimension 0 is 9, but n = 4, .*"),
        (
            "formulas",
            [f(7), f(2, 1, 3), f(4, 3)],
            r"formulas: parameter 'x' dimension 0 is 7, but 2\*n = 8, with n = 4 taken from parameter 'z' "
            r"dimension 0 \(expected x: Tensor\(\(2\*n,\), \"float32\"\), got \(7,\)\)",
        ),
        (
            "add_f32",
            [X, f(3)],
            r"add_f32: parameter 'y' dimension 0 is 3, but n = 4, taken from parameter 'x' .*",
        ),
    ],
)
def test_sizes_that_do_not_fit(ex: Any, name: str, args: list[Any], message: str) -> None:
    with pytest.raises(ShapeError) as caught:
        ex[name](*args)
    assert re.fullmatch(message, str(caught.value)), str(caught.value)
