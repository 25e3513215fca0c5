"""Calls of shape functions, Relax functions and packed functions."""

from __future__ import annotations

from relax_mlir.diagnostics import where
from relax_mlir.dialects.types import struct_info
from relax_mlir.ir_queries import callee_of
from relax_mlir.mlir import ir
from relax_mlir.vm.bytecode import Arg
from relax_mlir.vm.codegen.function_code import FunctionCode, handles


@handles("relax.call_prim")
def call_prim(code: FunctionCode, op: ir.Operation) -> None:
    """Call a shape function, which reads and writes the heap."""
    (heap,) = code.fields(op.operands[0])
    code.b.emit_call(callee_of(op), args=[heap, heap])


@handles("relax.call")
def call(code: FunctionCode, op: ir.Operation) -> None:
    code.b.emit_call(callee_of(op), args=code.fields(op.operands[0]), dst=code.define(op.results[0]))


@handles("relax.make_closure")
def make_closure(code: FunctionCode, op: ir.Operation) -> None:
    args = [code.b.f(callee_of(op)), *code.fields(op.operands[0])]
    code.call("make_closure", *args, dst=code.define(op.results[0]))


@handles("relax.call_packed", "relax.call_pure_packed")
def call_packed(code: FunctionCode, op: ir.Operation) -> None:
    operands = iter(code.fields(op.operands[0]))
    args = [
        next(operands) if isinstance(item, ir.UnitAttr) else _literal(code, item)
        for item in ir.ArrayAttr(op.attributes["arg_spec"])
    ]
    name = ir.StringAttr(op.attributes["func"]).value
    result = op.results[0]
    if result.type == ir.TupleType.get_tuple([]):
        code.b.emit_call(name, args=args)
        return
    dst = code.define(result)
    code.b.emit_call(name, args=args, dst=dst)
    code.check(dst, struct_info(result.type), f"{code.name}: result of '{name}' at {where(op)}")


def _literal(code: FunctionCode, attribute: ir.Attribute) -> Arg:
    assert isinstance(attribute, ir.StringAttr | ir.IntegerAttr | ir.FloatAttr | ir.BoolAttr)
    return code.b.convert_constant(attribute.value)
