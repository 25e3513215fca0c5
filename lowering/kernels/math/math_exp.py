"""exp, exp2 and expm1 for f32, scalar or vector, without branches.

All write x = n·ln 2 + r with |r| ≤ ln 2 / 2 and approximate e^r by 1 + r + r²·P(r), P being the minimax
polynomial of that form (its own error: 0.05 ulp). ln 2 is split in two (W. Cody and W. Waite).

The integer n comes from adding 1.5·2²³: the sum's low bits *are* n, and with 127 added too they are, shifted by
23, the bits of 2ⁿ. A conversion float → integer would be poison for NaN, this is not. With AVX-512, exp and exp2 are
those of `math_exp`.
"""

from __future__ import annotations

import math

import numpy as np
from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.core.simd import TABLE_SIZE, look_up, times_power, within
from relax_mlir.mlir import math as math_dialect

# Exponentials of f32 with AVX-512: sixteen powers of two in a register, and a polynomial of the third degree.
#
# 2^s = 2^⌊y⌋·2^(y - ⌊y⌋)·2^f, y being s rounded to sixteenths. The sum of s and 1.5·2¹⁹ is in steps of a
# sixteenth, so its lowest four bits are the table index of 2^(y - ⌊y⌋), and the instruction that scales by a
# power of two rounds y down itself. The algorithm is P. T. P. Tang's ("Table-driven implementation of the
# exponential function in IEEE floating-point arithmetic", 1989).
#
# The table holds 2^(n/16)·c, and the polynomials cancel c. With c = 1 rounding the table to f32 costs half an
# ulp. For some c all sixteen products are close to an f32, as in S. Gal's accurate tables ("An accurate
# elementary mathematical library for the IEEE floating point standard", 1991); with this c the rounding costs
# less than a quarter.


_ROUND_TO_SIXTEENTHS = 1.5 * 2.0**19

_REST = 1.0 / 16.0
"""An upper bound of the remainder of any x whose power is neither 0 nor inf."""

_C = 2.0**-0.0002914525038463905
"""Of eight million c near 1 none is better by more than 0.002 ulp."""

_TABLE = tuple(float(np.float32(2.0 ** (n / TABLE_SIZE) * _C)) for n in range(TABLE_SIZE))

_EXP_P = (0.1667062, 0.5001206, 1.0002021, 2.020388e-4)
"""e^r/c - 1 to 1.6e-9 for |r| ≤ ln 2 / 32; fits as in `attention_softmax`, here and below."""

_EXP2_P = (0.055517275, 0.24028444, 0.6932872, 2.0203886e-4)
"""2^f/c - 1 to 2e-9 for |f| ≤ 1/32."""

_ROUGH_P = (0.24028678, 0.6933279, 2.020376e-4)
"""2^f/c - 1 to 4.3e-7 for |f| ≤ 1/32."""


def to_sixteenths(lanes: Lanes, x: Value, factor: float = 1.0) -> tuple[Value, Value]:
    """x·factor rounded to sixteenths, and the table index of its fraction's power."""
    rounding = lanes.const(_ROUND_TO_SIXTEENTHS)
    rounded = lanes.fma(x, lanes.const(factor), rounding)
    return lanes.sub(rounded, rounding), lanes.bits(rounded)


def exp_of_rest(lanes: Lanes, r: Value, place: Value, k: int = 0) -> Value:
    """e^r times the power of two at a table index, times 2^k, for |r| ≤ ln 2 / 32; 0.8 ulp off at most."""
    return _times_table(lanes, lanes.horner(r, _EXP_P), place, k)


def bounded_rest(r: Value) -> Value:
    """Clamp a remainder: for large x, inf and NaN the result depends on the scaling instruction alone.

    This is one instruction instead of the two that would clamp x.
    """
    return within(r, _REST)


def exp2_by_table(lanes: Lanes, x: Value) -> Value:
    """2^x for any x."""
    y, place = to_sixteenths(lanes, x)
    f = bounded_rest(lanes.sub(x, y))
    return times_power(_times_table(lanes, lanes.horner(f, _EXP2_P), place), y)


def exp_by_table_rough(lanes: Lanes, x: Value, log2_e: float, k: int) -> Value:
    """e^x·2^k to 19 bits, for |x| ≤ 128."""
    y, place = to_sixteenths(lanes, x, log2_e)
    f = lanes.fma(x, lanes.const(log2_e), lanes.negate(y))
    return times_power(_times_table(lanes, lanes.horner(f, _ROUGH_P), place, k), y)


def _times_table(lanes: Lanes, less: Value, place: Value, k: int = 0) -> Value:
    """(1 + `less`)·2^k times the table entry at an index."""
    power = look_up([2.0**k * power for power in _TABLE], place)
    return lanes.fma(power, less, power)


LOG2_E = math.log2(math.e)
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
ROUND_TO_INT = 12582912.0
BIAS = 127
_TWICE = ROUND_TO_INT + 2 * BIAS
EXP_P = (1.3814479e-3, 8.3687799e-3, 4.1668393e-2, 1.6666520e-1, 4.9999994e-1)
ROUGH_P = (9.5827021e-3, 5.5907011e-2, 2.4024105e-1, 6.9312418e-1)
"""2^f = 1 + f·P(f) to 3e-6 for |f| ≤ ½."""

VANISHES = -104.5
"""e to this is less than half of the smallest f32."""

SCALE_BITS = 32
"""`exp_scaled` gives results times two to this power, so that none of them is denormal."""


def _reduce(lanes: Lanes, x: Value, magic: Value) -> tuple[Value, Value]:
    """(r, 2^(n + k)): x = n·ln 2 + r; `magic` is `ROUND_TO_INT` + `BIAS` + k, and n + k in [-126, 127]."""
    r, shifted = _split(lanes, x, magic)
    return r, lanes.from_bits(lanes.shift_left(lanes.bits(shifted), 23))


def _split(lanes: Lanes, x: Value, magic: Value) -> tuple[Value, Value]:
    """(r, n + `magic`): x = n·ln 2 + r."""
    shifted = lanes.fma(x, lanes.const(LOG2_E), magic)
    return _rest(lanes, x, lanes.sub(shifted, magic)), shifted


def _rest(lanes: Lanes, x: Value, n: Value) -> Value:
    """x - n·ln 2."""
    return lanes.fma(n, lanes.const(-LN2_LOW), lanes.fma(n, lanes.const(-LN2_HIGH), x))


def _magic(lanes: Lanes, k: int = 0) -> Value:
    return lanes.const(ROUND_TO_INT + BIAS + k)


def _of_rest(lanes: Lanes, r: Value) -> Value:
    """e^r for |r| ≤ ln 2 / 2."""
    return lanes.horner(r, (*EXP_P, 1.0, 1.0))


def _by_table(lanes: Lanes, x: Value, any_size: bool = False, k: int = 0) -> Value:
    """e^x·2^k with AVX-512, for |x| ≤ -`VANISHES`, or for x of `any_size`."""
    y, place = to_sixteenths(lanes, x, LOG2_E)
    rest = _rest(lanes, x, y)
    return times_power(exp_of_rest(lanes, bounded_rest(rest) if any_size else rest, place, k), y)


def _exp_minus_one(lanes: Lanes, r: Value) -> Value:
    """e^r - 1 for |r| ≤ ln 2 / 2."""
    return lanes.fma(lanes.mul(r, r), lanes.horner(r, EXP_P), r)


def _times_halves(lanes: Lanes, y: Value, shifted: Value) -> Value:
    """y·2ⁿ, `shifted` being n + `_TWICE`: y times 2^(n / 2) rounded down, times the rest of 2ⁿ.

    Both are normal numbers for |n| ≤ 252, so results are rounded once: through the denormals to 0, and to inf.
    """
    whole = lanes.bits(shifted)
    half = lanes.shift_right(whole, 1)
    for part in (half, lanes.int_sub(whole, half)):
        y = lanes.mul(y, lanes.from_bits(lanes.shift_left(part, 23)))
    return y


def exp(lanes: Lanes, x: Value) -> Value:
    """e^x, at most 1.1 ulp off, denormal results included; exp(-inf) = 0, exp(inf) = inf, NaN stays NaN."""
    if lanes.avx512:
        return _by_table(lanes, x, any_size=True)
    x = lanes.clamp(x, VANISHES, 89.0)
    r, shifted = _split(lanes, x, lanes.const(_TWICE))
    return _times_halves(lanes, _of_rest(lanes, r), shifted)


def exp_of_moderate(lanes: Lanes, x: Value) -> Value:
    """e^x for x in [-87, 88], where the result is a normal number; at most 1.1 ulp off. NaN stays NaN."""
    if lanes.avx512:
        return _by_table(lanes, x)
    r, power = _reduce(lanes, x, _magic(lanes))
    return lanes.mul(_of_rest(lanes, r), power)


def quarter_of_exp(lanes: Lanes, x: Value) -> Value:
    """e^x / 4 for x in [0, 90], at most 1.1 ulp off. NaN stays NaN."""
    r, power = _reduce(lanes, x, _magic(lanes, -2))
    return lanes.mul(_of_rest(lanes, r), power)


def exp_scaled(lanes: Lanes, x: Value) -> Value:
    """e^x·2^`SCALE_BITS` for x ≤ 0, at most 1.1 ulp off; less than 2^(`SCALE_BITS` - 150) for -inf, NaN for NaN."""
    x = lanes.at_least(x, VANISHES)
    if lanes.avx512:
        return _by_table(lanes, x, k=SCALE_BITS)
    r, power = _reduce(lanes, x, _magic(lanes, SCALE_BITS))
    return lanes.mul(_of_rest(lanes, r), power)


def exp_scaled_rough(lanes: Lanes, x: Value) -> Value:
    """`exp_scaled` to 17 bits, for what is rounded to f16 or bf16."""
    x = lanes.at_least(x, VANISHES)
    if lanes.avx512:
        return exp_by_table_rough(lanes, x, LOG2_E, SCALE_BITS)
    magic, log2_e = _magic(lanes, SCALE_BITS), lanes.const(LOG2_E)
    shifted = lanes.fma(x, log2_e, magic)
    fraction = lanes.fma(x, log2_e, lanes.sub(magic, shifted))
    power = lanes.from_bits(lanes.shift_left(lanes.bits(shifted), 23))
    return lanes.mul(lanes.horner(fraction, (*ROUGH_P, 1.0)), power)


def exp2(lanes: Lanes, x: Value) -> Value:
    """2^x, at most 1.1 ulp off, denormal results included."""
    if lanes.avx512:
        return exp2_by_table(lanes, x)
    x = lanes.clamp(x, -151.0, 128.5)
    magic = lanes.const(_TWICE)
    shifted = lanes.add(x, magic)
    fraction = lanes.sub(x, lanes.sub(shifted, magic))
    y = _of_rest(lanes, lanes.scale(fraction, math.log(2.0)))
    return _times_halves(lanes, y, shifted)


def expm1(lanes: Lanes, x: Value) -> Value:
    """e^x - 1, at most 1.6 ulp off; expm1(-0.0) = -0.0, expm1(-inf) = -1.

    2ⁿ·(e^r - 1) + (2ⁿ - 1) is formed at half its size, since 2¹²⁸ is no f32 although results near it are.
    """
    limited = lanes.clamp(x, -18.0, 89.0)
    r, half_power = _reduce(lanes, limited, _magic(lanes, -1))
    half = lanes.fma(_exp_minus_one(lanes, r), half_power, lanes.sub(half_power, lanes.const(0.5)))
    tiny = lanes.compare("olt", lanes.abs(x), lanes.const(2.0**-24))
    return lanes.select(tiny, x, lanes.add(half, half))


def expm1_of_moderate(lanes: Lanes, x: Value) -> Value:
    """e^x - 1 for x in [-87, 88], at most 1.6 ulp off. NaN stays NaN."""
    r, power = _reduce(lanes, x, _magic(lanes))
    return lanes.fma(_exp_minus_one(lanes, r), power, lanes.sub(power, lanes.const(1.0)))


def expm1_by_libm(lanes: Lanes, x: Value) -> Value:
    """e^x - 1 in f64 from libm's exp and log, a few ulp off (upstream's lowering loses all digits near zero).

    W. Kahan's algorithm, with u = e^x rounded, (u - 1)·x / log u: the errors of numerator and denominator cancel.
    """
    one = lanes.const(1.0)
    u = math_dialect.ExpOp(x).result
    less = lanes.sub(u, one)
    result = lanes.mul(less, lanes.div(x, math_dialect.LogOp(u).result))
    # u is 1: x itself; u has no part of x left (0 + -1, inf - 1) or is NaN: u - 1 is the result.
    bounded = lanes.compare("olt", lanes.abs(x), lanes.const(40.0))
    result = lanes.select(bounded, result, less)
    return lanes.select(lanes.compare("oeq", u, one), x, result)
