"""The exponential of a score relative to the largest one: of a number that is not positive."""

from __future__ import annotations

import math as pymath

from relax_mlir.lowering.kernels.emit import Value
from relax_mlir.lowering.kernels.lanes import Lanes
from relax_mlir.lowering.kernels.math_exp import LOG2_E, ROUND_TO_INT
from relax_mlir.mlir import math

SMALLEST = -86.5
"""Results below e to this, about 2.7e-38, are 0: a weight next to 1 that no sum of float32 can see."""

POLYNOMIAL = (1.3843607e-3, 8.3741955e-3, 4.1668005e-2, 1.6666430e-1, 4.9999994e-1, 1.0, 1.0)
"""e^r for |r| ≤ ln 2 / 2, 1.8e-8 off, from the highest power down: a least-squares fit of the relative error with
the weights of C. Lawson's iteration, rounded to float32."""

EXPONENT_BIAS, MANTISSA_BITS = 127, 23


def exp_of_difference(lanes: Lanes, x: Value) -> Value:
    """e^x for x ≤ 0; NaN stays NaN, -inf gives 0. f32: at most 2 ulp off, or 0 where less than e^-86.5.

    x = n·ln 2 + r as in `math_exp`, with fewer instructions: no upper limit, ln 2 in one piece (n is small where
    the result counts), and 2ⁿ straight from the bits of the sum that rounds to n.
    """
    if lanes.width != 32:
        return math.ExpOp(x).result
    rounding = lanes.const(ROUND_TO_INT + EXPONENT_BIAS)
    shifted = lanes.fma(x, lanes.const(LOG2_E), rounding)
    n = lanes.sub(shifted, rounding)
    r = lanes.fma(n, lanes.const(-pymath.log(2.0)), x)
    power = lanes.from_bits(lanes.shift_left(lanes.bits(shifted), MANTISSA_BITS))
    result = lanes.mul(lanes.horner(r, POLYNOMIAL), power)
    return lanes.select(lanes.compare("olt", x, lanes.const(SMALLEST)), lanes.const(0.0), result)
