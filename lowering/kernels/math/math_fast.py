"""exp, exp2, tanh and erf for f32 by shorter polynomials, for programs that ask for them (``math.fast``).

Relative errors are at most 1e-5. NaN stays NaN, infinities and signed zeros come out as in libm; results of exp and
exp2 below 2^-125 are 0. tanh and erf are x·P(x²)/Q(x²), fitted for the relative error by linear programs (the
differential correction of E. Cheney and H. Loeb). They are raised a little so that they reach 1, and clamped there: so
1 - erf and 1 + erf become exactly 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math.math_exp import BIAS, LOG2_E, ROUGH_P, ROUND_TO_INT

TANH_LIMIT = 7.0
TANH_P = (3.99380315e-6, 2.29268172e-3, 1.23216286e-1, 1.00000203)
TANH_Q = (1.43938392e-4, 2.11496931e-2, 4.56541449e-1, 1.0)
ERF_LIMIT = 3.3
ERF_P = (7.44513702e-4, 4.31258231e-2, 1.54766575e-1, 1.12838340)
ERF_Q = (9.25385579e-3, 9.49557498e-2, 4.70502645e-1, 1.0)

LEAST, GREATEST = -126.25, 128.5
"""2^x is 0 and infinite from here on: a power of two is formed at half its size, and 2^-127 by its bits is 0."""


def exp(lanes: Lanes, x: Value) -> Value:
    """e^x, relative error at most 6e-6 (1e-5 promised); 0 below e^-86.6."""
    return _power(lanes, x, LOG2_E)


def exp2(lanes: Lanes, x: Value) -> Value:
    """2^x, relative error at most 4e-6 (1e-5 promised); 0 below 2^-125."""
    return _power(lanes, x, 1.0)


def _power(lanes: Lanes, x: Value, factor: float) -> Value:
    """2^(factor·x)."""
    x, scale = lanes.clamp(x, LEAST / factor, GREATEST / factor), lanes.const(factor)
    magic = lanes.const(ROUND_TO_INT + BIAS - 1)
    shifted = lanes.fma(x, scale, magic)
    fraction = lanes.fma(x, scale, lanes.sub(magic, shifted))
    half = lanes.from_bits(lanes.shift_left(lanes.bits(shifted), 23))
    value = lanes.mul(lanes.horner(fraction, (*ROUGH_P, 1.0)), half)
    return lanes.add(value, value)


def tanh(lanes: Lanes, x: Value) -> Value:
    """tanh x, relative error at most 5e-6 (1e-5 promised)."""
    return _sigmoidal(lanes, x, TANH_LIMIT, TANH_P, TANH_Q)


def erf(lanes: Lanes, x: Value) -> Value:
    """erf x, relative error at most 9e-6 (1e-5 promised)."""
    return _sigmoidal(lanes, x, ERF_LIMIT, ERF_P, ERF_Q)


def _sigmoidal(
    lanes: Lanes, x: Value, limit: float, numerator: Sequence[float], denominator: Sequence[float]
) -> Value:
    """x·P(x²)/Q(x²) for |x| ≤ limit, ±1 beyond."""
    x = lanes.clamp(x, -limit, limit)
    square = lanes.mul(x, x)
    top = lanes.mul(x, lanes.horner(square, numerator))
    return lanes.clamp(lanes.div(top, lanes.horner(square, denominator)), -1.0, 1.0)
