"""`lower-constants`: calls of `@relax.constant.K` load pointer K of the table that the runtime fills."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import ClassVar

from relax_mlir.dialects.attributes import CONSTANT
from relax_mlir.ir_queries import callee_of
from relax_mlir.lowering.parts.shared_code import own_ops
from relax_mlir.mlir import arith, func, ir, llvm
from relax_mlir.mlir_text import Fragment, descriptor, functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

TABLE = "__relax_constants"
_POINTER_BYTES = 8


class LowerConstants(ModulePass):
    """Replace calls of constant declarations by memrefs over the memory that `@__relax_constants` points to."""

    name: ClassVar[str] = "lower-constants"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        table = functions(module)
        declarations = {
            name: ir.IntegerAttr(op.attributes[CONSTANT]).value
            for name, op in table.items()
            if CONSTANT in op.attributes and is_declaration(op)
        }
        if not declarations:
            return
        size = max(declarations.values()) + 1
        fragment = Fragment()
        fragment.define(
            f"llvm.mlir.global external @{TABLE}() : !llvm.array<{size} x ptr> {{\n"
            f"  %0 = llvm.mlir.zero : !llvm.array<{size} x ptr>\n  llvm.return %0 : !llvm.array<{size} x ptr>\n}}"
        )
        fragment.splice(module)
        for call in _calls(module, declarations):
            _replace(call, declarations[call.callee.value])
        for name in declarations:
            table[name].operation.erase()


def _calls(module: ir.Module, declarations: Container[str]) -> list[func.CallOp]:
    return [op.opview for op in own_ops(module, "func.call") if callee_of(op) in declarations]


def _replace(call: func.CallOp, position: int) -> None:
    """Replace a call by a contiguous memref over entry `position` of the table."""
    type = ir.MemRefType(call.results[0].type)
    pointer = ir.Type.parse("!llvm.ptr")
    with ir.InsertionPoint(call), call.location:
        table = llvm.AddressOfOp(pointer, TABLE).result
        entry = _address(table, position * _POINTER_BYTES)
        data = llvm.LoadOp(pointer, entry).result
        memref = _memref(data, [type.get_dim_size(i) for i in range(type.rank)], type)
    call.results[0].replace_all_uses_with(memref)
    call.operation.erase()


def _address(base: ir.Value, offset: int) -> ir.Value:
    """The address `base` + `offset` bytes."""
    attributes = {
        "rawConstantIndices": ir.DenseI32ArrayAttr.get([offset]),
        "elem_type": ir.TypeAttr.get(ir.IntegerType.get_signless(8)),
    }
    return ir.Operation.create(
        "llvm.getelementptr", results=[base.type], operands=[base], attributes=attributes
    ).result


def _memref(data: ir.Value, sizes: Sequence[int], type: ir.MemRefType) -> ir.Value:
    """A contiguous memref of static sizes over `data`."""
    word = ir.IntegerType.get_signless(64)
    struct = ir.Type.parse(descriptor(len(sizes)))
    value = ir.Operation.create("llvm.mlir.poison", results=[struct]).result

    def put(item: ir.Value | int, *position: int) -> None:
        nonlocal value
        value = ir.Operation.create(
            "llvm.insertvalue",
            results=[struct],
            operands=[value, arith.ConstantOp(word, item).result if isinstance(item, int) else item],
            attributes={"position": ir.DenseI64ArrayAttr.get(list(position))},
        ).result

    put(data, 0)
    put(data, 1)
    put(0, 2)
    stride = 1
    for i in reversed(range(len(sizes))):
        put(sizes[i], 3, i)
        put(stride, 4, i)
        stride *= sizes[i]
    return ir.Operation.create("builtin.unrealized_conversion_cast", results=[type], operands=[value]).result
