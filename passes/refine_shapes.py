"""Pass ``refine-shapes``: what is known of shapes by now reaches every op, forwards and backwards."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.analysis.type_deduction import deduce_types
from relax_mlir.dialects.bounds import read_bounds
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.passes.explicit_effects import make_all_effects_explicit
from relax_mlir.rewrite.shape_hoisting import hoist_match
from relax_mlir.symbolic import assuming
from relax_mlir.transform import ModulePass, PassContext, relax_functions


class RefineShapes(ModulePass):
    """Deduce shapes and dtypes again, forwards and backwards, until nothing more is learnt.

    Forwards, as ``normalize`` does: each op is asked again what its result is, through tuples, conditionals,
    dataflow blocks, calls and results of functions, and so are the shape rules of packed functions
    (`op.register_infer`). Functions that call others learn what those have learnt.

    Backwards, a `match_shape` of the result of an op that keeps its operand's shape (a unary op, a cast, a softmax,
    a binary op with a scalar, a permutation) moves in front of the op, where it checks the operand, and so on up to
    the first op that does not: the shape is then known in between. The check stays, so that the program raises
    where it raised, only earlier: no call of a packed or a Relax function, no conditional, and nothing else with an
    effect lies between the two places, and both are in the same block (a dataflow block counts as part of the block
    around it). The symbols of the pattern must be defined at the new place, or by the pattern itself.

    Nothing else tells an op's operand: ``add`` broadcasts, so that a result of shape ``(m, n)`` says little of
    either operand. `op.ewise_add`, which does not broadcast, makes the `match_shape` that this pass moves.
    """

    name: ClassVar[str] = "refine-shapes"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Learn until no function's type changes; each round lets callers see their callees' results."""
        make_all_effects_explicit(module)
        functions = relax_functions(module)
        for _ in range(len(functions) + 1):
            before = [function.type for function in functions]
            for function in functions:
                with assuming(read_bounds(function)):
                    _refine(function, module)
            if before == [function.type for function in functions]:
                return


def _refine(function: func.FuncOp, module: ir.Module) -> None:
    deduce_types(function, module)
    functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
    while any(hoist_match(match, functions) for match in ops_of(function.operation, "relax.match_shape")):
        deduce_types(function, module)
