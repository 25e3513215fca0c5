"""Pass ``normalize``: deduce the most precise type of every op, in canonical form."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.analysis.type_inference import deduce_types
from relax_mlir.mlir import func, ir
from relax_mlir.transform import FunctionPass, PassContext


class Normalize(FunctionPass):
    """Deduce result types again, canonicalise shape expressions, and forward fields of `tuple` ops.

    A result whose type is less precise than its op's shape rule gives (an unknown dimension or dtype) gets the more
    precise type, and so do the results of dataflow blocks, conditionals, calls and functions that depend on it. Values
    carried by loops keep their types.
    """

    name: ClassVar[str] = "normalize"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        deduce_types(function, module)
