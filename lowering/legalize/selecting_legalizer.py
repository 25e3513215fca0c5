"""Legalisation of op calls by the implementations that strategies select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from relax_mlir.diagnostics import where
from relax_mlir.error import ArgumentError
from relax_mlir.expr import Attrs
from relax_mlir.ir_queries import enclosing_function
from relax_mlir.lowering.legalize.builtin_strategies import builtin_strategy
from relax_mlir.lowering.legalize.conditional_calls import Way, branch
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, Rule
from relax_mlir.lowering.legalize.te_implementations import TEImplementations, out_type, placeholders
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import symbol_name
from relax_mlir.strategy.implementation import OpImplementation
from relax_mlir.strategy.op_strategy import OpStrategy
from relax_mlir.strategy.registry import built_in, registered_for
from relax_mlir.strategy.report import StrategyDecision, current_report
from relax_mlir.strategy.selection import Selection, select
from relax_mlir.target import Target


@dataclass
class SelectingLegalizer:
    """Legalises the calls of a module for a target."""

    legalizer: Legalizer
    target: Target

    def __post_init__(self) -> None:
        self._expressions = TEImplementations(self.legalizer.module, self.target)

    @property
    def made(self) -> list[str]:
        """The names of the prim funcs that were generated from tensor expressions."""
        return list(self._expressions.made)

    def legalize(self, op: ir.Operation, call: OpCall, rule: Rule | None) -> Sequence[Arg]:
        """The results of `op`, emitted at the insertion point."""
        what, attrs, report = f"{where(op)}: {op.name}", Attrs.of(op), current_report()
        selection = select(what, strategies_of(op, call, rule, self.target))
        self._expressions.notes = []
        if report is not None:
            report.decisions.append(_decision(op, call, selection, self._expressions.notes))
        taken = selection.taken
        if len(taken) == 1:
            return self._emit(what, taken[0].implementation, attrs, call)
        ways = [
            Way(c.implementation.name, c.condition, partial(self._emit, what, c.implementation, attrs))
            for c in taken
        ]
        return branch(call, ways)

    def _emit(self, what: str, implementation: OpImplementation, attrs: Attrs, call: OpCall) -> Sequence[Arg]:
        if implementation.rule is None:
            return self._expressions.call(what, implementation, attrs, call)
        self.legalizer.takes_kernels = implementation.takes_kernel
        try:
            results: Sequence[Arg] = implementation.rule(self.legalizer, call)
        finally:
            self.legalizer.takes_kernels = True
        return results


def strategies_of(op: ir.Operation, call: OpCall, rule: Rule | None, target: Target) -> list[OpStrategy]:
    """The implementations that strategies give for a call: users' strategies, the last one first, then built-in ones.

    Raises:
        ArgumentError: a strategy returns something else.
    """
    given: list[OpStrategy] = []
    for strategy in (*registered_for(op.name, target), *built_in(op.name)):
        found = strategy(Attrs.of(op), placeholders(call), out_type(call), target)
        if not isinstance(found, OpStrategy):
            name = getattr(strategy, "__name__", repr(strategy))
            raise ArgumentError(
                f"{where(op)}: {op.name}: the strategy '{name}' returns {found!r}, expected an OpStrategy"
            )
        given.append(found)
    return given if rule is None else [*given, builtin_strategy(call, rule, target)]


def _decision(op: ir.Operation, call: OpCall, selection: Selection, notes: list[str]) -> StrategyDecision:
    """`notes` are filled when the call is emitted."""
    function = enclosing_function(op)
    name = "" if function is None else symbol_name(function)
    operands = ", ".join(str(arg.info) for arg in call.operands)
    return StrategyDecision(name, op.name, operands, where(op), selection, notes)
