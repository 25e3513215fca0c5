"""sin, cos and tan for f32, scalar or vector, accurate for every argument.

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
from relax_mlir.lowering.kernels.math.math_log import wide_of
from relax_mlir.mlir import arith, ir

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


def _by_distance(
    lanes: Lanes, magnitude: Value, near: Callable[[], Value], far: Callable[[Value], Value]
) -> Value:
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
