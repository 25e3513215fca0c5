"""Windows of convolutions and poolings: strides, dilations, and the padding given by ONNX's `auto_pad`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.symbolic import Dim

MAX_NUMBER = 2**31
"""The limit for sizes and pads: larger windows fit no array in memory, and computing with them overflows."""


@dataclass(frozen=True)
class Windows:
    """Windows over spatial dimensions; pads may be expressions."""

    size: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[Dim]
    after: list[Dim]

    @property
    def static_pads(self) -> list[int] | None:
        """The pads before, then after, if they are integers."""
        pads = [*self.before, *self.after]
        return (
            [int(pad) for pad in pads if isinstance(pad, int)]
            if all(isinstance(p, int) for p in pads)
            else None
        )

    def room(self, axis: int, length: Dim) -> Dim:
        """Return the size of the padded data minus that of a window."""
        reach = (self.size[axis] - 1) * self.dilations[axis] + 1
        return length + self.before[axis] + self.after[axis] - reach


def windows_of(node: Node, size: Sequence[int], spatial: Sequence[Dim]) -> Windows:
    """Return the windows of `size` that a node's attributes describe, over dimensions `spatial`."""
    rank = len(spatial)
    if len(size) != rank:
        raise ShapeError(f"the window has {len(size)} dimensions for {rank} spatial ones")
    strides = node.attr("strides") or [1] * rank
    dilations = node.attr("dilations") or [1] * rank
    for number in (*size, *strides, *dilations, *(node.attr("pads") or [])):
        if abs(number) > MAX_NUMBER:
            raise ArgumentError(f"{number} is no size, stride, dilation or pad of a window")
    how = node.attr("auto_pad", "NOTSET")
    if how == "NOTSET":
        pads = node.attr("pads") or [0] * (2 * rank)
        if not len(pads) == 2 * len(strides) == 2 * len(dilations) == 2 * rank:
            raise ShapeError(
                f"{len(pads)} pads, {len(strides)} strides and {len(dilations)} dilations for rank {rank}"
            )
        return Windows(list(size), strides, dilations, pads[:rank], pads[rank:])
    if how == "VALID":
        return Windows(list(size), strides, dilations, [0] * rank, [0] * rank)
    if how not in ("SAME_UPPER", "SAME_LOWER"):
        raise ArgumentError(f"auto_pad is {how!r}")
    before: list[Dim] = []
    after: list[Dim] = []
    for window, stride, dilation, length in zip(size, strides, dilations, spatial, strict=True):
        total = same_padding(window, stride, dilation, length)
        half = symbolic.floordiv(total, 2)
        first, last = (half, total - half) if how == "SAME_UPPER" else (total - half, half)
        before.append(first)
        after.append(last)
    return Windows(list(size), strides, dilations, before, after)


def same_padding(window: int, stride: int, dilation: int, length: Dim) -> Dim:
    """Return the total padding of a dimension for which there are ``ceil(length / stride)`` windows."""
    reach = (window - 1) * dilation + 1
    count = symbolic.ceildiv(length, stride)
    return symbolic.maximum((count - 1) * stride + reach - length, 0)
