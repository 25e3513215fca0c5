"""Kernels that a module will need, compiled while the module is lowered."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import SEPARATE
from relax_mlir.dialects.traits import IsAttention, MultipliesMatrices, OpTrait, has_trait, ops_with
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_tiles
from relax_mlir.lowering.parts.cut_kernels import cut_kernels
from relax_mlir.lowering.parts.module_parts import Part
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import functions
from relax_mlir.target import Target

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
