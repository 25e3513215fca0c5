"""Explicit memory: storages, tensors in them, copies and views."""

from __future__ import annotations

from relax_mlir.mlir import ir
from relax_mlir.vm.codegen.function_code import FunctionCode, handles


@handles("relax.vm_alloc_storage")
def alloc_storage(code: FunctionCode, op: ir.Operation) -> None:
    b = code.b
    device = b.imm(ir.IntegerAttr(op.attributes["device"]).value)
    scope = b.c(ir.StringAttr(op.attributes["storage_scope"]).value)
    size = code.arg(op.operands[0])
    args = [b.vm_state(), size, device, code.dtype(op.attributes["dtype"]), scope]
    code.call("alloc_storage", *args, dst=code.define(op.results[0]))


@handles("relax.vm_alloc_tensor")
def alloc_tensor(code: FunctionCode, op: ir.Operation) -> None:
    offset = code.b.convert_constant(ir.IntegerAttr(op.attributes["offset"]).value)
    storage, shape = code.arg(op.operands[0]), code.arg(op.operands[1])
    args = [storage, offset, shape, code.dtype(op.attributes["dtype"])]
    code.call("alloc_tensor", *args, dst=code.define(op.results[0]))


@handles("relax.vm_kill_object")
def kill(code: FunctionCode, op: ir.Operation) -> None:
    killed = code.arg(op.operands[0])
    if killed.kind == 0:
        code.call("null_value", dst=killed)


@handles("relax.vm_copy")
def copy(code: FunctionCode, op: ir.Operation) -> None:
    code.call("copy_into", *map(code.arg, op.operands))


@handles("relax.vm_reshape")
def reshape(code: FunctionCode, op: ir.Operation) -> None:
    code.call("reshape", *map(code.arg, op.operands), dst=code.define(op.results[0]))
