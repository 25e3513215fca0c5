"""call_inplace_packed and call_py_func, and TVM's ops that do not exist here."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import RelaxError, UnsupportedError
from relax_mlir.op.op_registry import ELSEWHERE
from relax_mlir.runtime import to_numpy

VECTOR = Tensor(("n",), "float32")


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    @tvm_ffi.register_global_func("calls_of_python.raise_by", override=True)
    def raise_by(x: Any, amount: int) -> Any:
        array = np.from_dlpack(x)
        memory = (ctypes.c_float * array.size).from_address(array.ctypes.data)
        np.ctypeslib.as_array(memory)[:] += amount
        return x

    @tvm_ffi.register_global_func("calls_of_python.doubled", override=True)
    def doubled(x: Any) -> Any:
        return tvm_ffi.from_dlpack(np.from_dlpack(x) * 2)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_an_argument_that_is_changed(mode: str) -> None:
    """Later uses see the change; earlier ones and the caller's array do not."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("main", [x]):
        y = bb.emit(R.add(x, x))
        before = bb.emit(R.negative(y))
        result = bb.emit(R.call_inplace_packed("calls_of_python.raise_by", y, 3, inplace_indices=[0], out=VECTOR))
        bb.emit_func_output([before, result, y, R.add(result, y), x])
    given = np.array([1, 2], np.float32)
    found = [to_numpy(item) for item in rx.build(bb.finalize(), exec_mode=mode)["main"](given)]
    assert [item.tolist() for item in found] == [[-2, -4], [5, 7], [5, 7], [10, 14], [1, 2]]


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_a_python_function(mode: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("main", [x]):
        bb.emit_func_output(R.exp(R.call_py_func("calls_of_python.doubled", [x], VECTOR)))
    given = np.array([0, 1], np.float32)
    found = to_numpy(rx.build(bb.finalize(), exec_mode=mode)["main"](given))
    np.testing.assert_allclose(found, np.exp(given * 2), rtol=1e-6)


def changed(x: Any, *more: Any, indices: Any = 0, out: Any = VECTOR) -> Any:
    return R.call_inplace_packed("f", x, *more, inplace_indices=indices, out=out)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: changed(x, indices=[0, 0]), "2 inplace_indices for 1 results"),
        (lambda x: changed(x, indices=-1), "no result is an argument, as of a call_packed"),
        (lambda x: changed(x, indices=1), "result 0 is argument 1, but there are 1 arguments"),
        (lambda x: changed(x, 3, indices=1), "result 0 is argument 1, which is the literal 3"),
        (lambda x: changed(x, indices=[0, 0], out=[VECTOR] * 2), "two results are argument 0"),
        (lambda x: changed(x, out=Tensor(("n",), "int8")), "result 0 is .*int8.*, but argument 0 is"),
        (lambda x: changed(x, indices="0"), "'inplace_indices' is '0'"),
        (lambda x: R.call_py_func(3, [x], VECTOR), "'func_name'"),
        (lambda x: R.call_py_func("f", x, VECTOR), "'args'"),
        (lambda x: R.call_py_func("f", [x], None), "'out'"),
    ],
)
def test_wrong_arguments(build: Callable[[Any], Any], message: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with pytest.raises(RelaxError, match=message), bb.function("main", [x]):
        bb.emit_func_output(build(x))


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_ops_of_tvm_that_are_none_here(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"'relax.{name}' is no op here: "):
        R.Op.get(f"relax.{name}")
