"""`lower-copies`: `memref.copy` between contiguous buffers is one memcpy."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.lowering.memory.entry_sizes import constant, static_bytes
from relax_mlir.lowering.parts.shared_code import own_ops
from relax_mlir.mlir import arith, ir, llvm, memref
from relax_mlir.transform import ModulePass, PassContext


class LowerCopies(ModulePass):
    """Lower copies between row-major buffers to memcpy; copies with other layouts stay."""

    name: ClassVar[str] = "lower-copies"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for op in own_ops(module, "memref.copy"):
            if all(_row_major(v.type) for v in op.operands):
                _lower(op)


def _row_major(type: ir.Type) -> bool:
    return isinstance(type, ir.MemRefType) and ir.MemRefType(type).affine_map == ir.AffineMap.get_identity(
        ir.MemRefType(type).rank
    )


def _address(value: ir.Value, pointer: ir.Type, word: ir.Type) -> ir.Value:
    at = memref.ExtractAlignedPointerAsIndexOp(value).result
    return llvm.IntToPtrOp(pointer, arith.IndexCastOp(word, at).result).result


def _lower(op: ir.Operation) -> None:
    source, target = op.operands
    type = ir.MemRefType(source.type)
    pointer, word = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    with ir.InsertionPoint(op), op.location:
        size = constant(static_bytes(type))
        for i in range(type.rank):
            if type.is_dynamic_dim(i):
                size = arith.MulIOp(size, memref.DimOp(source, constant(i)).result).result
        to, from_ = (_address(value, pointer, word) for value in (target, source))
        llvm.intr_memcpy(to, from_, arith.IndexCastOp(word, size).result, False)
    op.erase()
