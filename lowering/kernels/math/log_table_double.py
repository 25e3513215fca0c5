"""Logarithms of f64 with AVX-512: sixteen reciprocals in two registers, and a polynomial; no division.

x = 2ᵉ·m with m in [3/4, 3/2), and the table has a number i near 1/m for each 1/16 (1/32 below 1) of m. Then log x is
e·log 2 - log i + log(1 + r) with r = m·i - 1, which a fused multiply-add rounds once. The algorithm is P. T. P. Tang's
("Table-driven implementation of the logarithm function in IEEE floating-point arithmetic", 1990).

Each i was chosen such that its logarithm is within 2⁻⁶⁴ of a multiple of 2⁻⁴², as in S. Gal's accurate tables ("An
accurate elementary mathematical library for the IEEE floating point standard", 1991). Multiples of the high part of log
2 are multiples of 2⁻⁴², too, so their sum is exact. On both sides of 1 the number is 1 itself, so that r is x - 1, and
nothing is lost. Instructions split any x into exponent and mantissa: denormals need no extra code, and 0, ∞, NaN and
negative numbers give the right results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core.avx512 import exponent, look_up, mantissa
from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes

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


def log(lanes: Lanes, x: Value) -> Value:
    """ln x, at most 1 ulp off."""
    return _by_table(lanes, x, _NATURAL)


def log2(lanes: Lanes, x: Value) -> Value:
    """log₂ x, at most 1 ulp off; exact for powers of two."""
    return _by_table(lanes, x, _BINARY)


def log10(lanes: Lanes, x: Value) -> Value:
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
