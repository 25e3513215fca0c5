"""Which functions have effects: those that act, and those that call such a function, over any number of calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_mlir.dialects.attributes import FORCE_PURE, PRIM_FUNC
from relax_mlir.error import expect
from relax_mlir.mlir import func, ir

EFFECTS = frozenset(
    {"relax.assert_op", "relax.call_packed", "relax.invoke_closure", "relax.print", "relax.updated"}
)
"""Ops that act or may act."""


def is_pure(function: func.FuncOp) -> bool:
    """Whether a call of `function` (of a module) only computes its result, so that it may be dropped or merged.

    Prim funcs are pure, and so are functions with the attribute ``relax.force_pure``, by which users vouch for
    them. A recursive function is pure if nothing that it reaches acts.
    """
    expect("is_pure: 'function'", function, func.FuncOp, "a function of a module")
    tops = function.operation.parent.regions[0].blocks[0].operations
    functions = {op.name.value: op for op in tops if isinstance(op, func.FuncOp)}
    return function.name.value not in impure_functions(functions)


def impure_functions(functions: Mapping[str, func.FuncOp]) -> set[str]:
    """Names of the functions with effects among all those of a module."""
    callers: dict[str, set[str]] = {}
    waiting: list[str] = []
    for name, function in functions.items():
        if _is_vouched_for(function):
            continue
        for op in _ops(function.operation):
            if op.name in EFFECTS:
                waiting.append(name)
            elif op.name == "relax.call":
                callers.setdefault(ir.FlatSymbolRefAttr(op.attributes["callee"]).value, set()).add(name)
    impure: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in impure:
            impure.add(name)
            waiting += callers.get(name, ())
    return impure


def _is_vouched_for(function: func.FuncOp) -> bool:
    return PRIM_FUNC in function.attributes or FORCE_PURE in function.attributes


def acts(root: ir.Operation, impure: set[str]) -> ir.Operation | None:
    """The first op in `root` that has effects, `impure` being the functions that have; None if there is none."""
    for op in _ops(root):
        if op.name in EFFECTS:
            return op
        if op.name == "relax.call" and ir.FlatSymbolRefAttr(op.attributes["callee"]).value in impure:
            return op
    return None


def _ops(root: ir.Operation) -> Iterator[ir.Operation]:
    """The ops of a function, those of functions inside included: they act where they are called."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    yield from found
