"""Tensors filled by custom loops: an operation that writes its own statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.symbolic import Dim
from relax_mlir.te.tensors import Operation, Tensor

Fresh = Callable[[str], str]
"""Returns an unused name similar to the given one."""
Body = Callable[[Sequence[str], Sequence[str], Fresh], list[str]]
"""Returns statements in the T language, from the names of the inputs and of the outputs."""


class LoopOp(Operation):
    """Tensors that `body` fills from `inputs`. Schedules do not change it."""

    def __init__(
        self,
        inputs: Sequence[Tensor],
        shapes: Sequence[Sequence[Dim]],
        types: Sequence[str],
        body: Body,
        name: str,
        tag: str = "",
    ) -> None:
        super().__init__(name, tag)
        self.inputs, self.body = tuple(inputs), body
        names = [name] if len(shapes) == 1 else [f"{name}_{number}" for number in range(len(shapes))]
        self.outputs += [
            Tensor(tuple(shape), dtype, own, self, number)
            for number, (shape, dtype, own) in enumerate(zip(shapes, types, names, strict=True))
        ]

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(self.inputs))


def grid(names: Sequence[str], extents: Sequence[Dim]) -> str:
    """A loop nest over ranges from 0."""
    if not names:
        return "for _one in range(1):"
    return f"for {', '.join(names)} in T.grid({', '.join(map(str, extents))}):"


def element(tensor: str, places: Sequence[str]) -> str:
    """An element, as text."""
    return f"{tensor}[{', '.join(places) or '()'}]"
