"""Elementwise logical ops of two tensors of one dtype; the result is bool."""

from relax_mlir.dialects.comparison import ComparisonOp
from relax_mlir.dialects.value import Value, ValueLike, as_values, create_one
from relax_mlir.mlir import ext


class LogicalOp(ComparisonOp):
    """Base of the logical ops: an element of any dtype is true unless it is zero, and the result is bool."""


class LogicalAndOp(LogicalOp, name="logical_and", traits=[ext.Pure]):
    """True where both elements are true. Example: ``[0, 2, 3]`` and ``[1]`` give ``[false, true, true]``."""


class LogicalOrOp(LogicalOp, name="logical_or", traits=[ext.Pure]):
    """True where either element is true. Example: ``[0, 2]`` and ``[0]`` give ``[false, true]``."""


class LogicalXorOp(LogicalOp, name="logical_xor", traits=[ext.Pure]):
    """True where exactly one element is true.

    Example: ``[0, 2]`` and ``[1]`` give ``[true, false]``.
    """


def logical_and(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 and x2`` (see `LogicalAndOp`)."""
    return create_one(LogicalAndOp, as_values(x1, x2, of=LogicalAndOp))


def logical_or(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 or x2`` (see `LogicalOrOp`)."""
    return create_one(LogicalOrOp, as_values(x1, x2, of=LogicalOrOp))


def logical_xor(x1: ValueLike, x2: ValueLike) -> Value:
    """Exclusive or of `x1` and `x2` (see `LogicalXorOp`)."""
    return create_one(LogicalXorOp, as_values(x1, x2, of=LogicalXorOp))
