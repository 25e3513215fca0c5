"""asin, acos and atan for f32, scalar or vector, without branches. The polynomials are minimax."""

from __future__ import annotations

import math

from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.mlir import math as math_dialect

# asin x = x + x³·P(x²) on [0, ½]; atan x = x + x³·P(x²) on [0, 1].
ASIN_P = (4.0297128e-2, 2.5390241e-2, 4.5194507e-2, 7.4978590e-2, 1.6666675e-1)
ATAN_P = (
    -1.9608845e-3,
    1.1691402e-2,
    -3.2688491e-2,
    5.9551589e-2,
    -8.5022278e-2,
    1.0988478e-1,
    -1.4271809e-1,
    1.9999343e-1,
    -3.3333328e-1,
)
HALF_PI_HIGH, HALF_PI_LOW = 1.57079637050628662109375, -4.37113900018624283e-8


def _from_half_pi(lanes: Lanes, x: Value) -> Value:
    """π/2 - x."""
    return lanes.sub(lanes.const(HALF_PI_HIGH), lanes.sub(x, lanes.const(HALF_PI_LOW)))


def _odd(lanes: Lanes, x: Value, square: Value, coefficients: tuple[float, ...]) -> Value:
    """x + x³·P(x²)."""
    return lanes.fma(lanes.mul(x, square), lanes.horner(square, coefficients), x)


def _arcsine(lanes: Lanes, magnitude: Value) -> tuple[Value, Value, Value]:
    """(whether |x| > ½, y, z) with y + z = asin √((1 - |x|)/2) = acos(|x|)/2 then, and asin |x| else; z is small."""
    beyond = lanes.compare("ogt", magnitude, lanes.const(0.5))
    halved = lanes.fma(magnitude, lanes.const(-0.5), lanes.const(0.5))
    square = lanes.select(beyond, halved, lanes.mul(magnitude, magnitude))
    argument = lanes.select(beyond, math_dialect.SqrtOp(halved).result, magnitude)
    return beyond, argument, lanes.mul(lanes.mul(argument, square), lanes.horner(square, ASIN_P))


def asin(lanes: Lanes, x: Value) -> Value:
    """asin x, at most 2 ulp off; asin(-0.0) = -0.0, NaN outside [-1, 1]."""
    beyond, argument, tail = _arcsine(lanes, lanes.abs(x))
    # Half of π/2 - 2·(argument + tail), with what the first difference rounds off.
    quarter_turn = lanes.const(HALF_PI_HIGH / 2)
    half = lanes.sub(quarter_turn, argument)
    lost = lanes.sub(lanes.sub(quarter_turn, half), argument)
    half = lanes.add(half, lanes.add(lanes.sub(lanes.const(HALF_PI_LOW / 2), tail), lost))
    result = lanes.select(beyond, lanes.add(half, half), lanes.add(argument, tail))
    return lanes.copysign(result, x)


def acos(lanes: Lanes, x: Value) -> Value:
    """acos x, at most 2 ulp off; NaN outside [-1, 1]."""
    beyond, *parts = _arcsine(lanes, lanes.abs(x))
    angle = lanes.add(*parts)
    near = _from_half_pi(lanes, lanes.copysign(angle, x))
    opposite = _from_half_pi(lanes, angle)
    negative = lanes.compare("olt", x, lanes.const(0.0))
    far = lanes.select(negative, opposite, angle)
    return lanes.select(beyond, lanes.add(far, far), near)


def atan(lanes: Lanes, x: Value) -> Value:
    """atan x, at most 2 ulp off; atan(±inf) = ±π/2, atan(-0.0) = -0.0."""
    magnitude = lanes.abs(x)
    beyond = lanes.compare("ogt", magnitude, lanes.const(1.0))
    argument = lanes.select(beyond, lanes.div(lanes.const(1.0), magnitude), magnitude)
    angle = _odd(lanes, argument, lanes.mul(argument, argument), ATAN_P)
    return lanes.copysign(lanes.select(beyond, _from_half_pi(lanes, angle), angle), x)


def atan2(lanes: Lanes, y: Value, x: Value) -> Value:
    """The angle of the point (x, y), at most 3 ulp off; signed zeros and infinities as in C."""
    zero, one = lanes.const(0.0), lanes.const(1.0)
    high, low = lanes.abs(x), lanes.abs(y)
    steep = lanes.compare("ogt", low, high)
    divisor, dividend = lanes.select(steep, low, high), lanes.select(steep, high, low)
    equal = lanes.compare("oeq", divisor, dividend)
    ratio = lanes.div(dividend, divisor)
    # 0/0 is 0 here, inf/inf is 1.
    origin = lanes.compare("oeq", divisor, zero)
    ratio = lanes.select(equal, lanes.select(origin, zero, one), ratio)
    angle = _odd(lanes, ratio, lanes.mul(ratio, ratio), ATAN_P)
    angle = lanes.select(steep, _from_half_pi(lanes, angle), angle)
    left = lanes.compare("olt", lanes.copysign(one, x), zero)
    transposed = _from_half_pi(lanes, lanes.sub(angle, _half_pi(lanes)))
    result = lanes.copysign(lanes.select(left, transposed, angle), y)
    return lanes.select(lanes.compare("uno", x, y), lanes.const(math.nan), result)


def _half_pi(lanes: Lanes) -> Value:
    return lanes.const(HALF_PI_HIGH)
