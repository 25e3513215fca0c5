"""sinh, cosh, tanh and their inverses for f32, scalar or vector, without branches. The polynomials are minimax.

The inverses are logarithms of sums that lose digits near zero, so they are formed in f64.
"""

from __future__ import annotations

import math

from relax_mlir.lowering.kernels.emit import Value
from relax_mlir.lowering.kernels.lanes import Lanes, same_shape
from relax_mlir.lowering.kernels.math_exp import exp_of_moderate, quarter_of_exp
from relax_mlir.mlir import arith, ir
from relax_mlir.mlir import math as math_dialect

# f(x) = x + x³·P(x²): sinh on [0, 1], tanh on [0, 0.55].
SINH_P = (2.8130478e-6, 1.9836958e-4, 8.3333449e-3, 1.6666667e-1)
TANH_P = (-6.4324043e-3, 2.1195378e-2, -5.3886339e-2, 1.3332967e-1, -3.3333331e-1)
TANH_SPLIT = 0.55
LARGEST = 90.0
"""From here on sinh and cosh are infinite."""

# log((1 + s) / (1 - s)) = 2s + s³·P(s²) for |s| ≤ 3 - √8, to 2⁻³⁶.
LOG_P = (0.23426909757856665, 0.28546636599917546, 0.4000016142655009, 0.6666666661449338)
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
SMALL = 2.0**-10
"""Below it x plus the cubic term is right to all digits."""


def _odd(lanes: Lanes, x: Value, coefficients: tuple[float, ...]) -> Value:
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
    return lanes.copysign(lanes.select(is_large, large, _odd(lanes, magnitude, SINH_P)), x)


def tanh(lanes: Lanes, x: Value) -> Value:
    """tanh x = 1 - 2 / (e^2|x| + 1), a polynomial near zero; at most 2 ulp off.

    tanh(±inf) = ±1, tanh(-0.0) = -0.0, NaN stays NaN.
    """
    magnitude, one = lanes.at_most(lanes.abs(x), 10.0), lanes.const(1.0)
    e = exp_of_moderate(lanes, lanes.add(magnitude, magnitude))
    large = lanes.sub(one, lanes.div(lanes.const(2.0), lanes.add(e, one)))
    is_large = lanes.compare("ogt", magnitude, lanes.const(TANH_SPLIT))
    return lanes.copysign(lanes.select(is_large, large, _odd(lanes, magnitude, TANH_P)), x)


def _wide(lanes: Lanes) -> Lanes:
    return Lanes(same_shape(lanes.type, ir.F64Type.get()))


def _log(wide: Lanes, u: Value) -> Value:
    """ln u in f64, right to 2⁻³⁵, for finite u ≥ 1."""
    bits = wide.bits(u)
    exponent = arith.ShRUIOp(wide.int_sub(bits, SQRT_HALF_BITS), wide.int_const(52)).result
    mantissa = wide.from_bits(wide.int_sub(bits, wide.shift_left(exponent, 52)))
    # An integer below 2⁵² put under the leading bit of 2⁵², since AVX2 has no conversion of 64-bit integers.
    shifted = wide.from_bits(arith.OrIOp(exponent, wide.int_const(0x433 << 52)).result)
    e = wide.sub(shifted, wide.const(2.0**52))
    f = wide.sub(mantissa, wide.const(1.0))
    s = wide.div(f, wide.add(f, wide.const(2.0)))
    square = wide.mul(s, s)
    rest = wide.fma(wide.mul(s, square), wide.horner(square, LOG_P), wide.add(s, s))
    return wide.fma(e, wide.const(math.log(2.0)), rest)


def _unless_small(lanes: Lanes, magnitude: Value, result: Value, cubic: float) -> Value:
    small = lanes.fma(lanes.mul(lanes.scale(magnitude, cubic), magnitude), magnitude, magnitude)
    return lanes.select(lanes.compare("olt", magnitude, lanes.const(SMALL)), small, result)


def asinh(lanes: Lanes, x: Value) -> Value:
    """asinh x = ln(|x| + √(x² + 1)), at most 1 ulp off; asinh(±inf) = ±inf, asinh(-0.0) = -0.0."""
    magnitude, wide = lanes.abs(x), _wide(lanes)
    y = lanes.widen(magnitude, wide)
    root = math_dialect.SqrtOp(wide.fma(y, y, wide.const(1.0))).result
    result = lanes.narrow(_log(wide, wide.add(y, root)))
    result = _unless_small(lanes, magnitude, result, -1.0 / 6.0)
    finite = lanes.compare("olt", magnitude, lanes.const(math.inf))
    return lanes.copysign(lanes.select(finite, result, magnitude), x)


def acosh(lanes: Lanes, x: Value) -> Value:
    """acosh x = ln(x + √(x² - 1)), at most 1 ulp off; NaN below 1, acosh(inf) = inf."""
    wide = _wide(lanes)
    y = lanes.widen(x, wide)
    root = math_dialect.SqrtOp(wide.fma(y, y, wide.const(-1.0))).result
    result = lanes.narrow(_log(wide, wide.add(y, root)))
    finite = lanes.compare("olt", x, lanes.const(math.inf))
    result = lanes.select(finite, result, x)
    return lanes.select(lanes.compare("olt", x, lanes.const(1.0)), lanes.const(math.nan), result)


def atanh(lanes: Lanes, x: Value) -> Value:
    """atanh x = ½·ln((1 + |x|) / (1 - |x|)), at most 1 ulp off; atanh(±1) = ±inf, NaN beyond, atanh(-0.0) = -0.0."""
    magnitude, wide = lanes.abs(x), _wide(lanes)
    y, one = lanes.widen(magnitude, wide), wide.const(1.0)
    log = _log(wide, wide.div(wide.add(one, y), wide.sub(one, y)))
    result = _unless_small(lanes, magnitude, lanes.narrow(wide.scale(log, 0.5)), 1.0 / 3.0)
    at_pole = lanes.compare("oeq", magnitude, lanes.const(1.0))
    result = lanes.select(at_pole, lanes.const(math.inf), result)
    inside = lanes.compare("ole", magnitude, lanes.const(1.0))
    return lanes.copysign(lanes.select(inside, result, lanes.const(math.nan)), x)
