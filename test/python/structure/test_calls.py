"""Calls between Relax functions, and of user prim funcs and packed functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from programs import Program, numpy, register
from relax_mlir import op as R
from relax_mlir.error import PackedFunctionError, RelaxError

N = rx.Tensor(("n",), "float32")
X = np.arange(4, dtype="float32")
PRIMS = """
func.func private @twice(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @fill(%x: memref<?xf32>, %out: memref<?x?xf32>, %k: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    scf.for %j = %c0 to %k step %c1 {
      memref.store %v, %out[%i, %j] : memref<?x?xf32>
    }
  }
  return
}
"""

program = Program(PRIMS)


@register("calls.scale")
def scale(x: Any, factor: float, out: Any) -> None:
    np.multiply(np.from_dlpack(x), factor, out=np.from_dlpack(out))


@register("calls.literals")
def literals(text: str, number: int, flag: bool, x: Any) -> Any:
    assert (text, number, flag) == ('a "b" {0} %d', -3, True)
    return tvm_ffi.from_dlpack(np.from_dlpack(x) + 1)


@register("calls.raises")
def raises(x: Any) -> None:
    raise KeyError("gone")


@register("calls.wrong")
def wrong(x: Any) -> Any:
    return tvm_ffi.from_dlpack(np.zeros((2, 2), "float64"))


@program.function(rx.Tensor(("n", "m"), "float32"), private=True)
def inner(bb: Any, x: Any) -> Any:
    return R.reshape(x, ("n*m",)), x + x


@program.function(rx.Tensor(("a", 2), "float32"))
def middle(bb: Any, x: Any) -> Any:
    return bb.call("inner", x)


@program.function(rx.Tensor(("n",), "float32"), rx.Tensor(("m", 2), "float32"))
def outer(bb: Any, x: Any, y: Any) -> Any:
    pair = bb.call("middle", y)
    assert pair.struct_info.fields[0] == rx.Tensor(("2*m",), "float32")
    return x, R.tuple_get_item(pair, 0), bb.call("inner", R.tuple_get_item(pair, 1))


@program.function(N)
def tensor_prim(bb: Any, x: Any) -> Any:
    return R.call_tir("twice", [R.call_tir("twice", [x], N)], N)


@program.function(N)
def memref_prim(bb: Any, x: Any) -> Any:
    y = R.call_tir("fill", [x + x], rx.Tensor(("n", "2*(n//2)"), "float32"), tir_vars=["2*(n//2)"])
    return y, x


@program.function(N)
def dps(bb: Any, x: Any) -> Any:
    y = R.call_dps_packed("calls.scale", [x, 3.0], N)
    return y, R.call_dps_packed("calls.scale", [y, 0.5], N)


@program.function(N)
def static_arguments(bb: Any, x: Any) -> Any:
    return R.call_packed("calls.literals", 'a "b" {0} %d', -3, True, x, out=N)


@program.function(N)
def raising(bb: Any, x: Any) -> Any:
    R.call_packed("calls.raises", x)
    return x


@program.function(N)
def wrong_result(bb: Any, x: Any) -> Any:
    return R.call_packed("calls.wrong", x, out=N)


@pytest.fixture(scope="module")
def ex() -> Any:
    return program.compile()


Y = np.arange(6, dtype="float32").reshape(3, 2)


def check(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for have, want in zip(found, expected, strict=True):
            check(have, want)
    else:
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("middle", [Y], (Y.ravel(), 2 * Y)),
        ("outer", [X, Y], (X, Y.ravel(), (2 * Y.ravel(), 4 * Y))),
        ("tensor_prim", [X], 4 * X),
        ("memref_prim", [X], (np.repeat(2 * X, 4).reshape(4, 4), X)),
        ("dps", [X], (3 * X, 1.5 * X)),
        ("static_arguments", [X], X + 1),
    ],
)
def test_values(ex: Any, name: str, args: list[Any], expected: Any) -> None:
    check(numpy(ex[name](*args)), expected)


def test_private_functions_cannot_be_called(ex: Any) -> None:
    with pytest.raises(RelaxError, match="inner"):
        ex["inner"](Y)


def test_exceptions_arrive(ex: Any) -> None:
    with pytest.raises(KeyError, match="gone"):
        ex["raising"](X)


def test_results_other_than_declared(ex: Any) -> None:
    with pytest.raises(PackedFunctionError, match=r"wrong_result: packed function 'calls.wrong' .* expected"):
        ex["wrong_result"](X)


def test_a_symbol_of_the_callee_is_not_one_of_the_caller() -> None:
    """`m` of the callee comes from a match_shape inside it: the caller's `m` is a different symbol."""
    p = Program()

    @p.function(rx.Tensor((None,), "float32"), private=True)
    def inside(bb: Any, x: Any) -> Any:
        return bb.match_shape(x, ("m",))

    @p.function(rx.Tensor(("n",), "float32"), rx.Tensor(("m",), "float32"))
    def main(bb: Any, x: Any, y: Any) -> Any:
        result = bb.call("inside", x)
        assert result.struct_info == rx.Tensor((None,), "float32")
        return y, result

    y, result = numpy(p.compile()["main"](X, X[:2]))
    np.testing.assert_array_equal(y, X[:2])
    np.testing.assert_array_equal(result, X)
