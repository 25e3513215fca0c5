"""erf for f32, scalar or vector, without branches."""

from __future__ import annotations

from relax_mlir.lowering.kernels.emit import Value
from relax_mlir.lowering.kernels.lanes import Lanes
from relax_mlir.lowering.kernels.math_exp import exp_of_moderate

ERF_SPLIT = 0.927734375
ERF_IS_ONE = 4.0
"""From here on erf rounds to 1."""

ERF_SMALL_P = (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
ERF_LARGE_HIGH = (-1.72853470e-5, 3.83197126e-4)
ERF_LARGE_LOW = (-3.88396438e-3, 2.42546219e-2)
ERF_LARGE_P = (-1.06777877e-1, -6.34846687e-1, -1.28717512e-1)


def erf(lanes: Lanes, x: Value) -> Value:
    """erf x, at most 1.1 ulp off; erf(±inf) = ±1, erf(-0.0) = -0.0, NaN stays NaN.

    The scheme and the coefficients are N. Juffa's (``my_erff``, CUDA's ``erff`` is built alike): x + x·P(x²)
    near zero, 1 - exp(-|x|·Q(|x|)) beyond `ERF_SPLIT`.
    """
    magnitude = lanes.at_most(lanes.abs(x), ERF_IS_ONE)
    square = lanes.mul(magnitude, magnitude)
    small = lanes.fma(lanes.horner(square, ERF_SMALL_P), x, x)
    exponent = lanes.fma(
        lanes.horner(magnitude, ERF_LARGE_HIGH), square, lanes.horner(magnitude, ERF_LARGE_LOW)
    )
    for coefficient in ERF_LARGE_P:
        exponent = lanes.fma(exponent, magnitude, lanes.const(coefficient))
    exponent = lanes.fma(exponent, magnitude, lanes.negate(magnitude))
    large = lanes.copysign(lanes.sub(lanes.const(1.0), exp_of_moderate(lanes, exponent)), x)
    return lanes.select(lanes.compare("ogt", magnitude, lanes.const(ERF_SPLIT)), large, small)
