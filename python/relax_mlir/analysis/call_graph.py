"""The call graph of a module, its recursive functions, and the purity of functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.dialects.attributes import FORCE_PURE, PRIM_FUNC
from relax_mlir.dialects.traits import CallsFunction, HasEffect, has_trait, ops_with
from relax_mlir.error import expect
from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.mlir import func, ir


def call_graph(module: ir.Module) -> dict[str, list[str]]:
    """Relax function → the functions, Relax and prim, that it calls, each once, in program order."""
    graph: dict[str, list[str]] = {}
    for op in module.body.operations:
        if isinstance(op, func.FuncOp) and PRIM_FUNC not in op.attributes and not op.is_external:
            calls = ops_of(op.operation, *ops_with(CallsFunction))
            graph[op.name.value] = list(dict.fromkeys(map(callee_of, calls)))
    return graph


def recursion(module: ir.Module) -> list[list[str]]:
    """The groups of functions that call each other, directly or indirectly; also single functions that call themselves.

    These are the strongly connected components of the call graph, by Tarjan's algorithm (SIAM J. Comput. 1972), without
    single functions that do not call themselves. A group is in module order; callee groups come first.
    """
    graph = call_graph(module)
    order = {name: index for index, name in enumerate(graph)}
    return [
        sorted(group, key=order.__getitem__)
        for group in components(graph)
        if len(group) > 1 or group[0] in graph[group[0]]
    ]


def components(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The strongly connected components of a graph, successors first; edges to unknown nodes are ignored."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, edges = work[-1]
            following = next((n for n in edges if n in graph and (n not in index or n in stack)), None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    start = stack.index(node)
                    found.append(stack[start:])
                    del stack[start:]
            elif following in index:
                low[node] = min(low[node], index[following])
            else:
                index[following] = low[following] = len(index)
                stack.append(following)
                work.append((following, iter(graph[following])))
    return found


# Purity of functions: a function has effects if it contains an op with effects, or calls such a function.


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
