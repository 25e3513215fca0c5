"""Elementwise ops of one operand: rounding, signs, powers, logarithms, tests, trigonometry (radians), casts."""

from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.fields import DTypeName, ValueOperand
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.dialects.types import Tensor
from relax_mlir.mlir import ext, ir


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
