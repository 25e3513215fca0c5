"""Document 000, "VM design": bytecode by hand, its checks, its text forms, files, and the shape heap."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cold_process
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.bytecode.instructions import ArgKind, Call, Goto, If, Opcode, Ret
from relax_mlir.error import ArgumentError, BytecodeError, DeviceError, UnknownNameError
from relax_mlir.runtime import to_numpy

A, B = np.random.default_rng(0).random((2, 4))


@pytest.fixture(autouse=True, scope="module")
def _functions() -> None:
    functions: dict[str, Callable[..., Any]] = {
        "move": lambda x: x,
        "add": lambda a, b: tvm_ffi.from_dlpack(to_numpy(a) + to_numpy(b)),
        "mul": lambda a, b: tvm_ffi.from_dlpack(to_numpy(a) * to_numpy(b)),
    }
    for name, function in functions.items():
        tvm_ffi.register_global_func(f"test.vm.{name}", function, override=True)


def func0(ib: rx.ExecBuilder) -> None:
    """Moves, an addition and a multiplication, with arbitrary register numbers."""
    with ib.function("func0", num_inputs=2):
        ib.emit_call("test.vm.move", args=[ib.r(0)], dst=ib.r(100))
        ib.emit_call("test.vm.add", args=[ib.r(100), ib.r(1)], dst=ib.r(10000))
        ib.emit_call("test.vm.mul", args=[ib.r(1), ib.r(10000)], dst=ib.r(50))
        ib.emit_ret(ib.r(50))


def func0_and_func1() -> rx.vm.Executable:
    ib = rx.ExecBuilder()
    func0(ib)
    with ib.function("func1", num_inputs=2):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    return ib.get()


def test_four_instructions() -> None:
    ib = rx.ExecBuilder()
    with ib.function("main", num_inputs=3):
        ib.emit_if(ib.r(0), 3)
        ib.emit_call("test.vm.add", args=[ib.r(1), ib.r(2)], dst=ib.r(3))
        ib.emit_goto(2)
        ib.emit_call("test.vm.mul", args=[ib.r(1), ib.r(2)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))
    ex = ib.get()
    kinds = [type(ex.instruction(i)) for i in range(5)]
    assert kinds == [If, Call, Goto, Call, Ret]
    assert {op.name for op in Opcode} == {"CALL", "RET", "GOTO", "IF"}
    main = rx.VirtualMachine(ex)["main"]
    np.testing.assert_array_equal(to_numpy(main(1, A, B)), A + B)
    np.testing.assert_array_equal(to_numpy(main(0, A, B)), A * B)


def test_exec_builder_and_machine() -> None:
    """``vm["func0"](a, b)``, several functions, on the available device."""
    vm = rx.VirtualMachine(func0_and_func1(), tvm_ffi.device("cpu", 0))
    np.testing.assert_array_equal(to_numpy(vm["func0"](A, B)), B * (A + B))
    np.testing.assert_array_equal(to_numpy(vm["func1"](A, B)), A + B)
    assert list(vm) == ["func0", "func1"]
    with pytest.raises(UnknownNameError, match="func2"):
        vm["func2"]
    with pytest.raises(DeviceError, match="'device' is cuda:0; the one device"):
        rx.VirtualMachine(func0_and_func1(), tvm_ffi.device("cuda", 0))
    with pytest.raises(ArgumentError, match="'device' is 3"):
        rx.VirtualMachine(func0_and_func1(), 3)  # type: ignore[arg-type]  # wrong on purpose


def test_arguments() -> None:
    """Registers, immediates and constants."""
    ib = rx.ExecBuilder()
    tvm_ffi.register_global_func("test.vm.three", lambda x, i, c: (x, i, c), override=True)
    with ib.function("main", num_inputs=1):
        ib.emit_call("test.vm.three", args=[ib.r(0), ib.imm(-5), ib.c("text")], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    ex = ib.get()
    call = ex.instruction(0)
    assert isinstance(call, Call)
    assert [arg.kind for arg in call.args] == [ArgKind.REGISTER, ArgKind.IMMEDIATE, ArgKind.CONSTANT]
    assert tuple(rx.VirtualMachine(ex)["main"](7)) == (7, -5, "text")


def test_an_input_register_that_is_none() -> None:
    ib = rx.ExecBuilder()
    with pytest.raises(BytecodeError, match=r"'func0'.*%3"), ib.function("func0", num_inputs=2):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(3)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))


def test_an_input_register_that_nothing_uses() -> None:
    ib = rx.ExecBuilder()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with ib.function("func0", num_inputs=2):
            ib.emit_ret(ib.r(0))
    assert [w.category for w in caught] == [rx.vm.UnusedInputWarning]
    assert "func0" in str(caught[0].message) and "%1" in str(caught[0].message)
    assert rx.VirtualMachine(ib.get())["func0"](3, 4) == 3


def test_formalize() -> None:
    """Registers are renamed in the order of their use: r(100) is %2, r(10000) is %3, r(50) is %4."""
    ex = func0_and_func1()
    assert ex.function("func0").num_registers == 5
    assert ex.as_text().startswith(
        "@func0:\n"
        "  call  test.vm.move     in: %0           dst: %2\n"
        "  call  test.vm.add      in: %2, %1       dst: %3\n"
        "  call  test.vm.mul      in: %1, %3       dst: %4\n"
        "  ret   %4\n"
    )


def test_data_of_an_executable() -> None:
    """Functions, constants, names of packed functions, words of the instructions and their offsets."""
    ib = rx.ExecBuilder()
    with ib.function("main"):
        ib.emit_call("test.vm.move", args=[ib.c((32, 16))], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    ex = ib.get()
    assert [f.name for f in ex.functions] == ["main", "test.vm.move"]
    assert ex.packed_names == ("test.vm.move",) and ex.function_names == ("main",)
    assert [tuple(c) for c in ex.constants if isinstance(c, tvm_ffi.Shape | tuple)] == [(32, 16)]
    assert ex.words.tolist() == [1, 0, 1, 1, 2 << 56, 2, 0] and ex.offsets.tolist() == [0, 5]
    assert isinstance(ex.instruction(0), Call) and isinstance(ex.instruction(1), Ret)


def test_saved_and_loaded_elsewhere(tmp_path: Path) -> None:
    """Another process loads the file and runs it."""
    path = tmp_path / "exec.rxvm"
    func0_and_func1().save(path)
    assert rx.vm.Executable.load(path) == func0_and_func1()
    code = f"""
import numpy as np, tvm_ffi, relax_mlir as rx
for name, f in (("add", np.add), ("mul", np.multiply)):
    tvm_ffi.register_global_func(
        f"test.vm.{{name}}",
        lambda a, b, f=f: tvm_ffi.from_dlpack(f(np.from_dlpack(a), np.from_dlpack(b))),
    )
tvm_ffi.register_global_func("test.vm.move", lambda x: x)
vm = rx.VirtualMachine(rx.vm.Executable.load({str(path)!r}))
print(np.from_dlpack(vm["func0"](np.arange(4.0), np.full(4, 2.0))).tolist())
"""
    done = cold_process.run(["-c", code])
    assert done.stdout.split("\n")[0] == "[4.0, 6.0, 8.0, 10.0]", done.stderr[-2000:]


def test_stats_and_text() -> None:
    ex = func0_and_func1()
    assert ex.stats() == (
        "Relax VM executable statistics:\n"
        "  Constant pool (# 0): []\n"
        "  Globals (#5): [func0, test.vm.move, test.vm.add, test.vm.mul, func1]\n"
    )
    assert ex.astext() == ex.as_text()
    assert "@func1:\n  call  test.vm.add      in: %0, %1       dst: %2\n  ret   %2\n" in ex.astext()


def test_code() -> None:
    """The output of `aspython` builds an equal executable."""
    ex = func0_and_func1()
    found: dict[str, Any] = {}
    exec(ex.aspython(), found)
    assert found["ex"] == ex
    np.testing.assert_array_equal(to_numpy(rx.VirtualMachine(found["ex"])["func0"](A, B)), B * (A + B))


def test_the_state_register() -> None:
    ib = rx.ExecBuilder()
    with ib.function("main", num_inputs=1):
        args = [ib.vm_state(), (24,), ib.imm(0), tvm_ffi.dtype("uint8")]
        ib.emit_call("vm.builtin.alloc_storage", args=args, dst=ib.r(1))
        args = [ib.r(1), ib.imm(0), (2, 3), tvm_ffi.dtype("float32")]
        ib.emit_call("vm.builtin.alloc_tensor", args=args, dst=ib.r(2))
        ib.emit_call("vm.builtin.copy_into", args=[ib.r(0), ib.r(2)])
        ib.emit_ret(ib.r(2))
    ex = ib.get()
    assert "%vm" in ex.as_text()
    x = np.arange(6, dtype="f4").reshape(2, 3)
    np.testing.assert_array_equal(to_numpy(rx.VirtualMachine(ex)["main"](x)), x)


def heaps() -> Iterator[rx.vm.Executable]:
    """The shape heap with sizes and slots as shapes, as in the document, and as numbers, as in current TVM."""
    for size, both in (((2,), (0, 1)), (2, None)):
        ib = rx.ExecBuilder()
        with ib.function("main", num_inputs=1):
            given = [size] if isinstance(size, tuple) else [ib.vm_state(), ib.imm(size)]
            slots = [ib.imm(0), ib.imm(1)] if both is None else [both]
            ib.emit_call("vm.builtin.alloc_shape_heap", args=given, dst=ib.r(1))
            ib.emit_call("vm.builtin.shape_of", args=[ib.r(0)], dst=ib.r(2))
            ib.emit_call("vm.builtin.store_shape", args=[ib.r(2), ib.r(1), *slots], dst=ib.r(3))
            ib.emit_call("vm.builtin.load_shape", args=[ib.r(1), *slots], dst=ib.r(4))
            ib.emit_ret(ib.r(4))
        yield ib.get()


def test_the_shape_heap() -> None:
    for ex in heaps():
        main = rx.VirtualMachine(ex)["main"]
        for shape in ((32, 16), (0, 1), (1, 7)):
            assert tuple(main(np.zeros(shape))) == shape
        with pytest.raises(rx.error.ShapeError, match="3 dimensions is to be stored in 2 slots"):
            main(np.zeros((1, 2, 3)))


def test_the_runtime_library() -> None:
    """`vm.builtin.shape_of`, `copy` and their like, from bytecode and from Python."""
    x = np.zeros((32, 16), "float32")
    ib = rx.ExecBuilder()
    with ib.function("main"):
        ib.emit_call("vm.builtin.shape_of", args=[x], dst=ib.r(0))
        ib.emit_call("vm.builtin.copy", args=[ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    assert tuple(rx.VirtualMachine(ib.get())["main"]()) == (32, 16)
    assert tuple(rx.vm.builtin("shape_of")(x)) == (32, 16)
    assert rx.vm.builtin("vm.builtin.copy")("text") == "text"
