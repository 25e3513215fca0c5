"""Ops of other dialects on scalars, between tensors and control flow."""

from __future__ import annotations

import tvm_ffi

from relax_mlir.dialects import constants, dtypes
from relax_mlir.ir_queries import defining_op
from relax_mlir.lowering.shapes.body import place
from relax_mlir.mlir import ir
from relax_mlir.vm.assertions import FAIL_DIVISION
from relax_mlir.vm.codegen.assertions import require
from relax_mlir.vm.codegen.function_code import FunctionCode, handles

_CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""The predicates of `arith.cmpi`, indexed by their integer value."""
_BINARY = tuple(
    f"arith.{name}"
    for name in (
        *("addi", "subi", "muli", "minsi", "maxsi", "minui", "maxui", "andi", "ori", "xori"),
        *("divsi", "floordivsi", "ceildivsi", "remsi", "shli", "shrsi", "shrui"),
    )
)


@handles("tensor.extract")
def extract(code: FunctionCode, op: ir.Operation) -> None:
    code.call("extract", *map(code.arg, op.operands), dst=code.define(op.results[0]))


@handles("arith.constant")
def arith_constant(code: FunctionCode, op: ir.Operation) -> None:
    value = op.attributes["value"]
    if isinstance(value, ir.DenseElementsAttr):
        code.values[op.results[0]] = code.b.c(constants.to_numpy(value))
    else:
        number = ir.IntegerAttr(value).value
        is_bool = value.type == ir.IntegerType.get_signless(1)
        code.values[op.results[0]] = (
            code.b.imm(int(bool(number))) if is_bool else code.b.convert_constant(number)
        )


@handles("tensor.from_elements")
def from_elements(code: FunctionCode, op: ir.Operation) -> None:
    tensor = ir.RankedTensorType(op.results[0].type)
    dtype = code.b.c(tvm_ffi.dtype(dtypes.from_element_type(tensor.element_type).name))
    shape = code.b.c(tuple(tensor.shape))
    code.call("from_elements", dtype, shape, *map(code.arg, op.operands), dst=code.define(op.results[0]))


@handles("arith.select")
def select(code: FunctionCode, op: ir.Operation) -> None:
    code.call("arith.select", *map(code.arg, op.operands), dst=code.define(op.results[0]))


@handles("arith.cmpi")
def cmpi(code: FunctionCode, op: ir.Operation) -> None:
    predicate = _CMPI[ir.IntegerAttr(op.attributes["predicate"]).value]
    code.call(f"arith.cmpi_{predicate}", *map(code.arg, op.operands), dst=code.define(op.results[0]))


@handles(*_BINARY)
def binary(code: FunctionCode, op: ir.Operation) -> None:
    if op.name == "arith.floordivsi" and not _is_positive(op.operands[1]):
        _require_divisor(code, op)
    code.call(op.name, *map(code.arg, op.operands), dst=code.define(op.results[0]))


def _is_positive(value: ir.Value) -> bool:
    """True if a value is a positive constant."""
    made = defining_op(value)
    known = made is not None and made.name in ("arith.constant", "relax.prim_value")
    number = made.attributes["value"] if known and made is not None else None
    return isinstance(number, ir.IntegerAttr) and number.value > 0


def _require_divisor(code: FunctionCode, op: ir.Operation) -> None:
    """Raise the same error as native code unless the divisor is positive."""
    divisor = code.arg(op.operands[1])
    condition = code.call_into(code.new(), "arith.cmpi_sgt", divisor, code.b.convert_constant(0))
    require(code, condition, FAIL_DIVISION, f"{code.name}: {place(op)}", [divisor])
