"""Purity of functions: a function has effects if it contains an op with effects, or calls such a function."""

from __future__ import annotations

from collections.abc import Mapping

from relax_mlir.dialects.attributes import FORCE_PURE, PRIM_FUNC
from relax_mlir.dialects.traits import HasEffect, has_trait
from relax_mlir.error import expect
from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.mlir import func, ir


def is_pure(function: func.FuncOp) -> bool:
    """True if a call of `function` (of a module) only computes its result, so that it may be removed or merged.

    Prim funcs are pure. Functions with the attribute ``relax.force_pure`` are assumed to be pure. A recursive function
    is pure if no function that it reaches has effects.
    """
    expect("is_pure: 'function'", function, func.FuncOp, "a function of a module")
    tops = entry_block(function.operation.parent).operations
    functions = {op.name.value: op for op in tops if isinstance(op, func.FuncOp)}
    return function.name.value not in impure_functions(functions)


def impure_functions(functions: Mapping[str, func.FuncOp]) -> set[str]:
    """The names of the functions with effects, given all functions of a module."""
    callers: dict[str, set[str]] = {}
    waiting: list[str] = []
    for name, function in functions.items():
        if _is_vouched_for(function):
            continue
        for op in ops_of(function.operation):
            if _is_effect(op):
                waiting.append(name)
            elif op.name == "relax.call":
                callers.setdefault(callee_of(op), set()).add(name)
    impure: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in impure:
            impure.add(name)
            waiting += callers.get(name, ())
    return impure


def _is_effect(op: ir.Operation) -> bool:
    return has_trait(op, HasEffect)


def _is_vouched_for(function: func.FuncOp) -> bool:
    return PRIM_FUNC in function.attributes or FORCE_PURE in function.attributes


def acts(root: ir.Operation, impure: set[str]) -> ir.Operation | None:
    """The first op in `root` that has effects or calls a function in `impure`; None if there is none."""
    for op in ops_of(root):
        if _is_effect(op):
            return op
        if op.name == "relax.call" and callee_of(op) in impure:
            return op
    return None
