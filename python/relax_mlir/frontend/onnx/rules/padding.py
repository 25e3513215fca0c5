"""Padding, and cropping around a centre."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError
from relax_mlir.frontend.onnx.node import Node, normal_axis
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.symbolic import Dim

_MODES = ("constant", "reflect", "edge", "wrap")


@rule("Pad")
def _pad(node: Node) -> Value:
    rank = node.rank()
    mode = node.attr("mode", "constant")
    axes = list(range(rank))
    if node.opset < 11:
        pads: list[Dim] = list(node.attr("pads") or node.required("paddings"))
        filling = node.const(node.attr("value", 0.0))
    else:
        if node.has(3):
            axes = [normal_axis(axis, rank) for axis in node.integers(3)]
        pads = node.dims(1)
        filling = R.reshape(node.tensor(2), ()) if node.has(2) else node.const(0)
    if len(pads) != 2 * len(axes):
        raise ArgumentError(f"{len(pads)} pads for {len(axes)} axes")
    before: list[Dim] = [0] * rank
    after: list[Dim] = [0] * rank
    for number, axis in enumerate(axes):
        before[axis], after[axis] = pads[number], pads[number + len(axes)]
    return padded(node, node.tensor(0), before, after, mode, filling)


def padded(
    node: Node,
    x: Value,
    before: list[Dim],
    after: list[Dim],
    mode: str = "constant",
    filling: Value | None = None,
) -> Value:
    """Pad `x` by the given number of elements before and after each dimension; negative numbers crop."""
    x, before, after = _cropped(x, before, after)
    if all(amount == 0 for amount in (*before, *after)):
        return x
    if mode not in _MODES:
        raise ArgumentError(f"the mode is {mode!r}, expected {', '.join(_MODES)}")
    fill = 0.0 if filling is None or mode != "constant" else filling
    return R.nn.pad(x, list(zip(before, after, strict=True)), mode, fill)


def _cropped(x: Value, before: list[Dim], after: list[Dim]) -> tuple[Value, list[Dim], list[Dim]]:
    """Crop `x` by the negative pads; return it with the remaining pads."""
    shape = x.tensor_info.known_shape
    assert shape is not None
    axes = [
        axis
        for axis, pads in enumerate(zip(before, after, strict=True))
        if any(isinstance(amount, int) and amount < 0 for amount in pads)
    ]
    if not axes:
        return x, before, after
    starts: list[Dim] = [_cut(before[axis]) for axis in axes]
    ends: list[Dim] = [shape[axis] - _cut(after[axis]) for axis in axes]
    cut = R.strided_slice(x, axes, starts, ends)
    return cut, [_kept(amount) for amount in before], [_kept(amount) for amount in after]


def _cut(amount: Dim) -> int:
    return -amount if isinstance(amount, int) and amount < 0 else 0


def _kept(amount: Dim) -> Dim:
    return 0 if isinstance(amount, int) and amount < 0 else amount
