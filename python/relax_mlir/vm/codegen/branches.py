"""Control flow: conditionals and loops become `If` and `Goto`."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.loops import counts_upwards, surely_ends
from relax_mlir.ir_queries import entry_block
from relax_mlir.lowering.shapes.body import place
from relax_mlir.lowering.shapes.control import INT64_MAX
from relax_mlir.mlir import ir
from relax_mlir.vm.assertions import FAIL_LOOP
from relax_mlir.vm.bytecode import Arg
from relax_mlir.vm.codegen.assertions import require
from relax_mlir.vm.codegen.function_code import FunctionCode, handles


@handles("scf.if")
def if_op(code: FunctionCode, op: ir.Operation) -> None:
    results = [code.define(result) for result in op.results]
    false, end = code.b.label(), code.b.label()
    code.b.emit_if(code.register(op.operands[0]), false)
    _branch(code, op.regions[0], results)
    code.b.emit_goto(end)
    code.b.place(false)
    _branch(code, op.regions[1], results)
    code.b.place(end)


def _branch(code: FunctionCode, region: ir.Region, results: Sequence[Arg]) -> None:
    if len(region.blocks):
        block = region.blocks[0]
        code.block(block)
        code.assign(block.operations[-1].operation.operands, results)


@handles("scf.for")
def for_op(code: FunctionCode, op: ir.Operation) -> None:
    low, high, step, *initial = op.operands
    _require_end(code, op)
    block = entry_block(op)
    variable, *carried = (code.define(argument) for argument in block.arguments)
    code.move(code.arg(low), variable)
    code.assign(initial, carried)
    head, end = code.b.label(), code.b.label()
    code.b.place(head)
    condition = code.call_into(code.new(), "arith.cmpi_slt", variable, code.arg(high))
    code.b.emit_if(condition, end)
    code.block(block)
    code.assign(block.operations[-1].operation.operands, carried)
    code.call("arith.addi", variable, code.arg(step), dst=variable)
    code.b.emit_goto(head)
    code.b.place(end)
    for result, register in zip(op.results, carried, strict=True):
        code.registers[result] = register


def _require_end(code: FunctionCode, op: ir.Operation) -> None:
    """Raise the same error as native code for a loop whose step is not positive or whose variable would overflow."""
    if surely_ends(op):
        return
    upper, step = (code.arg(operand) for operand in list(op.operands)[1:3])
    where, shown = f"{code.name}: {place(op)}", [step, upper]
    if not counts_upwards(op):
        positive = code.call_into(code.new(), "arith.cmpi_sgt", step, code.b.convert_constant(0))
        require(code, positive, FAIL_LOOP, where, shown)
    room = code.call_into(code.new(), "arith.subi", code.b.convert_constant(INT64_MAX), step)
    last = code.call_into(code.new(), "arith.addi", room, code.b.convert_constant(1))
    require(code, code.call_into(code.new(), "arith.cmpi_sle", upper, last), FAIL_LOOP, where, shown)


@handles("scf.while")
def while_op(code: FunctionCode, op: ir.Operation) -> None:
    before, after = (region.blocks[0] for region in op.regions)
    carried = [code.define(argument) for argument in before.arguments]
    inside = [code.define(argument) for argument in after.arguments]
    code.assign(op.operands, carried)
    head, end = code.b.label(), code.b.label()
    code.b.place(head)
    code.block(before)
    condition, *values = before.operations[-1].operation.operands
    code.assign(values, inside)
    code.b.emit_if(code.register(condition), end)
    code.block(after)
    code.assign(after.operations[-1].operation.operands, carried)
    code.b.emit_goto(head)
    code.b.place(end)
    for result, register in zip(op.results, inside, strict=True):
        code.registers[result] = register
