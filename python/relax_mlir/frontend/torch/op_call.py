"""One op of a graph, as rules see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir import op as R
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.torch.torch_arrays import dtype_name
from relax_mlir.frontend.torch.torch_types import Argument, Node
from relax_mlir.symbolic import Dim, Expr

if TYPE_CHECKING:
    from relax_mlir.frontend.torch.graph_importer import GraphImporter

Number = bool | int | float
Operand = Value | Expr | Number
"""What an argument of an op may be that stands for a tensor or a number."""


NO_GENERATOR = "random numbers in the condition of a loop; draw them in its body, and carry them"


class OpCall:
    """One op of a graph: what torch says of its results, and how its arguments become values."""

    def __init__(self, importer: GraphImporter, node: Node) -> None:
        self.importer = importer
        self.node = node

    @property
    def builder(self) -> BlockBuilder:
        return self.importer.builder

    # -- what torch says of the results

    @property
    def result(self) -> Argument:
        """The tensor that torch deduces for the result, the first one if there are several."""
        value = self.node.meta["val"]
        return value[0] if isinstance(value, list | tuple) else value

    @property
    def results(self) -> Sequence[Any]:
        """The tensors that torch deduces for the results."""
        value = self.node.meta["val"]
        return value if isinstance(value, list | tuple) else [value]

    @property
    def dtype(self) -> str:
        """The dtype of the (first) result."""
        return dtype_name(self.result.dtype)

    @property
    def is_float(self) -> bool:
        return bool(self.result.dtype.is_floating_point)

    @property
    def shape(self) -> list[Dim]:
        """The shape of the (first) result."""
        return self.importer.shape(self.result.shape)

    @property
    def rank(self) -> int:
        return len(self.result.shape)

    def argument(self, index: int) -> Argument:
        """What torch knows of positional argument `index`."""
        item = self.node.args[index]
        return item.meta["val"] if hasattr(item, "meta") else item

    def promoted(self, *indices: int) -> str:
        """The dtype in which torch computes with the positional arguments `indices`."""
        import torch

        first, *rest = (_plain(self.argument(index)) for index in indices or (0, 1))
        if not rest:
            return dtype_name(first.dtype)
        return dtype_name(torch.result_type(first, rest[0]))

    # -- arguments as values

    def tensor(self, operand: Operand, dtype: str | None = None) -> Value:
        """A tensor of `dtype` (default: that of the result) from a tensor, a number or a symbolic integer."""
        wanted = dtype or self.dtype
        if isinstance(operand, Value):
            return operand if operand.dtype == wanted else cast(operand, wanted)
        if isinstance(operand, Expr):
            number = R.prim_to_tensor(operand)
            return number if wanted == "int64" else R.astype(number, wanted)
        return constant(operand, wanted)

    def te(self, function: Callable[..., Any], *args: Argument, **kwargs: Argument) -> Value:
        """Call a tensor expression that gives one tensor."""
        found: Value = self.builder.emit_te(function, *args, **kwargs)
        return found

    def drawn(self, draw: Callable[[Value], tuple[Value, Value]]) -> Value:
        """Random numbers: `draw` gives them, and the next state, of the state that the function is at."""
        if self.importer.random_state is None:
            raise self.unsupported(NO_GENERATOR)
        found, self.importer.random_state = draw(self.importer.random_state)
        return found

    def axis(self, axis: int, rank: int) -> int:
        """`axis` counted from the front."""
        return axis % rank if rank else 0

    def unsupported(self, reason: str) -> UnsupportedError:
        """The error that says that the op is supported, but not with these arguments."""
        return UnsupportedError(reason)


def cast(value: Value, dtype: str) -> Value:
    """`value` as `dtype`, as torch converts: floats to integers towards zero, anything but zero to true."""
    return R.astype(value, dtype)


def constant(number: Number, dtype: str) -> Value:
    """A number as a tensor of rank 0, rounded to `dtype` as torch does it."""
    if dtype == "bool":
        return R.const(bool(number), dtype)
    if dtype.startswith(("float", "bfloat")):
        with np.errstate(over="ignore"):
            return R.const(float(number), dtype)
    info = np.iinfo(dtype)
    whole = int(number)
    span = int(info.max) - int(info.min) + 1
    return R.const((whole - int(info.min)) % span + int(info.min), dtype)  # wraps around, as torch's


def _plain(item: Argument) -> Argument:
    """A symbolic number as one of Python, whose kind alone tells the dtype."""
    import torch

    if isinstance(item, torch.SymInt):
        return 2
    if isinstance(item, torch.SymFloat):
        return 2.0
    return item
