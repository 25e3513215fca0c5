"""Exponentials of f64 with AVX-512: sixteen powers of two in two registers, and a polynomial of the sixth degree.

As those of f32 (`exp_table`): x = y·ln 2 + r, y being rounded to sixteenths, and e^x = 2^⌊y⌋·2^(y - ⌊y⌋)·e^r. The table
has each power as the sum of two numbers, the second of which is added to the small terms, so that results are rounded
about once. One instruction scales by 2^⌊y⌋, also to denormals, 0 and inf.
"""

from __future__ import annotations

from relax_mlir.lowering.kernels.core.avx512 import look_up, times_power, within
from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes

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


def exp(lanes: Lanes, x: Value, k: int = 0) -> Value:
    """e^x·2ᵏ for any x, at most 0.7 ulp off."""
    y, place = _to_sixteenths(lanes, lanes.fma(x, lanes.const(_LOG2_E), lanes.const(_ROUND_TO_SIXTEENTHS)))
    high = lanes.fma(y, lanes.const(-_LN2_HIGH), x)
    r = within(lanes.fma(y, lanes.const(-_LN2_LOW), high), _REST)
    return _times_table(lanes, r, _EXP_Q, place, y, k)


def exp2(lanes: Lanes, x: Value) -> Value:
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
