"""Instruments of a machine: skipping, replacing, comparing and raising; profiles."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.error import ArgumentError
from relax_mlir.runtime import to_numpy
from relax_mlir.vm import GO_ON, SKIP, ExecBuilder, Replace, VirtualMachine

P = "vm.builtin."


def machine(**functions: Any) -> VirtualMachine:
    """``outer(x) = inner(x) * 2 + 1``, ``inner(x) = x + 10``, with calls of packed functions."""
    ib = ExecBuilder()
    with ib.function("inner", 1):
        ib.emit_call(f"{P}arith.addi", [ib.r(0), ib.imm(10)], ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("outer", 1):
        ib.emit_call("inner", [ib.r(0)], ib.r(1))
        ib.emit_call(f"{P}arith.muli", [ib.r(1), ib.imm(2)], ib.r(1))
        ib.emit_call(f"{P}arith.addi", [ib.r(1), ib.imm(1)], ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("pass", 2):
        ib.emit_call("take", [ib.r(0), ib.f("inner"), ib.c("a longer text than fits inline"), ib.r(1)], ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("loop", 1):
        again, end = ib.label(), ib.label()
        ib.place(again)
        ib.emit_if(ib.r(0), end)
        ib.emit_call(f"{P}arith.subi", [ib.r(0), ib.imm(1)], ib.r(0))
        ib.emit_goto(again)
        ib.place(end)
        ib.emit_ret(ib.r(0))
    with ib.function("down", 1):
        end = ib.label()
        ib.emit_if(ib.r(0), end)
        ib.emit_call(f"{P}arith.subi", [ib.r(0), ib.imm(1)], ib.r(1))
        ib.emit_call("down", [ib.r(1)], ib.r(0))
        ib.place(end)
        ib.emit_ret(ib.r(0))
    return VirtualMachine(ib.get(), functions={"take": lambda *args: args[0], **functions})


def test_what_it_sees() -> None:
    seen: list[tuple[Any, ...]] = []
    vm = machine()
    vm.set_instrument(lambda function, name, before, result, *args: seen.append((name, before, result, *args)))
    assert vm["outer"](1) == 23
    add, mul = f"{P}arith.addi", f"{P}arith.muli"
    assert seen == [
        ("inner", True, None, 1),
        (add, True, None, 1, 10),
        (add, False, 11, 1, 10),
        ("inner", False, 11, 1),
        (mul, True, None, 11, 2),
        (mul, False, 22, 11, 2),
        (add, True, None, 22, 1),
        (add, False, 23, 22, 1),
    ]
    seen.clear()
    vm.set_instrument(None)
    assert vm["outer"](2) == 25
    assert seen == []


def test_arguments_of_all_kinds() -> None:
    seen: list[tuple[Any, ...]] = []
    vm = machine()
    vm.set_instrument(lambda *call: seen.append(call))
    x = np.arange(3.0)
    assert np.array_equal(to_numpy(vm["pass"](x, (1, (x, "b")))), x)
    (function, name, before, result, *args), (_, _, after, final, *_) = seen
    assert (name, before, result, after) == ("take", True, None, False)
    assert np.array_equal(to_numpy(final), x)
    assert function(5) == 5
    assert args[1](1) == 11, "a function of the machine"
    assert (args[2], args[3][0], args[3][1][1]) == ("a longer text than fits inline", 1, "b")


def test_skip_and_replace() -> None:
    vm = machine()

    def answer_to(wanted: str, when: bool, answer: Any) -> Any:
        def instrument(function: Any, name: str, before: bool, result: Any, *args: Any) -> Any:
            return answer if (name, before) == (wanted, when) else GO_ON

        return instrument

    for wanted, when, answer, expected in (
        ("inner", True, Replace(100), 201),
        ("inner", False, Replace(100), 201),
        (f"{P}arith.muli", True, Replace(7), 8),
        (f"{P}arith.addi", False, Replace(-1), -1),
        ("inner", False, SKIP, 23),
        ("inner", True, True, 23),
        ("inner", True, 2, 23),
        ("inner", True, "text", 23),
        ("inner", True, np.zeros(3), 23),
        ("inner", True, [1], 23),
    ):
        vm.set_instrument(answer_to(wanted, when, answer))
        assert vm["outer"](1) == expected, (wanted, when, answer)
    vm.set_instrument(answer_to("inner", True, SKIP))
    with pytest.raises(ArgumentError, match=r"muli: argument 'a' is of type None"):
        vm["outer"](1)
    for value in ("a longer text than fits inline", None, (1, "two"), np.arange(3.0), 2.5):
        for when in (True, False):
            vm.set_instrument(answer_to("take", when, Replace(value)))
            found = vm["pass"](1, 2)
            if isinstance(value, np.ndarray):
                assert np.array_equal(to_numpy(found), value)
            else:
                assert found == value


def test_compare() -> None:
    """The documents' example: run another version of a function and find the differing results."""
    vm = machine()
    wrong: list[str] = []
    other = {f"{P}arith.addi": lambda a, b: a + b, f"{P}arith.muli": lambda a, b: a * b + (a > 15)}

    def compare(function: Any, name: str, before: bool, result: Any, *args: Any) -> None:
        if not before and name in other and other[name](*args) != result:
            wrong.append(f"{name}{args}")

    vm.set_instrument(compare)
    assert vm["outer"](1) == 23
    assert wrong == []
    assert vm["outer"](10) == 41
    assert wrong == [f"{P}arith.muli(20, 2)"]


@tvm_ffi.register_error
class StopHereError(Exception):
    pass


@pytest.mark.parametrize("when", [True, False])
def test_raising(when: bool) -> None:
    vm = machine()

    def instrument(function: Any, name: str, before: bool, result: Any, *args: Any) -> None:
        if (name, before) == (f"{P}arith.muli", when):
            raise StopHereError("stop")

    vm.set_instrument(instrument)
    with pytest.raises(StopHereError) as caught:
        vm["outer"](1)
    assert str(caught.value) == "stop"
    vm.set_instrument(None)
    assert vm["outer"](1) == 23


def test_errors_of_callees_go_past_it() -> None:
    seen: list[tuple[str, bool]] = []

    def fail(*args: object) -> None:
        raise KeyError("mine")

    vm = machine(take=fail)
    vm.set_instrument(lambda function, name, before, *rest: seen.append((name, before)))
    with pytest.raises(KeyError, match=r"mine"):
        vm["pass"](1, 2)
    assert seen == [("take", True)]


def test_recursion_with_an_instrument_takes_the_c_stack() -> None:
    vm = machine()
    calls: list[int] = []
    vm.set_instrument(lambda *call: calls.append(1))
    assert vm["down"](500) == 0
    with pytest.raises(RecursionError, match=r"down"):
        vm["down"](5000)
    vm.set_instrument(None)
    assert vm["down"](5000) == 0


def test_an_instrument_that_calls_the_machine() -> None:
    vm = machine()
    depth: list[int] = []

    def instrument(function: Any, name: str, before: bool, result: Any, *args: Any) -> Any:
        if depth or not before or name != "inner":
            return None
        depth.append(1)
        try:
            return Replace(function(*args) + 1)
        finally:
            depth.pop()

    vm.set_instrument(instrument)
    assert vm["outer"](1) == 25
    vm.set_instrument(lambda function, name, before, result, *args: function(*args))
    assert vm["outer"](1) == 23


def test_set_while_it_runs() -> None:
    vm = machine()
    seen: list[int] = []

    def once(*call: Any) -> None:
        seen.append(1)
        vm.set_instrument(None)

    vm.set_instrument(once)
    assert vm["outer"](1) == 23
    assert len(seen) == 1
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            vm.set_instrument(lambda *call: None)
            vm.set_instrument(None)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        assert all(vm["outer"](1) == 23 for _ in range(2000))
    finally:
        stop.set()
        thread.join()
    for wrong in (3, "f"):
        with pytest.raises(ArgumentError, match=r"set_instrument: 'instrument' is"):
            vm.set_instrument(wrong)  # type: ignore[arg-type]  # what it checks


def test_profile() -> None:
    vm = machine()
    vm["outer"](1)
    with vm.profile() as profile:
        for _ in range(3):
            vm["outer"](1)
        vm["loop"](50)
    vm["outer"](1)
    rows = {(function, number): (callee, count) for function, number, callee, count, _ in profile.rows}
    assert rows == {
        ("inner", 0): (f"{P}arith.addi", 3),
        ("outer", 0): ("inner", 3),
        ("outer", 1): (f"{P}arith.muli", 3),
        ("outer", 2): (f"{P}arith.addi", 3),
        ("loop", 1): (f"{P}arith.subi", 50),
    }
    seconds = [row[4] for row in profile.rows]
    assert seconds == sorted(seconds, reverse=True)
    assert all(second >= 0 for second in seconds)
    text = str(profile).splitlines()
    assert len(text) == 6
    assert all(len(line) <= 80 for line in text)
    with vm.profile() as again:
        assert again.rows == []
        vm["loop"](2)
    assert [row[3] for row in again.rows] == [2]
    assert len(profile.rows) == 5


def test_profiles_with_errors_and_instruments() -> None:
    vm = machine()
    with pytest.raises(ArgumentError, match=r"is being profiled already"), vm.profile(), vm.profile():
        pass
    names: list[str] = []
    vm.set_instrument(lambda function, name, *rest: names.append(name))
    with vm.profile() as profile:
        with pytest.raises(ArgumentError):
            vm["outer"]("x")
        with pytest.raises(TypeError), vm.profile():
            raise AssertionError("not reached")
    assert {row[2]: row[3] for row in profile.rows} == {"inner": 1, f"{P}arith.addi": 1}
    assert names == ["inner", f"{P}arith.addi"]


def test_profile_of_a_machine_that_goes() -> None:
    vm = machine()
    function = vm["outer"]
    vm.profile().__enter__()
    del vm
    assert function(1) == 23


def test_of_a_built_module() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(rx.op.nn.relu(x)))
    vm = VirtualMachine(rx.vm.build(bb.get()))
    names: list[str] = []
    vm.set_instrument(lambda function, name, before, *rest: names.append(name) if before else None)
    with vm.profile() as profile:
        vm["main"](np.ones(3, "float32"))
    assert names
    assert len(names) == sum(row[3] for row in profile.rows)
