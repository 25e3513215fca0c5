"""Elementwise ops of several operands: arithmetic, comparisons, logic, bits, selection.

Shapes are symbolic and broadcast as in NumPy. With NaN all comparisons are false, except not_equal.
"""

import itertools
import math
from typing import Any

import numpy as np
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, broadcast
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.dtypes import DType, promote, require_held
from relax_mlir.dialects.fields import Operand, PeerOperand
from relax_mlir.dialects.number_attributes import integer
from relax_mlir.dialects.traits import OpPatternKind, Order, Reordered
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import (
    Scalar,
    Value,
    as_value,
    create_one,
    require_insertion_point,
)
from relax_mlir.error import ArgumentError, DTypeError
from relax_mlir.mlir import ext, ir


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

    x1: PeerOperand
    x2: PeerOperand
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

    x1: PeerOperand
    x2: PeerOperand
    x3: PeerOperand
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


class WhereOp(RelaxOp, name="where", traits=[ext.Pure]):
    """The element of `x1` where `condition` (bool) is true, else that of `x2`; all three broadcast.

    Example: ``[true, false]``, ``[1, 2]`` and ``[0]`` give ``[1, 0]``.
    """

    op_pattern = OpPatternKind.BROADCAST

    condition: Operand
    x1: PeerOperand
    x2: PeerOperand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.require_dtype(0, lambda d: d.kind == "bool", "bool; compare it with 0, or use astype")
        return Tensor(broadcast(args.op, *(x.shape for x in args.tensors())), common_dtype(args, (1, 2)))

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return Reordered((0, 1, 2), (order,), {})


class ClipOp(RelaxOp, name="clip", traits=[ext.Pure]):
    """Each element clamped to ``min..max``; ``unit`` means no bound. NaN stays NaN.

    Example: ``[-3.0, 0.5, 9.0]`` with min 0.0 and max 6.0 gives ``[0.0, 0.5, 6.0]``. If min is above max, every element
    becomes max.
    """

    op_pattern = OpPatternKind.ELEMWISE

    x: ext.Operand[Any]
    min: ir.FloatAttr | ir.IntegerAttr | ir.UnitAttr
    max: ir.FloatAttr | ir.IntegerAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        dtype = args.require_dtype(0, lambda d: d.kind != "bool", "a number")
        for name in ("min", "max"):
            bound = clip_bound(args, name)
            if dtype is not None and bound is not None:
                require_bound(args.op, name, bound, dtype)
        return args.tensor(0)


def clip_bound(args: OpArgs, name: str) -> int | float | None:
    """The value of bound `name` of a `clip`, or None."""
    if args.is_unit(name):
        return None
    attribute = args.attrs[name]
    if isinstance(attribute, ir.IntegerAttr):
        return args.int_attr(name)
    return args.float_attr(name)


def require_bound(op: str, name: str, bound: int | float, dtype: DType) -> None:
    """Raise `DTypeError` for a fractional bound of integers, and for a bound that `dtype` cannot hold."""
    if dtype.is_float:
        return
    if isinstance(bound, float):
        raise DTypeError(f"{op}: {name} is {bound}, but the tensor has dtype {dtype}; give an integer")
    require_held(f"{op}: {name}", bound, dtype)


@exported()
def clip(x: Value, min: Scalar | None = None, max: Scalar | None = None) -> Value:
    """`x` clamped to ``min..max`` (see `ClipOp`). A bound outside the range of the dtype has no effect."""
    require_insertion_point("clip")
    dtype = as_value(x).tensor_info.dtype
    bounds = {"min": bound_attr(dtype, "min", min), "max": bound_attr(dtype, "max", max)}
    return create_one(ClipOp, [x], bounds)


def bound_attr(dtype: DType | None, name: str, bound: Scalar | None) -> ir.Attribute:
    """Bound `name` of a `clip` of a tensor of `dtype` as an attribute: ``unit`` if it has no effect."""
    if isinstance(bound, Value):  # a `prim_value`
        bound = integer(bound, f"clip: {name}")
    if bound is None:
        return ir.UnitAttr.get()
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise ArgumentError(f"clip: {name} is {bound!r}, expected a number or None")
    if dtype is None and isinstance(bound, int) and -(2**63) <= bound < 2**64:
        return ir.IntegerAttr.get(_bound_type(bound), bound)
    if dtype is None or dtype.is_float:
        return ir.FloatAttr.get(ir.F64Type.get(), float(bound))
    if dtype.kind == "bool":
        raise DTypeError("clip: operand 'x' has dtype bool, expected a number")
    if math.isinf(bound):
        return ir.UnitAttr.get()
    if isinstance(bound, float) and not bound.is_integer():
        raise DTypeError(f"clip: {name} is {bound}, but the tensor has dtype {dtype}; give an integer")
    least, greatest = dtype.bounds
    useless = bound <= least if name == "min" else bound >= greatest
    if useless:
        return ir.UnitAttr.get()
    require_held(f"clip: {name}", bound, dtype)
    return ir.IntegerAttr.get(_bound_type(int(bound)), int(bound))


def _bound_type(value: int) -> ir.Type:
    """``i64``, or ``ui64`` for values that only uint64 holds."""
    is_wide = value > np.iinfo(np.int64).max
    return ir.IntegerType.get_unsigned(64) if is_wide else ir.IntegerType.get_signless(64)
