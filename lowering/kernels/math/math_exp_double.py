"""exp, exp2 and expm1 for f64, scalar or vector, without branches.

As for f32 (`math_exp`): x = n·ln 2 + r with |r| ≤ ln 2 / 2, and e^r is 1 + r + r²·P(r), P being minimax. ln 2 is the
sum of two numbers, of which n times the first is subtracted exactly by a fused multiply-add. Adding 1.5·2⁵² leaves n in
the low bits of the sum (W. Cody and W. Waite, "Software manual for the elementary functions", 1980).
"""

from __future__ import annotations

import math

from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math import exp_table_double

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
        return exp_table_double.exp(lanes, x)
    r, shifted = _reduce(lanes, lanes.clamp(x, VANISHES, LARGEST), _TWICE)
    return _times_halves(lanes, _of_rest(lanes, r), shifted)


def exp2(lanes: Lanes, x: Value) -> Value:
    """2^x, at most 1 ulp off, denormal results included."""
    if lanes.avx512_double:
        return exp_table_double.exp2(lanes, x)
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
        return exp_table_double.exp(lanes, x, k)
    r, shifted = _reduce(lanes, x, ROUND_TO_INT + BIAS + k)
    return lanes.mul(_of_rest(lanes, r), _power(lanes, shifted))
