"""Split a module of level F or L into compilation units.

Kernels whose code depends only on the target, and support functions (`shared_group`), are separate units. They are
equal in all modules that use them, so their machine code can be cached; few support functions do not get a unit.
Everything else is split into units of similar size, with callees near their callers. Functions whose loops are not
marked by `mark-straight-loops` are optimised by LLVM. The rest is not: code that is generated in its final form, short
calls, which LLVM's optimisations do not make shorter, and code that runs once per long call.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.attributes import AS_GENERATED, JOB, LATENCY_CRITICAL, PRIM_FUNC, STRAIGHT_LOOPS
from relax_mlir.dialects.kernel_specs import kernel_spec
from relax_mlir.lowering.parts.module_parts import ModuleGraph, Part, make_part
from relax_mlir.lowering.parts.shared_code import SUPPORT_GROUP, is_support, shared_group
from relax_mlir.mlir import func, ir, llvm

_FEW_OPS = 200
"""Fewer ops than this do not get their own unit."""

_LOOP = "cf.br"
"""An op that every loop has."""

PART_OPS = 2000
"""Approximate ops of a unit that is not shared. Starting LLVM takes as long as compiling about 50 ops."""


def split_module(module: ir.Module, part_ops: int = PART_OPS) -> list[Part]:
    """The compilation units of a module of level F or L, without unreachable functions; the module is not modified.

    Args:
        module: contains functions, globals of the LLVM dialect, and constant globals of `memref`; symbols that other
            modules use have external linkage.
        part_ops: approximate number of ops in a unit that is not shared.

    Raises CompileError for other top-level ops, and for ops of other dialects than those of levels V, F and L.
    """
    graph = ModuleGraph.of(module)
    groups: dict[str, list[str]] = {}
    rest: list[str] = []
    hot: list[str] = []
    for name in graph.weights:
        if (group := shared_group(graph.ops[name])) is not None:
            groups.setdefault(group, []).append(name)
        else:
            (hot if _is_hot(graph, name) else rest).append(name)
    if _weight(graph, groups.get(SUPPORT_GROUP, ())) < _FEW_OPS:  # only functions that `early_support` lacks
        rest += groups.pop(SUPPORT_GROUP, [])
    if hot and _weight(graph, rest) < _FEW_OPS:
        hot, rest = [*hot, *rest], []
    optimised = _cut(graph, _callees_near(graph, hot), part_ops)
    chunks = [*_cut(graph, _callees_near(graph, rest), part_ops), *groups.values()]
    owners = _owners(graph, [*optimised, *chunks])
    crossing = graph.crossing(owners)
    plain = {name for name in rest if not (_is_as_written(graph.ops[name]) or _is_short(graph.ops[name]))}
    return [
        make_part(
            graph, number, owners, crossing, is_flat=True, optimised=number < len(optimised), plain=plain
        )
        for number in range(len(optimised) + len(chunks))
    ]


def _weight(graph: ModuleGraph, names: Sequence[str]) -> int:
    return sum(graph.weights[name] for name in names)


def _is_hot(graph: ModuleGraph, name: str) -> bool:
    """True if LLVM should optimise a function that is not shared: it has loops that are not in their final form."""
    op = graph.ops[name]
    if _is_as_written(op) or _LOOP not in graph.contents[name]:
        return False
    return PRIM_FUNC in op.attributes or JOB in op.attributes


def _is_short(op: ir.OpView) -> bool:
    """True if a function is part of calls that take microseconds, so that its code should be optimised."""
    return LATENCY_CRITICAL in op.attributes or not isinstance(op, func.FuncOp)


def _is_as_written(op: ir.OpView) -> bool:
    """True if a function that is not shared is generated in its final form."""
    spec = kernel_spec(op)
    has_mark = AS_GENERATED in op.attributes or STRAIGHT_LOOPS in op.attributes
    return has_mark or (spec is not None and not spec.optimise)


def _callees_near(graph: ModuleGraph, names: Sequence[str]) -> list[str]:
    """Functions in depth-first order of calls, so that callees follow callers; support functions come last."""
    among = set(names)
    order: dict[str, None] = {}
    for root in names:
        left = [root]
        while left:
            name = left.pop()
            if name in order or is_support(graph.ops[name]):
                continue
            order[name] = None
            left += [used for used in reversed(graph.references[name]) if used in among]
    return [*order, *(name for name in names if name not in order)]


def _cut(graph: ModuleGraph, names: Sequence[str], part_ops: int) -> list[list[str]]:
    """Split names, in order, into chunks of about the same weight."""
    if not names:
        return []
    total = _weight(graph, names)
    limit = total / max(1, round(total / part_ops))
    chunks: list[list[str]] = []
    done = 0
    for name in names:
        middle = done + graph.weights[name] / 2
        if not chunks or middle >= limit * len(chunks):
            chunks.append([])
        chunks[-1].append(name)
        done += graph.weights[name]
    return chunks


def _owners(graph: ModuleGraph, chunks: Sequence[Sequence[str]]) -> dict[str, int]:
    """The unit that defines each function and each global that is not copied."""
    owners = {name: number for number, names in enumerate(chunks) for name in names}
    for name in graph.ops:
        if isinstance(graph.ops[name], llvm.GlobalOp) and not graph.is_copied(name):
            owners[name] = 0
    return owners
