"""sin, cos and tan for f32, scalar or vector, without branches and right for every argument.

The argument is reduced in f64. |x| = y·2ˢ, with s chosen among 0, 25, 50, 75, 100 by size, so that y < 2⁴⁸ is
exact, and an integer wherever s > 0. Then |x|·2/π ≡ y·C (mod 4) with C = 2ˢ·2/π mod 4, which is kept as a sum
of two doubles; whole multiples of 4 are full turns and drop out. The product with the high part is formed
exactly (product and rounding error by fma), so the reduced angle is right to about 2⁻⁵⁷ absolutely, while an
f32 comes no closer than about 2⁻³² to a multiple of π/2.

The polynomials on [-π/4, π/4] are those of ``sinf`` and ``cosf`` of the Cephes library (S. Moshier).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from relax_mlir.lowering.kernels.emit import Value
from relax_mlir.lowering.kernels.lanes import Lanes, same_shape
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


@dataclass(frozen=True)
class Angle:
    """|x| = quadrant·π/2 + rest (mod 2π): sine and cosine of the rest, the quadrant as integer bits."""

    sin: Value
    cos: Value
    quadrant: Value


def _reduce(lanes: Lanes, magnitude: Value) -> Angle:
    """Reduce a finite, non-negative f32."""
    wide = Lanes(same_shape(lanes.type, ir.F64Type.get()))
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
    r = lanes.narrow(wide.scale(fraction, math.pi / 2))
    bits = arith.FPToSIOp(lanes.ints, quadrant).result
    square = lanes.mul(r, r)
    sin = lanes.fma(lanes.mul(lanes.horner(square, SIN_P), square), r, r)
    cos = lanes.fma(
        lanes.mul(lanes.horner(square, COS_P), square),
        square,
        lanes.fma(square, lanes.const(-0.5), lanes.const(1.0)),
    )
    return Angle(sin, cos, bits)


def _finite_magnitude(lanes: Lanes, x: Value) -> tuple[Value, Value]:
    """(|x|, or 0 for inf and NaN; whether x is finite)."""
    magnitude = lanes.abs(x)
    finite = lanes.compare("olt", magnitude, lanes.const(math.inf))
    return lanes.select(finite, magnitude, lanes.const(0.0)), finite


def _bit_set(lanes: Lanes, integer: Value, bit: int) -> Value:
    masked = arith.AndIOp(integer, lanes.int_const(bit)).result
    return arith.CmpIOp(arith.CmpIPredicate.ne, masked, lanes.int_const(0)).result


def _negate_if(lanes: Lanes, condition: Value, x: Value) -> Value:
    return lanes.select(condition, lanes.negate(x), x)


def sin(lanes: Lanes, x: Value) -> Value:
    """sin x, at most 1.7 ulp off for every finite f32; sin(-0.0) = -0.0, sin(±inf) = NaN."""
    magnitude, finite = _finite_magnitude(lanes, x)
    angle = _reduce(lanes, magnitude)
    value = lanes.select(_bit_set(lanes, angle.quadrant, 1), angle.cos, angle.sin)
    value = _negate_if(lanes, _bit_set(lanes, angle.quadrant, 2), value)
    value = lanes.mul(value, lanes.copysign(lanes.const(1.0), x))
    return lanes.select(finite, value, lanes.const(math.nan))


def cos(lanes: Lanes, x: Value) -> Value:
    """cos x, at most 1.7 ulp off for every finite f32; cos(±inf) = NaN."""
    magnitude, finite = _finite_magnitude(lanes, x)
    angle = _reduce(lanes, magnitude)
    value = lanes.select(_bit_set(lanes, angle.quadrant, 1), angle.sin, angle.cos)
    value = _negate_if(lanes, _bit_set(lanes, lanes.int_add(angle.quadrant, 1), 2), value)
    return lanes.select(finite, value, lanes.const(math.nan))


def tan(lanes: Lanes, x: Value) -> Value:
    """tan x, at most 4 ulp off for every finite f32; tan(-0.0) = -0.0, tan(±inf) = NaN."""
    magnitude, finite = _finite_magnitude(lanes, x)
    angle = _reduce(lanes, magnitude)
    odd = _bit_set(lanes, angle.quadrant, 1)
    numerator = lanes.select(odd, lanes.negate(angle.cos), angle.sin)
    value = lanes.div(numerator, lanes.select(odd, angle.sin, angle.cos))
    value = lanes.mul(value, lanes.copysign(lanes.const(1.0), x))
    return lanes.select(finite, value, lanes.const(math.nan))
