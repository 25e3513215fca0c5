"""erf for f32, scalar or vector, without branches."""

from __future__ import annotations

from relax_mlir.lowering.kernels.core.avx512 import look_up
from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math.math_exp import exp_of_moderate

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

PIECES_PER_UNIT = 3.875
PIECE_WIDTH = 0.2580853
"""About 1 / `PIECES_PER_UNIT`, chosen so that erf and its slope at the first multiples are close to f32 numbers."""

PIECES = (
    (0.110822156, 0.00032142515, -0.37614417, 3.2928125e-7, 0.12837917, 0.0),
    (0.07899585, 0.12921587, -0.30503625, -0.2724475, 1.0556686, 0.28487945),
    (0.003439824, 0.18232189, -0.13462332, -0.44620287, 0.8644604, 0.53459483),
    (-0.05680916, 0.14328799, 0.041090913, -0.4797193, 0.6195945, 0.72646725),
    (-0.06781996, 0.05789866, 0.14660068, -0.4012661, 0.3887005, 0.85569644),
    (-0.041856207, -0.0145966755, 0.16579665, -0.27542728, 0.21343596, 0.9319897),
    (-0.009696942, -0.04744592, 0.1297929, -0.1588437, 0.10258057, 0.9714704),
    (0.009191108, -0.045003824, 0.07950991, -0.07797189, 0.043152668, 0.98937863),
    (0.012945146, -0.030236656, 0.03985934, -0.03280547, 0.015888948, 0.9964986),
    (0.009289915, -0.016376691, 0.016711712, -0.011879459, 0.0051206807, 0.99897975),
    (0.004837297, -0.0068830377, 0.005932744, -0.003720788, 0.0014444591, 0.9997376),
    (0.001980565, -0.0024085036, 0.001797337, -0.0010095857, 0.00035663816, 0.9999405),
    (0.0006903683, -0.00023572732, 0.0004669123, -0.00024563007, 7.707127e-5, 0.99998814),
    (0.00018610065, -0.00014754996, 0.00010451786, -4.9148723e-5, 1.4578324e-5, 0.9999979),
    (9.254976e-5, 0.0006685916, 1.9855159e-5, -2.0430933e-5, 2.4127487e-6, 0.9999997),
    (0.0, 0.0, 0.0, -3.6e-6, 4.7e-7, 1.0),
)
"""erf (i·`PIECE_WIDTH` + t) for |t| ≤ 0.13 and each i < 16, 2.8e-8 off (relatively).

Coefficients go from the highest power down; for i = 0 they are added to the argument. Fits are like that of
`attention_exp`, but coefficients were rounded one by one, and the others refitted. The last piece is 5e-8 off; it
rounds to 1 at its end and never beyond."""


def erf(lanes: Lanes, x: Value) -> Value:
    """erf x, at most 1.1 ulp off, 1.3 with AVX-512; erf(±inf) = ±1, erf(-0.0) = -0.0, NaN stays NaN."""
    return _by_pieces(lanes, x) if lanes.avx512 else _by_exponential(lanes, x)


def _by_exponential(lanes: Lanes, x: Value) -> Value:
    """Compute x + x·P(x²) near zero, and 1 - exp(-|x|·Q(|x|)) beyond `ERF_SPLIT`.

    The scheme and the coefficients are N. Juffa's (``my_erff``; CUDA's ``erff`` is similar).
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
    """Evaluate a polynomial around the nearest multiple of `PIECE_WIDTH`, with coefficients from a table."""
    magnitude = lanes.at_most(lanes.abs(x), BELOW_ERF_IS_ONE)
    magic = lanes.const(INTEGER_IN_BITS)
    shifted = lanes.fma(magnitude, lanes.const(PIECES_PER_UNIT), magic)
    index, piece = lanes.bits(shifted), lanes.sub(shifted, magic)
    t = lanes.fma(piece, lanes.const(-PIECE_WIDTH), magnitude)
    *tables, starts = zip(*PIECES, strict=True)
    value = look_up(tables[0], index)
    for table in tables[1:]:
        value = lanes.fma(value, t, look_up(table, index))
    beyond = lanes.compare("une", piece, lanes.const(0.0))
    start = lanes.select(beyond, look_up(starts, index), magnitude)
    return lanes.copysign(lanes.fma(value, t, start), x)
