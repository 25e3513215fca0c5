"""Conversions between tensors and buffers, for callees that work on memrefs."""

from __future__ import annotations

from relax_mlir.dialects.types import Tensor
from relax_mlir.ir_queries import defining_op
from relax_mlir.lowering.shapes.body import BodyLowering
from relax_mlir.mlir import bufferization, ir, memref


def memref_type(tensor_type: ir.Type) -> ir.Type:
    ranked = ir.RankedTensorType(tensor_type)
    return ir.MemRefType.get(ranked.shape, ranked.element_type)


def read_buffer(value: ir.Value) -> ir.Value:
    return bufferization.to_buffer(memref_type(value.type), value, read_only=True)


def fresh_buffer(body: BodyLowering, info: Tensor) -> ir.Value:
    sizes = [body.symbols.size(d) for d in info.known_shape or () if not isinstance(d, int)]
    return memref.alloc(memref_type(info.storage_type()), sizes, [])


def owned_tensor(type_: ir.Type, buffer: ir.Value) -> ir.Value:
    return bufferization.to_tensor(type_, buffer, restrict=True, writable=True)


def memory_of_its_own(value: ir.Value) -> bool:
    """Ensure that the producer of `value` fills memory that nothing else fills; return False if that is impossible.

    The results of equal calls in destination-passing style start from equal ``tensor.empty`` ops, which CSE merges. A
    write to that memory that MLIR cannot see would then change both results.
    """
    defining = defining_op(value)
    while defining is not None and defining.name == "tensor.cast":
        defining = defining_op(defining.operands[0])
    if defining is None:
        return False
    if defining.name == "bufferization.to_tensor":
        return True
    if defining.name != "func.call":
        return False
    outs = [i for i, operand in enumerate(defining.operands) if _is_uninitialised(operand)]
    with defining.location, ir.InsertionPoint(defining):
        for index in outs:
            empty = defining_op(defining.operands[index])
            if empty is not None and empty.name == "tensor.empty":
                sizes = list(empty.operands)
                defining.operands[index] = bufferization.alloc_tensor(empty.results[0].type, sizes)
    return len(outs) == len(defining.results)


def _is_uninitialised(value: ir.Value) -> bool:
    defining = defining_op(value)
    return defining is not None and defining.name in ("tensor.empty", "bufferization.alloc_tensor")
