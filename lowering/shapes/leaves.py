"""Leaves: parameters and results with their tuples flattened, as level T passes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.dialects.types import Object, Prim, Shape, StructInfo, Tensor, Tuple
from relax_mlir.lowering.shapes.body import is_handle
from relax_mlir.mlir import ir


@dataclass(frozen=True)
class Leaf:
    """A parameter, or a field of one. `name` is the name shown to users: ``x``, or ``t[0]`` for a field of a tuple."""

    name: str
    info: Tensor | Shape | Prim | Object

    @property
    def rank(self) -> int:
        """The number of ``index`` values that describe the leaf at entry: its dimensions, or 1 for an integer."""
        if isinstance(self.info, Prim):
            return 1
        if isinstance(self.info, Object):
            return 0
        return len((self.info.shape if isinstance(self.info, Tensor) else self.info.values) or ())

    @property
    def types(self) -> list[ir.Type]:
        """The types of the arguments that pass the leaf at level T."""
        if is_handle(self.info):
            return handle_types()
        if isinstance(self.info, Tensor):
            return [self.info.storage_type()]
        return [ir.IndexType.get()] * self.rank


def handle_types() -> list[ir.Type]:
    """The types of the two words of a handle."""
    return [ir.IntegerType.get_signless(64)] * 2


def leaves(name: str, info: StructInfo) -> Iterator[Leaf]:
    """Yield the leaves of `info`."""
    if isinstance(info, Tuple):
        for index, item in enumerate(info.fields):
            yield from leaves(f"{name}[{index}]", item)
        return
    assert isinstance(info, Tensor | Shape | Prim | Object)
    yield Leaf(name, info)
