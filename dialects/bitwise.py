"""Elementwise bitwise ops and shifts of two tensors of one dtype."""

from relax_mlir.dialects.base import Inferred, OpArgs
from relax_mlir.dialects.binary import BinaryOp, infer_binary
from relax_mlir.dialects.value import Value, ValueLike, as_values, create_one
from relax_mlir.mlir import ext


class BitwiseOp(BinaryOp):
    """Base of the bitwise ops on integers and bool."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for index in (0, 1):
            args.require_dtype(index, lambda d: not d.is_float, "an integer or bool")
        return infer_binary(args)


class ShiftOp(BinaryOp):
    """Base of the shifts of integers.

    A count that is negative, or not less than the width of the dtype, shifts every bit out: the result is 0, or -1 for
    a right shift of a negative number.
    """

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for index in (0, 1):
            args.require_dtype(index, lambda d: d.is_integer, "an integer")
        return infer_binary(args)


class BitwiseAndOp(BitwiseOp, name="bitwise_and", traits=[ext.Pure]):
    """Bits set in both elements. Example: ``[6, 5]`` and ``[3]`` give ``[2, 1]``."""


class BitwiseOrOp(BitwiseOp, name="bitwise_or", traits=[ext.Pure]):
    """Bits set in either element. Example: ``[6, 5]`` and ``[3]`` give ``[7, 7]``."""


class BitwiseXorOp(BitwiseOp, name="bitwise_xor", traits=[ext.Pure]):
    """Bits set in exactly one element. Example: ``[6, 5]`` and ``[3]`` give ``[5, 6]``."""


class LeftShiftOp(ShiftOp, name="left_shift", traits=[ext.Pure]):
    """First element shifted left by the second, in bits.

    Example: int8 ``[1, 1]`` and ``[3, 8]`` give ``[8, 0]``.
    """


class RightShiftOp(ShiftOp, name="right_shift", traits=[ext.Pure]):
    """First element shifted right by the second, in bits, keeping the sign.

    Example: int8 ``[8, -8]`` and ``[2, 9]`` give ``[2, -1]``.
    """


def bitwise_and(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 & x2`` (see `BitwiseAndOp`)."""
    return create_one(BitwiseAndOp, as_values(x1, x2, of=BitwiseAndOp))


def bitwise_or(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 | x2`` (see `BitwiseOrOp`)."""
    return create_one(BitwiseOrOp, as_values(x1, x2, of=BitwiseOrOp))


def bitwise_xor(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 ^ x2`` (see `BitwiseXorOp`)."""
    return create_one(BitwiseXorOp, as_values(x1, x2, of=BitwiseXorOp))


def left_shift(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 << x2`` (see `LeftShiftOp`)."""
    return create_one(LeftShiftOp, as_values(x1, x2, of=LeftShiftOp))


def right_shift(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 >> x2`` (see `RightShiftOp`)."""
    return create_one(RightShiftOp, as_values(x1, x2, of=RightShiftOp))
