"""sinh, cosh and tanh for f64, scalar or vector, without branches, as those for f32 in `math_hyperbolic`."""

from __future__ import annotations

from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math.math_exp_double import exp_of_moderate, expm1_of_moderate
from relax_mlir.lowering.kernels.math.math_hyperbolic import odd, ratio_to_two_more

SINH_P = (
    7.75931366926888e-13,
    1.605724029266926e-10,
    2.505212339917272e-08,
    2.7557319155333173e-06,
    0.00019841269841437692,
    0.008333333333333139,
    0.16666666666666669,
)
"""sinh x = x + x³·P(x²) to 2⁻⁶³ for |x| ≤ 1; minimax."""

LARGEST = 711.0
"""From here on sinh and cosh are infinite."""

TANH_IS_ONE = 20.0


def cosh(lanes: Lanes, x: Value) -> Value:
    """cosh x, at most 2 ulp off; cosh(±inf) = inf."""
    quarter = exp_of_moderate(lanes, lanes.at_most(lanes.abs(x), LARGEST), -2)
    return lanes.fma(quarter, lanes.const(2.0), lanes.div(lanes.const(0.125), quarter))


def sinh(lanes: Lanes, x: Value) -> Value:
    """sinh x, at most 2 ulp off; sinh(±inf) = ±inf, sinh(-0.0) = -0.0."""
    magnitude = lanes.at_most(lanes.abs(x), LARGEST)
    quarter = exp_of_moderate(lanes, magnitude, -2)
    large = lanes.fma(quarter, lanes.const(2.0), lanes.div(lanes.const(-0.125), quarter))
    is_large = lanes.compare("ogt", magnitude, lanes.const(1.0))
    return lanes.copysign(lanes.select(is_large, large, odd(lanes, magnitude, SINH_P)), x)


def tanh(lanes: Lanes, x: Value) -> Value:
    """tanh |x| = u / (u + 2), u being e^2|x| - 1; at most 2 ulp off.

    tanh(±inf) = ±1, tanh(-0.0) = -0.0, NaN stays NaN.
    """
    magnitude = lanes.at_most(lanes.abs(x), TANH_IS_ONE)
    u = expm1_of_moderate(lanes, lanes.add(magnitude, magnitude))
    return lanes.copysign(ratio_to_two_more(lanes, u), x)
