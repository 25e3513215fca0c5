"""The requests that the attention kernels accept."""

from __future__ import annotations

from relax_mlir.lowering.kernels.attention.attention import Meaning, emit_attention
from relax_mlir.lowering.kernels.attention.attention_sequences import Starts, emit_attention_of_sequences
from relax_mlir.lowering.kernels.gemm.gemm import FLOATS
from relax_mlir.lowering.kernels.registry import Emitter, Request, generates, is_contiguous
from relax_mlir.mlir import ir


@generates("attention")
def request_attention(request: Request) -> Emitter | None:
    """Accept contiguous buffers of rank 4 and one float type, with or without a bias."""
    buffers = request.arguments
    inputs = [ir.MemRefType(buffer.type) for buffer in buffers]
    four_axes = [*inputs[:3], inputs[-1]]
    if len(inputs) not in (4, 5) or any(type_.rank != 4 for type_ in four_axes):
        return None
    plain = all(is_contiguous(type_) and str(type_.element_type) in FLOATS for type_ in inputs)
    if not plain or len({type_.element_type for type_ in inputs}) != 1:
        return None
    return lambda: emit_attention(request.target, request.block, buffers, _meaning(request))


@generates("attention_var_len")
def request_attention_of_sequences(request: Request) -> Emitter | None:
    """Accept query, key, value and result as `request_attention` does, with two vectors of starts before the result."""
    if len(request.arguments) != 6:
        return None
    *operands, starts, key_starts, out = request.arguments
    buffers = [*operands, out]
    types = [ir.MemRefType(buffer.type) for buffer in request.arguments]
    plain = all(is_contiguous(type_) for type_ in types)
    elements = {ir.MemRefType(buffer.type).element_type for buffer in buffers}
    if not plain or len(elements) != 1 or str(*elements) not in FLOATS:
        return None
    at = [
        Starts(buffer, "unsigned" in request.attributes[name].value)
        for name, buffer in (("starts", starts), ("key_starts", key_starts))
    ]
    return lambda: emit_attention_of_sequences(
        request.target, request.block, buffers, (at[0], at[1]), _meaning(request)
    )


def _meaning(request: Request) -> Meaning:
    scale, causal = request.attributes.get("scale"), request.attributes.get("causal_mask")
    return Meaning(scale and scale.value, causal and causal.value)
