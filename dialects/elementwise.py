"""Elementwise ops: arithmetic, comparisons, logic, math functions, selection, activations."""

import itertools
import math
from typing import Any

import numpy as np
from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, broadcast, ir_fields, normalize_axis
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.dtypes import DType, promote, require_held
from relax_mlir.dialects.fields import DTypeName, Float, Int, Operand, PeerOperand, ValueOperand
from relax_mlir.dialects.nn import FloatUnaryOp, NumberUnaryOp
from relax_mlir.dialects.number_attributes import integer
from relax_mlir.dialects.traits import OpPatternKind, Order, Reordered, along_axis
from relax_mlir.dialects.types import Tensor, dim_text, shape_text
from relax_mlir.dialects.value import Scalar, Value, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir

# Elementwise ops of one operand: rounding, signs, powers, logarithms, tests, trigonometry (radians), casts.


class UnaryOp(RelaxOp):
    """Base of the ops that map each element of a tensor to one of the same dtype."""

    op_pattern = OpPatternKind.ELEMWISE

    x: ValueOperand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return args.tensor(0)


class UnaryNumberOp(UnaryOp):
    """Base of the unary ops on numbers (not bool)."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.require_dtype(0, lambda d: d.kind != "bool", "a number; use astype")
        return args.tensor(0)


class UnaryFloatOp(UnaryOp):
    """Base of the unary ops on floating-point numbers. float16 and bfloat16 are computed in float32."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.require_dtype(0, lambda d: d.is_float, "a float; use astype")
        return args.tensor(0)


class PredicateOp(UnaryOp):
    """Base of the ops that test each element: the result is bool."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Tensor(args.tensor(0).shape, "bool")


class AbsOp(UnaryNumberOp, name="abs", traits=[ext.Pure]):
    """Absolute value. The minimum of a signed integer dtype is unchanged, as in NumPy.

    Example: ``[-2.0, 0.5]`` gives ``[2.0, 0.5]``.
    """


class BitwiseNotOp(UnaryOp, name="bitwise_not", traits=[ext.Pure]):
    """Bitwise complement of integers; logical negation of bool.

    Example: int8 ``[0, 5]`` gives ``[-1, -6]``.
    """

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.require_dtype(0, lambda d: not d.is_float, "an integer or bool")
        return args.tensor(0)


class CeilOp(UnaryNumberOp, name="ceil", traits=[ext.Pure]):
    """Each element rounded up to an integer; integers are unchanged.

    Example: ``[-1.5, 1.2]`` gives ``[-1.0, 2.0]``.
    """


class ErfOp(UnaryFloatOp, name="erf", traits=[ext.Pure]):
    """Error function, ``2/sqrt(pi)`` times the integral of ``exp(-t*t)`` from 0 to x.

    Example: ``[0.0, 1.0]`` gives ``[0.0, 0.8427]``.
    """


class ExpOp(UnaryFloatOp, name="exp", traits=[ext.Pure]):
    """Exponential. Example: ``[0.0, 1.0, -inf]`` gives ``[1.0, 2.7183, 0.0]``."""


class Expm1Op(UnaryFloatOp, name="expm1", traits=[ext.Pure]):
    """``exp(x) - 1``, accurate near 0. Example: ``[1e-10, -inf]`` gives ``[1e-10, -1.0]``."""


class FloorOp(UnaryNumberOp, name="floor", traits=[ext.Pure]):
    """Each element rounded down to an integer; integers are unchanged.

    Example: ``[-1.5, 1.2]`` gives ``[-2.0, 1.0]``.
    """


class IsfiniteOp(PredicateOp, name="isfinite", traits=[ext.Pure]):
    """True where an element is neither infinite nor NaN; integers and bool are finite.

    Example: ``[1.0, inf, nan]`` gives ``[true, false, false]``.
    """


class IsinfOp(PredicateOp, name="isinf", traits=[ext.Pure]):
    """True where an element is infinite. Example: ``[1.0, -inf, nan]`` gives ``[false, true, false]``."""


class IsnanOp(PredicateOp, name="isnan", traits=[ext.Pure]):
    """True where an element is NaN. Example: ``[1.0, inf, nan]`` gives ``[false, false, true]``."""


class LogOp(UnaryFloatOp, name="log", traits=[ext.Pure]):
    """Natural logarithm: -inf for zero, NaN for negative numbers.

    Example: ``[1.0, 2.7183]`` gives ``[0.0, 1.0]``.
    """


class Log10Op(UnaryFloatOp, name="log10", traits=[ext.Pure]):
    """Logarithm to base 10: -inf for zero, NaN for negative numbers. Example: ``[1.0, 100.0]`` gives ``[0.0, 2.0]``."""


class Log1pOp(UnaryFloatOp, name="log1p", traits=[ext.Pure]):
    """``log(1 + x)``, accurate near 0: -inf for -1, NaN below. Example: ``[1e-10]`` gives ``[1e-10]``."""


class Log2Op(UnaryFloatOp, name="log2", traits=[ext.Pure]):
    """Logarithm to base 2: -inf for zero, NaN for negative numbers. Example: ``[1.0, 8.0]`` gives ``[0.0, 3.0]``."""


class LogicalNotOp(PredicateOp, name="logical_not", traits=[ext.Pure]):
    """True where an element is zero (false); NaN counts as true. The result is bool.

    Example: ``[0, 3]`` gives ``[true, false]``.
    """


class NegativeOp(UnaryNumberOp, name="negative", traits=[ext.Pure]):
    """Negation. Integers wrap around, unsigned ones too.

    Example: uint8 ``[0, 1]`` gives ``[0, 255]``.
    """


class RoundOp(UnaryNumberOp, name="round", traits=[ext.Pure]):
    """Nearest integer, with ties to even; integers are unchanged.

    Example: ``[0.5, 1.5, -2.5]`` gives ``[0.0, 2.0, -2.0]``.
    """


class RsqrtOp(UnaryFloatOp, name="rsqrt", traits=[ext.Pure]):
    """Reciprocal of the square root: inf for zero, NaN for negative numbers.

    Example: ``[4.0]`` gives ``[0.5]``.
    """


class SigmoidOp(UnaryFloatOp, name="sigmoid", traits=[ext.Pure]):
    """Logistic function, ``1 / (1 + exp(-x))``. Example: ``[0.0, inf]`` gives ``[0.5, 1.0]``."""


class SignOp(UnaryNumberOp, name="sign", traits=[ext.Pure]):
    """-1, 0 or 1 for negative, zero and positive elements; NaN stays NaN.

    Example: ``[-3.0, -0.0, nan]`` gives ``[-1.0, 0.0, nan]``.
    """


class SqrtOp(UnaryFloatOp, name="sqrt", traits=[ext.Pure]):
    """Square root: NaN for negative numbers. Example: ``[4.0, 2.0]`` gives ``[2.0, 1.4142]``."""


class SquareOp(UnaryNumberOp, name="square", traits=[ext.Pure]):
    """Product with itself; integers wrap around. Example: ``[-3]`` gives ``[9]``."""


class TruncOp(UnaryNumberOp, name="trunc", traits=[ext.Pure]):
    """Integer part, by rounding towards zero; integers are unchanged.

    Example: ``[-1.5, 1.7]`` gives ``[-1.0, 1.0]``.
    """


class AcosOp(UnaryFloatOp, name="acos", traits=[ext.Pure]):
    """Inverse cosine: NaN outside -1..1. Example: ``[1.0, 0.0]`` gives ``[0.0, 1.5708]``."""


class AcoshOp(UnaryFloatOp, name="acosh", traits=[ext.Pure]):
    """Inverse hyperbolic cosine: NaN below 1. Example: ``[1.0, 2.0]`` gives ``[0.0, 1.3170]``."""


class AsinOp(UnaryFloatOp, name="asin", traits=[ext.Pure]):
    """Inverse sine: NaN outside -1..1. Example: ``[0.0, 1.0]`` gives ``[0.0, 1.5708]``."""


class AsinhOp(UnaryFloatOp, name="asinh", traits=[ext.Pure]):
    """Inverse hyperbolic sine. Example: ``[0.0, 1.0]`` gives ``[0.0, 0.8814]``."""


class AtanOp(UnaryFloatOp, name="atan", traits=[ext.Pure]):
    """Inverse tangent. Example: ``[1.0, inf]`` gives ``[0.7854, 1.5708]``."""


class AtanhOp(UnaryFloatOp, name="atanh", traits=[ext.Pure]):
    """Inverse hyperbolic tangent: NaN outside -1..1. Example: ``[0.0, 1.0]`` gives ``[0.0, inf]``."""


class CosOp(UnaryFloatOp, name="cos", traits=[ext.Pure]):
    """Cosine: NaN for infinities. Example: ``[0.0, 3.1416]`` gives ``[1.0, -1.0]``."""


class CoshOp(UnaryFloatOp, name="cosh", traits=[ext.Pure]):
    """Hyperbolic cosine. Example: ``[0.0, 1.0]`` gives ``[1.0, 1.5431]``."""


class SinOp(UnaryFloatOp, name="sin", traits=[ext.Pure]):
    """Sine: NaN for infinities. Example: ``[0.0, 1.5708]`` gives ``[0.0, 1.0]``."""


class SinhOp(UnaryFloatOp, name="sinh", traits=[ext.Pure]):
    """Hyperbolic sine. Example: ``[0.0, 1.0]`` gives ``[0.0, 1.1752]``."""


class TanOp(UnaryFloatOp, name="tan", traits=[ext.Pure]):
    """Tangent: NaN for infinities. Example: ``[0.0, 0.7854]`` gives ``[0.0, 1.0]``."""


class TanhOp(UnaryFloatOp, name="tanh", traits=[ext.Pure]):
    """Hyperbolic tangent. Example: ``[0.0, inf]`` gives ``[0.0, 1.0]``."""


class AstypeOp(RelaxOp, name="astype", traits=[ext.Pure]):
    """Conversion of each element to `dtype`.

    Floats to integers: the integer part; values out of range saturate, and NaN gives 0. Integers to narrower ones: the
    low bits. To bool: true for nonzero elements. Between floats: the nearest value.

    Example: ``[1.9, -1.9, 300.0]`` to int8 gives ``[1, -1, 127]``.
    """

    op_pattern = OpPatternKind.ELEMWISE

    x: ValueOperand
    dtype: DTypeName
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return args.tensor(0).with_dtype(dtype_of(args, "dtype"))


def dtype_of(args: OpArgs, name: str) -> DType:
    """The dtype in attribute `name`, an element type; raises `DTypeError` for a type that Relax does not have."""
    return dtypes.from_element_type(ir.TypeAttr(args.attrs[name]).value)


# Elementwise ops of several operands: arithmetic, comparisons, logic, bits, selection.
#
# Shapes are symbolic and broadcast as in NumPy. With NaN all comparisons are false, except not_equal.


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


# Elementwise activations of neural networks: those with parameters, and those composed of other functions.


class ScaledUnaryOp(FloatUnaryOp):
    """Base of the activations on floats whose attributes are numbers."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for name in ir_fields(cls)[1]:
            args.float_attr(name)
        return super().infer(args)


class LeakyReluOp(ScaledUnaryOp, name="nn_leakyrelu", traits=[ext.Pure]):
    """``x`` if ``x > 0``, else ``alpha * x``. Example: ``[-2.0, 3.0]`` with alpha 0.5 gives ``[-1.0, 3.0]``."""

    alpha: Float = 0.01


class EluOp(ScaledUnaryOp, name="nn_elu", traits=[ext.Pure]):
    """``x`` if ``x > 0``, else ``alpha * (exp(x) - 1)``: the exponential linear unit.

    Example: ``[-1.0, 3.0]`` with alpha 1 gives ``[-0.63212056, 3.0]``.
    """

    alpha: Float = 1.0


class HardSigmoidOp(ScaledUnaryOp, name="nn_hardsigmoid", traits=[ext.Pure]):
    """``alpha * x + beta``, clamped to 0..1. Example: ``[-9.0, 0.0, 9.0]`` gives ``[0.0, 0.5, 1.0]``."""

    alpha: Float = 1 / 6
    beta: Float = 0.5


class SoftplusOp(ScaledUnaryOp, name="nn_softplus", traits=[ext.Pure]):
    """``log(1 + exp(beta * data)) / beta``, and `data` if ``beta * data > threshold``.

    Example: ``0.0`` with beta 1 gives ``0.6931472``.
    """

    beta: Float = 1.0
    threshold: Float = 20.0

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        if args.float_attr("beta") == 0:
            raise ArgumentError(f"{args.op}: beta is 0, expected another number")
        return super().infer(args)


class SeluOp(FloatUnaryOp, name="nn_selu", traits=[ext.Pure]):
    """``1.0507009873554805 * elu(x, alpha=1.6732632423543772)``: the scaled exponential linear unit.

    Example: ``[-1.0, 1.0]`` gives ``[-1.1113307, 1.050701]``.
    """


class HardSwishOp(FloatUnaryOp, name="nn_hardswish", traits=[ext.Pure]):
    """``x * min(max(x + 3, 0), 6) / 6``. Example: ``[-4.0, 0.0, 3.0]`` gives ``[0.0, 0.0, 3.0]``."""


class MishOp(FloatUnaryOp, name="nn_mish", traits=[ext.Pure]):
    """``x * tanh(log(1 + exp(x)))``. Example: ``1.0`` gives ``0.86509836``."""


class Relu6Op(NumberUnaryOp, name="nn_relu6", traits=[ext.Pure]):
    """``min(max(x, 0), 6)``; NaN stays NaN. Example: ``[-1.0, 2.0, 7.0]`` gives ``[0.0, 2.0, 6.0]``."""


class PreluOp(RelaxOp, name="nn_prelu", traits=[ext.Pure]):
    """``x`` if ``x > 0``, else ``alpha * x``, with one `alpha` per index along `axis`, or one for all.

    `alpha` is a vector whose size is that of dimension `axis` of `data`, or 1.

    Example: shapes ``(n, c, h, w)`` and ``(c,)`` with axis 1 give ``(n, c, h, w)``.
    """

    op_pattern = OpPatternKind.BROADCAST

    data: Operand
    alpha: Operand
    axis: Int = 1
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for index in (0, 1):
            args.require_dtype(index, lambda d: d.kind != "bool", "a number")
        data, alpha = args.tensor(0), args.tensor(1)
        if data.dtype is not None and alpha.dtype is not None:
            promote(data.dtype, alpha.dtype, args.op)
        if alpha.ndim is not None and alpha.ndim != 1:
            raise ShapeError(f"{args.op}: operand 'alpha' is {alpha}, expected one dimension")
        if data.shape is None:
            return data
        size = data.shape[normalize_axis(args.op, args.int_attr("axis"), len(data.shape))]
        given = None if alpha.shape is None else alpha.shape[0]
        if size is None or given is None or given == 1 or symbolic.prove_equal(given, size):
            return data
        raise ShapeError(
            f"{args.op}: operand 'alpha' has {dim_text(given)} elements, expected {dim_text(size)}, dimension "
            f"{args.int_attr('axis')} of 'data', {shape_text(data.shape)}, or 1"
        )

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return along_axis(args.attrs, order)


# -- builders --------------------------------------------------------------------------------------------------
