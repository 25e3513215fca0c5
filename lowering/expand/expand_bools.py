"""Pass `expand-bools`: any byte other than 0 is true."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.lowering.parts.shared_code import own_ops
from relax_mlir.mlir import arith, ir, memref
from relax_mlir.transform import ModulePass, PassContext


class ExpandBools(ModulePass):
    """Read booleans as bytes that are not 0.

    A boolean takes a byte in memory, and LLVM's load of an `i1` reads its lowest bit. NumPy and torch write 0 and 1 but
    treat any byte that is not 0 as true, such as 255 in a mask read from a file. Stores here write 0 or 1. Generated
    vector code already reads bytes, and shared kernels have no booleans.
    """

    name: ClassVar[str] = "expand-bools"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for op in own_ops(module, "memref.load"):
            if _is_bool(op.results[0].type):
                with ir.InsertionPoint(op), op.location:
                    value = _read(op.operands[0], list(op.operands)[1:])
                op.results[0].replace_all_uses_with(value)
                op.operation.erase()


def _is_bool(type_: ir.Type) -> bool:
    return isinstance(type_, ir.IntegerType) and type_.width == 1


def _read(buffer: ir.Value, indices: list[ir.Value]) -> ir.Value:
    byte = ir.IntegerType.get_signless(8)
    old = ir.MemRefType(buffer.type)
    bytes_type = ir.MemRefType.get(old.shape, byte, old.layout, old.memory_space)
    cast = "builtin.unrealized_conversion_cast"
    seen = ir.Operation.create(cast, results=[bytes_type], operands=[buffer]).result
    return arith.cmpi(arith.CmpIPredicate.ne, memref.load(seen, indices), arith.constant(byte, 0))
