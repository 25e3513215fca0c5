"""Shapes and the shape heap."""

from __future__ import annotations

import tvm_ffi

from relax_mlir.diagnostics import where
from relax_mlir.dialects.types import Prim, dims_from_attr, struct_info
from relax_mlir.dialects.vm import MatchCode
from relax_mlir.mlir import ir
from relax_mlir.vm.bytecode import Arg
from relax_mlir.vm.codegen.function_code import FunctionCode, handles, integers


@handles("relax.shape_of")
def shape_of(code: FunctionCode, op: ir.Operation) -> None:
    """Pass the tensor itself to users that only read dimensions; otherwise call `shape_of`."""
    users = {use.owner.operation.name for use in op.results[0].uses}
    if users <= {"relax.vm_match_shape", "relax.vm_store_shape"}:
        code.values[op.results[0]] = code.arg(op.operands[0])
        return
    code.call("shape_of", code.arg(op.operands[0]), dst=code.define(op.results[0]))


@handles("relax.tensor_to_shape")
def tensor_to_shape(code: FunctionCode, op: ir.Operation) -> None:
    code.call("tensor_to_shape", code.arg(op.operands[0]), dst=code.define(op.results[0]))


@handles("relax.shape_to_tensor")
def shape_to_tensor(code: FunctionCode, op: ir.Operation) -> None:
    code.call("shape_to_tensor", code.arg(op.operands[0]), dst=code.define(op.results[0]))


@handles("relax.shape_equal")
def shape_equal(code: FunctionCode, op: ir.Operation) -> None:
    """Return the result of a comparison as a bool tensor of rank 0."""
    flag = code.call_into(code.new(), "shape_equal", *map(code.arg, op.operands))
    dtype, rank_0 = code.b.c(tvm_ffi.dtype("bool")), code.b.c(())
    code.call("from_elements", dtype, rank_0, flag, dst=code.define(op.results[0]))


@handles("relax.match_shape")
def match_shape(code: FunctionCode, op: ir.Operation) -> None:
    """Check dtype, rank and constant dimensions, which remain at this level; the result is the operand."""
    value = code.arg(op.operands[0])
    info = struct_info(op.results[0].type)
    context = f"{code.name}: match_shape at {where(op)}"
    if isinstance(info, Prim):
        (dim,) = dims_from_attr(op.attributes["pattern"])
        if isinstance(dim, int):
            what, number = code.b.imm(MatchCode.ASSERT_IMMEDIATE), code.b.convert_constant(dim)
            code.call("match_prim_value", value, code.b.c(None), what, number, code.b.c(context))
    else:
        code.check(value, info, context)
    code.values[op.results[0]] = value


@handles("relax.vm_alloc_shape_heap")
def alloc_shape_heap(code: FunctionCode, op: ir.Operation) -> None:
    size = code.b.imm(ir.IntegerAttr(op.attributes["size"]).value)
    code.call("alloc_shape_heap", code.b.vm_state(), size, dst=code.define(op.results[0]))


@handles("relax.vm_store_shape")
def store_shape(code: FunctionCode, op: ir.Operation) -> None:
    shape, heap = map(code.arg, op.operands)
    code.call("store_shape", shape, heap, *_numbers(code, op, "indices"))


@handles("relax.vm_load_shape")
def load_shape(code: FunctionCode, op: ir.Operation) -> None:
    code.shape(op, "load_shape", integers(op, "indices"))


def _numbers(code: FunctionCode, op: ir.Operation, name: str) -> list[Arg]:
    return [code.b.convert_constant(number) for number in integers(op, name)]


@handles("relax.vm_make_shape")
def make_shape(code: FunctionCode, op: ir.Operation) -> None:
    codes, values = integers(op, "codes"), integers(op, "values")
    code.shape(op, "make_shape", [len(codes), *(n for pair in zip(codes, values, strict=True) for n in pair)])


@handles("relax.vm_match_shape")
def vm_match_shape(code: FunctionCode, op: ir.Operation) -> None:
    shape, heap = map(code.arg, op.operands)
    pairs = list(zip(integers(op, "codes"), integers(op, "values"), strict=True))
    code.match(shape, heap, pairs, code.b.c(ir.StringAttr(op.attributes["where"]).value))


@handles("relax.vm_load_prim")
def load_prim(code: FunctionCode, op: ir.Operation) -> None:
    slot = code.b.imm(ir.IntegerAttr(op.attributes["index"]).value)
    heap = code.arg(op.operands[0])
    code.call("make_prim_value", heap, code.b.imm(1), slot, dst=code.define(op.results[0]))
