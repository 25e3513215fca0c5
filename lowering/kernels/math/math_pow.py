"""pow for f32, scalar or vector, without branches: 2^(y·log₂ |x|) in f64, with C's values at the edges."""

from __future__ import annotations

import math

from relax_mlir.lowering.kernels.core.emit import Value, all_of, any_of
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math.math_log import log_wide, wide_of

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
