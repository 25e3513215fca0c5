"""One op of a graph, as rules see it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from relax_mlir import op as R
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.value import Value
from relax_mlir.error import DTypeError, UnsupportedError
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

    def tensor(self, operand: Operand, dtype: str | None = None, *, wraps: bool = False) -> Value:
        """A tensor of `dtype` (default: that of the result) from a tensor, a number or a symbolic integer.

        `wraps`: an integer that `dtype` does not hold wraps around, as eager torch converts operands of arithmetic
        and comparisons. In all other ops it is an error, as in eager torch.
        """
        wanted = dtype or self.dtype
        if isinstance(operand, Value):
            return operand if operand.dtype == wanted else cast(operand, wanted)
        if isinstance(operand, Expr):
            number = R.prim_to_tensor(operand)
            if wanted == "int64":
                return number
            return R.astype(number if wraps else self.fitting(number, wanted), wanted)
        return constant(operand, wanted, wraps=wraps)

    def fitting(self, number: Value, dtype: str) -> Value:
        """A tensor of one number, which eager torch reads; that an integer `dtype` does not hold it is an error."""
        info = integer_info(dtype)
        if info is None or str(number.dtype) in (dtype, "bool"):
            return number
        kind = str(number.dtype)
        given = integer_info(kind)
        low, high = _bounds(info, signed=given is not None)
        most: int | float = high
        if given is None:
            kind, most = "float64", math.nextafter(high + 1, 0)
        else:
            low, most = max(low, given.min), min(high, given.max)
            if (low, most) == given:
                return number
        value = number if kind == str(number.dtype) else R.astype(number, kind)
        fits = R.logical_and(
            R.greater_equal(value, R.const(low, kind)), R.less_equal(value, R.const(most, kind))
        )
        message = f"{self.node.target}: the number does not fit {dtype} ({info.min} to {info.max})"
        R.assert_op(R.reshape(fits, ()), format=message)
        return number

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


def constant(number: Number, dtype: str, *, wraps: bool = False) -> Value:
    """A number as a tensor of rank 0, rounded to `dtype`. `wraps` and errors: see `converted`."""
    with np.errstate(over="ignore"):
        return R.const(converted(number, dtype, wraps=wraps), dtype)


def converted(number: Number, dtype: str, *, wraps: bool = False) -> Number:
    """A number as one of `dtype`, as torch converts it. `wraps`: see `OpCall.tensor`.

    Raises:
        DTypeError: an integer `dtype` does not hold the number. A negative integer that an unsigned one holds without
            its sign wraps around always, as in torch.
    """
    if dtype == "bool":
        return bool(number)
    info = integer_info(dtype)
    if info is None:
        return float(number)
    whole = isinstance(number, int)
    low, high = _bounds(info, signed=whole)
    if not (wraps and whole) and not low <= number <= high:  # nor does NaN fit
        raise DTypeError(
            f"the number {number} does not fit {dtype} ({info.min} to {info.max}); eager PyTorch refuses it, too. "
            "Convert the tensor to a wider dtype first"
        )
    return (int(number) - info.min) % (info.max - info.min + 1) + info.min


class IntegerInfo(NamedTuple):
    """The bounds of an integer dtype."""

    min: int
    max: int


def integer_info(dtype: str) -> IntegerInfo | None:
    """The bounds of an integer dtype; None for other dtypes."""
    if not dtype.startswith(("int", "uint")):
        return None
    info = np.iinfo(dtype)
    return IntegerInfo(int(info.min), int(info.max))


def _bounds(info: IntegerInfo, *, signed: bool) -> tuple[int, int]:
    """The bounds of numbers that torch converts; of integers also negative ones, to unsigned dtypes."""
    return (-info.max if info.min == 0 and signed else info.min), info.max


def _plain(item: Argument) -> Argument:
    """A symbolic number as one of Python, whose kind alone tells the dtype."""
    import torch

    if isinstance(item, torch.SymInt):
        return 2
    if isinstance(item, torch.SymFloat):
        return 2.0
    return item
