"""Pass ``legalize-ops``: replace Relax ops by `relax.call_tir` of private prim funcs (level R0 to R1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from relax_mlir.diagnostics import where
from relax_mlir.dialects.base import RelaxOp, op_class
from relax_mlir.dialects.location import name_value, unnamed
from relax_mlir.dialects.structure import pack
from relax_mlir.dialects.symbols import bounds_around
from relax_mlir.dialects.traits import KeptAtR1, OnFunctionValues, OnMemory, ops_with
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.legalize.check_prim_funcs import check_made
from relax_mlir.lowering.legalize.rules import (
    Arg,
    Legalizer,
    OpCall,
    Rule,
    has_implementations,
    op_call,
    rule_for,
    runtime_rule_for,
)
from relax_mlir.lowering.legalize.runtime_calls import (
    GENERAL_STRUCTURE,
    legalize_print,
    run_unknown,
)
from relax_mlir.lowering.strategy.op_strategy import current_report
from relax_mlir.mlir import ir
from relax_mlir.passes.dataflow import ToNonDataflow
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.symbolic import assuming
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext, relax_functions

if TYPE_CHECKING:
    from relax_mlir.lowering.legalize.strategies import SelectingLegalizer

LEFT = ops_with(KeptAtR1, OnFunctionValues)


def relax_ops(module: ir.Module) -> list[ir.Operation]:
    """All Relax ops of the module, inner ones before the ops that contain them."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("relax."):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


@dataclass(frozen=True)
class LegalizeOps(ModulePass):
    """Replace Relax ops by calls of prim funcs: written in linalg on tensors, or what the ops' strategies select.

    An op on a value of unknown shape or dtype becomes a call of the runtime, which compiles it for the actual value.
    `target`: the machine that strategies select for.
    """

    name: ClassVar[str] = "legalize-ops"
    always_verified: ClassVar[bool] = True
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Legalise the module in place; raises `UnsupportedError` for an op without a rule."""
        make_all_effects_explicit(module)
        target = Target.parse(self.target)
        for function in relax_functions(module):
            # Selection by size may create conditionals, which dataflow blocks do not allow.
            classes = {cls for op in ops_of(function.operation) if (cls := op_class(op)) is not None}
            if any(has_implementations(cls, target) for cls in classes):
                ToNonDataflow().run_on_function(function, module, ctx)
        implementations = _Implementations(Legalizer(module), target)
        for op in relax_ops(module):
            if op.name == "relax.print":
                legalize_print(op)
                continue
            cls = op_class(op)
            if cls is None or (op.name in LEFT and op.name not in GENERAL_STRUCTURE):
                continue
            with ir.InsertionPoint(op), unnamed(op.location), assuming(bounds_around(op)):
                new = _legalized(implementations, op, cls)
            if new is not None:
                name_value(new, op.location)
                op.results[0].replace_all_uses_with(new)
                op.erase()
        if implementations.made:
            check_made(module, implementations.made, ctx)


@dataclass
class _Implementations:
    """Legalises calls by the rules of their ops, or by what strategies select if there are any."""

    legalizer: Legalizer
    target: Target
    _selecting: SelectingLegalizer | None = None

    @property
    def made(self) -> Sequence[str]:
        """The names of the prim funcs that were generated from tensor expressions."""
        return () if self._selecting is None else self._selecting.made

    def legalize(self, op: ir.Operation, call: OpCall, rule: Rule | None) -> Sequence[Arg]:
        cls = op_class(op)
        assert cls is not None
        if rule is not None and current_report() is None and not has_implementations(cls, self.target):
            return rule(self.legalizer, call)
        if self._selecting is None:
            # Tensor expressions take long to import, and most modules have none.
            from relax_mlir.lowering.legalize.strategies import SelectingLegalizer

            self._selecting = SelectingLegalizer(self.legalizer, self.target)
        return self._selecting.legalize(op, call, rule)


def _legalized(implementations: _Implementations, op: ir.Operation, cls: type[RelaxOp]) -> ir.Value | None:
    """The replacement of the result of `op` at level R1; None for ops that stay."""
    if (call := runtime_rule_for(cls)) is not None:
        return call(op, cls.args_of(op))
    if (unknown := run_unknown(op, cls)) is not None:
        return unknown
    if op.name in ops_with(KeptAtR1):
        return None
    rule = rule_for(cls)
    if rule is None and not has_implementations(cls, implementations.target):
        reason = "has no legalisation; it cannot be compiled to native code"
        if op.name in ops_with(OnMemory):
            reason = 'is explicit memory, which the virtual machine runs: build with exec_mode="bytecode"'
        raise UnsupportedError(f"{where(op)}: {op.name} {reason}")
    found = implementations.legalize(op, op_call(op, cls.args_of(op)), rule)
    results = [result.ssa for result in found]
    return pack(results, op.location) if isinstance(op.results[0].type, ir.TupleType) else results[0]
