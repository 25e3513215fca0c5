"""Exponentials of f32 with AVX-512: sixteen powers of two in a register, and a polynomial of the third degree.

2^s = 2^⌊y⌋·2^(y - ⌊y⌋)·2^f, y being s rounded to sixteenths. The sum of s and 1.5·2¹⁹ is in steps of a sixteenth, so
its lowest four bits are the table index of 2^(y - ⌊y⌋), and the instruction that scales by a power of two rounds y down
itself. The algorithm is P. T. P. Tang's ("Table-driven implementation of the exponential function in IEEE
floating-point arithmetic", 1989).

The table holds 2^(n/16)·c, and the polynomials cancel c. With c = 1 rounding the table to f32 costs half an ulp. For
some c all sixteen products are close to an f32, as in S. Gal's accurate tables ("An accurate elementary mathematical
library for the IEEE floating point standard", 1991); with this c the rounding costs less than a quarter.
"""

from __future__ import annotations

import numpy as np
from relax_mlir.lowering.kernels.core.avx512 import TABLE_SIZE, look_up, times_power, within
from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes

_ROUND_TO_SIXTEENTHS = 1.5 * 2.0**19

_REST = 1.0 / 16.0
"""An upper bound of the remainder of any x whose power is neither 0 nor inf."""

_C = 2.0**-0.0002914525038463905
"""Of eight million c near 1 none is better by more than 0.002 ulp."""

_TABLE = tuple(float(np.float32(2.0 ** (n / TABLE_SIZE) * _C)) for n in range(TABLE_SIZE))

_EXP_P = (0.1667062, 0.5001206, 1.0002021, 2.020388e-4)
"""e^r/c - 1 to 1.6e-9 for |r| ≤ ln 2 / 32; fits as in `attention_exp`, here and below."""

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
