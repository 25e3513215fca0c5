"""Trigonometric and hyperbolic functions and their inverses for f32, scalar or vector.

Vectors without arguments beyond `NEAR` take a short path, in one branch for all lanes: |x| - n·π/2 with π/2 in three
parts (W. Cody and W. Waite), whose products with n are exact enough by fma; in f64, for tan, two parts are enough.

Beyond, the argument is reduced in f64. |x| = y·2ˢ, with s chosen among 0, 25, 50, 75, 100 by size, so that y < 2⁴⁸ is
exact, and an integer if s > 0. Then |x|·2/π ≡ y·C (mod 4) with C = 2ˢ·2/π mod 4, which is stored as a sum
of two doubles; whole multiples of 4 are full turns and drop out. The product with the high part is computed
exactly (product and rounding error by fma), so the absolute error of the reduced angle is about 2⁻⁵⁷, while an
f32 comes no closer than about 2⁻³² to a multiple of π/2.

The polynomials on [-π/4, π/4] are those of ``sinf`` and ``cosf`` of the Cephes library (S. Moshier), those in f64 are
minimax.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math.math_exp import expm1_of_moderate, quarter_of_exp
from relax_mlir.lowering.kernels.math.math_log import log_wide, wide_of
from relax_mlir.mlir import arith, ir
from relax_mlir.mlir import math as math_dialect

# (s, high and low part of 2ˢ·2/π mod 4), computed with mpmath at 400 bits.
BANDS = (
    (0, 0.6366197723675814, -3.935735335036497e-17),
    (25, 2.8617634871806965, 2.0381050881315446e-16),
    (50, 0.33068755952925183, 1.1463534985388785e-17),
    (75, 1.2294702328862783, 9.51431187277246e-17),
    (100, 3.3254067929721365, -8.91340769098951e-17),
)
SIN_P = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS_P = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


NEAR = 2.0**16
"""Up to here the short path is accurate."""

HALF_PI = (1.57079637050628662, -4.37113882867379e-8, -1.71512451e-15)
HALF_PI_WIDE = (1.5707963267948966, 6.123233995736766e-17)
ROUND_TO_INT, ROUND_TO_INT_WIDE = 1.5 * 2.0**23, 1.5 * 2.0**52
SIN_WIDE_P = (
    -2.476039673454868e-08,
    2.755533891581892e-06,
    -0.00019841263725514584,
    0.00833333332507307,
    -0.16666666666630334,
)
COS_WIDE_P = (-2.721016995580266e-07, 2.4799519230669163e-05, -0.0013888883750671419, 0.04166666662279965)


@dataclass(frozen=True)
class Angle:
    """|x| = quadrant·π/2 + rest (mod 2π): the rest, and the quadrant as integer bits of which the last two count."""

    rest: Value
    quadrant: Value


def _reduce(lanes: Lanes, magnitude: Value) -> Angle:
    """Reduce any finite, non-negative f32; the rest is an f64."""
    wide = wide_of(lanes)
    y, scale, high, low = lanes.widen(magnitude, wide), *(wide.const(v) for v in (1.0, *BANDS[0][1:]))
    for shift, band_high, band_low in BANDS[1:]:
        beyond = wide.compare("oge", y, wide.const(2.0 ** (shift + 23)))
        scale = wide.select(beyond, wide.const(2.0**-shift), scale)
        high = wide.select(beyond, wide.const(band_high), high)
        low = wide.select(beyond, wide.const(band_low), low)
    y = wide.mul(y, scale)
    product = wide.mul(y, high)
    error = wide.fma(y, high, wide.negate(product))
    turns = wide.floor(wide.scale(product, 0.25))
    product = wide.fma(turns, wide.const(-4.0), product)
    rest = wide.fma(y, low, error)
    quadrant = wide.round_even(wide.add(product, rest))
    fraction = wide.add(wide.sub(product, quadrant), rest)
    bits = arith.FPToSIOp(lanes.ints, quadrant).result
    return Angle(wide.scale(fraction, math.pi / 2), bits)


def _reduce_near(lanes: Lanes, magnitude: Value, parts: Sequence[float], round_to_int: float) -> Angle:
    """Reduce a number up to `NEAR`, in the type of `lanes`; `parts` add up to π/2."""
    magic = lanes.const(round_to_int)
    shifted = lanes.fma(magnitude, lanes.const(2.0 / math.pi), magic)
    n, rest = lanes.sub(shifted, magic), magnitude
    for part in parts:
        rest = lanes.fma(n, lanes.const(-part), rest)
    return Angle(rest, lanes.bits(shifted))


def _by_distance(lanes: Lanes, magnitude: Value, near: Callable[[], Value], far: Callable[[Value], Value]) -> Value:
    """`near()` if all lanes are near, else `far(magnitude)`, with NaN where the magnitude is not finite."""

    def anywhere() -> list[Value]:
        finite = lanes.compare("olt", magnitude, lanes.const(math.inf))
        value = far(lanes.select(finite, magnitude, lanes.const(0.0)))
        return [lanes.select(finite, value, lanes.const(math.nan))]

    is_near = lanes.compare("ole", magnitude, lanes.const(NEAR))
    if isinstance(lanes.type, ir.VectorType):
        if lanes.type.rank != 1:
            return anywhere()[0]
        is_near = simd.reduce("and", is_near)
    return emit.choose(is_near, [lanes.type], lambda: [near()], anywhere)[0]


def _sin_and_cos(lanes: Lanes, r: Value) -> tuple[Value, Value]:
    """Of an angle in [-π/4, π/4]."""
    square = lanes.mul(r, r)
    sin = lanes.fma(lanes.mul(lanes.horner(square, SIN_P), square), r, r)
    cos = lanes.fma(
        lanes.mul(lanes.horner(square, COS_P), square),
        square,
        lanes.fma(square, lanes.const(-0.5), lanes.const(1.0)),
    )
    return sin, cos


def _transposed(lanes: Lanes, r: Value, quadrant: Value) -> Value:
    """sin(r + quadrant·π/2)."""
    sin, cos = _sin_and_cos(lanes, r)
    value = lanes.select(_is_odd(lanes, quadrant), cos, sin)
    sign = lanes.shift_left(arith.AndIOp(quadrant, lanes.int_const(2)).result, lanes.width - 2)
    return lanes.from_bits(arith.XOrIOp(lanes.bits(value), sign).result)


def _is_odd(lanes: Lanes, quadrant: Value) -> Value:
    last = lanes.shift_left(quadrant, lanes.width - 1)
    return arith.CmpIOp(arith.CmpIPredicate.slt, last, lanes.int_const(0)).result


def _sine(lanes: Lanes, magnitude: Value, quarters: int) -> Value:
    """sin(magnitude + quarters·π/2)."""

    def near() -> Value:
        angle = _reduce_near(lanes, magnitude, HALF_PI, ROUND_TO_INT)
        return _transposed(lanes, angle.rest, lanes.int_add(angle.quadrant, quarters))

    def far(finite: Value) -> Value:
        angle = _reduce(lanes, finite)
        return _transposed(lanes, lanes.narrow(angle.rest), lanes.int_add(angle.quadrant, quarters))

    return _by_distance(lanes, magnitude, near, far)


def sin(lanes: Lanes, x: Value) -> Value:
    """sin x, at most 1.7 ulp off for every finite f32; sin(-0.0) = -0.0, sin(±inf) = NaN."""
    return lanes.mul(_sine(lanes, lanes.abs(x), 0), lanes.copysign(lanes.const(1.0), x))


def cos(lanes: Lanes, x: Value) -> Value:
    """cos x, at most 1.7 ulp off for every finite f32; cos(±inf) = NaN."""
    return _sine(lanes, lanes.abs(x), 1)


def _tangent(lanes: Lanes, r: Value, is_odd: Value) -> Value:
    """tan(r + π/2 if `is_odd`) rounded, of an f64 in [-π/4, π/4]: a quotient of polynomials in f64."""
    wide = wide_of(lanes)
    square = wide.mul(r, r)
    sin = wide.fma(wide.mul(wide.horner(square, SIN_WIDE_P), square), r, r)
    cos = wide.fma(wide.horner(square, (*COS_WIDE_P, -0.5)), square, wide.const(1.0))
    numerator = wide.select(is_odd, wide.negate(cos), sin)
    return lanes.narrow(wide.div(numerator, wide.select(is_odd, sin, cos)))


def tan(lanes: Lanes, x: Value) -> Value:
    """tan x, at most 1 ulp off for every finite f32; tan(-0.0) = -0.0, tan(±inf) = NaN."""
    magnitude, wide = lanes.abs(x), wide_of(lanes)

    def near() -> Value:
        angle = _reduce_near(wide, lanes.widen(magnitude, wide), HALF_PI_WIDE, ROUND_TO_INT_WIDE)
        return _tangent(lanes, angle.rest, _is_odd(wide, angle.quadrant))

    def far(finite: Value) -> Value:
        angle = _reduce(lanes, finite)
        return _tangent(lanes, angle.rest, _is_odd(lanes, angle.quadrant))

    return lanes.mul(_by_distance(lanes, magnitude, near, far), lanes.copysign(lanes.const(1.0), x))


# asin, acos and atan for f32, scalar or vector, without branches. The polynomials are minimax.


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


# sinh, cosh, tanh and their inverses for f32, scalar or vector, without branches. The polynomials are
# minimax.
#
# The inverses are logarithms of sums that lose digits near zero, so they are formed in f64.


# f(x) = x + x³·P(x²): sinh on [0, 1].
SINH_P = (2.8130478e-6, 1.9836958e-4, 8.3333449e-3, 1.6666667e-1)
LARGEST = 90.0
"""From here on sinh and cosh are infinite."""

SMALL = 2.0**-10
"""Below it x plus the cubic term is accurate to the last digit."""


def odd(lanes: Lanes, x: Value, coefficients: tuple[float, ...]) -> Value:
    """x + x³·P(x²)."""
    square = lanes.mul(x, x)
    return lanes.fma(lanes.mul(x, square), lanes.horner(square, coefficients), x)


def cosh(lanes: Lanes, x: Value) -> Value:
    """cosh x, at most 2 ulp off; cosh(±inf) = inf."""
    quarter = quarter_of_exp(lanes, lanes.at_most(lanes.abs(x), LARGEST))
    return lanes.fma(quarter, lanes.const(2.0), lanes.div(lanes.const(0.125), quarter))


def sinh(lanes: Lanes, x: Value) -> Value:
    """sinh x, at most 2 ulp off; sinh(±inf) = ±inf, sinh(-0.0) = -0.0."""
    magnitude = lanes.at_most(lanes.abs(x), LARGEST)
    quarter = quarter_of_exp(lanes, magnitude)
    large = lanes.fma(quarter, lanes.const(2.0), lanes.div(lanes.const(-0.125), quarter))
    is_large = lanes.compare("ogt", magnitude, lanes.const(1.0))
    return lanes.copysign(lanes.select(is_large, large, odd(lanes, magnitude, SINH_P)), x)


def tanh(lanes: Lanes, x: Value) -> Value:
    """tanh |x| = u / (u + 2), u being e^2|x| - 1; at most 2 ulp off.

    tanh(±inf) = ±1, tanh(-0.0) = -0.0, NaN stays NaN.
    """
    magnitude = lanes.at_most(lanes.abs(x), 10.0)
    u = expm1_of_moderate(lanes, lanes.add(magnitude, magnitude))
    return lanes.copysign(ratio_to_two_more(lanes, u), x)


def ratio_to_two_more(lanes: Lanes, u: Value) -> Value:
    """u / (u + 2), without the error of that sum."""
    two = lanes.const(2.0)
    inverse = lanes.div(lanes.const(1.0), lanes.add(u, two))
    quotient = lanes.mul(u, inverse)
    less = lanes.negate(quotient)
    # The remainder of u: what the quotient times u + 2 lacks.
    rest = lanes.fma(less, u, lanes.fma(less, two, u))
    return lanes.fma(rest, inverse, quotient)


def _unless_small(lanes: Lanes, magnitude: Value, result: Value, cubic: float) -> Value:
    small = lanes.fma(lanes.mul(lanes.scale(magnitude, cubic), magnitude), magnitude, magnitude)
    return lanes.select(lanes.compare("olt", magnitude, lanes.const(SMALL)), small, result)


def asinh(lanes: Lanes, x: Value) -> Value:
    """asinh x = ln(|x| + √(x² + 1)), at most 1 ulp off; asinh(±inf) = ±inf, asinh(-0.0) = -0.0."""
    magnitude, wide = lanes.abs(x), wide_of(lanes)
    y = lanes.widen(magnitude, wide)
    root = math_dialect.SqrtOp(wide.fma(y, y, wide.const(1.0))).result
    result = lanes.narrow(log_wide(wide, wide.add(y, root)))
    result = _unless_small(lanes, magnitude, result, -1.0 / 6.0)
    finite = lanes.compare("olt", magnitude, lanes.const(math.inf))
    return lanes.copysign(lanes.select(finite, result, magnitude), x)


def acosh(lanes: Lanes, x: Value) -> Value:
    """acosh x = ln(x + √(x² - 1)), at most 1 ulp off; NaN below 1, acosh(inf) = inf."""
    wide = wide_of(lanes)
    y = lanes.widen(x, wide)
    root = math_dialect.SqrtOp(wide.fma(y, y, wide.const(-1.0))).result
    result = lanes.narrow(log_wide(wide, wide.add(y, root)))
    finite = lanes.compare("olt", x, lanes.const(math.inf))
    result = lanes.select(finite, result, x)
    return lanes.select(lanes.compare("olt", x, lanes.const(1.0)), lanes.const(math.nan), result)


def atanh(lanes: Lanes, x: Value) -> Value:
    """atanh x = ½·ln((1 + |x|) / (1 - |x|)), at most 1 ulp off; atanh(±1) = ±inf, NaN beyond, atanh(-0.0) = -0.0."""
    magnitude, wide = lanes.abs(x), wide_of(lanes)
    y, one = lanes.widen(magnitude, wide), wide.const(1.0)
    log = log_wide(wide, wide.div(wide.add(one, y), wide.sub(one, y)))
    result = _unless_small(lanes, magnitude, lanes.narrow(wide.scale(log, 0.5)), 1.0 / 3.0)
    at_pole = lanes.compare("oeq", magnitude, lanes.const(1.0))
    result = lanes.select(at_pole, lanes.const(math.inf), result)
    inside = lanes.compare("ole", magnitude, lanes.const(1.0))
    return lanes.copysign(lanes.select(inside, result, lanes.const(math.nan)), x)
