"""Kernels that a module is going to need, before it is lowered: they are compiled meanwhile."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import SEPARATE
from relax_mlir.dialects.traits import IsAttention, MultipliesMatrices, OpTrait, has_trait, ops_with
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.kernels.attention.attention import emit_parts
from relax_mlir.lowering.kernels.attention.attention_sizes import Sizes
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_tiles
from relax_mlir.lowering.parts.cut_kernels import cut_kernels
from relax_mlir.lowering.parts.module_parts import Part
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import functions
from relax_mlir.target import Target

_WHOLE = {"f32": ir.F32Type, "f64": ir.F64Type}
"""Element types of operands whose kernels are not rewritten before they leave a module (see `ExpandFloats`)."""


KEPT = 16
"""For how many kinds of modules and targets a process keeps what was made."""


@dataclass(frozen=True)
class EarlyKernels:
    """The register tiles of products, and what all attentions share: the same in every module, and much work for LLVM.

    `declared` has the name and the type of each function that the parts define. An op that is folded or decomposed
    later has had its kernels compiled for nothing.
    """

    declared: tuple[tuple[str, str], ...]

    @staticmethod
    def of(module: ir.Module, target: Target, hand_on: Callable[[list[Part]], None]) -> EarlyKernels:
        """Those for a module at level R0; `hand_on` gets the tiles first, which take longest."""
        with module.context, ir.Location.unknown():
            tiles = _tiles(_element_types(module, MultipliesMatrices), target)
            hand_on(list(tiles.parts))
            rest = _attentions(_element_types(module, IsAttention), target, tiles)
            hand_on(list(rest.parts))
        return EarlyKernels((*tiles.declared, *rest.declared))

    def declare(self, module: ir.Module) -> None:
        """Declare them in a module, which has none of its kernels yet: it will not make these again."""
        with module.context, ir.Location.unknown(), ir.InsertionPoint(module.body):
            _declare(self.declared)


@dataclass(frozen=True)
class _Made:
    """Parts, and the names and types of the functions that they define; both are of no context."""

    parts: tuple[Part, ...]
    declared: tuple[tuple[str, str], ...]

    @staticmethod
    def of(scratch: ir.Module, known: Sequence[tuple[str, str]] = ()) -> _Made:
        """The kernels of a module, which it loses, but for those that are `known`."""
        parts = cut_kernels(scratch)
        found = [op for op in functions(scratch).values() if SEPARATE in op.attributes]
        declared = [(op.name.value, str(op.type)) for op in found]
        return _Made(tuple(parts), tuple(each for each in declared if each not in known))


@functools.lru_cache(KEPT)
def _tiles(names: tuple[str, ...], target: Target) -> _Made:
    """The register tiles of products of some element types; made in the current context."""
    scratch = ir.Module.create()
    with ir.InsertionPoint(scratch.body):
        for name in names:
            _use(scratch, emit_tiles(scratch.body, GemmKernel(name, name), target))
    return _Made.of(scratch)


@functools.lru_cache(KEPT)
def _attentions(names: tuple[str, ...], target: Target, tiles: _Made) -> _Made:
    """What attentions of some element types share, beside `tiles` that are there; made in the current context."""
    scratch = ir.Module.create()
    with ir.InsertionPoint(scratch.body):
        _declare(tiles.declared)
        for name in names:
            for part in emit_parts(scratch.body, Sizes.of(target, ir.Type.parse(name))):
                _use(scratch, part)
    return _Made.of(scratch, tiles.declared)


def _declare(declared: Iterable[tuple[str, str]]) -> None:
    """Declare functions of separate parts, where the insertion point is."""
    for name, type_ in declared:
        function = func.FuncOp(name, ir.FunctionType(ir.Type.parse(type_)), visibility="private")
        function.attributes[SEPARATE] = ir.UnitAttr.get()


def _element_types(module: ir.Module, trait: type[OpTrait]) -> tuple[str, ...]:
    """The element types of the ops of a trait that work on more than one row."""
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
    """A public function that needs another one."""
    type_ = functions(module)[name].type
    user = func.FuncOp(f"uses.{name}", ([], [type_]))
    with ir.InsertionPoint(user.add_entry_block()):
        func.ReturnOp([func.ConstantOp(type_, ir.FlatSymbolRefAttr.get(name)).result])
