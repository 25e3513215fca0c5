"""`shape_to_tensor` and `tensor_to_shape`."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.error import DTypeError, ShapeError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse


def test_shape_to_tensor() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4, "m"), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            both = R.shape_to_tensor(R.shape_of(x)), R.shape_to_tensor(R.shape_expr(["n*m"]))
            y = bb.emit_output((*both, R.shape_to_tensor(R.shape_expr([]))))
        bb.emit_func_output(y)
    mod = bb.get()
    assert parse(mod.script(), {}).script() == mod.script()
    function = rx.build(mod)["main"]
    for n, m in ((2, 3), (0, 5)):
        dims, product, none = map(to_numpy, function(np.zeros((n, 4, m), np.float32)))
        np.testing.assert_array_equal(dims, np.array([n, 4, m], np.int64))
        np.testing.assert_array_equal(product, np.array([n * m], np.int64))
        assert none.shape == (0,) and none.dtype == np.int64


def reshaped() -> rx.IRModule:
    bb = rx.BlockBuilder()
    params = [rx.Var("x", rx.Tensor(("n",), "float32")), rx.Var("s", rx.Tensor((2,), "int64"))]
    with bb.function("main", params):
        with bb.dataflow():
            target = R.match_shape(R.tensor_to_shape(params[1]), ("a", "b"))
            y = bb.emit_output(R.sum(R.reshape(params[0], target), axis=1))
            back = bb.emit_output(R.shape_to_tensor(target))
        R.call_packed("shape_values.see", y)
        bb.emit_func_output(back)
    return bb.get()


def test_tensor_to_shape() -> None:
    seen = []
    tvm_ffi.register_global_func("shape_values.see", lambda t: seen.append(to_numpy(t).copy()), override=True)
    mod = reshaped()
    assert parse(mod.script(), {}).script() == mod.script()
    function = rx.build(mod)["main"]
    x = np.arange(6, dtype=np.float32)
    for shape in ((2, 3), (1, 6), (6, 1)):
        np.testing.assert_array_equal(to_numpy(function(x, np.array(shape))), shape)
        np.testing.assert_array_equal(seen.pop(), x.reshape(shape).sum(1))
    with pytest.raises(ShapeError, match="element 1 is -3, which is no size"):
        function(x, np.array([2, -3]))
    with pytest.raises(ShapeError, match="6 elements are not 8"):
        function(x, np.array([2, 4]))


def test_bad_arguments() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    y = rx.Var("y", rx.Tensor(("n", 2), "int64"))
    with bb.function("main", [x, y]):
        with pytest.raises(DTypeError, match="tensor_to_shape: operand 'tensor' has dtype float32, expected int64"):
            R.tensor_to_shape(x)
        with pytest.raises(ShapeError, match="expected a vector"):
            R.tensor_to_shape(y)
        bb.emit_func_output(x)
