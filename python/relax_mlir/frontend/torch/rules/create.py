"""Tensors created from numbers and sizes."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.registry import OpCall, Operand, constant, integer_info, rule
from relax_mlir.frontend.torch.torch_types import Argument
from relax_mlir.symbolic import Dim, Expr


def _filled(call: OpCall, value: Operand) -> Value:
    number = call.tensor(call.fitting(value, call.dtype) if isinstance(value, Value) else value)
    return R.full(call.shape, number, call.dtype) if call.rank else R.reshape(number, ())


@rule("full.default", "full_like.default", "fill.Scalar", "fill.Tensor")
def full(call: OpCall, shape: Argument, value: Operand, *rest: object) -> Value:
    return _filled(call, value)


@rule("new_full.default")
def new_full(call: OpCall, x: Value, shape: Argument, value: Operand, *rest: object) -> Value:
    return _filled(call, value)


@rule("zeros.default", "zeros_like.default", "new_zeros.default", "zero.default")
def zeros(call: OpCall, *rest: object) -> Value:
    return _filled(call, 0)


@rule("ones.default", "ones_like.default", "new_ones.default")
def ones(call: OpCall, *rest: object) -> Value:
    return _filled(call, 1)


@rule(
    "empty.memory_format",
    "empty_like.default",
    "empty_permuted.default",
    "empty_strided.default",
    "new_empty.default",
    "new_empty_strided.default",
)
def empty(call: OpCall, *rest: object) -> Value:
    """Return zeros; torch leaves the memory uninitialised."""
    return _filled(call, 0)


@rule("scalar_tensor.default", "prims::scalar_tensor.default")
def scalar_tensor(call: OpCall, value: Operand) -> Value:
    return call.tensor(value)


@rule("arange.default", "arange.start", "arange.start_step", "prims::iota.default")
def arange(call: OpCall, *args: Argument, start: Argument = 0, step: Argument = 1) -> Value:
    if "iota" in str(call.node.target):
        first, size = start, args[0]
        end = first + size * step
    else:
        first, end, step = (
            (0, args[0], 1) if len(args) == 1 else (args[0], args[1], args[2] if len(args) > 2 else 1)
        )
    if any(isinstance(item, Value) for item in (first, end, step)):
        return _scaled_range(call, first, step)
    if not call.is_float and not all(type(item) is int for item in (first, end, step)):
        return _scaled_range(call, _whole(first), _whole(step))
    if any(isinstance(item, float) for item in (first, end, step)):
        if any(isinstance(item, Expr) for item in (first, end, step)):
            return _scaled_range(call, first, step)
        return R.arange(float(first), float(end), float(step), call.dtype)
    return _wrapping_range(first, end, step, call.dtype)


def _wrapping_range(first: Dim, end: Dim, step: Dim, dtype: str) -> Value:
    """Return a range of integers; values out of the dtype's range wrap around, as in torch."""
    info = integer_info(dtype)
    known = [item for item in (first, end) if isinstance(item, int)]
    if info is None or all(info.min <= item <= info.max for item in known):
        return R.arange(first, end, step, dtype)
    return R.astype(R.arange(first, end, step, "int64"), dtype)


def _whole(number: Operand) -> Operand:
    """Truncate a number for a range of integers, as torch does."""
    return int(number) if isinstance(number, float | bool) else number


def _scaled_range(call: OpCall, first: Operand, step: Operand) -> Value:
    """Return ``first + step * i`` with the length that torch gives, computed in float64 or int64 as in torch."""
    (size,) = call.shape
    dtype = "float64" if call.is_float else "int64"
    places = R.arange(0, size, 1, dtype)
    found = R.add(call.tensor(first, dtype), R.multiply(places, call.tensor(step, dtype)))
    return found if dtype == call.dtype else R.astype(found, call.dtype)


@rule("linspace.default")
def linspace(call: OpCall, start: Operand, end: Operand, steps: int) -> Value:
    if not call.is_float:
        raise call.unsupported("linspace of integers")
    (size,) = call.shape
    if isinstance(size, int) and size < 2:
        return R.full([size], call.tensor(start), call.dtype)
    dtype = call.dtype
    places = R.arange(0, size, 1, "int64")
    low, high = call.tensor(start), call.tensor(end)
    last = call.tensor(size - 1)
    step = R.divide(R.subtract(high, low), last)
    forward = R.add(low, R.multiply(R.astype(places, dtype), step))
    rest = R.subtract(call.tensor(size - 1, "int64"), places)
    backward = R.subtract(high, R.multiply(R.astype(rest, dtype), step))
    half = R.less(places, R.floor_divide(call.tensor(size, "int64"), R.const(2, "int64")))
    found = R.where(half, forward, backward)
    if isinstance(size, int):
        return found
    return R.where(R.equal(last, constant(0, dtype)), low, found)


@rule("eye.default", "eye.m")
def eye(call: OpCall, *rest: object) -> Value:
    rows, columns = call.shape
    return R.eye(rows, columns, 0, call.dtype)


@rule("tril.default")
def tril(call: OpCall, x: Value, diagonal: int = 0) -> Value:
    return _triangle(call, x, diagonal, upper=False)


@rule("triu.default")
def triu(call: OpCall, x: Value, diagonal: int = 0) -> Value:
    return _triangle(call, x, diagonal, upper=True)


def _triangle(call: OpCall, x: Value, diagonal: Argument, *, upper: bool) -> Value:
    if isinstance(diagonal, int):
        return (R.triu if upper else R.tril)(x, diagonal)
    rows, columns = call.shape[-2:]
    row = R.reshape(R.arange(0, rows, 1, "int64"), [rows, 1])
    place = R.subtract(R.arange(0, columns, 1, "int64"), call.tensor(diagonal, "int64"))
    kept = R.greater_equal(place, row) if upper else R.less_equal(place, row)
    return R.where(kept, x, constant(0, call.dtype))
