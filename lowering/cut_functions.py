"""A module's own functions leave it as soon as nothing is left to do about them: as kernels do (`cut_kernels`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from relax_mlir.lowering.cut_kernels import nest, take_out
from relax_mlir.lowering.module_parts import APART, ModuleGraph, Part, reachable
from relax_mlir.lowering.shared_code import shared_group
from relax_mlir.lowering.split_module import FEW_OPS, Chunks
from relax_mlir.mlir import ir
from relax_mlir.transform import ModulePass, PassContext

_DIALECTS = frozenset(("arith", "builtin", "func", "llvm", "math", "memref", "scf", "ub", "vector"))

_LATER = frozenset(("memref.alloc", "memref.copy", "memref.dealloc", "memref.get_global"))
"""What takes memory that may not be there, and what becomes calls of support functions or constants of a part."""


class CutFunctions(ModulePass):
    """Take private functions that cannot fail, and call only such and what is compiled apart, out of a module.

    It is for the end of level V, where loops for threads are outlined and names mangled. Functions that take memory of
    the pool, copy, or name constants stay. The parts are modules within the module, unless somebody takes them, which
    is worth it for some hundred ops only: fewer stay.
    """

    name: ClassVar[str] = "cut-functions"

    def __init__(self, hand_on: Callable[[list[Part]], None] | None = None) -> None:
        self.hand_on = hand_on

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        if self.hand_on is None:
            nest(module, cut_functions(module))
        else:
            self.hand_on(cut_functions(module, least=FEW_OPS))


def cut_functions(module: ir.Module, least: int = 1) -> list[Part]:
    """Take functions out of a module (see `CutFunctions`), and give them as parts; none if they have fewer ops.

    What the module uses of them it declares, with the attribute `APART`.
    """
    graph = ModuleGraph.of(module)
    names = _independent(graph)
    if sum(graph.weights[name] for name in names) < least:
        return []
    chunks = Chunks.of(graph, names)
    optimised = {name for names in chunks.optimised for name in names}
    return take_out(graph, [*chunks.optimised, *chunks.others], optimised, chunks.plain)


def _independent(graph: ModuleGraph) -> list[str]:
    """The private functions of the module that need nothing but each other, and what is compiled apart."""
    public = [name for name, op in graph.ops.items() if "sym_visibility" not in op.attributes]
    used = reachable(public, graph.references)
    there = {
        name
        for name in graph.weights
        if name in used and name not in public and shared_group(name) is None and _is_complete(graph, name)
    }
    apart = {name for name, op in graph.ops.items() if APART in op.attributes}
    while needing := {
        name for name in there if any(used not in there | apart for used in graph.references[name])
    }:
        there -= needing
    return [name for name in graph.weights if name in there]


def _is_complete(graph: ModuleGraph, name: str) -> bool:
    contents = graph.contents[name]
    return {op.partition(".")[0] for op in contents} <= _DIALECTS and not contents & _LATER
