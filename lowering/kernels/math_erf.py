"""erf for f32, scalar or vector, without branches."""

from __future__ import annotations

from relax_mlir.lowering.kernels.avx512 import look_up
from relax_mlir.lowering.kernels.emit import Value
from relax_mlir.lowering.kernels.lanes import Lanes
from relax_mlir.lowering.kernels.math_exp import exp_of_moderate

ERF_SPLIT = 0.927734375
ERF_IS_ONE = 4.0
"""From here on erf rounds to 1."""
BELOW_ERF_IS_ONE = 3.9999998
INTEGER_IN_BITS = 2.0**23
"""The lowest bits of a small integer plus this are the integer."""

ERF_SMALL_P = (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
ERF_LARGE_HIGH = (-1.72853470e-5, 3.83197126e-4)
ERF_LARGE_LOW = (-3.88396438e-3, 2.42546219e-2)
ERF_LARGE_P = (-1.06777877e-1, -6.34846687e-1, -1.28717512e-1)

PIECES_PER_UNIT = 4
PIECES = (
    (1.0346384e-4, 7.907749e-6, -5.880192e-3, 4.3735088e-7, 0.032094784, 0.0),
    (4.6151625e-5, 5.306433e-4, -4.847146e-3, -0.016559502, 0.26500335, 0.2763264),
    (-2.8336692e-5, 7.5611594e-4, -2.3107256e-3, -0.027456451, 0.21969515, 0.5204999),
    (-7.5775664e-5, 6.2717573e-4, 3.9027826e-4, -0.030128276, 0.16073172, 0.71115565),
    (-5.2609663e-5, 2.4249296e-4, 2.1826404e-3, -0.025950778, 0.10377762, 0.8427008),
    (-3.5903275e-5, -2.707287e-5, 2.613537e-3, -0.01847537, 0.059129804, 0.92290014),
    (-1.0674911e-5, -1.6600876e-4, 2.1557356e-3, -0.011144384, 0.029731823, 0.96610516),
    (3.4681495e-6, -1.7331012e-4, 1.394104e-3, -5.766728e-3, 0.01319303, 0.9866717),
    (9.711508e-7, -1.05566854e-4, 7.2841515e-4, -2.5744855e-3, 5.1656407e-3, 0.9953223),
    (-1.2492308e-6, -4.8492464e-5, 3.1758822e-4, -9.967594e-4, 1.7846406e-3, 0.9985373),
    (1.8555167e-5, -6.778644e-5, 1.6109261e-4, -3.51447e-4, 5.459724e-4, 0.999593),
    (-3.0077358e-6, 5.4266287e-8, 3.23529e-5, -9.698909e-5, 1.4610268e-4, 0.9998994),
    (1.2118544e-5, -3.253063e-5, 3.740757e-5, -3.510469e-5, 3.5942274e-5, 0.9999779),
    (-5.5262744e-6, 1.325122e-5, -9.463511e-6, -1.4628872e-6, 6.7388073e-6, 0.9999957),
    (-1.4046282e-5, 3.499958e-5, -3.0192292e-5, 9.843481e-6, -3.0428502e-8, 0.9999993),
    (2.7816318e-6, -6.980087e-6, 6.191229e-6, -2.3755913e-6, 4.92019e-7, 0.9999999),
)
"""erf (i + t)/4 for 0 ≤ t < 1 and each i < 16, 3.3e-8 off (relatively), coefficients from the highest power down; for
i = 0 what is to be added to the argument. Fits like that of `attention_exp`, where each coefficient in turn was rounded
and the others fitted anew."""


def erf(lanes: Lanes, x: Value) -> Value:
    """erf x, at most 1.1 ulp off, 1.3 with AVX-512; erf(±inf) = ±1, erf(-0.0) = -0.0, NaN stays NaN."""
    return _by_pieces(lanes, x) if lanes.avx512 else _by_exponential(lanes, x)


def _by_exponential(lanes: Lanes, x: Value) -> Value:
    """The scheme and the coefficients are N. Juffa's (``my_erff``, CUDA's ``erff`` is built alike): x + x·P(x²)
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


def _by_pieces(lanes: Lanes, x: Value) -> Value:
    """A polynomial for each quarter of a unit, whose coefficients are looked up."""
    magnitude = lanes.at_most(lanes.abs(x), BELOW_ERF_IS_ONE)
    scaled = lanes.scale(magnitude, PIECES_PER_UNIT)
    piece = lanes.floor(scaled)
    t = lanes.sub(scaled, piece)
    index = lanes.bits(lanes.add(piece, lanes.const(INTEGER_IN_BITS)))
    *tables, starts = zip(*PIECES, strict=True)
    value = look_up(tables[0], index)
    for table in tables[1:]:
        value = lanes.fma(value, t, look_up(table, index))
    beyond = lanes.compare("une", piece, lanes.const(0.0))
    start = lanes.select(beyond, look_up(starts, index), magnitude)
    return lanes.copysign(lanes.fma(value, t, start), x)
