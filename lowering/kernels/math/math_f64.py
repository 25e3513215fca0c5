"""Math functions for f64, scalar or vector, without branches: exponentials, logarithms, erf, hyperbolic functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.core.simd import exponent, look_up, mantissa, times_power, within
from relax_mlir.lowering.kernels.math.math_log import special
from relax_mlir.lowering.kernels.math.math_trig import odd, ratio_to_two_more
from relax_mlir.mlir import arith

# Exponentials of f64 with AVX-512: sixteen powers of two in two registers, and a polynomial of the sixth
# degree.
#
# As those of f32 (`math_exp`): x = y·ln 2 + r, y being rounded to sixteenths, and e^x = 2^⌊y⌋·2^(y -
# ⌊y⌋)·e^r. The table has each power as the sum of two numbers, the second of which is added to the small
# terms, so that results are rounded about once. One instruction scales by 2^⌊y⌋, also to denormals, 0 and
# inf.


_ROUND_TO_SIXTEENTHS = 1.5 * 2.0**48

_REST = 1.0 / 16.0
"""An upper bound of the remainder of any x whose power is neither 0 nor inf."""

_LOG2_E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.6931471805599453, 2.3190468138462996e-17

_HIGH = (
    *(1.0, 1.0442737824274138, 1.0905077326652577, 1.1387886347566916),
    *(1.189207115002721, 1.241857812073484, 1.2968395546510096, 1.3542555469368927),
    *(1.4142135623730951, 1.4768261459394993, 1.5422108254079407, 1.6104903319492543),
    *(1.681792830507429, 1.7562521603732995, 1.8340080864093424, 1.9152065613971474),
)
_LOW = (
    *(0.0, 8.551889705537965e-17, -3.046782079812471e-17, 8.912812676025408e-17),
    *(3.982015231465646e-17, 4.658027591836937e-17, 2.5382502794888315e-17, 7.70094837980299e-17),
    *(-9.667293313452913e-17, -3.483994556892796e-17, 7.949834809697621e-17, 2.4707192569797888e-17),
    *(8.199010020581497e-17, 2.960140695448873e-17, 3.283107224245627e-17, -1.0619946056195963e-16),
)
"""2^(n/16) is the sum of the two."""

_EXP_Q = (
    0.001388906347556763,
    0.008333473002881155,
    0.04166666666359425,
    0.16666666664208724,
    0.5000000000000001,
    1.0000000000000007,
)
"""e^r = 1 + r·Q(r) to 2⁻⁵⁵ for |r| ≤ ln 2 / 32: interpolated at the Chebyshev nodes, as the next one."""

_EXP2_Q = (
    0.00015403723980749256,
    0.0013333781576784268,
    0.009618129106919537,
    0.0555041086566393,
    0.24022650695910075,
    0.6931471805599457,
)
"""2^f = 1 + f·Q(f) to 2⁻⁵⁵ for |f| ≤ 1/32."""


def exp_by_table(lanes: Lanes, x: Value, k: int = 0) -> Value:
    """e^x·2ᵏ for any x, at most 0.7 ulp off."""
    y, place = _to_sixteenths(lanes, lanes.fma(x, lanes.const(_LOG2_E), lanes.const(_ROUND_TO_SIXTEENTHS)))
    high = lanes.fma(y, lanes.const(-_LN2_HIGH), x)
    r = within(lanes.fma(y, lanes.const(-_LN2_LOW), high), _REST)
    return _times_table(lanes, r, _EXP_Q, place, y, k)


def exp2_by_table(lanes: Lanes, x: Value) -> Value:
    """2^x for any x, at most 0.7 ulp off."""
    y, place = _to_sixteenths(lanes, lanes.add(x, lanes.const(_ROUND_TO_SIXTEENTHS)))
    return _times_table(lanes, within(lanes.sub(x, y), _REST), _EXP2_Q, place, y)


def _to_sixteenths(lanes: Lanes, rounded: Value) -> tuple[Value, Value]:
    """A number that was rounded to sixteenths by a sum, and the table index of its fraction's power."""
    return lanes.sub(rounded, lanes.const(_ROUND_TO_SIXTEENTHS)), lanes.bits(rounded)


def _times_table(lanes: Lanes, r: Value, q: tuple[float, ...], place: Value, y: Value, k: int = 0) -> Value:
    """(1 + r·q(r))·2^(y + k); `place` is the table index of the fraction of y."""
    high, low = ([2.0**k * power for power in powers] for powers in (_HIGH, _LOW))
    power = look_up(high, place)
    less = lanes.fma(lanes.mul(r, power), lanes.horner(r, q), look_up(low, place))
    return times_power(lanes.add(power, less), y)


# exp, exp2 and expm1 for f64, scalar or vector, without branches.
#
# As for f32 (`math_exp`): x = n·ln 2 + r with |r| ≤ ln 2 / 2, and e^r is 1 + r + r²·P(r), P being minimax. ln
# 2 is the sum of two numbers, of which n times the first is subtracted exactly by a fused multiply-add.
# Adding 1.5·2⁵² leaves n in the low bits of the sum (W. Cody and W. Waite, "Software manual for the
# elementary functions", 1980).


LOG2_E = math.log2(math.e)
LN2_HIGH, LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17
ROUND_TO_INT = 1.5 * 2.0**52
BIAS, MANTISSA_BITS = 1023, 52
_TWICE = ROUND_TO_INT + 2 * BIAS
EXP_P = (
    2.5000042598505542e-08,
    2.7630306344520343e-07,
    2.7557586716377972e-06,
    2.480149294954299e-05,
    0.00019841269505891396,
    0.001388888894375988,
    0.00833333333349491,
    0.04166666666652973,
    0.1666666666666641,
    0.5000000000000011,
)
"""e^r = 1 + r + r²·P(r) to 2⁻⁵⁷ for |r| ≤ ln 2 / 2."""

VANISHES = -746.0
"""e to this is less than half of the smallest f64."""

LARGEST = 710.0
"""e to this is infinite."""


def _round(lanes: Lanes, x: Value, magic: float) -> tuple[Value, Value]:
    """(n, n + `magic`), n being x / ln 2 rounded."""
    rounding = lanes.const(magic)
    shifted = lanes.fma(x, lanes.const(LOG2_E), rounding)
    return lanes.sub(shifted, rounding), shifted


def _reduce(lanes: Lanes, x: Value, magic: float) -> tuple[Value, Value]:
    """(r, n + `magic`): x = n·ln 2 + r."""
    n, shifted = _round(lanes, x, magic)
    high = lanes.fma(n, lanes.const(-LN2_HIGH), x)
    return lanes.fma(n, lanes.const(-LN2_LOW), high), shifted


def _power(lanes: Lanes, shifted: Value) -> Value:
    """2ⁿ, `shifted` being n + `ROUND_TO_INT` + `BIAS`, and n in [-1022, 1023]."""
    return lanes.from_bits(lanes.shift_left(lanes.bits(shifted), MANTISSA_BITS))


def _of_rest(lanes: Lanes, r: Value) -> Value:
    """e^r for |r| ≤ ln 2 / 2."""
    return lanes.horner(r, (*EXP_P, 1.0, 1.0))


def _times_power_less(lanes: Lanes, x: Value, k: int, offset: float) -> Value:
    """e^x·2ᵏ - `offset`, for x of which e^x·2ᵏ is a normal number.

    With 2ⁿ⁺ᵏ = p: first p - `offset`, then p·r is added, then p times the rest of e^r and what r lost by rounding.
    """
    n, shifted = _round(lanes, x, ROUND_TO_INT + BIAS + k)
    power = _power(lanes, shifted)
    high = lanes.fma(n, lanes.const(-LN2_HIGH), x)
    r = lanes.fma(n, lanes.const(-LN2_LOW), high)
    lost = lanes.fma(n, lanes.const(-LN2_LOW), lanes.sub(high, r))
    rest = lanes.fma(lanes.mul(r, r), lanes.horner(r, EXP_P), lost)
    return lanes.fma(rest, power, lanes.fma(r, power, lanes.sub(power, lanes.const(offset))))


def _times_halves(lanes: Lanes, y: Value, shifted: Value) -> Value:
    """y·2ⁿ, `shifted` being n + `_TWICE`: y times 2^(n / 2) rounded down, times the rest of 2ⁿ.

    Both are normal numbers for |n| ≤ 2044, so results are rounded once: through the denormals to 0, and to inf.
    """
    whole = lanes.bits(shifted)
    half = lanes.shift_right_logical(whole, 1)
    for part in (half, lanes.int_sub(whole, half)):
        y = lanes.mul(y, lanes.from_bits(lanes.shift_left(part, MANTISSA_BITS)))
    return y


def exp(lanes: Lanes, x: Value) -> Value:
    """e^x, at most 1 ulp off, denormal results included; exp(-inf) = 0, exp(inf) = inf, NaN stays NaN."""
    if lanes.avx512_double:
        return exp_by_table(lanes, x)
    r, shifted = _reduce(lanes, lanes.clamp(x, VANISHES, LARGEST), _TWICE)
    return _times_halves(lanes, _of_rest(lanes, r), shifted)


def exp2(lanes: Lanes, x: Value) -> Value:
    """2^x, at most 1 ulp off, denormal results included."""
    if lanes.avx512_double:
        return exp2_by_table(lanes, x)
    x, magic = lanes.clamp(x, -1076.0, 1024.5), lanes.const(_TWICE)
    shifted = lanes.add(x, magic)
    fraction = lanes.sub(x, lanes.sub(shifted, magic))
    return _times_halves(lanes, _of_rest(lanes, lanes.scale(fraction, LN2_HIGH)), shifted)


def expm1(lanes: Lanes, x: Value) -> Value:
    """e^x - 1, at most 1.4 ulp off; expm1(-0.0) = -0.0, expm1(-inf) = -1.

    It is formed at half its size, since 2¹⁰²⁴ is no f64 although results near it are.
    """
    half = _times_power_less(lanes, lanes.clamp(x, -38.0, LARGEST), -1, 0.5)
    tiny = lanes.compare("olt", lanes.abs(x), lanes.const(2.0**-53))
    return lanes.select(tiny, x, lanes.add(half, half))


def expm1_of_moderate(lanes: Lanes, x: Value) -> Value:
    """e^x - 1 for x in [-708, 709], at most 1.4 ulp off. NaN stays NaN."""
    return _times_power_less(lanes, x, 0, 1.0)


def exp_of_moderate(lanes: Lanes, x: Value, k: int = 0) -> Value:
    """e^x·2ᵏ where that is a normal number, and e^x < 2¹⁰²³⁻ᵏ; at most 1 ulp off. NaN stays NaN."""
    if lanes.avx512_double:
        return exp_by_table(lanes, x, k)
    r, shifted = _reduce(lanes, x, ROUND_TO_INT + BIAS + k)
    return lanes.mul(_of_rest(lanes, r), _power(lanes, shifted))


# Logarithms of f64 with AVX-512: sixteen reciprocals in two registers, and a polynomial; no division.
#
# x = 2ᵉ·m with m in [3/4, 3/2), and the table has a number i near 1/m for each 1/16 (1/32 below 1) of m. Then
# log x is e·log 2 - log i + log(1 + r) with r = m·i - 1, which a fused multiply-add rounds once. The
# algorithm is P. T. P. Tang's ("Table-driven implementation of the logarithm function in IEEE floating-point
# arithmetic", 1990).
#
# Each i was chosen such that its logarithm is within 2⁻⁶⁴ of a multiple of 2⁻⁴², as in S. Gal's accurate
# tables ("An accurate elementary mathematical library for the IEEE floating point standard", 1991). Multiples
# of the high part of log 2 are multiples of 2⁻⁴², too, so their sum is exact. On both sides of 1 the number
# is 1 itself, so that r is x - 1, and nothing is lost. Instructions split any x into exponent and mantissa:
# denormals need no extra code, and 0, ∞, NaN and negative numbers give the right results.


_STEPS = 2.0**42
"""Logarithms of the table are multiples of the reciprocal."""

_INDEX_AT = 48
"""The leading four bits of the mantissa are the table index."""

_LOG1P = (
    0.07937781740557924,
    -0.09964443016780401,
    0.11112994583584702,
    -0.1250010337800482,
    0.14285713635111952,
    -0.1666666658806471,
    0.1999999999989773,
    -0.25000000000019224,
    0.33333333333333365,
    -0.5,
)
"""ln(1 + r) = r + r²·P(r) for -0.0318 ≤ r ≤ 0.0626, to 2⁻⁶⁰ (relative): interpolated at the Chebyshev nodes."""


@dataclass(frozen=True)
class _Base:
    """A base of logarithms: `high` + `low` is log 2, `of_e` + `of_e_low` is log e; `reciprocals` is the table."""

    log: Callable[[float], float]
    high: float
    low: float
    of_e: float
    of_e_low: float
    reciprocals: tuple[float, ...]

    @property
    def logs(self) -> tuple[float, ...]:
        """The negated logarithms of the reciprocals, rounded to multiples of 1 / `_STEPS`."""
        return tuple(-round(self.log(number) * _STEPS) / _STEPS for number in self.reciprocals)

    @property
    def polynomial(self) -> tuple[float, ...]:
        return tuple(coefficient * self.of_e for coefficient in _LOG1P)


_NATURAL = _Base(
    math.log,
    0.6931471805598903,
    5.497923018708371e-14,
    1.0,
    0.0,
    (
        *(1.0, 0.9140834102560266, 0.8647313534297004, 0.8204385968012291),
        *(0.7807612145701095, 0.743856420354527, 0.7113696423063639, 0.6809535921216154),
        *(1.306171293535543, 1.2546882261526056, 1.207430947466739, 1.163246562412224),
        *(1.1222871623898374, 1.084445208449835, 1.0487192794362712, 1.0),
    ),
)
_BINARY = _Base(
    math.log2,
    1.0,
    0.0,
    1.4426950408889634,
    2.0355273740931033e-17,
    (
        *(1.0, 0.9143108459178673, 0.8651051935904752, 0.8203887559441351),
        *(0.7805399625421651, 0.7442072089283829, 0.7111769768525377, 0.6807119162142922),
        *(1.3058474645026188, 1.2551755672826763, 1.2075441327017862, 1.1632688526560948),
        *(1.1229643865052061, 1.0849076640322588, 1.0490956724971485, 1.0),
    ),
)
_DECIMAL = _Base(
    math.log10,
    0.30102999566383914,
    1.42050232272661e-13,
    0.4342944819032518,
    1.098319650216765e-17,
    (
        *(1.0, 0.9150989783657361, 0.8641310744693212, 0.8208566835008182),
        *(0.7807908244638488, 0.7444913989425656, 0.7113261814632761, 0.6806194654718191),
        *(1.3066667410555057, 1.2560765707110257, 1.2078434228673525, 1.1640849040658026),
        *(1.1226579888610537, 1.0858178149964537, 1.049664198936592, 1.0),
    ),
)


def log_by_table(lanes: Lanes, x: Value) -> Value:
    """ln x, at most 1 ulp off."""
    return _by_table(lanes, x, _NATURAL)


def log2_by_table(lanes: Lanes, x: Value) -> Value:
    """log₂ x, at most 1 ulp off; exact for powers of two."""
    return _by_table(lanes, x, _BINARY)


def log10_by_table(lanes: Lanes, x: Value) -> Value:
    """log₁₀ x, at most 1 ulp off; exact for powers of ten."""
    return _by_table(lanes, x, _DECIMAL)


def _by_table(lanes: Lanes, x: Value, base: _Base) -> Value:
    m = mantissa(x)
    e = lanes.sub(exponent(x), exponent(m))
    place = lanes.shift_right_logical(lanes.bits(m), _INDEX_AT)
    reciprocal = look_up(base.reciprocals, place)
    r = lanes.fma(m, reciprocal, lanes.const(-1.0))
    known = lanes.fma(e, lanes.const(base.high), look_up(base.logs, place))
    low = lanes.mul(lanes.mul(r, r), lanes.horner(r, base.polynomial))
    if base.low:
        low = lanes.fma(e, lanes.const(base.low), low)
    if base is not _NATURAL:
        lost = lanes.fma(_lost(lanes, m, reciprocal, r), lanes.const(base.of_e), low)
        low = lanes.fma(r, lanes.const(base.of_e_low), lost)
    return lanes.add(known, lanes.fma(r, lanes.const(base.of_e), low))


def _lost(lanes: Lanes, m: Value, reciprocal: Value, r: Value) -> Value:
    """The rounding error of r = m·reciprocal - 1, exactly; subtractions of nearby numbers are exact.

    Without it, r times log e (base 2 or 10) would be rounded twice.
    """
    product = lanes.mul(m, reciprocal)
    rest = lanes.fma(m, reciprocal, lanes.negate(product))
    return lanes.sub(rest, lanes.sub(r, lanes.sub(product, lanes.const(1.0))))


# log, log2, log10 and log1p for f64, scalar or vector, without branches.
#
# x = 2ᵉ·(1 + f) with 1 + f in [√½, √2). With s = f / (2 + f), log(1 + f) = f - (h - s·(h + R(s²))), h = f²/2:
# the scheme and the coefficients of R are those of ``e_log.c`` of FDLIBM (Sun Microsystems, 1993); logarithms
# to other bases are formed from high and low parts, as in FreeBSD's ``e_log2.c`` and ``e_log10.c``, with
# products made exact by fused multiply-adds. Denormals are first scaled by 2⁵⁴. With AVX-512,
# `math_f64` is used for all but log1p.


LOG_LN2_HIGH, LOG_LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""The high part has so few bits that products with an exponent are exact."""

LOG_R = (
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)
LOG2_E_LOW = 2.0355273740931033e-17
LOG10_E, LOG10_E_LOW = 0.4342944819032518, 1.098319650216765e-17
LOG10_2_HIGH, LOG10_2_LOW = 3.01029995663611771306e-01, 3.69423907715893078616e-13
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
OFFSET = 1024
"""`OFFSET` is added to exponents, so that they are positive."""

_INTEGER_IN_BITS = 0x433 << MANTISSA_BITS
"""An integer below 2⁵² put under the leading bits of 2⁵² is 2⁵² more; AVX2 has no conversion of 64-bit integers."""


def _split(lanes: Lanes, x: Value, scaled_by: Value | None = None) -> tuple[Value, Value]:
    """(f, e) with x = 2ᵉ·(1 + f), for positive normal numbers; `scaled_by` is subtracted from e."""
    bits = lanes.bits(x)
    shifted = lanes.int_add(bits, (OFFSET << MANTISSA_BITS) - SQRT_HALF_BITS)
    exponent = lanes.shift_right_logical(shifted, MANTISSA_BITS)
    power = lanes.shift_left(lanes.int_sub(exponent, OFFSET), MANTISSA_BITS)
    mantissa = lanes.from_bits(lanes.int_sub(bits, power))
    as_float = lanes.from_bits(arith.OrIOp(exponent, lanes.int_const(_INTEGER_IN_BITS)).result)
    offset = lanes.const(2.0**52 + OFFSET) if scaled_by is None else scaled_by
    return lanes.sub(mantissa, lanes.const(1.0)), lanes.sub(as_float, offset)


def _split_any(lanes: Lanes, x: Value) -> tuple[Value, Value]:
    """(f, e) as `_split`, for positive numbers that may be denormal."""
    denormal = lanes.compare("olt", x, lanes.const(2.0**-1022))
    offset = 2.0**52 + OFFSET
    scaled_by = lanes.select(denormal, lanes.const(offset + 54.0), lanes.const(offset))
    return _split(lanes, lanes.select(denormal, lanes.scale(x, 2.0**54), x), scaled_by)


def _terms(lanes: Lanes, f: Value) -> tuple[Value, Value]:
    """(h, s·(h + R(s²))): log(1 + f) = f - h + the second."""
    half_square = lanes.mul(lanes.scale(f, 0.5), f)
    s = lanes.div(f, lanes.add(f, lanes.const(2.0)))
    square = lanes.mul(s, s)
    series = lanes.fma(lanes.horner(square, LOG_R), square, half_square)
    return half_square, lanes.mul(s, series)


def _natural(lanes: Lanes, f: Value, e: Value, correction: Value | None = None) -> Value:
    """e·ln 2 + log(1 + f + correction); the correction is tiny compared with 1."""
    half_square, product = _terms(lanes, f)
    low = product if correction is None else lanes.add(product, correction)
    low = lanes.sub(half_square, lanes.fma(e, lanes.const(LOG_LN2_LOW), low))
    return lanes.fma(e, lanes.const(LOG_LN2_HIGH), lanes.sub(f, low))


def _in_two(lanes: Lanes, f: Value) -> tuple[Value, Value]:
    """log(1 + f) as a sum of two numbers, the second of which is small."""
    half_square, product = _terms(lanes, f)
    high = lanes.sub(f, half_square)
    return high, lanes.add(lanes.sub(lanes.sub(f, high), half_square), product)


def _scaled_sum(lanes: Lanes, parts: tuple[Value, Value], factor: float, factor_low: float, e: Value) -> Value:
    """e plus the sum of the parts times the sum of the factors; the leading sum, e + product, is corrected exactly."""
    high, low = parts
    constant = lanes.const(factor)
    product = lanes.mul(high, constant)
    rest = lanes.fma(high, constant, lanes.negate(product))
    rest = lanes.fma(low, constant, lanes.fma(lanes.add(high, low), lanes.const(factor_low), rest))
    total = lanes.add(e, product)
    return lanes.add(total, lanes.add(lanes.add(lanes.sub(e, total), product), rest))


def log(lanes: Lanes, x: Value) -> Value:
    """ln x, at most 1 ulp off; log(±0) = -inf, log(negative) = NaN, denormals exact like all others."""
    if lanes.avx512_double:
        return log_by_table(lanes, x)
    f, e = _split_any(lanes, x)
    return special(lanes, x, _natural(lanes, f, e))


def log2(lanes: Lanes, x: Value) -> Value:
    """log₂ x, at most 1 ulp off; exact for powers of two."""
    if lanes.avx512_double:
        return log2_by_table(lanes, x)
    f, e = _split_any(lanes, x)
    return special(lanes, x, _scaled_sum(lanes, _in_two(lanes, f), LOG2_E, LOG2_E_LOW, e))


def log10(lanes: Lanes, x: Value) -> Value:
    """log₁₀ x, at most 1 ulp off; exact for powers of ten."""
    if lanes.avx512_double:
        return log10_by_table(lanes, x)
    f, e = _split_any(lanes, x)
    high, low = _in_two(lanes, f)
    whole = lanes.scale(e, LOG10_2_HIGH)
    result = _scaled_sum(
        lanes, (high, lanes.fma(e, lanes.const(LOG10_2_LOW / LOG10_E), low)), LOG10_E, LOG10_E_LOW, whole
    )
    return special(lanes, x, result)


def log1p(lanes: Lanes, x: Value) -> Value:
    """ln(1 + x), at most 1 ulp off; log1p(-0.0) = -0.0, log1p(-1) = -inf, log1p(below -1) = NaN.

    u = 1 + x is rounded; what the rounding lost, divided by u, is added to the result.
    """
    one = lanes.const(1.0)
    u = lanes.add(one, x)
    large = lanes.compare("ogt", x, one)
    lost = lanes.select(large, lanes.sub(one, lanes.sub(u, x)), lanes.sub(x, lanes.sub(u, one)))
    f, e = _split(lanes, u)
    result = _natural(lanes, f, e, correction=lanes.div(lost, u))
    result = lanes.select(lanes.compare("olt", lanes.abs(x), lanes.const(2.0**-54)), x, result)
    return special(lanes, x, result, pole=-1.0)


# erf for f64, scalar or vector, without branches.


SPLIT = 1.0
ERF_IS_ONE = 5.95
"""From here on erf rounds to 1."""

SMALL_P = (
    -7.801196917551076e-10,
    1.372297939784883e-08,
    -1.6209176310612294e-07,
    1.6447517679364607e-06,
    -1.4924744658598196e-05,
    0.0001205529531995124,
    -0.0008548325989667251,
    0.005223977607422596,
    -0.026866170643276083,
    0.11283791670945252,
    -0.3761263890318355,
    0.12837916709551256,
)
"""erf x = x + x·P(x²) to 2⁻⁵⁷ for |x| ≤ `SPLIT`."""

LARGE_P = (
    2.0144565851778876e-13,
    -9.966532262253316e-12,
    2.3234414806340465e-10,
    -3.393008792221536e-09,
    3.4783000353170044e-08,
    -2.6553314388081653e-07,
    1.5593514418749984e-06,
    -7.146726022289862e-06,
    2.5448116035587647e-05,
    -6.77832666706869e-05,
    0.00011709300648954757,
    -3.2635390133853996e-05,
    -0.0005379763857234355,
    0.0016594549085658886,
    -0.0001891740184222021,
    -0.019136574277540768,
    0.10277491586742045,
    0.6366193612444645,
    0.1283792014239169,
)
"""erf x = 1 - exp(-x - x·P(x)) to 2⁻⁶¹ from `SPLIT` to `ERF_IS_ONE`."""


def erf(lanes: Lanes, x: Value) -> Value:
    """erf x, at most 1.2 ulp off; erf(±inf) = ±1, erf(-0.0) = -0.0, NaN stays NaN.

    The scheme is that of `math_erf`, N. Juffa's, with polynomials that are minimax for the relative error of erf.
    """
    magnitude = lanes.at_most(lanes.abs(x), ERF_IS_ONE)
    square = lanes.mul(magnitude, magnitude)
    small = lanes.fma(lanes.horner(square, SMALL_P), x, x)
    less = lanes.negate(magnitude)
    even, odd = (
        lanes.horner(square, LARGE_P[::2]),
        lanes.horner(square, LARGE_P[1::2]),
    )  # half as long a chain
    exponent = lanes.fma(lanes.fma(odd, magnitude, even), less, less)
    large = lanes.copysign(lanes.sub(lanes.const(1.0), exp_of_moderate(lanes, exponent)), x)
    return lanes.select(lanes.compare("ogt", magnitude, lanes.const(SPLIT)), large, small)


# sinh, cosh and tanh for f64, scalar or vector, without branches, as those for f32 in `math_trig`.


SINH_P = (
    7.75931366926888e-13,
    1.605724029266926e-10,
    2.505212339917272e-08,
    2.7557319155333173e-06,
    0.00019841269841437692,
    0.008333333333333139,
    0.16666666666666669,
)
"""sinh x = x + x³·P(x²) to 2⁻⁶³ for |x| ≤ 1; minimax."""

SINH_IS_INFINITE = 711.0
"""From here on sinh and cosh are infinite."""

TANH_IS_ONE = 20.0


def cosh(lanes: Lanes, x: Value) -> Value:
    """cosh x, at most 2 ulp off; cosh(±inf) = inf."""
    quarter = exp_of_moderate(lanes, lanes.at_most(lanes.abs(x), SINH_IS_INFINITE), -2)
    return lanes.fma(quarter, lanes.const(2.0), lanes.div(lanes.const(0.125), quarter))


def sinh(lanes: Lanes, x: Value) -> Value:
    """sinh x, at most 2 ulp off; sinh(±inf) = ±inf, sinh(-0.0) = -0.0."""
    magnitude = lanes.at_most(lanes.abs(x), SINH_IS_INFINITE)
    quarter = exp_of_moderate(lanes, magnitude, -2)
    large = lanes.fma(quarter, lanes.const(2.0), lanes.div(lanes.const(-0.125), quarter))
    is_large = lanes.compare("ogt", magnitude, lanes.const(1.0))
    return lanes.copysign(lanes.select(is_large, large, odd(lanes, magnitude, SINH_P)), x)


def tanh(lanes: Lanes, x: Value) -> Value:
    """tanh |x| = u / (u + 2), u being e^2|x| - 1; at most 2 ulp off.

    tanh(±inf) = ±1, tanh(-0.0) = -0.0, NaN stays NaN.
    """
    magnitude = lanes.at_most(lanes.abs(x), TANH_IS_ONE)
    u = expm1_of_moderate(lanes, lanes.add(magnitude, magnitude))
    return lanes.copysign(ratio_to_two_more(lanes, u), x)
