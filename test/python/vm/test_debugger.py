"""The debugger: breakpoints, steps, frames, registers, commands; the same results as the machine."""

from __future__ import annotations

import io
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.error import ArgumentError, BytecodeError, RecursionLimitError, UnknownNameError
from relax_mlir.runtime import to_numpy
from relax_mlir.vm import Debugger, ExecBuilder, VirtualMachine
from relax_mlir.vm.debugger import WIDTH, describe
from vm_programs import P, emit_identity, emit_sum


def executable() -> rx.vm.Executable:
    """``main(n, x)``: the sum to n, twice; x through a tuple."""
    ib = ExecBuilder()
    emit_sum(ib)
    with ib.function("main", 2, param_names=["n", "x"]):
        ib.emit_call("sum", [ib.r(0)], ib.r(2))
        ib.emit_call(f"{P}arith.addi", [ib.r(2), ib.r(2)], ib.r(2))
        ib.emit_call(f"{P}make_tuple", [ib.r(1), ib.c("text"), ib.f("sum"), ib.vm_state()], ib.r(3))
        ib.emit_call(f"{P}tuple_getitem", [ib.r(3), ib.imm(0)])
        ib.emit_call(f"{P}make_tuple", [ib.r(2), ib.r(1)], ib.r(4))
        ib.emit_ret(ib.r(4))
    with ib.function("fails", 1):
        ib.emit_call("inner", [ib.r(0)], ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("inner", 1):
        ib.emit_if(ib.r(0), 1)
        ib.emit_call(f"{P}shape_of", [ib.r(0)], ib.r(1))
        ib.emit_ret(ib.r(1))
    return ib.get()


def test_runs_like_the_machine() -> None:
    x = np.arange(3.0)
    debugger = Debugger(executable())
    stop = debugger.run("main", 10, x)
    assert stop.reason == "end"
    assert stop.result[0] == debugger.machine["main"](10, x)[0] == 110
    assert np.array_equal(to_numpy(stop.result[1]), x)
    assert debugger.frames == []
    assert debugger.where() == "nothing runs"


def test_breakpoints() -> None:
    debugger = Debugger(executable())
    debugger.break_at("main", 1)
    debugger.break_on_call(f"{P}tuple_getitem")
    stop = debugger.run("main", 2, "x")
    assert (stop.reason, stop.function, stop.instruction) == ("breakpoint", "main", 1)
    assert str(stop) == "main:1  call vm.builtin.arith.addi in: %2, %2 dst: %2"
    assert debugger.value(2) == 3
    stop = debugger.continue_()
    assert (stop.reason, stop.instruction) == ("call", 3)
    assert debugger.continue_().reason == "end"
    debugger.clear()
    debugger.break_at("sum")
    depths = []
    stop = debugger.run("main", 2, "x")
    while stop.reason != "end":
        depths.append(len(debugger.frames))
        stop = debugger.continue_()
    assert depths == [2, 3, 4]
    debugger.clear()
    assert debugger.run("sum", 3).result == 6


def test_steps() -> None:
    debugger = Debugger(VirtualMachine(executable()))
    assert str(debugger.start("main", 1, None)) == "main:0  call sum in: %0 dst: %2"
    places = [(stop.function, stop.instruction) for stop in (debugger.step() for _ in range(4))]
    assert places == [("sum", 0), ("sum", 1), ("sum", 2), ("sum", 0)]
    assert debugger.where().splitlines() == [
        "#0 sum:0  If %0, 4",
        "#1 sum:2  call sum in: %1 dst: %2",
        "#2 main:0  call sum in: %0 dst: %2",
    ]
    stop = debugger.finish()
    assert (stop.function, stop.instruction, len(debugger.frames)) == ("sum", 3, 2)
    stop = debugger.finish()
    assert (stop.function, stop.instruction) == ("main", 1)
    debugger.start("main", 5, None)
    stop = debugger.next()
    assert (stop.function, stop.instruction, debugger.value(2)) == ("main", 1, 15)
    assert debugger.finish().reason == "end"
    debugger.break_at("sum", 3)
    debugger.start("main", 5, None)
    assert debugger.next().reason == "breakpoint"


def test_registers() -> None:
    debugger = Debugger(executable())
    debugger.break_at("main", 3)
    debugger.run("main", 3, np.arange(6, dtype="float32").reshape(2, 3) / 4)
    assert debugger.registers().splitlines() == [
        "%0 (n)   int 3",
        "%1 (x)   tensor float32 (2, 3) [0, 0.25, 0.5, 0.75, 1, 1.25]",
        "%2       int 12",
        "%3       tuple of 4: [tensor float32 (2, 3) [0, 0.25, 0.5, 0.75, 1, 1.25], stri…",
    ]
    with pytest.raises(ArgumentError, match="register %4 has not been written"):
        debugger.value(4)
    with pytest.raises(ArgumentError, match="no frame 1: 1 are active"):
        debugger.registers(1)
    assert debugger.listing().splitlines()[:5] == [
        "@main:",
        "      0  call  sum              in: %0           dst: %2",
        "      1  call  vm.builtin.arith.addi in: %2, %2       dst: %2",
        "      2  call  vm.builtin.make_tuple in: %1, c[0], f[sum], %vm dst: %3",
        "->*   3  call  vm.builtin.tuple_getitem in: %3, i0       dst: %void",
    ]
    assert debugger.listing("sum").startswith("@sum:")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (True, "bool True"),
        (2.5, "float 2.5"),
        ("a\nb", r"string 'a\nb'"),
        (tvm_ffi.dtype("int8"), "dtype int8"),
        (tvm_ffi.Shape((2, 3)), "shape (2, 3)"),
        (tvm_ffi.convert(lambda: 1), "function"),
        ((1, (2.0, None)), "tuple of 2: [int 1, tuple of 2: [float 2.0, none]]"),
        (np.zeros((0, 3)), "tensor float64 (0, 3)"),
        (np.array(7), "tensor int64 () [7]"),
        (np.ones((100, 100), bool)[::-1], "tensor bool (100, 100) [True, True, True, True, True, True, …]"),
        (np.ones(2, ml_dtypes.bfloat16), "tensor bfloat16 (2,) [1, 1]"),
        (np.array([np.nan, -np.inf]), "tensor float64 (2,) [nan, -inf]"),
    ],
)
def test_descriptions(value: Any, text: str) -> None:
    assert describe(value) == text


def test_errors_leave_the_frames() -> None:
    debugger = Debugger(executable())
    with pytest.raises(ArgumentError, match=r"vm.builtin.shape_of: argument 'x' is of type int"):
        debugger.run("fails", 1)
    assert debugger.where().splitlines() == [
        "#0 inner:1  call vm.builtin.shape_of in: %0 dst: %1",
        "#1 fails:0  call inner in: %0 dst: %1",
    ]
    assert isinstance(debugger.error, ArgumentError)
    assert debugger.registers() == "%0       int 1"
    with pytest.raises(ArgumentError, match="the run has failed"):
        debugger.step()
    with pytest.raises(BytecodeError, match="function 'inner', instruction 0, register %0: `If` takes"):
        debugger.run("fails", "text")
    assert debugger.run("sum", 2).result == 3
    for method in (debugger.step, debugger.next, debugger.finish, debugger.continue_):
        with pytest.raises(ArgumentError, match="nothing runs"):
            method()
    deep = Debugger(VirtualMachine(executable(), max_depth=5))
    with pytest.raises(RecursionLimitError, match="sum: more than 5 calls"):
        deep.run("sum", 10)


def test_wrong_requests() -> None:
    debugger = Debugger(executable())
    with pytest.raises(ArgumentError, match=r"main: takes 2 arguments \(n, x\); got 1"):
        debugger.run("main", 1)
    for request in (debugger.run, debugger.break_at, debugger.listing):
        with pytest.raises(UnknownNameError, match=r"unknown function 'mein'.*main"):
            request("mein")
    with pytest.raises(UnknownNameError, match=r"unknown function 'vm.builtin.nothing'"):
        debugger.break_on_call("vm.builtin.nothing")
    for number in (-1, 6):
        with pytest.raises(ArgumentError, match=f"'main' has instructions 0 to 5; there is no {number}"):
            debugger.break_at("main", number)
    with pytest.raises(ArgumentError, match="expected a virtual machine or an executable"):
        Debugger("main")  # type: ignore[arg-type]  # what it checks
    with pytest.raises(ArgumentError, match="`functions` go with an executable"):
        Debugger(debugger.machine, functions={})


def conversation(debugger: Debugger, *lines: str) -> list[str]:
    output = io.StringIO()
    debugger.interact(io.StringIO("".join(f"{line}\n" for line in lines)), output)
    return output.getvalue().split("(vm) ")[1:]


def test_commands() -> None:
    debugger = Debugger(executable())
    commands = ("break sum 3", "run main 2 'a text'", "w", "r", "c", "", "clear", "registers 1", "q", "never")
    assert conversation(debugger, *commands) == [
        "",
        "sum:3  call vm.builtin.arith.addi in: %0, %2 dst: %0\n",
        "#0 sum:3  call vm.builtin.arith.addi in: %0, %2 dst: %0\n"
        "#1 sum:2  call sum in: %1 dst: %2\n#2 main:0  call sum in: %0 dst: %2\n",
        "%0       int 1\n%1       int 0\n%2       int 0\n",
        "sum:3  call vm.builtin.arith.addi in: %0, %2 dst: %0\n",
        "end: tuple of 2: [int 6, string 'a text']\n",
        "",
        "ArgumentError: there is no frame 1: 0 are active\n",
        "",
    ]
    found = conversation(debugger, "", "nonsense", "run", "run main 1", "break main x", "'", "run fails 1", "s", "help")
    for text, expected in zip(
        found,
        (
            "",
            "ArgumentError: unknown command 'nonsense'",
            "ArgumentError: run: 0 words behind it",
            "ArgumentError: main: takes 2 arguments (n, x); got 1",
            "ArgumentError: 'x' is no number",
            "ValueError: No closing quotation",
            "ArgumentError: vm.builtin.shape_of",
            "ArgumentError: the run has failed",
            "run FUNCTION",
            "\n",
        ),
        strict=True,
    ):
        assert text.startswith(expected)
    assert all(len(line) <= WIDTH for text in conversation(debugger, "help") for line in text.splitlines())
    found = conversation(
        debugger, "catch vm.builtin.arith.addi", "run main (1,2) 3", "run main 1 3", "n", "s", "f", "l"
    )
    starts = ("", "BytecodeError", "sum:3", "sum:4", "main:1", "end: tuple", "ArgumentError", "")
    for text, expected in zip(found, starts, strict=True):
        assert text.startswith(expected)


def test_of_a_built_module() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 3), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(rx.op.nn.softmax(bb.emit(rx.op.add(x, x)))))
    debugger = Debugger(rx.vm.build(bb.get()))
    given = np.arange(6, dtype="float32").reshape(2, 3)
    stop = debugger.start("main", given)
    count = 0
    while stop.reason != "end":
        assert all(len(line) <= WIDTH for line in debugger.registers().splitlines())
        assert all(len(line) <= WIDTH for line in debugger.listing().splitlines())
        stop = debugger.step()
        count += 1
    assert count > 5
    assert np.array_equal(to_numpy(stop.result), to_numpy(debugger.machine["main"](given)))


def test_functions_of_an_executable() -> None:
    ib = ExecBuilder()
    emit_identity(ib)
    with ib.function("main", 1):
        ib.emit_call("own", [ib.r(0), ib.f("own"), ib.f("identity")], ib.r(1))
        ib.emit_ret(ib.r(1))
    debugger = Debugger(ib.get(), functions={"own": lambda x, own, identity: identity(x) + 1})
    assert debugger.run("main", 4).result == 5
