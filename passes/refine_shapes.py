"""Pass ``refine-shapes``: propagate shape information forwards and backwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from relax_mlir.analysis.type_inference import deduce_types
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.rewrite.shape_hoisting import hoist_match
from relax_mlir.symbolic import assuming
from relax_mlir.transform import ModulePass, PassContext, relax_functions


class RefineShapes(ModulePass):
    """Propagate shapes and dtypes forwards and backwards, to a fixed point.

    Forwards, as in ``normalize``: result types are deduced again through tuples, conditionals, dataflow blocks, calls
    and function results, including the shape rules of packed functions (`op.register_infer`). Callers see the refined
    results of their callees.

    Backwards, a `match_shape` of the result of an op that preserves its operand's shape (a unary op, a cast, a softmax,
    a binary op with a scalar, a permutation) moves in front of the op and checks the operand, repeatedly up to the
    first op that does not preserve the shape. The values in between then have a known shape. The check remains, so that
    the program raises the same error, only earlier: no call of a packed or Relax function, no conditional and no other
    effect is between the two positions, and both are in one block (a dataflow block counts as part of the enclosing
    block). The symbols of the pattern must be defined at the new position, or by the pattern itself.

    No other information moves backwards: ``add`` broadcasts, so a result of shape ``(m, n)`` does not determine either
    operand. `op.ewise_add`, which does not broadcast, inserts the `match_shape` that this pass moves.
    """

    name: ClassVar[str] = "refine-shapes"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Iterate until no function's type changes; each round propagates callee results to callers."""
        make_all_effects_explicit(module)
        functions = relax_functions(module)
        by_name = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        for _ in range(len(functions) + 1):
            before = [function.type for function in functions]
            for function in functions:
                with assuming(read_bounds(function)):
                    _refine(function, module, by_name)
            if before == [function.type for function in functions]:
                return


def _refine(function: func.FuncOp, module: ir.Module, functions: Mapping[str, func.FuncOp]) -> None:
    deduce_types(function, module)
    while any(hoist_match(match, functions) for match in ops_of(function.operation, "relax.match_shape")):
        deduce_types(function, module)
