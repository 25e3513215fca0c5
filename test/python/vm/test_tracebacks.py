"""Tracebacks of errors name the functions and instructions of bytecode on the call stack."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ArgumentError, BytecodeError, RecursionLimitError, RelaxError
from relax_mlir.lowering.runtime_lib.vm_builtins import MAX_TRACEBACK


def places(function: Callable[[], object], kind: type[Exception] = RelaxError) -> list[tuple[str, int | None]]:
    """The functions and instructions in the traceback of what `function` raises, the outermost first."""
    with pytest.raises(kind) as caught:
        function()
    frames = traceback.extract_tb(caught.value.__traceback__)
    return [(frame.name, frame.lineno) for frame in frames if frame.filename == "<bytecode>"]


def machine() -> rx.vm.VirtualMachine:
    ib = rx.vm.ExecBuilder()
    with ib.function("inner", 2):
        ib.emit_call("vm.builtin.copy", [ib.r(0)], ib.r(2))
        ib.emit_call("vm.builtin.invoke_closure", [ib.vm_state(), ib.r(0), ib.r(2)], ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("outer", 1):
        ib.emit_call("vm.builtin.null_value", [], ib.r(1))
        ib.emit_call("vm.builtin.null_value", [], ib.r(1))
        ib.emit_call("inner", [ib.r(0), ib.r(1)], ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("condition", 1):
        ib.emit_call("vm.builtin.copy", [ib.r(0)], ib.r(1))
        ib.emit_if(ib.r(1), 2)
        ib.emit_ret(ib.r(0))
        ib.emit_ret(ib.r(1))
    with ib.function("count", 1):
        end = ib.label()
        ib.emit_if(ib.r(0), end)
        ib.emit_call("vm.builtin.arith.subi", [ib.r(0), ib.imm(1)], ib.r(0))
        ib.emit_call("count", [ib.r(0)], ib.r(0))
        ib.emit_ret(ib.r(0))
        ib.place(end)
        ib.emit_call("vm.builtin.shape_of", [ib.r(0)], ib.r(0))
        ib.emit_ret(ib.r(0))
    with ib.function("by_python", 1):
        ib.emit_call("test.inner", [ib.r(0)], ib.r(0))
        ib.emit_ret(ib.r(0))
    vm: rx.vm.VirtualMachine
    vm = rx.vm.VirtualMachine(ib.get(), functions={"test.inner": lambda x: vm["inner"](x, x)}, max_depth=50)
    return vm


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions of this Python have no notes")
def test_notes_tell_the_instructions_with_their_registers() -> None:
    def notes(function: Callable[[], object], kind: type[Exception]) -> list[str]:
        with pytest.raises(kind) as caught:
            function()
        return getattr(caught.value, "__notes__", [])

    vm = machine()
    outer = "outer, instruction 2: call inner in: %0, %1 dst: %1"
    inner = "inner, instruction 1: call vm.builtin.invoke_closure in: %vm, %0, %2 dst: %1"
    assert notes(lambda: vm["outer"](3), ArgumentError) == [outer, inner]
    assert notes(lambda: vm["condition"]("text"), BytecodeError) == ["condition, instruction 1: If %1, 2"]
    assert notes(lambda: vm["condition"](), ArgumentError) == []
    by_python = "by_python, instruction 0: call test.inner in: %0 dst: %0"
    assert notes(lambda: vm["by_python"](3), ArgumentError) == [inner, by_python]
    failing = rx.VirtualMachine(vm.executable, functions={"test.inner": lambda x: x.no_such})
    assert notes(lambda: failing["by_python"](3), AttributeError) == [by_python]


def test_functions_and_instructions() -> None:
    vm = machine()
    assert places(lambda: vm["inner"](3, 4), ArgumentError) == [("inner", 1)]
    assert places(lambda: vm["outer"](3), ArgumentError) == [("outer", 2), ("inner", 1)]
    assert places(lambda: vm["outer"].ffi(3), ArgumentError) == [("outer", 2), ("inner", 1)]
    assert places(lambda: vm["condition"]("text"), BytecodeError) == [("condition", 1)]


def test_closures_called_with_other_arguments() -> None:
    vm = machine()
    assert places(lambda: vm["outer"](vm["inner"].ffi), ArgumentError) == [("outer", 2), ("inner", 1)]


def test_calls_that_have_not_begun() -> None:
    vm = machine()
    assert places(lambda: vm["outer"](), ArgumentError) == []
    assert places(lambda: vm["outer"](1, 2), ArgumentError) == []


def test_deep_recursion_tells_the_innermost() -> None:
    vm = machine()
    assert places(lambda: vm["count"](5)) == [*[("count", 2)] * 5, ("count", 4)]
    assert places(lambda: vm["count"](40)) == [*[("count", 2)] * (MAX_TRACEBACK - 1), ("count", 4)]
    assert places(lambda: vm["count"](60), RecursionLimitError) == [("count", 2)] * MAX_TRACEBACK


def test_by_way_of_python() -> None:
    vm = machine()
    assert places(lambda: vm["by_python"](3)) == [("inner", 1)]


def test_under_an_instrument() -> None:
    vm = machine()
    vm.set_instrument(lambda *_: None)
    assert places(lambda: vm["outer"](3), ArgumentError) == [("outer", 2), ("inner", 1)]


def test_a_built_module() -> None:
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    bb = rx.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(rx.op.add(x, x)))
    main = rx.vm.build(bb.get())["main"]
    assert places(lambda: main(np.zeros(3, "float64"))) == [("main", 0)]


def test_long_names() -> None:
    name = "f" * 1000
    ib = rx.vm.ExecBuilder()
    with ib.function(name, 1):
        ib.emit_call("vm.builtin.shape_of", [ib.r(0)], ib.r(0))
        ib.emit_ret(ib.r(0))
    vm = rx.vm.VirtualMachine(ib.get())
    ((found, line),) = places(lambda: vm[name](3))
    assert line == 0 and found and name.startswith(found)
