"""Tensors as buffers and back, for callees that work on memrefs."""

from __future__ import annotations

from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.shapes.body import BodyLowering
from relax_mlir.mlir import bufferization, ir, memref


def memref_type(tensor_type: ir.Type) -> ir.Type:
    ranked = ir.RankedTensorType(tensor_type)
    return ir.MemRefType.get(ranked.shape, ranked.element_type)


def read_buffer(value: ir.Value) -> ir.Value:
    return bufferization.to_buffer(memref_type(value.type), value, read_only=True)


def fresh_buffer(body: BodyLowering, info: Tensor) -> ir.Value:
    sizes = [body.symbols.value(d) for d in info.known_shape or () if not isinstance(d, int)]
    return memref.alloc(memref_type(info.storage_type()), sizes, [])


def owned_tensor(type_: ir.Type, buffer: ir.Value) -> ir.Value:
    return bufferization.to_tensor(type_, buffer, restrict=True, writable=True)
