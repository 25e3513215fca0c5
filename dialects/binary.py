"""Arithmetic ops of two operands, with NumPy's broadcasting on symbolic shapes."""

import itertools
from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, broadcast
from relax_mlir.dialects.dim_orders import Order, Reordered
from relax_mlir.dialects.dtypes import DType, promote
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value, ValueLike, as_values, create_one
from relax_mlir.mlir import ext


def common_dtype(args: OpArgs, indices: tuple[int, ...]) -> DType | None:
    """The common dtype of the operands `indices`; None if all are unknown. Raises `DTypeError` if they differ."""
    found = [args.tensor(index).dtype for index in indices]
    known = [dtype for dtype in found if dtype is not None]
    for first, second in itertools.pairwise(known):
        promote(first, second, args.op)
    return known[0] if known else None


def infer_binary(args: OpArgs) -> Tensor:
    """Shape rule of binary ops: broadcast shapes, one dtype."""
    x1, x2 = args.tensor(0), args.tensor(1)
    return Tensor(broadcast(args.op, x1.shape, x2.shape), common_dtype(args, (0, 1)))


class BinaryOp(RelaxOp):
    """Base of the ops on two tensors of one dtype that broadcast to one of the same dtype."""

    op_pattern = OpPatternKind.BROADCAST

    x1: ext.Operand[Any]
    x2: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return infer_binary(args)

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return Reordered((0, 1), (order,), {})


class BinaryArithmeticOp(BinaryOp):
    """Base of the arithmetic ops on numbers (not bool)."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for index in (0, 1):
            args.require_dtype(index, lambda d: d.kind != "bool", "a number; use astype")
        return infer_binary(args)


class BinaryFloatOp(BinaryOp):
    """Base of the binary ops on floating-point numbers."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for index in (0, 1):
            args.require_dtype(index, lambda d: d.is_float, "a float; use astype")
        return infer_binary(args)


class AddOp(BinaryOp, name="add", traits=[ext.Pure]):
    """Elementwise sum of two tensors.

    Integers wrap around; for bool it is the logical or, as in NumPy.

    Example: shapes ``(n, 1, m)`` and ``(2, m)`` give ``(n, 2, m)``.
    """


class Atan2Op(BinaryFloatOp, name="atan2", traits=[ext.Pure]):
    """Angle of the point ``(x2, x1)``, in -pi..pi, in the quadrant given by the signs.

    Example: ``[1.0]`` and ``[-1.0]`` give ``[2.3562]``.
    """


class DivideOp(BinaryFloatOp, name="divide", traits=[ext.Pure]):
    """Quotient of floating-point numbers, by IEEE 754: inf or NaN for a division by zero.

    Integers are refused, because NumPy's quotient of integers is a float: astype them, or use floor_divide.
    Example: ``[1.0, 1.0]`` and ``[2.0, 0.0]`` give ``[0.5, inf]``.
    """


class FloorDivideOp(BinaryArithmeticOp, name="floor_divide", traits=[ext.Pure]):
    """Quotient rounded to minus infinity, NumPy's ``//``.

    Integers: a division by zero gives 0, and the minimum divided by -1 wraps around to itself. Floats: a division by
    zero gives inf or NaN. Example: ``[7, -7]`` and ``[2, 2]`` give ``[3, -4]``.
    """


class FloorModOp(BinaryArithmeticOp, name="floor_mod", traits=[ext.Pure]):
    """Remainder with the sign of the divisor, NumPy's ``%``: ``x1 - floor(x1 / x2) * x2``.

    Integers: 0 for a division by zero. Floats: NaN. Example: ``[7, -7]`` and ``[3, 3]`` give ``[1, 2]``.
    """


class LogAddExpOp(BinaryFloatOp, name="log_add_exp", traits=[ext.Pure]):
    """``log(exp(x1) + exp(x2))`` without overflow.

    Example: ``[1000.0]`` and ``[1000.0]`` give ``[1000.6931]``; ``-inf`` is neutral.
    """


class MaximumOp(BinaryOp, name="maximum", traits=[ext.Pure]):
    """The maximum of two elements; NaN if one is NaN.

    Example: ``[1.0, nan]`` and ``[2.0, 0.0]`` give ``[2.0, nan]``.
    """


class MinimumOp(BinaryOp, name="minimum", traits=[ext.Pure]):
    """The minimum of two elements; NaN if one is NaN.

    Example: ``[1.0, nan]`` and ``[2.0, 0.0]`` give ``[1.0, nan]``.
    """


class ModOp(BinaryArithmeticOp, name="mod", traits=[ext.Pure]):
    """The same as `floor_mod`, under NumPy's name.

    Example: ``[-7]`` and ``[3]`` give ``[2]``.
    """


class MultiplyOp(BinaryOp, name="multiply", traits=[ext.Pure]):
    """Elementwise product of two tensors. Integers wrap around; for bool it is the logical and.

    Example: ``[2, 3]`` and ``[4]`` give ``[8, 12]``.
    """


class PowerOp(BinaryArithmeticOp, name="power", traits=[ext.Pure]):
    """`x1` to the power of `x2`.

    Integers wrap around; a negative exponent gives the truncated reciprocal: 1 or -1 for the bases 1 and -1,
    else 0 (torch's rule; NumPy refuses it). Example: ``[2, 2]`` and ``[10, -1]`` give ``[1024, 0]``.
    """


class SubtractOp(BinaryArithmeticOp, name="subtract", traits=[ext.Pure]):
    """Elementwise difference of two tensors. Integers wrap around.

    Example: ``[5, 3]`` and ``[1]`` give ``[4, 2]``.
    """


class EwiseFmaOp(RelaxOp, name="ewise_fma", traits=[ext.Pure]):
    """Elementwise ``x1 * x2 + x3`` of three tensors that broadcast; floats are rounded once.

    Example: ``[2.0]``, ``[3.0]`` and ``[1.0]`` give ``[7.0]``.
    """

    op_pattern = OpPatternKind.BROADCAST

    x1: ext.Operand[Any]
    x2: ext.Operand[Any]
    x3: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for index in range(3):
            args.require_dtype(index, lambda d: d.kind != "bool", "a number; use astype")
        shape = broadcast(args.op, *(x.shape for x in args.tensors()))
        return Tensor(shape, common_dtype(args, (0, 1, 2)))

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return Reordered((0, 1, 2), (order,), {})


def add(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 + x2`` (see `AddOp`)."""
    return create_one(AddOp, as_values(x1, x2, of=AddOp))


def atan2(x1: ValueLike, x2: ValueLike) -> Value:
    """Inverse tangent of ``x1 / x2`` in the right quadrant (see `Atan2Op`)."""
    return create_one(Atan2Op, as_values(x1, x2, of=Atan2Op))


def divide(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 / x2`` (see `DivideOp`)."""
    return create_one(DivideOp, as_values(x1, x2, of=DivideOp))


def floor_divide(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 // x2`` (see `FloorDivideOp`)."""
    return create_one(FloorDivideOp, as_values(x1, x2, of=FloorDivideOp))


def floor_mod(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 % x2`` (see `FloorModOp`)."""
    return create_one(FloorModOp, as_values(x1, x2, of=FloorModOp))


def log_add_exp(x1: ValueLike, x2: ValueLike) -> Value:
    """``log(exp(x1) + exp(x2))`` (see `LogAddExpOp`)."""
    return create_one(LogAddExpOp, as_values(x1, x2, of=LogAddExpOp))


def maximum(x1: ValueLike, x2: ValueLike) -> Value:
    """The elementwise maximum of `x1` and `x2` (see `MaximumOp`)."""
    return create_one(MaximumOp, as_values(x1, x2, of=MaximumOp))


def minimum(x1: ValueLike, x2: ValueLike) -> Value:
    """The elementwise minimum of `x1` and `x2` (see `MinimumOp`)."""
    return create_one(MinimumOp, as_values(x1, x2, of=MinimumOp))


def mod(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 % x2`` (see `ModOp`)."""
    return create_one(ModOp, as_values(x1, x2, of=ModOp))


def multiply(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 * x2`` (see `MultiplyOp`)."""
    return create_one(MultiplyOp, as_values(x1, x2, of=MultiplyOp))


def power(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 ** x2`` (see `PowerOp`)."""
    return create_one(PowerOp, as_values(x1, x2, of=PowerOp))


def subtract(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 - x2`` (see `SubtractOp`)."""
    return create_one(SubtractOp, as_values(x1, x2, of=SubtractOp))


def ewise_fma(x1: ValueLike, x2: ValueLike, x3: ValueLike) -> Value:
    """``x1 * x2 + x3`` (see `EwiseFmaOp`)."""
    return create_one(EwiseFmaOp, as_values(x1, x2, x3, of=EwiseFmaOp))
