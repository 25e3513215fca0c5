"""Leaves: parameters and results with their tuples flattened, as level T passes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.dialects.types import Object, Prim, Shape, StructInfo, Tensor, Tuple
from relax_mlir.error import UnsupportedError
from relax_mlir.mlir import ir


@dataclass(frozen=True)
class Leaf:
    """A parameter, or a field of one. `name` is how users know it: ``x``, or ``t[0]`` for a field of a tuple."""

    name: str
    info: Tensor | Shape | Prim

    @property
    def rank(self) -> int:
        """Number of ``index`` values that describe the leaf at entry: its dimensions, or 1 for an integer."""
        if isinstance(self.info, Prim):
            return 1
        dims = self.info.shape if isinstance(self.info, Tensor) else self.info.values
        assert dims is not None
        return len(dims)

    @property
    def types(self) -> list[ir.Type]:
        """Types of the arguments that pass the leaf at level T."""
        if isinstance(self.info, Tensor):
            return [self.info.storage_type()]
        return [ir.IndexType.get()] * self.rank


def leaves(function: str, name: str, info: StructInfo) -> Iterator[Leaf]:
    """The leaves of `info`; raises `UnsupportedError` for what native code cannot pass."""
    if isinstance(info, Tuple):
        for index, item in enumerate(info.fields):
            yield from leaves(function, f"{name}[{index}]", item)
        return
    if isinstance(info, Object) or (isinstance(info, Tensor) and (info.shape is None or info.dtype is None)):
        raise UnsupportedError(
            f"{function}: '{name}' is {info}; native code passes tensors of known rank and dtype: declare them"
        )
    if isinstance(info, Shape) and info.values is None:
        raise UnsupportedError(
            f"{function}: '{name}' is a shape of unknown rank; declare its rank, Shape(ndim=…)"
        )
    assert isinstance(info, Tensor | Shape | Prim)
    yield Leaf(name, info)
