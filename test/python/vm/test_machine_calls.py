"""Calls of machines by generated code return the same as calls through the FFI, and keep arguments equally long."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import cold_process
import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.error import ArgumentError, DTypeError
from relax_mlir.lowering.runtime_lib.fast_call_state import MAX_ARGUMENTS
from relax_mlir.vm.machine import VMFunction

kept: list[Any] = []
seen: list[Any] = []


def _look(*args: Any) -> None:
    seen.append(args)


@pytest.fixture(scope="module")
def vm() -> rx.vm.VirtualMachine:
    ib = rx.vm.ExecBuilder()
    with ib.function("same", num_inputs=1):
        ib.emit_ret(ib.r(0))
    with ib.function("look", num_inputs=2):
        ib.emit_call("test.look", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("keep", num_inputs=1):
        ib.emit_call("test.keep", args=[ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("first", num_inputs=MAX_ARGUMENTS + 1, allow_unused=True):
        ib.emit_ret(ib.r(0))
    with ib.function("pair", num_inputs=2):
        ib.emit_call("vm.builtin.make_tuple", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    return rx.vm.VirtualMachine(ib.get(), functions={"test.look": _look, "test.keep": kept.append})


def test_it_is_there(vm: rx.vm.VirtualMachine) -> None:
    assert isinstance(vm["same"], VMFunction) and type(VMFunction.__call__).__name__ == "method_descriptor"


def _array(dtype: Any) -> np.ndarray[Any, Any]:
    return (np.arange(6) % 2).reshape(2, 3).astype(dtype)


ARRAYS: dict[str, Callable[[], Any]] = {
    **{
        dtype: lambda dtype=dtype: _array(dtype)
        for dtype in ("bool", "int8", "uint64", "float16", "float32", "float64")
    },
    "bfloat16": lambda: _array(ml_dtypes.bfloat16),
    "rank 0": lambda: np.array(3.0),
    "empty": lambda: np.zeros((3, 0), "float32"),
    "one": lambda: np.ones((1, 1, 1)),
    "transposed": lambda: np.arange(6.0).reshape(3, 2).T,
    "with steps": lambda: np.arange(12.0)[::2],
    "reversed": lambda: np.arange(6.0)[::-1],
    "broadcast": lambda: np.broadcast_to(np.arange(3.0), (2, 3)),
    "FFI tensor": lambda: tvm_ffi.from_dlpack(np.arange(6.0)),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays(vm: rx.vm.VirtualMachine, kind: str) -> None:
    array = ARRAYS[kind]()
    result = vm["same"](array)
    assert type(result) is (np.ndarray if isinstance(array, np.ndarray) else tvm_ffi.Tensor)
    wanted = array if isinstance(array, np.ndarray) else np.from_dlpack(array)
    given = rx.runtime.to_numpy(result)
    assert (given.dtype, given.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(given.astype("float64"), wanted.astype("float64"))
    assert np.shares_memory(given, wanted) or wanted.size == 0


def test_read_only_arrays(vm: rx.vm.VirtualMachine) -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    np.testing.assert_array_equal(np.from_dlpack(vm["same"](array)), [0, 1, 2])


def test_steps_of_results(vm: rx.vm.VirtualMachine) -> None:
    result = vm["same"](np.zeros((4, 3, 5)))
    assert result.strides == (120, 40, 8)


VALUES = [
    *(0, -1, 2**63 - 1, -(2**63), True, False, None, 1.5, float("inf"), -0.0, "text", ""),
    *(tvm_ffi.Shape((2, 0, 2**40)), tvm_ffi.Shape(())),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values(vm: rx.vm.VirtualMachine, value: Any) -> None:
    result = vm["same"](value)
    assert type(result) is type(vm["same"].ffi(value)) and result == value
    assert str(result) == str(value)


def test_not_a_number(vm: rx.vm.VirtualMachine) -> None:
    result = vm["same"](float("nan"))
    assert result != result


def test_numbers_beyond_64_bits(vm: rx.vm.VirtualMachine) -> None:
    def outcome(function: Callable[[object], object]) -> object:
        try:
            return function(2**63)
        except Exception as error:
            return type(error), str(error)

    assert outcome(vm["same"]) == outcome(vm["same"].ffi)


def test_tuples_and_functions(vm: rx.vm.VirtualMachine) -> None:
    array = np.arange(3.0)
    first, second = vm["same"]((array, (1, "text")))
    np.testing.assert_array_equal(np.from_dlpack(first), array)
    assert tuple(second) == (1, "text")
    assert vm["same"](tvm_ffi.convert(lambda x: x + 1))(2) == 3
    assert vm["same"](vm["same"].ffi)(5) == 5


def test_an_argument_beside_others(vm: rx.vm.VirtualMachine) -> None:
    array = np.arange(3.0)
    for other in (None, 3, "text", tvm_ffi.Shape((3,)), (1, 2), tvm_ffi.from_dlpack(array)):
        for given in ((array, other), (other, array)):
            seen.clear()
            vm["look"](*given)
            ((first, second),) = seen
            tensor = first if given[0] is array else second
            np.testing.assert_array_equal(np.from_dlpack(tensor), array)
    seen.clear()


def test_many_arguments(vm: rx.vm.VirtualMachine) -> None:
    arrays = [np.full(2, i) for i in range(MAX_ARGUMENTS + 1)]
    np.testing.assert_array_equal(np.from_dlpack(vm["first"](*arrays)), [0, 0])


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((), ArgumentError, "same: takes 1 argument; got 0"),
        ((np.zeros(1), np.zeros(1)), ArgumentError, "same: takes 1 argument; got 2"),
        ((1, "text", None), ArgumentError, "same: takes 1 argument; got 3"),
        ((np.zeros(1),) * (MAX_ARGUMENTS + 2), ArgumentError, "got 18"),
        ((np.zeros(3, ">f4"),), DTypeError, ">f4"),
        ((np.array(["a"]),), DTypeError, "<U1"),
    ],
)
def test_errors(vm: rx.vm.VirtualMachine, args: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        vm["same"](*args)


def test_arguments_that_a_packed_function_keeps(vm: rx.vm.VirtualMachine) -> None:
    """They live as long as it keeps them, and no longer; another thread may hold the last reference."""
    array = np.arange(4.0)
    before = sys.getrefcount(array)
    for _ in range(3):
        vm["keep"](array)
    vm["keep"](tvm_ffi.Shape((1, 2)))
    assert sys.getrefcount(array) == before + 3
    copy = array.copy()
    del array
    gc.collect()
    for tensor in kept[:3]:
        np.testing.assert_array_equal(np.from_dlpack(tensor), copy)
    assert kept[3] == (1, 2)
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    assert not kept


def test_nothing_is_kept(vm: rx.vm.VirtualMachine) -> None:
    array, shape = np.arange(4.0), tvm_ffi.Shape((7, 8))
    tensor = tvm_ffi.from_dlpack(np.arange(4.0))
    counted = (array, shape, tensor, vm["same"])
    before = list(map(sys.getrefcount, counted))
    for _ in range(100):
        vm["same"](array)
        vm["same"](tensor)
        vm["pair"](array, shape)
        vm["pair"](array, "text")
        with pytest.raises(ArgumentError):
            vm["same"](array, shape)
    gc.collect()
    assert all(abs(a - b) < 10 for a, b in zip(map(sys.getrefcount, counted), before, strict=True))


def test_a_result_outlives_its_array(vm: rx.vm.VirtualMachine) -> None:
    results = [vm["same"](np.full(3, float(i))) for i in range(50)]
    gc.collect()
    for i, result in enumerate(results):
        np.testing.assert_array_equal(np.from_dlpack(result), np.full(3, float(i)))


def test_threads(vm: rx.vm.VirtualMachine) -> None:
    def work(seed: int) -> None:
        for i in range(300):
            array = np.full(5, seed * 1000 + i)
            np.testing.assert_array_equal(np.from_dlpack(vm["same"](array)), array)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class TestTorch:
    def test_results_are_of_torch(self, vm: rx.vm.VirtualMachine) -> None:
        torch = pytest.importorskip("torch")
        for tensor in (
            torch.arange(6.0).reshape(2, 3),
            torch.zeros(()),
            torch.zeros(3, 0),
            torch.arange(6).reshape(2, 3).t(),
            torch.ones(3, dtype=torch.bfloat16),
            torch.ones(4)[2:],
        ):
            result = vm["same"](tensor)
            assert type(result) is torch.Tensor and torch.equal(result, tensor)
            assert result.data_ptr() == tensor.data_ptr() and result.stride() == tensor.stride()
            first, number = vm["pair"](tensor, 3)
            assert torch.equal(first, tensor) and number == 3

    def test_tensors_that_need_care(self, vm: rx.vm.VirtualMachine) -> None:
        torch = pytest.importorskip("torch")
        numbers = torch.complex(torch.ones(3), torch.ones(3)).conj()
        assert vm["same"](numbers.imag).tolist() == [-1, -1, -1]
        short = torch.zeros(6)
        short.untyped_storage().resize_(8)
        with pytest.raises(ArgumentError, match="needs 24 bytes, but its storage has 8"):
            vm["same"](short)

    def test_tensors_that_a_packed_function_keeps(self, vm: rx.vm.VirtualMachine) -> None:
        torch = pytest.importorskip("torch")
        tensor = torch.arange(3.0)
        vm["keep"](tensor)
        del tensor
        gc.collect()
        assert np.from_dlpack(kept[0]).tolist() == [0, 1, 2]
        kept.clear()

    def test_a_tensor_resized_later(self, vm: rx.vm.VirtualMachine) -> None:
        """The machine has a copy of a tensor's shape."""
        torch = pytest.importorskip("torch")
        tensor = torch.arange(6.0)
        vm["keep"](tensor)
        tensor.resize_(2)
        assert np.from_dlpack(kept[0]).tolist() == [0, 1, 2, 3, 4, 5]
        kept.clear()


def test_without_fast_calls() -> None:
    """The same through the FFI."""
    text = """
import numpy as np, relax_mlir as rx
from relax_mlir.runtime import fast_calls
assert not fast_calls().active
ib = rx.vm.ExecBuilder()
with ib.function("same", num_inputs=1):
    ib.emit_ret(ib.r(0))
same = rx.vm.VirtualMachine(ib.get())["same"]
assert type(type(same).__call__).__name__ == "function"
frozen = np.arange(3.0)
frozen.flags.writeable = False
for value in (np.arange(3.0), frozen):
    assert np.from_dlpack(same(value)).tolist() == [0, 1, 2]
assert same(3) == 3 and same("text") == "text"
try:
    same(1, 2)
except rx.error.ArgumentError as error:
    assert "takes 1 argument; got 2" in str(error)
"""
    done = cold_process.run(["-c", text], env=cold_process.cached({**os.environ, "RELAX_MLIR_FAST_CALLS": "0"}))
    assert done.returncode == 0, done.stderr
