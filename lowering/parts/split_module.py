"""A module of level F or L as parts that are compiled apart.

Kernels whose code depends on the target alone, and support functions (`shared_group`), are parts of their own, equal in
all modules that use them, so that their machine code can be kept; few support functions are not worth a part.
Everything else is cut into parts of similar size, callees near their callers: loops that are not straight
(`mark-straight-loops`), which LLVM optimises, and the rest: what is written as it is to run, short calls, which LLVM's
own optimisations make no shorter, and what runs once per call of some length, whose code need not be good.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.attributes import AS_GENERATED, JOB, LATENCY_CRITICAL, PRIM_FUNC, STRAIGHT_LOOPS
from relax_mlir.dialects.kernel_specs import kernel_spec
from relax_mlir.lowering.parts.module_parts import ModuleGraph, Part, make_part
from relax_mlir.lowering.parts.shared_code import SUPPORT_GROUP, is_support, shared_group
from relax_mlir.mlir import func, ir, llvm

_FEW_OPS = 200
"""Fewer ops than this are no part of their own."""

_LOOP = "cf.br"
"""An op that every loop has."""

PART_OPS = 2000
"""Ops of a part that is not shared, about. To start LLVM takes as long as to compile some 50 ops."""


def split_module(module: ir.Module, part_ops: int = PART_OPS) -> list[Part]:
    """The parts of a module of level F or L, which is left as it is; without functions that nobody can call.

    Args:
        module: of functions, globals of the LLVM dialect and constant ones of `memref`; what other modules use of it
            is external.
        part_ops: about how many ops a part has that is not shared.

    Raises CompileError for other ops at the top, and for ops of other dialects than those of levels V, F and L.
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
    if _weight(graph, groups.get(SUPPORT_GROUP, ())) < _FEW_OPS:  # what `early_support` does not have
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
    """Whether LLVM saves time in a function that is not shared: in loops that are not written as they are to run."""
    op = graph.ops[name]
    if _is_as_written(op) or _LOOP not in graph.contents[name]:
        return False
    return PRIM_FUNC in op.attributes or JOB in op.attributes


def _is_short(op: ir.OpView) -> bool:
    """Whether a function runs in calls that take microseconds: its code had better be good."""
    return LATENCY_CRITICAL in op.attributes or not isinstance(op, func.FuncOp)


def _is_as_written(op: ir.OpView) -> bool:
    """Whether a function that is not shared is generated as it is to run."""
    spec = kernel_spec(op)
    has_mark = AS_GENERATED in op.attributes or STRAIGHT_LOOPS in op.attributes
    return has_mark or (spec is not None and not spec.optimise)


def _callees_near(graph: ModuleGraph, names: Sequence[str]) -> list[str]:
    """Functions behind those that call them first; support functions, which everybody calls, last."""
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
    """Names in order as parts of about the same weight."""
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
    """The part that defines each function and each global that is not copied."""
    owners = {name: number for number, names in enumerate(chunks) for name in names}
    for name in graph.ops:
        if isinstance(graph.ops[name], llvm.GlobalOp) and not graph.is_copied(name):
            owners[name] = 0
    return owners
