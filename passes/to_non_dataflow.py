"""Pass ``to-non-dataflow``: dissolve dataflow blocks into the enclosing code."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_effects_explicit
from relax_mlir.transform import FunctionPass, PassContext
from relax_mlir.transform.passes import dataflow_blocks


class ToNonDataflow(FunctionPass):
    """Move the ops of dataflow blocks in front of them, and remove the blocks."""

    name: ClassVar[str] = "to-non-dataflow"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        make_effects_explicit(function)
        for dataflow in dataflow_blocks(function):
            _dissolve(dataflow)


def _dissolve(dataflow: ir.Operation) -> None:
    body = [view.operation for view in entry_block(dataflow).operations]
    for op in body[:-1]:
        op.move_before(dataflow)
    dataflow.results[0].replace_all_uses_with(body[-1].operands[0])
    dataflow.erase()
