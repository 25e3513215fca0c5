"""Kernels that a module will need, so that they are compiled while it is lowered."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from relax_mlir.dialects.traits import IsAttention, MultipliesMatrices, OpTrait, has_trait, ops_with
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.kernels.core.emit import Block
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_tiles
from relax_mlir.lowering.kernels.library import Kernel, kernels_of, scratch_module
from relax_mlir.mlir import ir
from relax_mlir.target import Target

_ELEMENTS = {"f32": ir.F32Type, "f64": ir.F64Type}
"""The element types whose kernels are compiled early."""


def early_kernels(module: ir.Module, target: Target) -> Iterator[Kernel]:
    """The register tiles of GEMMs and the functions of attention that a module at level R0 will need.

    They are slow to compile; the tiles, which take longest, come first. If an op is folded or decomposed later, its
    kernels are compiled in vain.
    """
    tiles, attentions = _element_types(module, MultipliesMatrices), _element_types(module, IsAttention)
    emitters = [
        *(partial(_emit_tiles, name, target) for name in tiles),
        *(partial(_emit_attention, name, target) for name in attentions),
    ]
    for emit in emitters:
        with module.context:
            yield from kernels_of(scratch_module(emit), target)


def _emit_tiles(name: str, target: Target, body: Block) -> None:
    emit_tiles(body, GemmKernel(name, name), target)


def _emit_attention(name: str, target: Target, body: Block) -> None:
    # Most programs have no attention.
    from relax_mlir.lowering.kernels.attention.attention import emit_parts
    from relax_mlir.lowering.kernels.attention.attention_pack import Sizes

    emit_parts(body, Sizes.of(target, ir.Type.parse(name)), target)


def _element_types(module: ir.Module, trait: type[OpTrait]) -> tuple[str, ...]:
    """The element types of the ops with a trait that work on more than one row."""
    found: dict[str, None] = {}
    for op in ops_of(module.operation, *ops_with(trait)):
        type_ = op.operands[0].type
        if not isinstance(type_, ir.RankedTensorType) or type_.rank < 2:
            continue
        is_row = not has_trait(op, IsAttention) and type_.shape[-2] == 1
        name = next((name for name, kind in _ELEMENTS.items() if isinstance(type_.element_type, kind)), None)
        if name is not None and not is_row:
            found[name] = None
    return tuple(found)
