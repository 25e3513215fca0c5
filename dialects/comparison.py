"""Elementwise comparisons of two tensors; with NaN all are false, except not_equal."""

from relax_mlir.dialects.base import Inferred, OpArgs
from relax_mlir.dialects.binary import BinaryOp, infer_binary
from relax_mlir.dialects.value import Value, ValueLike, as_values, create_one
from relax_mlir.mlir import ext


class ComparisonOp(BinaryOp):
    """Base of the comparisons: two tensors of one dtype give bool; false is less than true."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return infer_binary(args).with_dtype("bool")


class EqualOp(ComparisonOp, name="equal", traits=[ext.Pure]):
    """True where elements are equal. Example: ``[1.0, nan]`` and ``[1.0, nan]`` give ``[true, false]``."""


class GreaterOp(ComparisonOp, name="greater", traits=[ext.Pure]):
    """True where the first element is greater. Example: ``[3, 1]`` and ``[2]`` give ``[true, false]``."""


class GreaterEqualOp(ComparisonOp, name="greater_equal", traits=[ext.Pure]):
    """True where the first element is greater or equal.

    Example: ``[2, 1]`` and ``[2]`` give ``[true, false]``.
    """


class LessOp(ComparisonOp, name="less", traits=[ext.Pure]):
    """True where the first element is less. Example: ``[3, 1]`` and ``[2]`` give ``[false, true]``."""


class LessEqualOp(ComparisonOp, name="less_equal", traits=[ext.Pure]):
    """True where the first element is less or equal.

    Example: ``[3, 2]`` and ``[2]`` give ``[false, true]``.
    """


class NotEqualOp(ComparisonOp, name="not_equal", traits=[ext.Pure]):
    """True where elements differ. Example: ``[1.0, nan]`` and ``[1.0, nan]`` give ``[false, true]``."""


def equal(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 == x2`` (see `EqualOp`)."""
    return create_one(EqualOp, as_values(x1, x2, of=EqualOp))


def greater(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 > x2`` (see `GreaterOp`)."""
    return create_one(GreaterOp, as_values(x1, x2, of=GreaterOp))


def greater_equal(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 >= x2`` (see `GreaterEqualOp`)."""
    return create_one(GreaterEqualOp, as_values(x1, x2, of=GreaterEqualOp))


def less(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 < x2`` (see `LessOp`)."""
    return create_one(LessOp, as_values(x1, x2, of=LessOp))


def less_equal(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 <= x2`` (see `LessEqualOp`)."""
    return create_one(LessEqualOp, as_values(x1, x2, of=LessEqualOp))


def not_equal(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 != x2`` (see `NotEqualOp`)."""
    return create_one(NotEqualOp, as_values(x1, x2, of=NotEqualOp))
