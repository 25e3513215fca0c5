"""Kernels as compilation units: outlined from a module (`cut-kernels`), or compiled while it is lowered."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import SEPARATE
from relax_mlir.dialects.traits import IsAttention, MultipliesMatrices, OpTrait, has_trait, ops_with
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.base.module_parts import ModuleGraph, Part, internalize, make_part, shared_group
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_tiles
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext

# Outlines kernels into their own compilation units, so that they compile concurrently with the rest.


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
            internalize(graph.ops[name], support_is_hot=False)
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


# Kernels that a module will need, compiled while the module is lowered.


_WHOLE = {"f32": ir.F32Type, "f64": ir.F64Type}
"""Element types of operands whose kernels need no rewriting before they leave a module (see `ExpandFloats`)."""


KEPT = 16
"""Number of kinds of modules and targets whose kernels a process caches."""


@dataclass(frozen=True)
class EarlyKernels:
    """The register tiles of GEMMs and the common functions of attentions, which are slow to compile.

    They are the same in every module. `declared` has the name and type of each function that the units define. If an op
    is folded or decomposed later, its kernels are compiled in vain.
    """

    declared: tuple[tuple[str, str], ...]

    @staticmethod
    def of(module: ir.Module, target: Target, hand_on: Callable[[list[Part]], None]) -> EarlyKernels:
        """The kernels for a module at level R0; `hand_on` receives the tiles first, which take longest to compile."""
        with module.context, ir.Location.unknown():
            tiles = _tiles(_element_types(module, MultipliesMatrices), target)
            hand_on(list(tiles.parts))
            rest = _attentions(_element_types(module, IsAttention), target, tiles)
            hand_on(list(rest.parts))
        return EarlyKernels((*tiles.declared, *rest.declared))

    def declare(self, module: ir.Module) -> None:
        """Declare the kernels in a module that has none yet, so that it does not emit them again."""
        with module.context, ir.Location.unknown(), ir.InsertionPoint(module.body):
            _declare(self.declared)


@dataclass(frozen=True)
class _Made:
    """Compilation units, and the names and types of the functions that they define; independent of an MLIR context."""

    parts: tuple[Part, ...]
    declared: tuple[tuple[str, str], ...]

    @staticmethod
    def of(scratch: ir.Module, known: Sequence[tuple[str, str]] = ()) -> _Made:
        """Outline the kernels of a module, except those that are `known`."""
        parts = cut_kernels(scratch)
        found = [op for op in functions(scratch).values() if SEPARATE in op.attributes]
        declared = [(op.name.value, str(op.type)) for op in found]
        return _Made(tuple(parts), tuple(each for each in declared if each not in known))


@functools.lru_cache(KEPT)
def _tiles(names: tuple[str, ...], target: Target) -> _Made:
    """The register tiles of GEMMs for some element types; built in the current context."""
    scratch = ir.Module.create()
    with ir.InsertionPoint(scratch.body):
        for name in names:
            _use(scratch, emit_tiles(scratch.body, GemmKernel(name, name), target))
    return _Made.of(scratch)


@functools.lru_cache(KEPT)
def _attentions(names: tuple[str, ...], target: Target, tiles: _Made) -> _Made:
    """The functions common to attentions of some element types, without `tiles`; built in the current context."""
    scratch = ir.Module.create()
    with ir.InsertionPoint(scratch.body):
        _declare(tiles.declared)
        for name in names:
            for part in _attention_parts(scratch, target, ir.Type.parse(name)):
                _use(scratch, part)
    return _Made.of(scratch, tiles.declared)


def _attention_parts(scratch: ir.Module, target: Target, element: ir.Type) -> Iterable[str]:
    # Most programs have no attention.
    from relax_mlir.lowering.kernels.attention.attention import emit_parts
    from relax_mlir.lowering.kernels.attention.attention_pack import Sizes

    return emit_parts(scratch.body, Sizes.of(target, element))


def _declare(declared: Iterable[tuple[str, str]]) -> None:
    """Declare functions of separate compilation units at the insertion point."""
    for name, type_ in declared:
        function = func.FuncOp(name, ir.FunctionType(ir.Type.parse(type_)), visibility="private")
        function.attributes[SEPARATE] = ir.UnitAttr.get()


def _element_types(module: ir.Module, trait: type[OpTrait]) -> tuple[str, ...]:
    """The element types of the ops with a trait that work on more than one row."""
    found: dict[str, None] = {}
    for op in ops_of(module.operation, *ops_with(trait)):
        type_ = op.operands[0].type
        if not isinstance(type_, ir.RankedTensorType) or type_.rank < 2:
            continue
        is_row = not has_trait(op, IsAttention) and type_.shape[-2] == 1
        name = next((name for name, kind in _WHOLE.items() if isinstance(type_.element_type, kind)), None)
        if name is not None and not is_row:
            found[name] = None
    return tuple(found)


def _use(module: ir.Module, name: str) -> None:
    """Add a public function that uses another one."""
    type_ = functions(module)[name].type
    user = func.FuncOp(f"uses.{name}", ([], [type_]))
    with ir.InsertionPoint(user.add_entry_block()):
        func.ReturnOp([func.ConstantOp(type_, ir.FlatSymbolRefAttr.get(name)).result])
