"""Programs of the design documents and of TVM's tests, verbatim: built, saved, printed as code, and run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.runtime import to_numpy

Build = Callable[[rx.vm.ExecBuilder], None]
A, B = np.arange(4.0), np.array([2.0, -1.0, 0.5, 3.0])


@pytest.fixture(autouse=True, scope="module")
def _functions() -> None:
    def tensor(value: Any) -> tvm_ffi.Tensor:
        return tvm_ffi.from_dlpack(np.asarray(value))

    functions: dict[str, Callable[..., Any]] = {
        "move": lambda x: x,
        "add": lambda a, b: tensor(to_numpy(a) + to_numpy(b)),
        "mul": lambda a, b: tensor(to_numpy(a) * to_numpy(b)),
        "add_scalar": lambda a, b: a + b,
        "is_less": lambda a, b: a < b,
    }
    for name, function in functions.items():
        tvm_ffi.register_global_func(f"test.vm.{name}", function, override=True)


def move_add_mul(ib: rx.vm.ExecBuilder) -> None:
    """The documents' `func0`."""
    with ib.function("func0", num_inputs=2):
        ib.emit_call("test.vm.move", args=[ib.r(0)], dst=ib.r(100))
        ib.emit_call("test.vm.add", args=[ib.r(100), ib.r(1)], dst=ib.r(10000))
        ib.emit_call("test.vm.mul", args=[ib.r(1), ib.r(10000)], dst=ib.r(50))
        ib.emit_ret(ib.r(50))


def two_functions(ib: rx.vm.ExecBuilder) -> None:
    for name, packed in (("func0", "test.vm.add"), ("func1", "test.vm.mul")):
        with ib.function(name, num_inputs=2):
            ib.emit_call(packed, args=[ib.r(0), ib.r(1)], dst=ib.r(2))
            ib.emit_ret(ib.r(2))


def negative_immediate(ib: rx.vm.ExecBuilder) -> None:
    with ib.function("func0", num_inputs=1):
        ib.emit_call("test.vm.add_scalar", args=[ib.imm(-3), ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))


def goto(ib: rx.vm.ExecBuilder) -> None:
    with ib.function("main", num_inputs=2):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_goto(2)
        ib.emit_call("test.vm.mul", args=[ib.r(2), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))


def conditional(ib: rx.vm.ExecBuilder) -> None:
    with ib.function("main", num_inputs=3):
        ib.emit_if(ib.r(0), 3)
        ib.emit_call("test.vm.add", args=[ib.r(1), ib.r(2)], dst=ib.r(3))
        ib.emit_goto(2)
        ib.emit_call("test.vm.mul", args=[ib.r(1), ib.r(2)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))


def loop(ib: rx.vm.ExecBuilder) -> None:
    """1 + 2 + … + n."""
    with ib.function("main", num_inputs=1):
        again, end = ib.label(), ib.label()
        ib.emit_call("test.vm.move", args=[ib.imm(0)], dst=ib.r(1))
        ib.emit_call("test.vm.move", args=[ib.imm(0)], dst=ib.r(2))
        ib.place(again)
        ib.emit_call("test.vm.is_less", args=[ib.r(2), ib.r(0)], dst=ib.r(3))
        ib.emit_if(ib.r(3), end)
        ib.emit_call("test.vm.add_scalar", args=[ib.r(2), ib.imm(1)], dst=ib.r(2))
        ib.emit_call("test.vm.add_scalar", args=[ib.r(1), ib.r(2)], dst=ib.r(1))
        ib.emit_goto(again)
        ib.place(end)
        ib.emit_ret(ib.r(1))


def recursion(ib: rx.vm.ExecBuilder) -> None:
    """n + (n - 1) + … + 1, without a loop."""
    with ib.function("main", num_inputs=1):
        ib.emit_if(ib.r(0), 5)
        ib.emit_call("test.vm.add_scalar", args=[ib.r(0), ib.imm(-1)], dst=ib.r(1))
        ib.emit_call("main", args=[ib.r(1)], dst=ib.r(1))
        ib.emit_call("test.vm.add_scalar", args=[ib.r(0), ib.r(1)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
        ib.emit_ret(ib.r(0))


def shape_of(ib: rx.vm.ExecBuilder) -> None:
    with ib.function("main"):
        ib.emit_call("vm.builtin.shape_of", args=[np.zeros((32, 16))], dst=ib.r(0))
        ib.emit_ret(ib.r(0))


def storage(ib: rx.vm.ExecBuilder) -> None:
    dtype = tvm_ffi.dtype("float32")
    with ib.function("main"):
        scope = ib.convert_constant("global")
        args = [ib.vm_state(), (96,), ib.convert_constant(0), tvm_ffi.dtype("uint8"), scope]
        ib.emit_call("vm.builtin.alloc_storage", args=args, dst=ib.r(1))
        ib.emit_call("vm.builtin.alloc_tensor", args=[ib.r(1), ib.imm(0), (4, 6), dtype], dst=ib.r(2))
        ib.emit_ret(ib.r(2))


def shape_heap(ib: rx.vm.ExecBuilder) -> None:
    """Sizes pass through a heap, and are returned in another order."""
    with ib.function("main", num_inputs=1):
        ib.emit_call("vm.builtin.alloc_shape_heap", args=[ib.vm_state(), ib.imm(2)], dst=ib.r(1))
        ib.emit_call("vm.builtin.shape_of", args=[ib.r(0)], dst=ib.r(2))
        ib.emit_call("vm.builtin.store_shape", args=[ib.r(2), ib.r(1), ib.imm(0), ib.imm(1)])
        ib.emit_call("vm.builtin.load_shape", args=[ib.r(1), ib.imm(1), ib.imm(0)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))


def closure(ib: rx.vm.ExecBuilder) -> None:
    with ib.function("lifted_func_1", num_inputs=4):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(4))
        ib.emit_call("test.vm.add", args=[ib.r(2), ib.r(4)], dst=ib.r(5))
        ib.emit_call("test.vm.add", args=[ib.r(3), ib.r(5)], dst=ib.r(6))
        ib.emit_ret(ib.r(6))
    with ib.function("main", num_inputs=4):
        captured = [ib.f("lifted_func_1"), ib.r(0), ib.r(1)]
        ib.emit_call("vm.builtin.make_closure", args=captured, dst=ib.r(4))
        args = [ib.vm_state(), ib.r(4), ib.r(2), ib.r(3)]
        ib.emit_call("vm.builtin.invoke_closure", args=args, dst=ib.r(5))
        ib.emit_ret(ib.r(5))


def constants(ib: rx.vm.ExecBuilder) -> None:
    with ib.function("main", num_inputs=1):
        ib.emit_call("test.vm.add", args=[ib.r(0), np.ones((2, 3), "float32")], dst=ib.r(1))
        ib.emit_call("test.vm.mul", args=[ib.r(1), ib.c(np.full((2, 3), 2, "float32"))], dst=ib.r(1))
        ib.emit_ret(ib.r(1))


PROGRAMS: dict[str, tuple[Build, list[tuple[str, tuple[object, ...], object]]]] = {
    "move, add, mul": (move_add_mul, [("func0", (A, B), B * (A + B))]),
    "two functions": (two_functions, [("func1", (A, B), A * B), ("func0", (A, B), A + B)]),
    "negative immediate": (negative_immediate, [("func0", (1,), -2), ("func0", (-3,), -6)]),
    "goto": (goto, [("main", (A, B), A + B)]),
    "conditional": (
        conditional,
        [("main", (flag, A, B), A + B if flag else A * B) for flag in (0, 1, True, False, -1)],
    ),
    "loop": (loop, [("main", (n,), n * (n + 1) // 2) for n in (0, 1, 10, -1)]),
    "recursion": (recursion, [("main", (n,), n * (n + 1) // 2) for n in (0, 1, 500)]),
    "shape of a constant": (shape_of, [("main", (), (32, 16))]),
    "shape heap": (
        shape_heap,
        [("main", (np.zeros((32, 16)),), (16, 32)), ("main", (np.zeros((0, 1)),), (1, 0))],
    ),
    "closure": (closure, [("main", (A, B, A, A), 3 * A + B)]),
    "constants": (constants, [("main", (np.full((2, 3), 5, "f4"),), np.full((2, 3), 12, "f4"))]),
}


def forms(build: Build, folder: Path) -> list[rx.vm.Executable]:
    """The executable as built, as loaded from a file, and as rebuilt by its code."""
    ib = rx.vm.ExecBuilder()
    build(ib)
    ex = ib.get()
    ex.save(folder / "program.rxvm")
    found: dict[str, Any] = {}
    exec(ex.as_python(), found)
    return [ex, rx.vm.Executable.load(folder / "program.rxvm"), found["ex"]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, tmp_path: Path) -> None:
    build, calls = PROGRAMS[name]
    for ex in forms(build, tmp_path):
        vm = rx.vm.VirtualMachine(ex)
        for function, args, expected in calls:
            found = vm[function](*args)
            if isinstance(expected, np.ndarray):
                np.testing.assert_array_equal(to_numpy(found), expected, strict=True)
            else:
                assert found == expected, args


def test_a_tensor_in_a_storage(tmp_path: Path) -> None:
    for ex in forms(storage, tmp_path):
        made = rx.vm.VirtualMachine(ex)["main"]()
        assert (tuple(made.shape), str(made.dtype), str(made.device)) == ((4, 6), "float32", "cpu:0")


def test_tensors_of_a_file_are_not_copied(tmp_path: Path) -> None:
    """A constant reaches a packed function at the address where the file is mapped."""
    ib = rx.vm.ExecBuilder()
    with ib.function("main"):
        ib.emit_call("test.vm.move", args=[np.arange(3000.0)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    ib.get().save(tmp_path / "program")
    ex = rx.vm.Executable.load(tmp_path / "program")
    (mapped,) = ex.constants
    assert isinstance(mapped, np.ndarray)
    assert rx.vm.VirtualMachine(ex)["main"]().data_ptr() == mapped.ctypes.data
