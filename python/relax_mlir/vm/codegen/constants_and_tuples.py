"""Constants, integers and tuples: values that need no instruction, or are used only field by field."""

from __future__ import annotations

from relax_mlir.diagnostics import where
from relax_mlir.dialects import constants
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.types import dims_from_attr
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import ir
from relax_mlir.vm.codegen.function_code import FunctionCode, handles

_SAME = ("relax.updated", "arith.index_cast", "arith.extui", "arith.index_castui")
"""Ops whose result is their operand."""


@handles("relax.constant")
def constant(code: FunctionCode, op: ir.Operation) -> None:
    array = constants.to_numpy(op.attributes["value"])
    view = array.view()
    view.flags.writeable = False
    code.values[op.results[0]] = code.b.c(view)


@handles("relax.shape_expr")
def shape_expr(code: FunctionCode, op: ir.Operation) -> None:
    dims = dims_from_attr(op.attributes["values"])
    code.values[op.results[0]] = code.b.c(tuple(dim for dim in dims if isinstance(dim, int)))


@handles("relax.prim_value")
def prim_value(code: FunctionCode, op: ir.Operation) -> None:
    number = ir.IntegerAttr(op.attributes["value"]).value  # symbols are in the heap by now
    code.values[op.results[0]] = code.b.convert_constant(number)


@handles(TUPLE)
def make_tuple(code: FunctionCode, op: ir.Operation) -> None:
    """Emit nothing; a tuple is built where it is used as a whole."""


@handles("relax.tuple_get_item")
def tuple_get_item(code: FunctionCode, op: ir.Operation) -> None:
    index = ir.IntegerAttr(op.attributes["index"]).value
    made = defining_op(op.operands[0])
    if made is not None and made.name == TUPLE:
        code.values[op.results[0]] = code.arg(made.operands[index])
        return
    code.call("tuple_getitem", code.arg(op.operands[0]), code.b.imm(index), dst=code.define(op.results[0]))


@handles(*_SAME)
def same(code: FunctionCode, op: ir.Operation) -> None:
    """Alias the result of an op to its operand. Raises `UnsupportedError` for casts that change an integer's width."""
    given, made = op.operands[0].type, op.results[0].type
    kept = (64,) if op.name == "arith.index_cast" else (1, 64)
    if (isinstance(given, ir.IntegerType) and given.width not in kept) or (
        isinstance(made, ir.IntegerType) and made.width != 64 and op.name.startswith("arith.")
    ):
        raise UnsupportedError(
            f"{where(op)}: {op.name} from {given} to {made} has no bytecode, as integers of Relax have 64 bits"
        )
    code.values[op.results[0]] = code.arg(op.operands[0])
