"""sinh, cosh, tanh and their inverses for f32, scalar or vector, without branches. The polynomials are minimax.

The inverses are logarithms of sums that lose digits near zero, so they are formed in f64.
"""

from __future__ import annotations

import math

from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math.math_exp import expm1_of_moderate, quarter_of_exp
from relax_mlir.lowering.kernels.math.math_log import log_wide, wide_of
from relax_mlir.mlir import math as math_dialect

# f(x) = x + x³·P(x²): sinh on [0, 1].
SINH_P = (2.8130478e-6, 1.9836958e-4, 8.3333449e-3, 1.6666667e-1)
LARGEST = 90.0
"""From here on sinh and cosh are infinite."""

SMALL = 2.0**-10
"""Below it x plus the cubic term is accurate to the last digit."""


def odd(lanes: Lanes, x: Value, coefficients: tuple[float, ...]) -> Value:
    """x + x³·P(x²)."""
    square = lanes.mul(x, x)
    return lanes.fma(lanes.mul(x, square), lanes.horner(square, coefficients), x)


def cosh(lanes: Lanes, x: Value) -> Value:
    """cosh x, at most 2 ulp off; cosh(±inf) = inf."""
    quarter = quarter_of_exp(lanes, lanes.at_most(lanes.abs(x), LARGEST))
    return lanes.fma(quarter, lanes.const(2.0), lanes.div(lanes.const(0.125), quarter))


def sinh(lanes: Lanes, x: Value) -> Value:
    """sinh x, at most 2 ulp off; sinh(±inf) = ±inf, sinh(-0.0) = -0.0."""
    magnitude = lanes.at_most(lanes.abs(x), LARGEST)
    quarter = quarter_of_exp(lanes, magnitude)
    large = lanes.fma(quarter, lanes.const(2.0), lanes.div(lanes.const(-0.125), quarter))
    is_large = lanes.compare("ogt", magnitude, lanes.const(1.0))
    return lanes.copysign(lanes.select(is_large, large, odd(lanes, magnitude, SINH_P)), x)


def tanh(lanes: Lanes, x: Value) -> Value:
    """tanh |x| = u / (u + 2), u being e^2|x| - 1; at most 2 ulp off.

    tanh(±inf) = ±1, tanh(-0.0) = -0.0, NaN stays NaN.
    """
    magnitude = lanes.at_most(lanes.abs(x), 10.0)
    u = expm1_of_moderate(lanes, lanes.add(magnitude, magnitude))
    return lanes.copysign(ratio_to_two_more(lanes, u), x)


def ratio_to_two_more(lanes: Lanes, u: Value) -> Value:
    """u / (u + 2), without the error of that sum."""
    two = lanes.const(2.0)
    inverse = lanes.div(lanes.const(1.0), lanes.add(u, two))
    quotient = lanes.mul(u, inverse)
    less = lanes.negate(quotient)
    # The remainder of u: what the quotient times u + 2 lacks.
    rest = lanes.fma(less, u, lanes.fma(less, two, u))
    return lanes.fma(rest, inverse, quotient)


def _unless_small(lanes: Lanes, magnitude: Value, result: Value, cubic: float) -> Value:
    small = lanes.fma(lanes.mul(lanes.scale(magnitude, cubic), magnitude), magnitude, magnitude)
    return lanes.select(lanes.compare("olt", magnitude, lanes.const(SMALL)), small, result)


def asinh(lanes: Lanes, x: Value) -> Value:
    """asinh x = ln(|x| + √(x² + 1)), at most 1 ulp off; asinh(±inf) = ±inf, asinh(-0.0) = -0.0."""
    magnitude, wide = lanes.abs(x), wide_of(lanes)
    y = lanes.widen(magnitude, wide)
    root = math_dialect.SqrtOp(wide.fma(y, y, wide.const(1.0))).result
    result = lanes.narrow(log_wide(wide, wide.add(y, root)))
    result = _unless_small(lanes, magnitude, result, -1.0 / 6.0)
    finite = lanes.compare("olt", magnitude, lanes.const(math.inf))
    return lanes.copysign(lanes.select(finite, result, magnitude), x)


def acosh(lanes: Lanes, x: Value) -> Value:
    """acosh x = ln(x + √(x² - 1)), at most 1 ulp off; NaN below 1, acosh(inf) = inf."""
    wide = wide_of(lanes)
    y = lanes.widen(x, wide)
    root = math_dialect.SqrtOp(wide.fma(y, y, wide.const(-1.0))).result
    result = lanes.narrow(log_wide(wide, wide.add(y, root)))
    finite = lanes.compare("olt", x, lanes.const(math.inf))
    result = lanes.select(finite, result, x)
    return lanes.select(lanes.compare("olt", x, lanes.const(1.0)), lanes.const(math.nan), result)


def atanh(lanes: Lanes, x: Value) -> Value:
    """atanh x = ½·ln((1 + |x|) / (1 - |x|)), at most 1 ulp off; atanh(±1) = ±inf, NaN beyond, atanh(-0.0) = -0.0."""
    magnitude, wide = lanes.abs(x), wide_of(lanes)
    y, one = lanes.widen(magnitude, wide), wide.const(1.0)
    log = log_wide(wide, wide.div(wide.add(one, y), wide.sub(one, y)))
    result = _unless_small(lanes, magnitude, lanes.narrow(wide.scale(log, 0.5)), 1.0 / 3.0)
    at_pole = lanes.compare("oeq", magnitude, lanes.const(1.0))
    result = lanes.select(at_pole, lanes.const(math.inf), result)
    inside = lanes.compare("ole", magnitude, lanes.const(1.0))
    return lanes.copysign(lanes.select(inside, result, lanes.const(math.nan)), x)
