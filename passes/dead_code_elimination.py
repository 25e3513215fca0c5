"""Pass ``dead-code-elimination``: remove unused bindings and unreachable private functions."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.analysis.call_graph import impure_functions
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.ir_queries import callee_of, entry_block, is_used, ops_of, symbols_named
from relax_mlir.mlir import func, ir
from relax_mlir.passes.canonicalize_bindings import clean_outputs
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.rewrite.replace import removable
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.passes import dataflow_blocks, optimized_functions


class DeadCodeElimination(ModulePass):
    """Remove unused pure bindings, unused outputs of dataflow blocks, and unreachable private functions.

    A `match_shape` stays, since it checks and may define symbols. Calls of functions without effects count as pure. A
    function is reachable if a public function calls or names it, directly or transitively.
    """

    name: ClassVar[str] = "dead-code-elimination"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        make_all_effects_explicit(module)
        functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        impure = impure_functions(functions)
        for function in optimized_functions(module):
            for block in dataflow_blocks(function):
                clean_outputs(block)
            _clean(entry_block(function), impure)
        _drop_unreachable(module)


def _clean(block: ir.Block, impure: set[str]) -> None:
    for view in reversed(list(block.operations)):
        op = view.operation
        if not has_trait(op, EndsBlock) and _is_unused(op, impure):
            op.erase()
            continue
        for region in op.regions:
            for nested in region.blocks:
                _clean(nested, impure)


def _is_unused(op: ir.Operation, impure: set[str]) -> bool:
    if any(is_used(result) for result in op.results):
        return False
    if op.name == "relax.call":
        return callee_of(op) not in impure
    if op.name == "scf.if":
        inside = [
            view.operation for region in op.regions for block in region.blocks for view in block.operations
        ]
        return all(has_trait(inner, EndsBlock) or removable(inner) for inner in inside)
    return removable(op)


def _drop_unreachable(module: ir.Module) -> None:
    tops = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
    waiting = [name for name, op in tops.items() if "sym_visibility" not in op.attributes]
    reached = set(waiting)
    while waiting:
        ops = ops_of(tops[waiting.pop()].operation)
        named = {name for op in ops for name in symbols_named(op) if name in tops}
        waiting += named - reached
        reached |= named
    for name, op in tops.items():
        if name not in reached:
            op.operation.erase()
