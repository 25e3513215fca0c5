"""Pass ``normalize``: every op has the best type that its operands give, in canonical form."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.analysis.type_deduction import deduce_types
from relax_mlir.mlir import func, ir
from relax_mlir.transform import FunctionPass, PassContext


class Normalize(FunctionPass):
    """Re-deduce result types, print shapes canonically, take fields of tuples that are at hand.

    A result that claims less than its op's shape rule says (an unknown dimension or dtype) gets the better type;
    so do the results of dataflow blocks, conditionals, calls and functions that depend on it. What a loop carries
    keeps its type.
    """

    name: ClassVar[str] = "normalize"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        deduce_types(function, module)
