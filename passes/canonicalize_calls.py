"""Pass ``canonicalize-calls``: CSE and dead-code elimination for calls of pure functions."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from relax_mlir.analysis.call_graph import impure_functions
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.ir_queries import callee_of, defining_op, entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.passes import optimized_functions

CALL = "relax.call"


class CanonicalizeCalls(ModulePass):
    """Remove unused calls of functions without effects, and merge equal ones.

    MLIR's own CSE and dead-code elimination keep every `relax.call`, since the traits of an op do not depend on its
    callee. `relax_mlir.analysis.call_graph` defines what an effect is.
    """

    name: ClassVar[str] = "canonicalize-calls"
    opt_level: ClassVar[int] = 1

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        make_all_effects_explicit(module)
        functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        pure = set(functions) - impure_functions(functions)
        for function in optimized_functions(module):
            block = entry_block(function)
            _merge(block, pure, {})
            _drop(block, pure)


def _is_pure_call(op: ir.Operation, pure: set[str]) -> bool:
    return op.name == CALL and callee_of(op) in pure


def _merge(block: ir.Block, pure: set[str], earlier: dict[Hashable, ir.Operation]) -> None:
    """Replace equal calls by the first one; `earlier` holds the calls that dominate `block`."""
    for view in list(block.operations):
        op = view.operation
        if _is_pure_call(op, pure):
            key = (
                callee_of(op),
                str(op.results[0].type),
                _identity(op.operands[0]),
            )
            if key in earlier:
                op.results[0].replace_all_uses_with(earlier[key].results[0])  # `_drop` removes it
            else:
                earlier[key] = op
        for region in op.regions:
            for nested in region.blocks:
                _merge(nested, pure, dict(earlier))


def _identity(value: ir.Value) -> Hashable:
    """A key that is equal for equal values; a tuple is keyed by its fields."""
    defining = defining_op(value)
    if defining is not None and defining.name == TUPLE:
        return tuple(map(_identity, defining.operands))
    identity: Hashable = value
    return identity


def _drop(block: ir.Block, pure: set[str]) -> None:
    for view in reversed(list(block.operations)):
        op = view.operation
        for region in op.regions:
            for nested in region.blocks:
                _drop(nested, pure)
        is_used = any(True for result in op.results for _ in result.uses)
        if not is_used and (_is_pure_call(op, pure) or op.name == TUPLE):
            op.erase()
