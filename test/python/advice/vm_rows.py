"""The virtual machine, its builder and its debugger: what they refuse, and what to do instead."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import relax_mlir as rx
import tvm_ffi
from advice_rows import Rows
from module_texts import fill
from raw_calls import RawError, dltensor, raw_call
from relax_mlir.bytecode import verify
from relax_mlir.error import RelaxError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from relax_mlir.transform import parse_pipeline
from relax_mlir.vm import Debugger, ExecBuilder, VirtualMachine

X = np.arange(3, dtype=np.float32)
Emit = Callable[[ExecBuilder], None]


def twice(x: Any) -> Any:
    return x * 2 if isinstance(x, int) else to_numpy(x) * 2


def _program(emit: Emit, inputs: int = 1) -> rx.vm.Executable:
    """An executable whose `main` is emitted by `emit`."""
    ib = ExecBuilder()
    with ib.function("main", num_inputs=inputs):
        emit(ib)
    return ib.get()


def _twice(ib: ExecBuilder) -> None:
    ib.emit_call("advice.twice", args=[ib.r(0)], dst=ib.r(1))
    ib.emit_ret(ib.r(1))


def _returns(make: Callable[[ExecBuilder], Any]) -> Emit:
    return lambda ib: ib.emit_ret(make(ib))


def _copied(make: Callable[[ExecBuilder], Any]) -> Emit:
    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.copy", args=[make(ib)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))

    return emit


def _nested(ib: ExecBuilder) -> None:
    outer = ib.function("outer", num_inputs=1)
    outer.__enter__()
    inner = ib.function("inner", num_inputs=1)
    inner.__enter__()
    ib.emit_ret(ib.r(0))
    outer.__exit__(None, None, None)


def _jump() -> Emit:

    def emit(ib: ExecBuilder) -> None:
        end = ib.label()
        ib.emit_if(ib.r(0), end)
        ib.emit_ret(ib.r(0))
        ib.emit_call("vm.builtin.copy", args=[ib.imm(2)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))

    return emit


def _outside() -> None:
    ib = ExecBuilder()
    ib.emit_ret(ib.imm(1))


def _debugger() -> Debugger:
    return Debugger(_program(_twice), functions={"advice.twice": twice})


def _failed() -> Debugger:
    def fail(x: Any) -> Any:
        raise ValueError("no")

    debugger = Debugger(_program(_twice), functions={"advice.twice": fail})
    with contextlib.suppress(ValueError):
        debugger.run("main", 3)
    return debugger


def _gone() -> VirtualMachine:
    state = _state()[1]
    gc.collect()
    return state.machine  # type: ignore[no-any-return]  # result of a builtin


def _state() -> tuple[VirtualMachine, Any]:
    machine = VirtualMachine(_program(_copied(lambda ib: ib.vm_state()), 0))
    return machine, machine["main"]()


def _branches() -> rx.vm.Executable:
    """Registers written in either branch; split into one function per branch."""
    ib = ExecBuilder()
    for part in range(1):
        with ib.function(f"f{part}", num_inputs=1):
            other, end = (ib.label(), ib.label())
            ib.emit_if(ib.r(0), other)
            ib.emit_call("vm.builtin.copy", args=[ib.imm(1)], dst=ib.r(1))
            ib.emit_goto(end)
            ib.place(other)
            ib.emit_call("vm.builtin.copy", args=[ib.imm(2)], dst=ib.r(1))
            ib.place(end)
            ib.emit_ret(ib.r(1))
    return ib.get()


def _too_many() -> None:
    with mock.patch.object(verify, "MAX_VISITS", 0):
        _branches()


def _bare() -> None:
    VirtualMachine(_program(_copied(lambda ib: ib.r(0))))  # registers the builtins
    with dltensor(X) as view:
        try:
            raw_call(tvm_ffi.get_global_func("vm.builtin.copy"), view)
        except RawError as error:
            raise RelaxError(str(error)) from error


MEMORY = """
@I.ir_module
class Module:
    @T.prim_func
    def double(a: T.Buffer(("n",), "float32"), b: T.Buffer(("n",), "float32")):
        n = T.int64()
        for i in range(n):
            b[i] = a[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        s = R.vm.alloc_storage(R.shape([4 * n]), dtype="float32")
        y = R.vm.alloc_tensor(s, R.shape([n]), dtype="float32")
        {0}
        return y
"""
SIZES = """
func.func private @fill(%a: memref<?xf32>, %b: memref<?xf32>{0}) attributes {relax.prim_func, relax.params = [
  {name = "a", shape = ["n"], dtype = "float32"}, {name = "b", shape = ["2*k"], dtype = "float32"}{1}]} {
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}
func.func @main(%x: tensor<?xf32>, %s: !relax.shape_value<["?"]>) -> tensor<?xf32> {
  %0 = "relax.shape_expr"() {values = [64]} : () -> !relax.shape_value<[64]>
  %t = "relax.vm_alloc_storage"(%0) {device = 0 : i64, dtype = f32, storage_scope = "global"} :
    (!relax.shape_value<[64]>) -> !relax.object
  %y = "relax.vm_alloc_tensor"(%t, %s) {dtype = f32, offset = 0 : i64} :
    (!relax.object, !relax.shape_value<["?"]>) -> tensor<?xf32>
  %1 = builtin.unrealized_conversion_cast %x, %y : tensor<?xf32>, tensor<?xf32> to tuple<tensor<?xf32>, tensor<?xf32>>
  {2}
  return %y : tensor<?xf32>
}
"""
UNSIZED = (
    "",
    "",
    '"relax.call_prim"(%1) {callee = @fill, outputs = 1 : i64} : (tuple<tensor<?xf32>, tensor<?xf32>>) -> ()',
)


def _memory(line: str) -> rx.IRModule:
    return parse(MEMORY.replace("{0}", line))


def _sizes(parts: tuple[str, ...]) -> VirtualMachine:
    return VirtualMachine(rx.vm.build(rx.IRModule.parse(fill(SIZES, *parts), trusted=True)))


def _library(name: str) -> Path:
    """A library with bytecode and kernels."""
    bytecode = rx.build(_memory("R.call_prim(cls.double, (x, y))"), exec_mode="bytecode")
    return bytecode.export_library(_folder() / name)


@functools.cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="relax-mlir-advice-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _native_library() -> Path:
    module = parse('@R.function\ndef main(x: R.Tensor(("n",), "float32")):\n    return x + 1.0')
    return rx.build(module).export_library(_folder() / "native.so")


ROWS = {
    "no_kernels": (
        lambda: _program(_twice).export_library(_folder() / "twice.so"),
        "it has no kernels: save writes it",
    ),
    "exported_again": (
        lambda: rx.vm.Executable.load(_library("double.so")).export_library(_folder() / "again.so"),
        "export_library: .*copy the library's file",
    ),
    "saved_again": (
        lambda: rx.vm.Executable.load(_library("double.so")).save(_folder() / "again.vmexec"),
        "save: .*copy the library's file",
    ),
    "machine_code_alone": (
        lambda: rx.vm.Executable.load(_native_library()),
        "no bytecode: tvm_ffi.load_module loads it",
    ),
    "explicit_memory": (
        lambda: rx.build(_memory("R.call_prim(cls.double, (x, y))")),
        'build with exec_mode="bytecode"',
    ),
    "filled_and_read": (
        lambda: rx.vm.build(_memory("R.call_prim(cls.double, (y, y))")),
        "fills a tensor that it reads; give it a copy to read",
    ),
    "size_of_call": (lambda: _sizes(UNSIZED), "let the prim func take it, and give it by vm.call_tir_dyn"),
    "device": (
        lambda: VirtualMachine(_program(_twice), "cuda", functions={"advice.twice": twice}),
        "'device' is cuda; the one device of a machine is the CPU",
    ),
    "wide_immediate": (
        lambda: _program(_returns(lambda ib: ib.imm(2**60)), 0),
        rf"write ib.c\({2**60}\), a constant",
    ),
    "nested": (lambda: _nested(ExecBuilder()), "its block is inside of that of 'outer'; end that one first"),
    "outside": (_outside, r"write it in: with ib.function\(name\):"),
    "bare_integer": (
        lambda: _program(_copied(lambda ib: 0)),
        r"write ib.imm\(0\) for the number, ib.r\(0\) for the register",
    ),
    "void": (lambda: _program(_copied(lambda ib: ib.void_arg())), r"write ib.c\(None\)"),
    "label": (lambda: _program(_jump()), r"call ib.place\(label\)"),
    "unregistered": (lambda: VirtualMachine(_program(_twice)), "or give them as `functions`"),
    "functions_of_machine": (
        lambda: Debugger(_debugger().machine, functions={"advice.twice": twice}),
        "a virtual machine has its own",
    ),
    "failed_run": (lambda: _failed().step(), r"run\(\) or start\(\) begin another one"),
    "no_run": (lambda: _debugger().step(), r"run\(\) or start\(\) begin a run"),
    "gone": (_gone, "keep a reference to it while its functions run"),
    "bare_tensor": (_bare, "is a DLTensor, which ends with the call; give a tensor"),
    "written_parameter": (
        lambda: rx.vm.build(_written(False)),
        "is no tensor of alloc_tensor; copy it into one with memory.copy",
    ),
    "written_with_sizes": (
        lambda: rx.vm.build(_written(True, shape_heap=True)),
        "takes integers that are no formulas any more; build the module from the form before vm-shape-lower",
    ),
    "too_many_branches": (_too_many, "split it"),
}


WRITTEN = """
@I.ir_module
class Module:
    @T.prim_func
    def add(A: T.Buffer((n,), "float32"), k: T.int64):
        for i in range(n):
            A[i] = A[i] + T.Cast("float32", k)

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return R.call_tir_inplace(cls.add, (x,), [0], R.Tensor((n,), "float32"), tir_vars=[n])
"""


def _written(is_copied: bool, shape_heap: bool = False) -> rx.IRModule:
    """A module in explicit memory whose prim func writes a copy of the parameter, or the parameter itself."""
    mod = parse(WRITTEN)
    parse_pipeline("legalize-ops,to-non-dataflow,call-tir-rewrite").apply_(mod)
    if not is_copied:
        (copy,) = [op for op in mod["main"].entry_block.operations if op.operation.name == "relax.memory_copy"]
        source, target = copy.operation.operands
        target.replace_all_uses_with(source)
    if shape_heap:
        parse_pipeline("vm-memory-lower,vm-shape-lower").apply_(mod)
    return mod


TABLE = Rows(ROWS)
