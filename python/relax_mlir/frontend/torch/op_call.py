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
"""An op's argument that denotes a tensor or a number."""


NO_GENERATOR = "random numbers in the condition of a loop; draw them in its body, and carry them"


class OpCall:
    """One op of a graph: torch's types of its results, and the conversion of its arguments to values."""

    def __init__(self, importer: GraphImporter, node: Node) -> None:
        self.importer = importer
        self.node = node

    @property
    def builder(self) -> BlockBuilder:
        return self.importer.builder

    # -- torch's types of the results

    @property
    def result(self) -> Argument:
        """Torch's type of the (first) result, as a fake tensor."""
        value = self.node.meta["val"]
        return value[0] if isinstance(value, list | tuple) else value

    @property
    def results(self) -> Sequence[Any]:
        """Torch's types of the results, as fake tensors."""
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
        """Return torch's metadata of positional argument `index`."""
        item = self.node.args[index]
        return item.meta["val"] if hasattr(item, "meta") else item

    def promoted(self, *indices: int) -> str:
        """Return the dtype to which torch promotes the positional arguments `indices`."""
        import torch

        first, *rest = (_plain(self.argument(index)) for index in indices or (0, 1))
        if not rest:
            return dtype_name(first.dtype)
        return dtype_name(torch.result_type(first, rest[0]))

    # -- arguments as values

    def tensor(self, operand: Operand, dtype: str | None = None, *, wraps: bool = False) -> Value:
        """Convert a tensor, a number or a symbolic integer to a tensor of `dtype` (default: that of the result).

        `wraps`: an integer outside of the range of `dtype` wraps around, as in eager torch's arithmetic and
        comparisons. In all other ops it is an error, as in eager torch.
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
        """Convert a tensor of one number, which eager torch reads; a value out of the range of `dtype` is an error."""
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
        """Emit a tensor expression with one result."""
        found: Value = self.builder.emit_te(function, *args, **kwargs)
        return found

    def drawn(self, draw: Callable[[Value], tuple[Value, Value]]) -> Value:
        """Draw random numbers: `draw` maps the function's current state to the numbers and the next state."""
        if self.importer.random_state is None:
            raise self.unsupported(NO_GENERATOR)
        found, self.importer.random_state = draw(self.importer.random_state)
        return found

    def axis(self, axis: int, rank: int) -> int:
        """Return `axis` as a non-negative integer."""
        return axis % rank if rank else 0

    def unsupported(self, reason: str) -> UnsupportedError:
        """Return the error for an op that is supported, but not with these arguments."""
        return UnsupportedError(reason)


def cast(value: Value, dtype: str) -> Value:
    """Cast `value` to `dtype` with torch's rules: floats round towards zero, everything but zero becomes true."""
    return R.astype(value, dtype)


def constant(number: Number, dtype: str, *, wraps: bool = False) -> Value:
    """Return a number as a tensor of rank 0, rounded to `dtype`. `wraps` and errors: see `converted`."""
    with np.errstate(over="ignore"):
        return R.const(converted(number, dtype, wraps=wraps), dtype)


def converted(number: Number, dtype: str, *, wraps: bool = False) -> Number:
    """Convert a number to `dtype` as torch does. `wraps`: see `OpCall.tensor`.

    Raises:
        DTypeError: the number is out of range of an integer `dtype`. For unsigned dtypes, a negative integer whose
            magnitude is in range always wraps around, as in torch.
    """
    if dtype == "bool":
        return bool(number)
    info = integer_info(dtype)
    if info is None:
        return float(number)
    whole = isinstance(number, int)
    low, high = _bounds(info, signed=whole)
    if not (wraps and whole) and not low <= number <= high:  # NaN is out of range, too
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
    """Return the range of numbers that torch converts; unsigned dtypes also accept negative integers if `signed`."""
    return (-info.max if info.min == 0 and signed else info.min), info.max


def _plain(item: Argument) -> Argument:
    """Replace a symbolic number by a Python number of the same type, which determines the dtype."""
    import torch

    if isinstance(item, torch.SymInt):
        return 2
    if isinstance(item, torch.SymFloat):
        return 2.0
    return item
