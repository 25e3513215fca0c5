"""The requests that the kernels of group norm accept: channels first, or channels last."""

from __future__ import annotations

from relax_mlir.lowering.kernels.registry import Emitter, Request, generates, is_plain
from relax_mlir.lowering.kernels.rows.group_norm import GroupNorm
from relax_mlir.lowering.kernels.rows.group_norm_last import GroupNormLast
from relax_mlir.mlir import ir


@generates("group_norm")
def request_group_norm(request: Request) -> Emitter | None:
    """Accept all axes after the channels, or all between the batch axes and the channels, which are last."""
    if not all(is_plain(a.type) for a in request.arguments):
        return None
    x, *parameters, out = request.arguments
    if x.type != out.type or len({ir.MemRefType(a.type).element_type for a in request.arguments}) != 1:
        return None
    given = [parameters.pop(0) if request.attributes[flag].value else None for flag in ("scale", "center")]
    rank, axes, channel = ir.MemRefType(x.type).rank, request.axes(), request.attributes["channel_axis"].value
    options = (request.attributes["num_groups"].value, request.epsilon(), *given)
    if axes == tuple(range(channel + 1, rank)):
        return lambda: GroupNorm(request.target, channel, *options).emit(x, out, request.fusion)
    if axes and channel == rank - 1 and axes == tuple(range(axes[0], channel)):
        return lambda: GroupNormLast(request.target, axes[0], *options).emit(x, out, request.fusion)
    return None
