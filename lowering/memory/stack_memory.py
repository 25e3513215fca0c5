"""Stack buffers: those that `stack-buffers` has chosen, allocated at the entry of their function."""

from __future__ import annotations

from relax_mlir.dialects.attributes import ON_STACK
from relax_mlir.ir_queries import entry_block, function_of
from relax_mlir.lowering.memory.entry_sizes import static_bytes
from relax_mlir.mlir import ir, llvm, memref
from relax_mlir.mlir_text import descriptor

ALIGNMENT = 64


def is_on_stack(alloc: ir.Operation) -> bool:
    """True if a `memref.alloc` is chosen for the stack."""
    return ON_STACK in alloc.attributes


def place_on_stack(alloc: ir.Operation) -> None:
    """Allocate a buffer on the stack and zero it: LLVM may give two reads of undefined memory different values.

    A buffer in a loop is the same memory in each iteration.
    """
    type_ = ir.MemRefType(alloc.results[0].type)
    with ir.InsertionPoint.at_block_begin(entry_block(function_of(alloc))), alloc.location:
        memory = memref.alloca(type_, [], [], alignment=ALIGNMENT)
        struct, pointer = ir.Type.parse(descriptor(type_.rank)), ir.Type.parse("!llvm.ptr")
        cast = "builtin.unrealized_conversion_cast"
        parts = ir.Operation.create(cast, results=[struct], operands=[memory]).result
        address = llvm.ExtractValueOp(pointer, parts, [1]).result
        byte, word = ir.IntegerType.get_signless(8), ir.IntegerType.get_signless(64)
        zero = llvm.ConstantOp(byte, ir.IntegerAttr.get(byte, 0)).result
        size = llvm.ConstantOp(word, ir.IntegerAttr.get(word, static_bytes(type_))).result
        llvm.MemsetOp(address, zero, size, False)
    for use in list(alloc.results[0].uses):
        if use.owner.name == "memref.dealloc":
            use.owner.operation.erase()
    alloc.results[0].replace_all_uses_with(memory)
    alloc.erase()
