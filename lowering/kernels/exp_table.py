"""Exponentials of f32 with AVX-512: sixteen powers of two in a register, and a polynomial of the third degree.

2^s = 2^⌊y⌋·2^(y - ⌊y⌋)·2^f, y being s rounded to sixteenths. The sum of s and 1.5·2¹⁹ is in steps of a sixteenth, so
its lowest four bits are the place of 2^(y - ⌊y⌋) in the table, and the instruction that scales by a power of two rounds
y down itself. The way is P. T. P. Tang's ("Table-driven implementation of the exponential function in IEEE
floating-point arithmetic", 1989).
"""

from __future__ import annotations

import numpy as np
from relax_mlir.lowering.kernels.avx512 import SIZE, look_up, times_power
from relax_mlir.lowering.kernels.emit import Value
from relax_mlir.lowering.kernels.lanes import Lanes

_ROUND_TO_SIXTEENTHS = 1.5 * 2.0**19

_EXP_P = (0.16666928, 0.5000162)
"""e^r = 1 + r + r²·P(r) to 1.6e-9 for |r| ≤ ln 2 / 32; fits as in `attention_exp`, here and below."""

_EXP2_P = (0.055503346, 0.24023427, 0.6931472)
"""2^f = 1 + f·P(f) to 1.6e-9 for |f| ≤ 1/32."""

_ROUGH_P = (0.24023485, 0.69318783)
"""2^f = 1 + f·P(f) to 4.3e-7 for |f| ≤ 1/32."""

_POWERS = tuple(float(np.float32(2.0 ** (n / SIZE))) for n in range(SIZE))
_ROUNDED_BY = tuple(2.0 ** (n / SIZE) / power - 1.0 for n, power in enumerate(_POWERS))
"""The powers of two are so much larger than the f32 next to them (relatively)."""


def to_sixteenths(lanes: Lanes, x: Value, factor: float = 1.0) -> tuple[Value, Value]:
    """x·factor rounded to sixteenths, and the place of the fraction's power in the table."""
    rounding = lanes.const(_ROUND_TO_SIXTEENTHS)
    rounded = lanes.fma(x, lanes.const(factor), rounding)
    return lanes.sub(rounded, rounding), lanes.bits(rounded)


def exp_of_rest(lanes: Lanes, r: Value, place: Value) -> Value:
    """e^r times the power of two that has a place in the table, for |r| ≤ ln 2 / 32, less than an ulp off."""
    linear = lanes.add(r, look_up(_ROUNDED_BY, place))
    return _times_table(lanes, lanes.fma(lanes.mul(r, r), lanes.horner(r, _EXP_P), linear), place)


def exp_of_rest_once_rounded(lanes: Lanes, r: Value, place: Value, k: int = 0) -> Value:
    """The same times 2^k, an ulp off at most, in a tenth less time: with powers as the table has them, rounded."""
    return _times_table(lanes, lanes.fma(lanes.mul(r, r), lanes.horner(r, _EXP_P), r), place, k)


def exp2_by_table(lanes: Lanes, x: Value) -> Value:
    """2^x for |x| ≤ 2¹⁸."""
    y, place = to_sixteenths(lanes, x)
    f = lanes.sub(x, y)
    less = lanes.fma(f, lanes.horner(f, _EXP2_P), look_up(_ROUNDED_BY, place))
    return times_power(_times_table(lanes, less, place), y)


def exp_by_table_rough(lanes: Lanes, x: Value, log2_e: float, k: int) -> Value:
    """e^x·2^k to 19 bits, for |x| ≤ 128."""
    y, place = to_sixteenths(lanes, x, log2_e)
    f = lanes.fma(x, lanes.const(log2_e), lanes.negate(y))
    return times_power(_times_table(lanes, lanes.mul(f, lanes.horner(f, _ROUGH_P)), place, k), y)


def _times_table(lanes: Lanes, less: Value, place: Value, k: int = 0) -> Value:
    """(1 + `less`)·2^k times the power of two at a place."""
    power = look_up([2.0**k * power for power in _POWERS], place)
    return lanes.fma(power, less, power)
