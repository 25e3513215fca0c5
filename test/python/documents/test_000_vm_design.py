"""Document 000, "VM design" and "Compilation MVP": bytecode, its builder and the machine, verbatim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import transform
from relax_mlir.bytecode.instructions import Call, Goto, If, Ret
from relax_mlir.error import BytecodeError
from relax_mlir.ir_queries import ops_of
from relax_mlir.script import parse

A, B = np.arange(4.0), np.array([2.0, -1.0, 0.5, 3.0])


@pytest.fixture(autouse=True, scope="module")
def _functions() -> None:
    def tensor(value: Any) -> tvm_ffi.Tensor:
        return tvm_ffi.from_dlpack(np.asarray(value))

    tvm_ffi.register_global_func(
        "test.vm.add", lambda a, b: tensor(np.from_dlpack(a) + np.from_dlpack(b)), override=True
    )
    tvm_ffi.register_global_func(
        "test.vm.mul", lambda a, b: tensor(np.from_dlpack(a) * np.from_dlpack(b)), override=True
    )


def executable() -> rx.vm.Executable:
    ib = rx.vm.ExecBuilder()
    with ib.function("func0", num_inputs=2):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(100))
        ib.emit_call("test.vm.mul", args=[ib.r(1), ib.r(100)], dst=ib.r(50))
        ib.emit_ret(ib.r(50))
    with ib.function("func1", num_inputs=3):
        ib.emit_if(ib.r(0), 3)
        ib.emit_call("test.vm.add", args=[ib.r(1), ib.r(2)], dst=ib.r(3))
        ib.emit_goto(2)
        ib.emit_call("test.vm.mul", args=[ib.r(1), ib.c(B)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))
    return ib.get()


def test_four_instructions() -> None:
    ex = executable()
    kinds = [type(ex.instruction(number)) for number in range(len(ex.offsets))]
    assert kinds == [Call, Call, Ret, If, Call, Goto, Call, Ret]


def test_exec_builder() -> None:
    """`ib.function(name, num_inputs)`, `ib.r`, `ib.c`, `ib.imm`, `emit_call`, `emit_ret`, `ib.get()`."""
    ib = rx.vm.ExecBuilder()
    with ib.function("main", num_inputs=1):
        ib.emit_call("vm.builtin.arith.addi", args=[ib.r(0), ib.imm(-5)], dst=ib.r(1))
        ib.emit_call("vm.builtin.make_tuple", args=[ib.r(1), ib.c((2, 3)), ib.c("text")], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    number, shape, text = rx.vm.VirtualMachine(ib.get())["main"](7)
    assert (number, tuple(shape), text) == (2, (2, 3), "text")


def test_check_executable() -> None:
    """A nonexistent input is an error, an unused one a warning."""
    ib = rx.vm.ExecBuilder()
    with (
        pytest.raises(
            BytecodeError,
            match=r"'wrong', instruction 0, register %2: is read, but no instruction writes",
        ),
        ib.function("wrong", num_inputs=1),
    ):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(2)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))
    with pytest.warns(rx.vm.UnusedInputWarning), ib.function("unused", num_inputs=2):
        ib.emit_ret(ib.r(0))


def test_formalize() -> None:
    """Registers are renamed in the order of use."""
    ex = executable()
    assert ex.function("func0").num_registers == 4
    call = ex.instruction(1)
    assert isinstance(call, Call) and [arg.value for arg in call.args] == [1, 2] and call.dst == 3


def test_executable_data() -> None:
    """Functions, constants, names of packed functions, words and offsets, an instruction by its number."""
    ex = executable()
    assert ex.function_names == ("func0", "func1")
    assert ex.packed_names == ("test.vm.add", "test.vm.mul")
    np.testing.assert_array_equal(ex.constants[0], B)
    assert ex.offsets[:4].tolist() == [0, 6, 12, 14]
    assert ex.words[12:14].tolist() == [2, 3]
    assert ex.instruction(2) == Ret(3)


def test_saved_and_loaded_elsewhere(tmp_path: Path) -> None:
    executable().save(tmp_path / "exec.rxvm")
    vm = rx.vm.VirtualMachine(rx.vm.Executable.load(tmp_path / "exec.rxvm"))
    np.testing.assert_array_equal(np.from_dlpack(vm["func0"](A, B)), B * (A + B))


def test_stats_and_astext() -> None:
    ex = executable()
    assert ex.astext() == ex.as_text()
    assert ex.astext().startswith(
        "@func0:\n"
        "  call  test.vm.add      in: %0, %1       dst: %2\n"
        "  call  test.vm.mul      in: %1, %2       dst: %3\n"
        "  ret   %3\n"
    )
    assert "Globals (#4): [func0, test.vm.add, test.vm.mul, func1]" in ex.stats()


def test_aspython() -> None:
    ex = executable()
    found: dict[str, Any] = {}
    exec(ex.aspython(), found)
    assert found["ex"] == ex and ex.aspython() == ex.as_python()


def test_virtual_machine_with_several_functions() -> None:
    """`vm["func1"](a, b)`: functions by name, with tensors."""
    vm = rx.vm.VirtualMachine(executable())
    a, b = tvm_ffi.from_dlpack(A.copy()), tvm_ffi.from_dlpack(B.copy())
    np.testing.assert_array_equal(np.from_dlpack(vm["func0"](a, b)), B * (A + B))
    np.testing.assert_array_equal(np.from_dlpack(vm["func1"](True, a, b)), A + B)
    np.testing.assert_array_equal(np.from_dlpack(vm["func1"](False, a, b)), A * B)


def test_vm_state() -> None:
    seen = []
    ib = rx.vm.ExecBuilder()
    with ib.function("main", num_inputs=0):
        ib.emit_call("test.vm.look", args=[ib.vm_state()], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    vm = rx.vm.VirtualMachine(ib.get(), functions={"test.vm.look": seen.append})
    vm["main"]()
    assert seen == [vm.state]


def test_shape_heap() -> None:
    """The document's example on a tensor of (32, 16)."""
    ib = rx.vm.ExecBuilder()
    with ib.function("main", num_inputs=1):
        ib.emit_call("vm.builtin.alloc_shape_heap", args=[ib.vm_state(), ib.imm(2)], dst=ib.r(1))
        ib.emit_call("vm.builtin.shape_of", args=[ib.r(0)], dst=ib.r(2))
        ib.emit_call("vm.builtin.store_shape", args=[ib.r(2), ib.r(1), ib.imm(0), ib.imm(1)])
        ib.emit_call("vm.builtin.load_shape", args=[ib.r(1), ib.imm(0), ib.imm(1)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))
    shape = rx.vm.VirtualMachine(ib.get())["main"](np.zeros((32, 16)))
    assert isinstance(shape, tvm_ffi.Shape) and shape == (32, 16)


def test_runtime_library() -> None:
    """`vm.builtin.*` for Python and for programs, too."""
    assert tuple(rx.vm.builtin("shape_of")(np.zeros((3, 2)))) == (3, 2)
    mod = parse("""
@R.function
def main(x: R.Tensor(("n", "m"), "float32")):
    heap = R.call_packed("vm.builtin.alloc_shape_heap", 0, 2)
    s = R.call_packed("vm.builtin.shape_of", x)
    _ = R.call_packed("vm.builtin.store_shape", s, heap, 0, 1)
    return R.call_packed("vm.builtin.load_shape", heap, 1, 0)
""")
    for mode in ("native", "bytecode"):
        ex = rx.build(mod, exec_mode=mode)  # type: ignore[call-overload]  # a mode of two
        assert tuple(ex["main"](np.zeros((5, 4), "float32"))) == (4, 5)


MYFUNC = """
@T.prim_func
def tirexp(X: T.Buffer[(n, m), "float32"], Y: T.Buffer[(n, m), "float32"]):
    for i in range(n):
        for j in range(m):
            Y[i, j] = T.exp(X[i, j])

@T.prim_func
def flatten(X: T.Buffer[(n, m), "float32"], Y: T.Buffer[(n * m,), "float32"]):
    for i in range(n):
        for j in range(m):
            Y[i * m + j] = X[i, j]

@R.function
def myfunc(x: R.Tensor(("n", "m"), "float32")):
    with R.dataflow():
        lv0 = R.call_tir((n, m), cls.tirexp, [x])
        gv0 = R.call_tir((n * m,), cls.flatten, [lv0])
        R.output(gv0)
    return gv0
"""


def test_four_passes_one_after_the_other() -> None:
    """Each maps a module to a module: non-dataflow, explicit memory, the machine's memory, the shape heap."""
    mod = transform.NameUnknownDims()(parse(MYFUNC))
    for make, gone, there in (
        (transform.ToNonDataflow, "relax.dataflow", "relax.call_tir"),
        (transform.CallTIRRewrite, "relax.call_tir", "relax.memory_alloc_tensor"),
        (transform.VMMemoryLower, "relax.memory_alloc_tensor", "relax.vm_alloc_tensor"),
        (transform.VMShapeLower, "relax.shape_expr", "relax.vm_alloc_shape_heap"),
    ):
        mod = make()(mod)
        names = {op.name for op in ops_of(mod.mlir.operation)}
        assert gone not in names and there in names, names


def test_vm_build() -> None:
    """`relax.vm.build(mod, target)` returns what a machine runs."""
    ex = rx.vm.build(parse(MYFUNC), "cpu")
    text = ex.astext()
    for name in ("alloc_shape_heap", "store_shape", "load_shape", "alloc_storage", "alloc_tensor"):
        assert f"vm.builtin.{name}" in text
    x = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
    result = np.from_dlpack(rx.vm.VirtualMachine(ex)["myfunc"](x))
    np.testing.assert_allclose(result, np.exp(x).ravel(), rtol=2e-6)
    native = np.from_dlpack(rx.build(parse(MYFUNC))["myfunc"](x))
    assert result.tobytes() == native.tobytes()
