"""Arguments and results of all kinds, and their ownership: copies, views, leaks."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import torch
import tvm_ffi
from raw_calls import RawError, dltensor, raw_call
from relax_mlir.error import (
    RelaxError,
)
from relax_mlir.runtime import to_numpy
from relax_mlir.runtime.memory import memory_stats
from relax_mlir.vm import ExecBuilder, VirtualMachine
from vm_programs import P, built, emit_identity


def same_value(found: Any, given: Any) -> None:
    if isinstance(given, np.ndarray):
        array = to_numpy(found)
        assert (array.dtype, array.shape) == (given.dtype, given.shape)
        assert array.tobytes() == given.tobytes()
    elif isinstance(given, tuple):
        assert len(found) == len(given)
        for a, b in zip(found, given, strict=True):
            same_value(a, b)
    else:
        assert found == given


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


X = np.arange(6, dtype="float32").reshape(2, 3)


VALUES = {
    "plain": X,
    "read-only": read_only(X.copy()),
    "bfloat16": X.astype(ml_dtypes.bfloat16),
    "strided": X[::-1, ::2],
    "transposed": X.T,
    "broadcast": np.broadcast_to(X[:1], (5, 3)),
    "empty": X[:, :0],
    "rank 0": np.array(2.5),
    "bool": np.array([True, False]),
    "tuple": (X, 3, "text", (read_only(X.copy()), X.astype(ml_dtypes.bfloat16))),
    "shape": tvm_ffi.Shape((2, 3)),
    "short": "short",
    "long": "a longer text than fits inline",
    "int": -(2**63),
    "float": float("inf"),
    "bool value": True,
    "none": None,
    "dtype": tvm_ffi.dtype("bfloat16"),
    "device": tvm_ffi.Device("cpu"),
    "nothing": (),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_come_through(name: str) -> None:
    def emit(ib: ExecBuilder) -> None:
        with ib.function("through", 1):
            ib.emit_call("identity", [ib.r(0)], ib.r(1))
            ib.emit_call("seen", [ib.r(1)], ib.r(2))
            ib.emit_ret(ib.r(1))
        emit_identity(ib)

    seen: list[Any] = []
    vm = built(emit, seen=lambda value: seen.append(value))
    given = VALUES[name]
    same_value(vm["through"](given), given)
    same_value(seen[0], given)


def test_torch_tensors() -> None:
    vm = built(emit_identity)
    x = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)
    for given in (x, x.t(), x[:, ::2], x[:0], torch.tensor(2.5), x.float().requires_grad_().detach()):
        found = vm["identity"](given)
        assert isinstance(found, torch.Tensor)
        assert torch.equal(found, given)
    assert vm["identity"](x).data_ptr() == x.data_ptr()
    negative = torch.tensor([1 + 2j]).conj().imag
    assert negative.is_neg()
    assert torch.equal(vm["identity"](negative), torch.tensor([-2.0]))
    result = vm["identity"](x.clone())
    gc.collect()
    assert torch.equal(result, x)
    for wrong in (torch.zeros(3, device="meta"), torch.zeros(3).to_sparse()):
        with pytest.raises(RelaxError, match=r"identity: argument 0"):
            vm["identity"](wrong)


def test_bare_dltensors_are_refused() -> None:
    vm = built(emit_identity)
    with dltensor(X) as view, pytest.raises(RawError, match=r"^identity: argument 0 is a DLTensor") as caught:
        raw_call(vm["identity"].ffi, view)
    assert caught.value.kind == "ArgumentError"


def emit_work(ib: ExecBuilder) -> None:
    """Frames, tuples, closures, views and constants; the last call is of ``end``."""
    with ib.function("inner", 2):
        ib.emit_call(f"{P}make_tuple", [ib.r(0), ib.r(1), ib.c("a longer text than fits inline")], ib.r(2))
        ib.emit_call(f"{P}make_closure", [ib.f("inner"), ib.r(2), ib.r(0)], ib.r(3))
        ib.emit_call(f"{P}tuple_getitem", [ib.r(2), ib.imm(0)], ib.r(4))
        ib.emit_call(f"{P}copy_tensor", [ib.r(4)], ib.r(5))
        ib.emit_call("end", [ib.r(5), ib.r(3)], ib.r(6))
        ib.emit_call(f"{P}make_tuple", [ib.r(0), ib.r(6), ib.r(2)], ib.r(6))
        ib.emit_ret(ib.r(6))
    with ib.function("main", 1):
        ib.emit_call(f"{P}alloc_storage", [ib.vm_state(), (64,), ib.imm(0), tvm_ffi.dtype("uint8")], ib.r(1))
        ib.emit_call(f"{P}alloc_tensor", [ib.r(1), ib.imm(0), (4, 4), tvm_ffi.dtype("float32")], ib.r(2))
        ib.emit_call(f"{P}null_value", [], ib.r(1))
        ib.emit_call("inner", [ib.r(0), ib.r(2)], ib.r(3))
        ib.emit_ret(ib.r(3))


class Held:
    """An object that records when it is freed."""


@pytest.mark.parametrize("fails", [False, True])
def test_no_leaks(fails: bool) -> None:
    def end(x: object, closure: object) -> object:
        if fails:
            raise ValueError("end")
        return x

    vm = built(emit_work, end=end)

    def run(array: np.ndarray) -> None:
        tensor = tvm_ffi.from_dlpack(array)
        try:
            result = vm["main"](tensor)
            assert not fails
            assert len(result) == 3
        except ValueError:
            assert fails

    arrays = [np.zeros((4, 4), "float32") for _ in range(20)]
    run(arrays[0])
    gc.collect()
    counts = [sys.getrefcount(array) for array in arrays]
    used = memory_stats().used_blocks
    for i in range(len(arrays)):
        run(arrays[i])
    gc.collect()
    assert [sys.getrefcount(array) for array in arrays] == counts
    assert memory_stats().used_blocks == used


def test_objects_of_python_are_given_back() -> None:
    def emit(ib: ExecBuilder) -> None:
        with ib.function("main", 2):
            ib.emit_call(f"{P}make_tuple", [ib.r(0), ib.r(0)], ib.r(2))
            ib.emit_call(f"{P}make_closure", [ib.r(1), ib.r(2)], ib.r(3))
            ib.emit_call(f"{P}invoke_closure", [ib.vm_state(), ib.r(3)], ib.r(4))
            ib.emit_ret(ib.r(2))

    vm = built(emit)

    def fail(value: object) -> None:
        raise KeyError("x")

    for function in (lambda value: value, fail):
        held = Held()
        gone = weakref.ref(held)
        try:
            result = vm["main"](held, function)
            assert result[0] is held
            del result
        except KeyError:
            pass
        del held
        gc.collect()
        assert gone() is None
    machine = weakref.ref(vm.state)
    del vm
    gc.collect()
    assert machine() is None, "the machine's memory, with its state, is still there"


def test_constants_of_files_can_be_written_to(tmp_path: Any) -> None:
    ib = ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call(f"{P}copy_into", [ib.r(0), ib.c(np.zeros(4096, "float32"))])
        ib.emit_ret(ib.r(0))
    path = tmp_path / "x.rxvm"
    ib.get().save(path)
    content = path.read_bytes()
    loaded = rx.vm.Executable.load(path)
    VirtualMachine(loaded)["main"](np.ones(4096, "float32"))
    assert path.read_bytes() == content
    assert rx.vm.Executable.load(path) == ib.get()
    constant: Any = loaded.constants[0]
    assert not constant.flags.writeable


def nested_tuples(depth: int) -> Iterator[Any]:
    def emit(ib: ExecBuilder) -> None:
        with ib.function("nest", 1):
            again, end = ib.label(), ib.label()
            ib.emit_call(f"{P}make_tuple", [], ib.r(1))
            ib.place(again)
            ib.emit_if(ib.r(0), end)
            ib.emit_call(f"{P}make_tuple", [ib.r(1)], ib.r(1))
            ib.emit_call(f"{P}make_closure", [ib.f(f"{P}copy"), ib.r(1)], ib.r(1))
            ib.emit_call(f"{P}arith.subi", [ib.r(0), ib.imm(1)], ib.r(0))
            ib.emit_goto(again)
            ib.place(end)
            ib.emit_ret(ib.r(1))

    yield built(emit)["nest"](depth)


def test_values_nested_very_deep_are_freed() -> None:
    """Without recursion on the C stack."""
    used = memory_stats().used_blocks
    for value in nested_tuples(100_000):
        assert memory_stats().used_blocks > used
        del value
    gc.collect()
    assert memory_stats().used_blocks == used
