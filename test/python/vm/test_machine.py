"""Machines that run: calls, recursion, errors, interrupts, threads, lifetimes."""

from __future__ import annotations

import gc
import signal
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
import warm_process
from relax_mlir.error import (
    ArgumentError,
    BytecodeError,
    PackedFunctionError,
    RecursionLimitError,
    RelaxError,
    UnknownNameError,
)
from relax_mlir.lowering.runtime_lib.vm_builtins import MAX_NESTING
from relax_mlir.runtime import to_numpy
from relax_mlir.runtime.memory import memory_stats
from relax_mlir.vm import ExecBuilder, VirtualMachine
from vm_programs import P, built, emit_call_of, emit_forever, emit_identity, emit_sum


def test_the_mapping() -> None:
    def emit(ib: ExecBuilder) -> None:
        emit_sum(ib)
        emit_identity(ib)

    vm = built(emit)
    assert list(vm) == ["sum", "identity"]
    assert len(vm) == 2
    assert "sum" in vm
    assert f"{P}arith.addi" not in vm
    assert vm["sum"](4) == 10
    assert vm["sum"].name == "sum"
    assert "sum(1 arguments)" in repr(vm["sum"])
    assert "sum, identity" in repr(vm)
    assert vm["sum"] is vm["sum"]
    with pytest.raises(UnknownNameError, match=r"unknown function 'sun'.*sum"):
        vm["sun"]
    with pytest.raises(ArgumentError, match=r"expected a bytecode executable"):
        VirtualMachine(vm)  # type: ignore[arg-type]  # what it checks
    for depth in (0, -1, True, 1.5, 1 << 41):
        with pytest.raises(ArgumentError, match=r"'max_depth'"):
            VirtualMachine(vm.executable, max_depth=depth)  # type: ignore[arg-type]  # what it checks


def test_wrong_counts() -> None:
    vm = built(emit_sum)
    for args in ((), (1, 2), (1,) * 500):
        with pytest.raises(ArgumentError, match=rf"^sum: takes 1 argument; got {len(args)}$"):
            vm["sum"](*args)


def test_names_of_any_length_in_errors() -> None:
    """In a child process: the text of an error is formatted on the stack."""
    text = """
import relax_mlir as rx
ib = rx.vm.ExecBuilder()
name = "f" * 20_000_000
with ib.function(name, num_inputs=1, param_names=["p" * 20_000_000]):
    ib.emit_ret(ib.r(0))
vm = rx.VirtualMachine(ib.get())
try:
    vm[name]()
except rx.error.ArgumentError as error:
    print(str(error)[:10], len(str(error)))
try:
    rx.vm.builtin("check_func_info")(3, name)
except rx.error.ArgumentError as error:
    print(str(error)[-8:], len(str(error)))
"""
    done = warm_process.run(["-c", text], b"")
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().split("\n")[0] == "f" * 10 + " 4007"
    assert len(done.stdout) < 100, done.stdout


def test_conditions() -> None:
    def emit(ib: ExecBuilder) -> None:
        with ib.function("pick", 2):
            ib.emit_call(f"{P}null_value", [], ib.r(2))
            ib.emit_if(ib.r(0), 2)
            ib.emit_ret(ib.r(1))
            ib.emit_ret(ib.r(2))

    pick = built(emit)["pick"]
    for condition in (1, -1, True, 1 << 62, -(1 << 63)):
        assert pick(condition, "yes") == "yes"
    for condition in (0, False):
        assert pick(condition, "yes") is None
    kinds: dict[str, object] = {
        "None": None,
        "float": 1.0,
        "ffi.SmallStr": "a",
        "ffi.Tensor": np.array(True),
        "ffi.Array": (1,),
        "DataType": tvm_ffi.dtype("int8"),
        "Device": tvm_ffi.Device("cpu"),
        "ffi.Function": max,
    }
    for kind, value in kinds.items():
        text = f"^pick: instruction 1: `If` takes .* value; register %0 holds a value of type {kind}\n"
        with pytest.raises(BytecodeError, match=text):
            pick(value, "yes")


def test_recursion() -> None:
    vm = built(emit_sum)
    assert vm["sum"](9_999) == 9_999 * 5_000
    with pytest.raises(RecursionLimitError, match=r"^sum: more than 10000 calls are active") as caught:
        vm["sum"](10_000)
    assert isinstance(caught.value, RecursionError)
    assert vm["sum"](3) == 6
    small = VirtualMachine(vm.executable, max_depth=3)
    assert small["sum"](2) == 3
    with pytest.raises(RecursionError, match=r"more than 3 calls"):
        small["sum"](3)
    large = VirtualMachine(vm.executable, max_depth=1_000_000)
    depth = 300_000  # with 10 bytes of the C stack for each, it would overflow
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(large["sum"](depth)))
    thread.start()
    thread.join()
    assert found == [depth * (depth + 1) // 2]


def errors_on_a_small_stack(function: Callable[[], object]) -> list[Exception]:
    """The error that `function` raises in a thread whose C stack has 256 KiB."""
    found: list[Exception] = []

    def run() -> None:
        try:
            function()
        except Exception as error:
            found.append(error)

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return found


def test_nested_entries() -> None:
    depths: list[int] = []

    def again(function: tvm_ffi.Function) -> object:
        depths.append(1)
        return function(function)

    vm = built(emit_call_of("again", 1), again=again)
    (error,) = errors_on_a_small_stack(lambda: vm["main"](vm["main"].ffi))
    assert isinstance(error, RecursionLimitError)
    assert "main: the C stack of this thread" in str(error)
    assert 10 < len(depths) < MAX_NESTING

    def emit_closures(ib: ExecBuilder) -> None:
        with ib.function("down", 1):
            ib.emit_call(f"{P}make_closure", [ib.f("down"), ib.r(0)], ib.r(1))
            ib.emit_call(f"{P}invoke_closure", [ib.vm_state(), ib.r(1)], ib.r(2))
            ib.emit_ret(ib.r(2))

    with pytest.raises(RecursionLimitError, match=rf"down: more than {MAX_NESTING} calls of this thread"):
        built(emit_closures)["down"]("x")


def test_large_closures_on_a_small_stack() -> None:
    def emit(ib: ExecBuilder) -> None:
        with ib.function("wide", 3001, allow_unused=True):
            ib.emit_call("again", [], ib.r(4000))
            ib.emit_ret(ib.r(4000))
        with ib.function("again", 0):
            ib.emit_call(f"{P}make_closure", [ib.f("wide"), *[ib.imm(1)] * 3000], ib.r(0))
            ib.emit_call(f"{P}invoke_closure", [ib.vm_state(), ib.r(0), ib.imm(1)], ib.r(1))
            ib.emit_ret(ib.r(1))

    vm = built(emit)
    with pytest.raises(RecursionLimitError, match=r"the C stack"):
        vm["again"]()
    (error,) = errors_on_a_small_stack(vm["again"])
    assert isinstance(error, RecursionLimitError)


def test_functions_outlive_the_machine() -> None:
    def emit(ib: ExecBuilder) -> None:
        emit_sum(ib)
        with ib.function("closure", 1):
            ib.emit_call(f"{P}make_closure", [ib.f("sum"), ib.r(0)], ib.r(1))
            ib.emit_ret(ib.r(1))
        with ib.function("state", 0):
            ib.emit_call(f"{P}copy", [ib.vm_state()], ib.r(0))
            ib.emit_ret(ib.r(0))

    vm = built(emit)
    closure, function, bare, state = vm["closure"](4), vm["sum"], vm["sum"].ffi, vm["state"]()
    gone = weakref.ref(vm)
    assert state.machine is vm
    del vm
    gc.collect()
    assert gone() is None
    assert (closure(), function(5), bare(6)) == (10, 15, 21)
    with pytest.raises(RelaxError, match=r"the virtual machine is gone"):
        state.machine  # noqa: B018 - a property that raises
    assert "gone" in repr(state)


def test_machines_of_functions_that_run_at_the_end() -> None:
    """The last references are dropped while the machine runs."""

    def emit(ib: ExecBuilder) -> None:
        with ib.function("main", 1):
            ib.emit_call("forget", [], ib.r(1))
            ib.emit_call(f"{P}copy", [ib.r(0)], ib.r(1))
            ib.emit_ret(ib.r(1))

    held: list[Any] = []

    def forget() -> None:
        held.clear()
        gc.collect()

    held.append(built(emit, forget=forget))
    held.append(held[0]["main"].ffi)
    array = np.ones(1000, "float32")
    assert np.array_equal(to_numpy(held[1](array)), array)


@tvm_ffi.register_error
class OwnMachineError(Exception):
    """An error that the FFI knows; it carries a class's name and a message."""


def test_errors_of_packed_functions() -> None:
    calls: list[int] = []

    def fail(x: object, y: object) -> None:
        calls.append(1)
        raise OwnMachineError("mine")

    array = np.zeros(3, "float32")
    array.flags.writeable = False
    vm = built(emit_call_of("fail", 2), fail=fail)
    for args in ((1, 2), (array, 2)):
        calls.clear()
        with pytest.raises(OwnMachineError, match=r"^mine") as caught:
            vm["main"](*args)
        assert str(caught.value) == "mine"
        assert len(calls) == 1, "the call was made again"
    for error in (ArgumentError("own"), BufferError("own"), RuntimeError("own"), StopIteration("own")):

        def throw(x: object, y: object, error: BaseException = error) -> None:
            calls.append(1)
            raise error

        calls.clear()
        with pytest.raises(type(error)):
            built(emit_call_of("throw", 2), throw=throw)["main"](np.zeros(2), (np.zeros(2), 1))
        assert len(calls) == 1, f"the call was made again after {error!r}"


def test_missing_and_wrong_packed_functions() -> None:
    ib = ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("test.missing.one", [ib.r(0)], ib.r(1))
        ib.emit_call(f"{P}make_tuple", [ib.r(1), ib.f("test.missing.two")], ib.r(1))
        ib.emit_ret(ib.r(1))
    text = r"2 packed functions.*one' \(used by instruction 0 of main\), 'test.missing.two' \(used by"
    with pytest.raises(PackedFunctionError, match=text):
        VirtualMachine(ib.get())
    with pytest.raises(PackedFunctionError, match=r"1 packed functions.*'test.missing.two'"):
        VirtualMachine(ib.get(), functions={"test.missing.one": id})
    for wrong in (3, "name", None, np.zeros(3)):
        with pytest.raises(ArgumentError, match=r"functions\['test.missing.two'\] is .* expected a packed function"):
            VirtualMachine(ib.get(), functions={"test.missing.one": id, "test.missing.two": wrong})  # type: ignore[dict-item]  # what it checks
    vm = VirtualMachine(ib.get(), functions={"test.missing.one": lambda x: x + 1, "test.missing.two": max})
    assert vm["main"](1)[0] == 2


def test_own_functions_come_first() -> None:
    def add(a: int, b: int) -> int:
        return 1000 * a + b

    ib = ExecBuilder()
    emit_call_of(f"{P}arith.addi", 2)(ib)
    assert VirtualMachine(ib.get())["main"](1, 2) == 3
    assert VirtualMachine(ib.get(), functions={f"{P}arith.addi": add})["main"](1, 2) == 1002


def test_state() -> None:
    seen: list[rx.vm.VMState] = []

    def count(state: rx.vm.VMState) -> int:
        seen.append(state)
        state.values["calls"] = state.values.get("calls", 0) + 1
        return int(state.values["calls"])

    def emit(ib: ExecBuilder) -> None:
        emit_sum(ib)
        with ib.function("main", 0):
            ib.emit_call("count", [ib.vm_state()], ib.r(0))
            ib.emit_call("count", [ib.vm_state()], ib.r(0))
            ib.emit_ret(ib.r(0))

    vm = built(emit, count=count)
    assert (vm["main"](), vm["main"]()) == (2, 4)
    assert all(state is vm.state for state in seen)
    assert vm.state["sum"](3) == 6
    assert vm.state.machine is vm
    (allocator,) = vm.state.allocators
    assert allocator.device == 0
    assert allocator.stats == memory_stats()
    assert allocator.release() >= 0


class Interrupted(Exception):
    pass


def test_interrupts() -> None:
    def handler(number: int, frame: object) -> None:
        raise Interrupted

    vm = built(emit_forever)
    for handle, error in ((signal.default_int_handler, KeyboardInterrupt), (handler, Interrupted)):
        before = signal.signal(signal.SIGALRM, handle)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(error):
                vm["forever"](np.zeros(100))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert built(emit_sum)["sum"](3) == 6


def test_functions_given_to_functions() -> None:
    def emit(ib: ExecBuilder) -> None:
        emit_sum(ib)
        with ib.function("apply", 2):
            ib.emit_call(f"{P}invoke_closure", [ib.vm_state(), ib.r(0), ib.r(1)], ib.r(2))
            ib.emit_ret(ib.r(2))
        with ib.function("main", 1):
            ib.emit_call("apply", [ib.f("sum"), ib.r(0)], ib.r(1))
            ib.emit_call("apply", [ib.f("twice"), ib.r(1)], ib.r(1))
            ib.emit_ret(ib.r(1))

    vm = built(emit, twice=lambda x: 2 * x)
    assert vm["main"](4) == 20
    assert vm["apply"](vm["sum"].ffi, 5) == 15
    assert vm["apply"](lambda x: -x, 5) == -5
    with pytest.raises(ArgumentError, match=r"'closure' is of type int"):
        vm["apply"](3, 5)


def test_threads() -> None:
    vm = built(emit_sum)
    failures: list[object] = []
    start = threading.Barrier(4)

    def run() -> None:
        start.wait()
        for n in range(300):
            if (found := vm["sum"](n)) != n * (n + 1) // 2:
                failures.append(found)
            try:
                vm["sum"](None)
            except BytecodeError:
                continue
            failures.append(n)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_other_threads_run_meanwhile() -> None:
    vm = built(emit_forever)
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    thread = threading.Thread(target=tick)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            vm["forever"](1)
    finally:
        stop.set()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        thread.join()
    assert len(ticks) > 3
