"""Kernels leave a module of level V: they are compiled while the rest is lowered further."""

from __future__ import annotations

from relax_mlir.lowering.abi.linkage import internalize
from relax_mlir.lowering.module_parts import APART, ModuleGraph, Part, make_part
from relax_mlir.lowering.shared_code import shared_group
from relax_mlir.mlir import func, ir

_NEEDING = frozenset(("memref.alloc", "cf.assert"))
"""Ops on whose account a function can fail."""


def cut_kernels(module: ir.Module) -> list[Part]:
    """Take the groups of functions out of a module that are the same in all modules (`shared_group`) and cannot fail.

    That is, they take no memory of the pool, and call only each other. What the module uses of them it declares, with
    the attribute `APART`.
    """
    graph = ModuleGraph.of(module)
    groups = _independent_groups(graph)
    owners = {name: number for number, names in enumerate(groups) for name in names}
    with module.context:
        for name in owners:
            internalize(graph.ops[name])
    crossing = graph.crossing(owners)
    parts = [make_part(graph, number, owners, crossing, is_flat=False) for number in range(len(groups))]
    for name in owners:
        op = graph.ops[name]
        if name in crossing:
            with ir.InsertionPoint(op), op.location:
                declared = func.FuncOp(name, op.type, visibility="private")
                declared.attributes[APART] = ir.UnitAttr.get()
        op.operation.erase()
    return parts


def _independent_groups(graph: ModuleGraph) -> list[list[str]]:
    """The functions of each group that needs nothing but others of these groups."""
    groups: dict[str, list[str]] = {}
    for name in graph.weights:
        if (group := shared_group(name)) is not None:
            groups.setdefault(group, []).append(name)
    for group, names in list(groups.items()):
        if any(graph.contents[name] & _NEEDING for name in names):
            del groups[group]
    while True:
        there = {name for names in groups.values() for name in names}
        needing = [
            group
            for group, names in groups.items()
            if any(used not in there for name in names for used in graph.references[name])
        ]
        if not needing:
            return list(groups.values())
        for group in needing:
            del groups[group]
