"""Pass ``vm-memory-lower``: lower explicit memory to builtins of the virtual machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from relax_mlir.diagnostics import where
from relax_mlir.dialects.traits import IsView, has_trait
from relax_mlir.dialects.types import Tensor, struct_info
from relax_mlir.dialects.vm import VmReshapeOp
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.passes.memory.call_tir_rewrite import shape_value
from relax_mlir.transform import FunctionPass, PassContext

RENAMED = {
    "relax.memory_alloc_storage": "relax.vm_alloc_storage",
    "relax.memory_alloc_tensor": "relax.vm_alloc_tensor",
    "relax.memory_copy": "relax.vm_copy",
    "relax.memory_kill_tensor": "relax.vm_kill_object",
    "relax.memory_kill_storage": "relax.vm_kill_object",
}
"""Builtin with the same operands and attributes, by op of explicit memory."""
EARLIER = {
    "relax.dataflow": "to-non-dataflow",
    "relax.call_tir": "call-tir-rewrite",
    "relax.call_tir_inplace": "call-tir-rewrite",
    "relax.call_dps_packed": "call-tir-rewrite",
}
"""Pass that removes an op, by the name of the op."""


class VMMemoryLower(FunctionPass):
    """Lower `memory.*` ops to `vm.*`, and views to `vm.reshape`.

    Requires explicit memory (``call-tir-rewrite``).
    """

    name: ClassVar[str] = "vm-memory-lower"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        """Raises `UnsupportedError` for a function without explicit memory, and for views of unknown shape."""
        refuse(function, EARLIER, self.name)
        for op in list(walk(entry_block(function))):
            with op.location:
                if op.name in RENAMED:
                    _rename(op, RENAMED[op.name])
                elif has_trait(op, IsView):
                    _reshape(op)


def refuse(function: func.FuncOp, earlier: dict[str, str], name: str) -> None:
    """Raise `UnsupportedError` for an op that an earlier pass should have removed."""
    for op in walk(entry_block(function)):
        if op.name in earlier:
            raise UnsupportedError(
                f"{where(op)}: {function.name.value}: {op.name} is left; run {earlier[op.name]} before {name}"
            )


def walk(block: ir.Block) -> Iterator[ir.Operation]:
    """All ops in `block`, each before the ops nested in it."""
    for view in list(block.operations):
        yield view.operation
        for region in view.operation.regions:
            for inner in region.blocks:
                yield from walk(inner)


def _rename(op: ir.Operation, name: str) -> None:
    attributes = {a.name: a.attr for a in (op.attributes[i] for i in range(len(op.attributes)))}
    with ir.InsertionPoint(op):
        new = ir.Operation.create(
            name, results=[r.type for r in op.results], operands=list(op.operands), attributes=attributes
        )
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    op.erase()


def _reshape(op: ir.Operation) -> None:
    info = struct_info(op.results[0].type)
    assert isinstance(info, Tensor)
    with ir.InsertionPoint(op):
        if info.known_shape is not None:
            shape = shape_value(info.known_shape)
        elif len(op.operands) == 2:
            shape = op.operands[1]
        else:
            raise UnsupportedError(
                f"{where(op)}: {op.name} gives {info}; its shape must be known: match_shape its operand first"
            )
        new = ir.Operation.create(
            VmReshapeOp.OPERATION_NAME, results=[op.results[0].type], operands=[op.operands[0], shape]
        )
    op.results[0].replace_all_uses_with(new.results[0])
    op.erase()
