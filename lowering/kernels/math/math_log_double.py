"""log, log2, log10 and log1p for f64, scalar or vector, without branches.

x = 2ᵉ·(1 + f) with 1 + f in [√½, √2). With s = f / (2 + f), log(1 + f) = f - (h - s·(h + R(s²))), h = f²/2: the scheme
and the coefficients of R are those of ``e_log.c`` of FDLIBM (Sun Microsystems, 1993); logarithms to other bases are
formed from high and low parts, as in FreeBSD's ``e_log2.c`` and ``e_log10.c``, with products made exact by fused
multiply-adds. Denormals are first scaled by 2⁵⁴. With AVX-512, `log_table_double` is used for all but log1p.
"""

from __future__ import annotations

from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math import log_table_double
from relax_mlir.lowering.kernels.math.math_log import special
from relax_mlir.mlir import arith

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
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
LOG2_E, LOG2_E_LOW = 1.4426950408889634, 2.0355273740931033e-17
LOG10_E, LOG10_E_LOW = 0.4342944819032518, 1.098319650216765e-17
LOG10_2_HIGH, LOG10_2_LOW = 3.01029995663611771306e-01, 3.69423907715893078616e-13
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
MANTISSA_BITS, OFFSET = 52, 1024
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
    low = lanes.sub(half_square, lanes.fma(e, lanes.const(LN2_LOW), low))
    return lanes.fma(e, lanes.const(LN2_HIGH), lanes.sub(f, low))


def _in_two(lanes: Lanes, f: Value) -> tuple[Value, Value]:
    """log(1 + f) as a sum of two numbers, the second of which is small."""
    half_square, product = _terms(lanes, f)
    high = lanes.sub(f, half_square)
    return high, lanes.add(lanes.sub(lanes.sub(f, high), half_square), product)


def _scaled_sum(
    lanes: Lanes, parts: tuple[Value, Value], factor: float, factor_low: float, e: Value
) -> Value:
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
        return log_table_double.log(lanes, x)
    f, e = _split_any(lanes, x)
    return special(lanes, x, _natural(lanes, f, e))


def log2(lanes: Lanes, x: Value) -> Value:
    """log₂ x, at most 1 ulp off; exact for powers of two."""
    if lanes.avx512_double:
        return log_table_double.log2(lanes, x)
    f, e = _split_any(lanes, x)
    return special(lanes, x, _scaled_sum(lanes, _in_two(lanes, f), LOG2_E, LOG2_E_LOW, e))


def log10(lanes: Lanes, x: Value) -> Value:
    """log₁₀ x, at most 1 ulp off; exact for powers of ten."""
    if lanes.avx512_double:
        return log_table_double.log10(lanes, x)
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
