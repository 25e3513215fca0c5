"""The exponential of a score minus the largest score: its argument is never positive."""

from __future__ import annotations

import math as pymath
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.avx512 import times_power
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math.exp_table import exp_of_rest, to_sixteenths
from relax_mlir.lowering.kernels.math.math_exp import LOG2_E, ROUND_TO_INT, VANISHES
from relax_mlir.mlir import arith, ir, math

SMALLEST = -86.5
"""e to this power, about 2.7e-38, is still a normal f32; smaller results are flushed to 0."""

POLYNOMIAL = (1.3843607e-3, 8.3741955e-3, 4.1668005e-2, 1.6666430e-1, 4.9999994e-1, 1.0, 1.0)
"""Coefficients of e^r for |r| ≤ ln 2 / 2, from the highest power to the lowest, with an error of 1.8e-8.

They are a least-squares fit of the relative error with the weights of C. Lawson's iteration, rounded to f32."""

EXPONENT_BIAS, MANTISSA_BITS = 127, 23
DOUBLE_BIAS, DOUBLE_MANTISSA_BITS = 1023, 52


@dataclass(frozen=True)
class Exponential:
    """e^x / 2^k for x ≤ 0; NaN stays NaN, and -inf gives 0.

    The error in f32 is at most 2 ulp; where e^x is below e^-86.5 · 2^k, the result is 0 or close to 0. 2^k exceeds the
    number of keys, so that no sum of weights exceeds 1, and sums of large values do not overflow before they are
    divided by it. `down` is k, in the type of the accumulators.
    """

    down: e.Value

    @staticmethod
    def of(element: e.Type, keys: e.Index) -> Exponential:
        """The exponential for this number of keys."""
        if isinstance(keys, int):
            return Exponential(e.constant(element, keys.bit_length()))
        i64 = ir.IntegerType.get_signless(64)
        leading = math.CountLeadingZerosOp(arith.index_cast(i64, keys)).result
        return Exponential(arith.uitofp(element, arith.subi(e.constant(i64, 64), leading)))

    def emit(self, lanes: Lanes, x: e.Value) -> e.Value:
        """Emit the exponential of a vector.

        Reduce x = n·ln 2 + r as `math_exp` does, with fewer instructions: there is no upper clamp, ln 2 is one constant
        (n is small where the result matters), and 2ⁿ comes from the bits of the sum that rounds to n.
        """
        down = simd.splat(self.down, lanes.type.shape[0])
        if lanes.width != 32:
            return lanes.mul(math.ExpOp(x).result, _power(lanes, down))
        if lanes.avx512:
            x = lanes.at_least(x, VANISHES)
            y, place = to_sixteenths(lanes, x, LOG2_E)
            return times_power(exp_of_rest(lanes, _rest(lanes, x, y), place), lanes.sub(y, down))
        shift = lanes.sub(lanes.const(ROUND_TO_INT + EXPONENT_BIAS), down)
        smallest = lanes.fma(down, lanes.const(pymath.log(2.0)), lanes.const(SMALLEST))
        return _exp(lanes, x, shift, smallest)


def exp_of_difference(lanes: Lanes, x: e.Value) -> e.Value:
    """e^x for x ≤ 0, as `Exponential`, scalar or vector."""
    if lanes.width != 32:
        return math.ExpOp(x).result
    return _exp(lanes, x, lanes.const(ROUND_TO_INT + EXPONENT_BIAS), lanes.const(SMALLEST))


def _exp(lanes: Lanes, x: e.Value, rounding: e.Value, smallest: e.Value) -> e.Value:
    shifted = lanes.fma(x, lanes.const(LOG2_E), rounding)
    power = lanes.from_bits(lanes.shift_left(lanes.bits(shifted), MANTISSA_BITS))
    result = lanes.mul(lanes.horner(_rest(lanes, x, lanes.sub(shifted, rounding)), POLYNOMIAL), power)
    return lanes.select(lanes.compare("olt", x, smallest), lanes.const(0.0), result)


def _rest(lanes: Lanes, x: e.Value, n: e.Value) -> e.Value:
    """x - n·ln 2."""
    return lanes.fma(n, lanes.const(-pymath.log(2.0)), x)


def _power(lanes: Lanes, down: e.Value) -> e.Value:
    """2^-down in f64."""
    exponent = arith.fptosi(lanes.ints, lanes.sub(lanes.const(DOUBLE_BIAS), down))
    return lanes.from_bits(lanes.shift_left(exponent, DOUBLE_MANTISSA_BITS))
