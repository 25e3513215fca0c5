"""Elementwise trigonometric and hyperbolic functions and their inverses, in radians."""

from relax_mlir.dialects.unary import UnaryFloatOp
from relax_mlir.dialects.value import Value, create_one
from relax_mlir.mlir import ext


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


def acos(x: Value) -> Value:
    """Inverse cosine of `x` (see `AcosOp`)."""
    return create_one(AcosOp, [x])


def acosh(x: Value) -> Value:
    """Inverse hyperbolic cosine of `x` (see `AcoshOp`)."""
    return create_one(AcoshOp, [x])


def asin(x: Value) -> Value:
    """Inverse sine of `x` (see `AsinOp`)."""
    return create_one(AsinOp, [x])


def asinh(x: Value) -> Value:
    """Inverse hyperbolic sine of `x` (see `AsinhOp`)."""
    return create_one(AsinhOp, [x])


def atan(x: Value) -> Value:
    """Inverse tangent of `x` (see `AtanOp`)."""
    return create_one(AtanOp, [x])


def atanh(x: Value) -> Value:
    """Inverse hyperbolic tangent of `x` (see `AtanhOp`)."""
    return create_one(AtanhOp, [x])


def cos(x: Value) -> Value:
    """Cosine of `x` (see `CosOp`)."""
    return create_one(CosOp, [x])


def cosh(x: Value) -> Value:
    """Hyperbolic cosine of `x` (see `CoshOp`)."""
    return create_one(CoshOp, [x])


def sin(x: Value) -> Value:
    """Sine of `x` (see `SinOp`)."""
    return create_one(SinOp, [x])


def sinh(x: Value) -> Value:
    """Hyperbolic sine of `x` (see `SinhOp`)."""
    return create_one(SinhOp, [x])


def tan(x: Value) -> Value:
    """Tangent of `x` (see `TanOp`)."""
    return create_one(TanOp, [x])


def tanh(x: Value) -> Value:
    """Hyperbolic tangent of `x` (see `TanhOp`)."""
    return create_one(TanhOp, [x])
