"""Assertions: a comparison, and a call that raises if it is false."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.effects import RELATIONS
from relax_mlir.dialects.types import dims_from_attr
from relax_mlir.mlir import ir
from relax_mlir.vm.assertions import FAIL
from relax_mlir.vm.bytecode import Arg
from relax_mlir.vm.codegen.function_code import FunctionCode, handles, integers

_PREDICATES = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}


@handles("relax.assert_op")
def assert_op(code: FunctionCode, op: ir.Operation) -> None:
    shown = code.fields(op.operands[0])
    if isinstance(op.attributes["relation"], ir.UnitAttr):
        condition = code.call_into(code.new(), "read_if_cond", shown.pop(0))
    else:
        left, right = (
            code.b.convert_constant(dim)
            for dim in dims_from_attr(op.attributes["values"])
            if isinstance(dim, int)
        )
        condition = _compare(code, op, left, right)
    require(code, condition, FAIL, _message(op), shown)


@handles("relax.vm_assert_relation")
def assert_relation(code: FunctionCode, op: ir.Operation) -> None:
    heap = code.arg(op.operands[0])
    left, right = (
        code.call_into(
            code.new(), "make_prim_value", heap, code.b.imm(source), code.b.convert_constant(value)
        )
        for source, value in zip(integers(op, "codes"), integers(op, "values"), strict=True)
    )
    require(code, _compare(code, op, left, right), FAIL, _message(op), code.fields(op.operands[1]))


def _compare(code: FunctionCode, op: ir.Operation, left: Arg, right: Arg) -> Arg:
    relation = ir.StringAttr(op.attributes["relation"]).value
    assert relation in RELATIONS
    return code.call_into(code.new(), f"arith.cmpi_{_PREDICATES[relation]}", left, right)


def _message(op: ir.Operation) -> str:
    return str(ir.StringAttr(op.attributes["message"]).value)


def require(code: FunctionCode, condition: Arg, fail: str, text: str, shown: Sequence[Arg]) -> None:
    """Emit a call of the raising function `fail`, with a text and values, that runs unless a condition holds."""
    failed, end = code.b.label(), code.b.label()
    code.b.emit_if(condition, failed)
    code.b.emit_goto(end)
    code.b.place(failed)
    code.b.emit_call(fail, args=[code.b.c(text), *shown])
    code.b.place(end)
