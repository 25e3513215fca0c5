"""erf for f64, scalar or vector, without branches."""

from __future__ import annotations

from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math.math_exp_double import exp_of_moderate

SPLIT = 1.0
ERF_IS_ONE = 5.95
"""From here on erf rounds to 1."""

SMALL_P = (
    -7.801196917551076e-10,
    1.372297939784883e-08,
    -1.6209176310612294e-07,
    1.6447517679364607e-06,
    -1.4924744658598196e-05,
    0.0001205529531995124,
    -0.0008548325989667251,
    0.005223977607422596,
    -0.026866170643276083,
    0.11283791670945252,
    -0.3761263890318355,
    0.12837916709551256,
)
"""erf x = x + x·P(x²) to 2⁻⁵⁷ for |x| ≤ `SPLIT`."""

LARGE_P = (
    2.0144565851778876e-13,
    -9.966532262253316e-12,
    2.3234414806340465e-10,
    -3.393008792221536e-09,
    3.4783000353170044e-08,
    -2.6553314388081653e-07,
    1.5593514418749984e-06,
    -7.146726022289862e-06,
    2.5448116035587647e-05,
    -6.77832666706869e-05,
    0.00011709300648954757,
    -3.2635390133853996e-05,
    -0.0005379763857234355,
    0.0016594549085658886,
    -0.0001891740184222021,
    -0.019136574277540768,
    0.10277491586742045,
    0.6366193612444645,
    0.1283792014239169,
)
"""erf x = 1 - exp(-x - x·P(x)) to 2⁻⁶¹ from `SPLIT` to `ERF_IS_ONE`."""


def erf(lanes: Lanes, x: Value) -> Value:
    """erf x, at most 1.2 ulp off; erf(±inf) = ±1, erf(-0.0) = -0.0, NaN stays NaN.

    The scheme is that of `math_erf`, N. Juffa's, with polynomials that are minimax for the relative error of erf.
    """
    magnitude = lanes.at_most(lanes.abs(x), ERF_IS_ONE)
    square = lanes.mul(magnitude, magnitude)
    small = lanes.fma(lanes.horner(square, SMALL_P), x, x)
    less = lanes.negate(magnitude)
    even, odd = (
        lanes.horner(square, LARGE_P[::2]),
        lanes.horner(square, LARGE_P[1::2]),
    )  # half as long a chain
    exponent = lanes.fma(lanes.fma(odd, magnitude, even), less, less)
    large = lanes.copysign(lanes.sub(lanes.const(1.0), exp_of_moderate(lanes, exponent)), x)
    return lanes.select(lanes.compare("ogt", magnitude, lanes.const(SPLIT)), large, small)
