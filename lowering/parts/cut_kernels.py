"""Outlines kernels into their own compilation units, so that they compile concurrently with the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from relax_mlir.dialects.attributes import SEPARATE
from relax_mlir.lowering.abi.internalize import internalize
from relax_mlir.lowering.parts.module_parts import ModuleGraph, Part, make_part
from relax_mlir.lowering.parts.shared_code import shared_group
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import is_declaration
from relax_mlir.transform import ModulePass, PassContext

_DIALECTS = frozenset(("arith", "builtin", "func", "llvm", "memref", "scf", "vector"))
"""Dialects whose ops later passes of level V do not change, except `canonicalize` and `cse`."""

_FAILING = "memref.alloc"


class CutKernels(ModulePass):
    """Outline kernels that are the same in all modules and cannot fail into separate compilation units.

    Functions that take memory of the pool, call functions other than such kernels, or have ops that the rest of level V
    would rewrite stay. The units are nested modules named after their groups, unless a callback takes them to compile
    them separately.
    """

    name: ClassVar[str] = "cut-kernels"

    def __init__(self, hand_on: Callable[[list[Part]], None] | None = None) -> None:
        self.hand_on = hand_on

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        parts = cut_kernels(module)
        if self.hand_on is not None:
            self.hand_on(parts)
            return
        with module.context, ir.InsertionPoint(module.body):
            for part in parts:
                nested = ir.Module.parse(part.source).operation.clone()
                if part.group is not None:
                    nested.attributes["sym_name"] = ir.StringAttr.get(part.group)


def cut_kernels(module: ir.Module) -> list[Part]:
    """Outline groups of functions of a module (see `CutKernels`, `shared_group`); return them as compilation units.

    The module declares those that it uses, with the attribute `SEPARATE`.
    """
    if all(shared_group(op) is None or is_declaration(op) for op in module.body.operations):
        return []
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
            assert isinstance(op, func.FuncOp), f"a kernel is a func.func: {name}"
            with ir.InsertionPoint(op), op.location:
                declared = func.FuncOp(name, op.type, visibility="private")
                declared.attributes[SEPARATE] = ir.UnitAttr.get()
        op.operation.erase()
    return parts


def _independent_groups(graph: ModuleGraph) -> list[list[str]]:
    """The functions of each group that uses only functions of these groups."""
    groups: dict[str, list[str]] = {}
    for name in graph.weights:
        if (group := shared_group(graph.ops[name])) is not None:
            groups.setdefault(group, []).append(name)
    for group, names in list(groups.items()):
        ops = {op for name in names for op in graph.contents[name]}
        if _FAILING in ops or not {op.partition(".")[0] for op in ops} <= _DIALECTS:
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
