"""The requests that the row kernels accept: softmax, the norms over last axes, and scans."""

from __future__ import annotations

from relax_mlir.lowering.kernels.registry import Emitter, Request, generates, is_contiguous
from relax_mlir.lowering.kernels.rows import row_norms, softmax
from relax_mlir.lowering.kernels.rows.scan import Scan, is_scannable


@generates("softmax")
def request_softmax(request: Request) -> Emitter | None:
    """Accept softmax over the last axis."""
    if request.inner_axes(1) != 1:
        return None
    return lambda: softmax.softmax(
        request.target, *request.arguments, fast=request.fast, fusion=request.fusion
    )


@generates("log_softmax")
def request_log_softmax(request: Request) -> Emitter | None:
    """Accept log_softmax over the last axis."""
    if request.inner_axes(1) != 1:
        return None
    return lambda: softmax.log_softmax(
        request.target, *request.arguments, fast=request.fast, fusion=request.fusion
    )


@generates("layer_norm")
def request_layer_norm(request: Request) -> Emitter | None:
    """Accept layer_norm over the last axes, with scale and shift."""
    inner = request.inner_axes(3)
    if inner == 0:
        return None
    return lambda: row_norms.layer_norm(
        request.target,
        *request.arguments,
        epsilon=request.epsilon(),
        inner=inner,
        fusion=request.fusion,
    )


@generates("rms_norm")
def request_rms_norm(request: Request) -> Emitter | None:
    """Accept rms_norm over the last axes, with scale."""
    inner = request.inner_axes(2)
    if inner == 0:
        return None
    return lambda: row_norms.rms_norm(
        request.target,
        *request.arguments,
        epsilon=request.epsilon(),
        inner=inner,
        fusion=request.fusion,
    )


@generates("cumsum", "cumprod")
def request_scan(request: Request) -> Emitter | None:
    """Accept a scan over any axis of a contiguous buffer of an element type that `Scan` supports."""
    if len(request.arguments) != 2 or not all(is_contiguous(a.type) for a in request.arguments):
        return None
    x, out = request.arguments
    if x.type != out.type or not is_scannable(x.type):
        return None
    (axis,) = request.axes()
    kind = Scan(request.target, request.name == "cumprod", request.attributes["exclusive"].value)
    return lambda: kind.emit(x, out, axis)
