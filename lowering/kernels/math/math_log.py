"""log, log2, log10, log1p and pow for f32, scalar or vector, without branches.

x = 2ᵉ·(1 + f) with 1 + f in [√½, √2); log(1 + f) = f - f²/2 + f³·P(f) with the coefficients of ``logf`` of
the Cephes library (S. Moshier). Denormals are first scaled by 2²³.
"""

from __future__ import annotations

import math

from relax_mlir.lowering.kernels.core.emit import Value, all_of, any_of
from relax_mlir.lowering.kernels.core.lanes import Lanes, same_shape
from relax_mlir.mlir import arith, ir
from relax_mlir.mlir import math as math_dialect

LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
SQRT_HALF_BITS = 0x3F3504F3
LOG_P = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
LOG2_E = math.log2(math.e)
LOG10_E = math.log10(math.e)
LOG10_2 = math.log10(2.0)
LOG10_2_HIGH = 0.30102539062
"""log10 2 is split: the high part has so few bits that products with it lose little."""


def _split(lanes: Lanes, x: Value) -> tuple[Value, Value, Value]:
    """(f, e, integer e) with x = 2ᵉ·(1 + f), for positive normal numbers."""
    bits = lanes.bits(x)
    exponent = lanes.shift_right(lanes.int_sub(bits, SQRT_HALF_BITS), 23)
    mantissa = lanes.from_bits(lanes.int_sub(bits, lanes.shift_left(exponent, 23)))
    as_float = arith.SIToFPOp(lanes.type, exponent).result
    return lanes.sub(mantissa, lanes.const(1.0)), as_float, exponent


def _split_any(lanes: Lanes, x: Value) -> tuple[Value, Value]:
    """(f, e) as `_split`, for positive numbers that may be denormal."""
    denormal = lanes.compare("olt", x, lanes.const(2.0**-126))
    scaled = lanes.select(denormal, lanes.scale(x, 2.0**23), x)
    f, e, _ = _split(lanes, scaled)
    return f, lanes.add(e, lanes.select(denormal, lanes.const(-23.0), lanes.const(0.0)))


def _tail(lanes: Lanes, f: Value) -> tuple[Value, Value]:
    """(f², f³·P(f))."""
    square = lanes.mul(f, f)
    return square, lanes.mul(lanes.mul(lanes.horner(f, LOG_P), f), square)


def _natural(lanes: Lanes, f: Value, e: Value, correction: Value | None = None) -> Value:
    """e·ln 2 + log(1 + f + correction); the correction is tiny compared with f."""
    square, tail = _tail(lanes, f)
    tail = lanes.fma(e, lanes.const(LN2_LOW), tail)
    if correction is not None:
        tail = lanes.add(tail, correction)
    tail = lanes.fma(square, lanes.const(-0.5), tail)
    return lanes.fma(e, lanes.const(LN2_HIGH), lanes.add(f, tail))


def special(lanes: Lanes, x: Value, result: Value, pole: float = 0.0) -> Value:
    """The values at the edges: -inf at the pole, NaN left of it and for NaN, inf at inf."""
    inf, bound = lanes.const(math.inf), lanes.const(pole)
    result = lanes.select(lanes.compare("oeq", x, inf), inf, result)
    result = lanes.select(lanes.compare("oeq", x, bound), lanes.const(-math.inf), result)
    return lanes.select(lanes.compare("ult", x, bound), lanes.const(math.nan), result)


def log(lanes: Lanes, x: Value) -> Value:
    """ln x, at most 1 ulp off; log(±0) = -inf, log(negative) = NaN, denormals exact like all others."""
    f, e = _split_any(lanes, x)
    return special(lanes, x, _natural(lanes, f, e))


def log2(lanes: Lanes, x: Value) -> Value:
    """log₂ x, at most 1.5 ulp off; exact for powers of two."""
    f, e = _split_any(lanes, x)
    square, tail = _tail(lanes, f)
    low = lanes.fma(square, lanes.const(-0.5), tail)
    # (f + low)·log2 e with the parts added from small to large, as Cephes does.
    result = lanes.scale(low, LOG2_E - 1.0)
    result = lanes.fma(f, lanes.const(LOG2_E - 1.0), result)
    result = lanes.add(lanes.add(result, low), f)
    return special(lanes, x, lanes.add(result, e))


def log10(lanes: Lanes, x: Value) -> Value:
    """log₁₀ x, at most 1.5 ulp off."""
    f, e = _split_any(lanes, x)
    square, tail = _tail(lanes, f)
    low = lanes.fma(square, lanes.const(-0.5), tail)
    result = lanes.fma(e, lanes.const(LOG10_2 - LOG10_2_HIGH), lanes.scale(low, LOG10_E))
    result = lanes.fma(f, lanes.const(LOG10_E), result)
    return special(lanes, x, lanes.fma(e, lanes.const(LOG10_2_HIGH), result))


def log1p(lanes: Lanes, x: Value) -> Value:
    """ln(1 + x), at most 1 ulp off; log1p(-0.0) = -0.0, log1p(-1) = -inf, log1p(below -1) = NaN.

    u = 1 + x is rounded; what the rounding lost, divided by u, is added to the result.
    """
    one = lanes.const(1.0)
    u = lanes.add(one, x)
    large = lanes.compare("ogt", x, one)
    lost = lanes.select(large, lanes.sub(one, lanes.sub(u, x)), lanes.sub(x, lanes.sub(u, one)))
    f, e, _ = _split(lanes, u)
    result = _natural(lanes, f, e, correction=lanes.div(lost, u))
    result = lanes.select(lanes.compare("olt", lanes.abs(x), lanes.const(2.0**-25)), x, result)
    return special(lanes, x, result, pole=-1.0)


# log((1 + s) / (1 - s)) = 2s + s³·P(s²) for |s| ≤ 3 - √8, to 2⁻⁴⁴.
WIDE_P = (0.19470707914096777, 0.221847923038352, 0.285718800006259, 0.399999981023171, 0.6666666666696415)
WIDE_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


def wide_of(lanes: Lanes) -> Lanes:
    """f64 in the shape of `lanes`."""
    return Lanes(same_shape(lanes.type, ir.F64Type.get()))


def log_wide(wide: Lanes, u: Value) -> Value:
    """ln u in f64, relative error 2⁻⁴³, for positive normal numbers; something finite for others."""
    bits, offset = wide.bits(u), 1024
    shifted = wide.int_add(bits, (offset << 52) - WIDE_SQRT_HALF_BITS)
    exponent = arith.ShRUIOp(shifted, wide.int_const(52)).result
    mantissa = wide.from_bits(wide.int_sub(bits, wide.shift_left(wide.int_sub(exponent, offset), 52)))
    # An integer below 2⁵² put under the leading bit of 2⁵², since AVX2 has no conversion of 64-bit integers.
    as_float = wide.from_bits(arith.OrIOp(exponent, wide.int_const(0x433 << 52)).result)
    e = wide.sub(as_float, wide.const(2.0**52 + offset))
    f = wide.sub(mantissa, wide.const(1.0))
    s = wide.div(f, wide.add(f, wide.const(2.0)))
    square = wide.mul(s, s)
    rest = wide.fma(wide.mul(s, square), wide.horner(square, WIDE_P), wide.add(s, s))
    return wide.fma(e, wide.const(math.log(2.0)), rest)


def log1p_by_libm(lanes: Lanes, x: Value) -> Value:
    """ln(1 + x) in f64 from libm's log, a few ulp off (upstream's lowering loses all digits near zero).

    W. Kahan's algorithm, with u = 1 + x rounded, log u · x / (u - 1): the errors of the two parts cancel.
    """
    one, inf = lanes.const(1.0), lanes.const(math.inf)
    u = lanes.add(one, x)
    result = lanes.mul(math_dialect.LogOp(u).result, lanes.div(x, lanes.sub(u, one)))
    result = lanes.select(lanes.compare("oeq", x, inf), inf, result)
    return lanes.select(lanes.compare("oeq", u, one), x, result)


# pow for f32, scalar or vector, without branches: 2^(y·log₂ |x|) in f64, with C's values at the edges.


# 2^f = 1 + f·P(f) to 2⁻²⁸ for |f| ≤ ½.
EXP2_P = (
    0.00015353171831072014,
    0.0013398972349455067,
    0.009618438776097879,
    0.05550332267439369,
    0.24022647897322816,
    0.6931472029096883,
)
ROUND_TO_INT, BIAS = 1.5 * 2.0**52, 1023
BEYOND = 200.0
"""2 to this power is infinite in f32, and 0 to its negative."""


def _exp2(wide: Lanes, t: Value) -> Value:
    """2^t in f64, for |t| ≤ `BEYOND`."""
    magic = wide.const(ROUND_TO_INT + BIAS)
    shifted = wide.add(t, magic)
    fraction = wide.sub(t, wide.sub(shifted, magic))
    power = wide.from_bits(wide.shift_left(wide.bits(shifted), 52))
    return wide.mul(wide.horner(fraction, (*EXP2_P, 1.0)), power)


def pow(lanes: Lanes, x: Value, y: Value) -> Value:
    """x to the power of y, at most 1 ulp off; NaN for negative finite x and y that is not an integer."""
    wide, magnitude = wide_of(lanes), lanes.abs(x)
    zero, one, inf = lanes.const(0.0), lanes.const(1.0), lanes.const(math.inf)
    log = log_wide(wide, lanes.widen(magnitude, wide))
    is_zero, is_inf = lanes.compare("oeq", magnitude, zero), lanes.compare("oeq", magnitude, inf)
    log = wide.select(is_zero, wide.const(-math.inf), wide.select(is_inf, wide.const(math.inf), log))
    log = wide.select(lanes.compare("uno", x, x), wide.const(math.nan), log)
    t = wide.mul(lanes.widen(y, wide), wide.scale(log, math.log2(math.e)))
    result = lanes.narrow(_exp2(wide, wide.clamp(t, -BEYOND, BEYOND)))
    half = lanes.scale(y, 0.5)
    is_integer = lanes.compare("oeq", lanes.floor(y), y)
    is_odd = all_of(is_integer, lanes.compare("one", lanes.floor(half), half))
    result = lanes.select(is_odd, lanes.copysign(result, x), result)
    is_negative = all_of(lanes.compare("olt", x, zero), lanes.compare("ogt", x, lanes.const(-math.inf)))
    undefined = all_of(is_negative, lanes.compare("one", lanes.floor(y), y))
    result = lanes.select(undefined, lanes.const(math.nan), result)
    unit = all_of(lanes.compare("oeq", magnitude, one), lanes.compare("oeq", lanes.abs(y), inf))
    is_one = any_of(lanes.compare("oeq", y, zero), lanes.compare("oeq", x, one), unit)
    return lanes.select(is_one, one, result)
