"""exp, exp2 and expm1 for f32, scalar or vector, without branches.

All three write x = n·ln 2 + r with |r| ≤ ln 2 / 2 and approximate e^r by 1 + r + r²·P(r). The coefficients of
P are those of ``expf`` of the Cephes library (S. Moshier); ln 2 is split in two, as there.

The integer n comes from adding 1.5·2²³: the sum's low bits *are* n. A conversion float → integer would be
poison for NaN, this is not.
"""

from __future__ import annotations

import math

from relax_mlir.lowering.kernels.emit import Value
from relax_mlir.lowering.kernels.lanes import Lanes, bits_of
from relax_mlir.mlir import math as math_dialect

LOG2_E = math.log2(math.e)
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
ROUND_TO_INT = 12582912.0
EXP_P = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)


def _scale_by_power(lanes: Lanes, y: Value, n: Value) -> Value:
    """y·2ⁿ for n in [-252, 254], rounded once: overflows to inf, underflows through the denormals to 0."""
    half = lanes.shift_right(n, 1)
    rest = lanes.int_sub(n, half)
    return lanes.mul(lanes.mul(y, lanes.power_of_two(half)), lanes.power_of_two(rest))


def _reduce(lanes: Lanes, x: Value) -> tuple[Value, Value]:
    """(r, n): x = n·ln 2 + r, n as integer bits."""
    shifted = lanes.fma(x, lanes.const(LOG2_E), lanes.const(ROUND_TO_INT))
    n = lanes.sub(shifted, lanes.const(ROUND_TO_INT))
    r = lanes.fma(n, lanes.const(-LN2_HIGH), x)
    r = lanes.fma(n, lanes.const(-LN2_LOW), r)
    return r, lanes.int_sub(lanes.bits(shifted), bits_of(ROUND_TO_INT))


def _exp_minus_one(lanes: Lanes, r: Value) -> Value:
    """e^r - 1 for |r| ≤ ln 2 / 2."""
    return lanes.fma(lanes.mul(r, r), lanes.horner(r, EXP_P), r)


def exp(lanes: Lanes, x: Value) -> Value:
    """e^x, at most 1.1 ulp off, denormal results included; exp(-inf) = 0, exp(inf) = inf, NaN stays NaN."""
    x = lanes.clamp(x, -104.5, 89.0)
    r, n = _reduce(lanes, x)
    return _scale_by_power(lanes, lanes.add(_exp_minus_one(lanes, r), lanes.const(1.0)), n)


def exp_of_moderate(lanes: Lanes, x: Value) -> Value:
    """e^x for x in [-87, 88], where the result is a normal number; at most 1.1 ulp off. NaN stays NaN."""
    r, n = _reduce(lanes, x)
    return lanes.mul(lanes.add(_exp_minus_one(lanes, r), lanes.const(1.0)), lanes.power_of_two(n))


def exp2(lanes: Lanes, x: Value) -> Value:
    """2^x, at most 1.1 ulp off, denormal results included."""
    x = lanes.clamp(x, -151.0, 128.5)
    shifted = lanes.add(x, lanes.const(ROUND_TO_INT))
    fraction = lanes.sub(x, lanes.sub(shifted, lanes.const(ROUND_TO_INT)))
    y = lanes.add(_exp_minus_one(lanes, lanes.scale(fraction, math.log(2.0))), lanes.const(1.0))
    return _scale_by_power(lanes, y, lanes.int_sub(lanes.bits(shifted), bits_of(ROUND_TO_INT)))


def expm1(lanes: Lanes, x: Value) -> Value:
    """e^x - 1, at most 1.6 ulp off; expm1(-0.0) = -0.0, expm1(-inf) = -1.

    2ⁿ·(e^r - 1) + (2ⁿ - 1) is formed at half its size, since 2¹²⁸ is no f32 although results near it are.
    """
    limited = lanes.clamp(x, -18.0, 89.0)
    r, n = _reduce(lanes, limited)
    half_power = lanes.power_of_two(lanes.int_sub(n, 1))
    half = lanes.fma(_exp_minus_one(lanes, r), half_power, lanes.sub(half_power, lanes.const(0.5)))
    tiny = lanes.compare("olt", lanes.abs(x), lanes.const(2.0**-24))
    return lanes.select(tiny, x, lanes.add(half, half))


def expm1_by_libm(lanes: Lanes, x: Value) -> Value:
    """e^x - 1 in f64 from libm's exp and log, a few ulp off (upstream's lowering loses all digits near zero).

    W. Kahan's way: with u = e^x rounded, (u - 1)·x / log u: the errors of numerator and denominator cancel.
    """
    one = lanes.const(1.0)
    u = math_dialect.ExpOp(x).result
    less = lanes.sub(u, one)
    result = lanes.mul(less, lanes.div(x, math_dialect.LogOp(u).result))
    # u is 1: x itself; u has no part of x left (0 + -1, inf - 1) or is NaN: u - 1 is the result.
    bounded = lanes.compare("olt", lanes.abs(x), lanes.const(40.0))
    result = lanes.select(bounded, result, less)
    return lanes.select(lanes.compare("oeq", u, one), x, result)
