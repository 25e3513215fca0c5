"""Gather slices of a tensor by index tensors; the indices are computed once for each slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.symbolic import Dim
from relax_mlir.te.own_loops import Fresh, LoopOp, element, grid
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.tag import INJECTIVE

Places = Callable[[Sequence[str], Sequence[str], Fresh], tuple[list[str], list[str]]]
"""Takes the names of the index tensors and a position; returns statements, and the indices of the slice."""


def parts_taken(
    tensor: Tensor,
    indices: Sequence[Tensor],
    outer: Sequence[Dim],
    within: Sequence[Dim],
    places: Places,
    name: str,
) -> Tensor:
    """Gather the slices of `tensor`, of shape `within`, at `places`: a tensor of shape `outer` followed by `within`."""

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        at, inner = [fresh("j") for _ in outer], [fresh("j") for _ in within]
        lines, found = places(ins[1:], at, fresh)
        return [
            grid(at, outer),
            *(f"    {line}" for line in lines),
            f"    {grid(inner, within)}",
            f"        {element(outs[0], [*at, *inner])} = {element(ins[0], [*found, *inner])}",
        ]

    shape = [*outer, *within]
    return LoopOp([tensor, *indices], [shape], [tensor.dtype], body, name, INJECTIVE).outputs[0]
