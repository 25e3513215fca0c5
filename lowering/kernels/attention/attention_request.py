"""Which requests the attention kernel takes."""

from __future__ import annotations

from relax_mlir.lowering.kernels.attention.attention import Meaning, emit_attention
from relax_mlir.lowering.kernels.gemm.gemm import FLOATS
from relax_mlir.lowering.kernels.registry import Emitter, Request, generates, is_contiguous
from relax_mlir.mlir import ir


@generates("attention")
def request_attention(request: Request) -> Emitter | None:
    """Contiguous buffers of rank 4 and of one type of float, with or without a bias."""
    buffers = request.arguments
    inputs = [ir.MemRefType(buffer.type) for buffer in buffers]
    four_axes = [*inputs[:3], inputs[-1]]
    if len(inputs) not in (4, 5) or any(type_.rank != 4 for type_ in four_axes):
        return None
    plain = all(is_contiguous(type_) and str(type_.element_type) in FLOATS for type_ in inputs)
    if not plain or len({type_.element_type for type_ in inputs}) != 1:
        return None
    scale, causal = request.attributes.get("scale"), request.attributes.get("causal_mask")
    meaning = Meaning(scale and scale.value, causal and causal.value)
    return lambda: emit_attention(request.target, request.block, buffers, meaning)
