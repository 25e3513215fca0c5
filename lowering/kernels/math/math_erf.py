"""erf and the Gaussian error linear unit for f32, scalar or vector, without branches."""

from __future__ import annotations

from math import isclose, sqrt
from typing import NamedTuple, TypeAlias

from relax_mlir.ir_queries import defining_op
from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.core.simd import look_up, positive_part, size_up_to
from relax_mlir.lowering.kernels.math.math_exp import ROUND_TO_INT, exp_of_moderate
from relax_mlir.mlir import ir

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
`attention_softmax`, but coefficients were rounded one by one, and the others refitted. The last piece is 5e-8 off; it
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
    exponent = lanes.fma(lanes.horner(magnitude, ERF_LARGE_HIGH), square, lanes.horner(magnitude, ERF_LARGE_LOW))
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


# The Gaussian error linear unit: x·Φ(x) = max(x, 0) - |x|·Q(|x|), Φ being the normal distribution, Q = 1 - Φ.
#
# D. Hendrycks and K. Gimpel, "Gaussian error linear units", 2016. Written with erf it takes a third more
# operations, and negative arguments lose accuracy where erf is added to 1.


Operation: TypeAlias = ir.Operation

NOTHING_BEYOND = 5.6
"""From here on x·Q(x) is below half an ulp of x."""

Q_PIECES_PER_UNIT = 2.5992262
Q_PIECE_WIDTH = 0.38472989
"""1 / `Q_PIECES_PER_UNIT`, chosen so that Q of its first multiples is close to an f32 number."""

Q_PIECES = (
    (-0.009877221, 0.0, 0.06648794, 0.0, -0.39894226, 0.5),
    (-0.006507821, -0.016800158, 0.052605078, 0.07126641, -0.37048322, 0.35021877),
    (0.00053178845, -0.022752786, 0.020171328, 0.11415456, -0.2967181, 0.2208102),
    (0.005465923, -0.016379869, -0.011345563, 0.11827182, -0.20494463, 0.12421121),
    (0.005636629, -0.0049863183, -0.02783795, 0.09393645, -0.12208044, 0.061911967),
    (0.0028394538, 0.0034446344, -0.028224371, 0.060322024, -0.06271517, 0.027199266),
    (0.0001243527, 0.006173609, -0.020044426, 0.032070283, -0.027785366, 0.010489021),
    (-0.0010639619, 0.005055652, -0.011063634, 0.014295678, -0.010616382, 0.0035394533),
    (-0.0010363378, 0.002912106, -0.0049405675, 0.0053834547, -0.0034982716, 0.0010425374),
    (-0.00061198854, 0.0012994191, -0.0018212234, 0.0017210072, -0.0009941382, 0.00026752258),
    (-0.000266631, 0.00046702987, -0.0005606905, 0.00046860887, -0.000243644, 5.9713766e-05),
    (-9.12444e-05, 0.00013796438, -0.00014524219, 0.000108936016, -5.1496714e-05, 1.1579699e-05),
    (-2.5271245e-05, 3.390503e-05, -3.1817795e-05, 2.165816e-05, -9.386792e-06, 1.94892e-06),
    (-5.758163e-06, 6.98609e-06, -5.9160893e-06, 3.687523e-06, -1.4755952e-06, 2.8445166e-07),
    (-1.0908642e-06, 1.2135132e-06, -9.3617564e-07, 5.382148e-07, -2.000451e-07, 3.5978765e-08),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
)
"""Q(i·`Q_PIECE_WIDTH` + t) for |t| ≤ 0.193 and each i < 16, 7e-9 off; coefficients from the highest power down, fitted
as those of `math_erf`, but to an error between the absolute and the relative one."""


Q_IS_ZERO = 9.9574
"""From about here on 2^(`EXPONENT` - 1) is below the smallest normal number: the power of two is 0."""

EXPONENT = (
    -2.8348875e-06,
    3.937742e-05,
    -0.00018617911,
    -0.00013693875,
    0.0070634228,
    -0.05249618,
    -0.4592082,
    -1.1511052,
)
"""2^(s·P(s) - 1) is Q(s), 8e-9 off at most, for s ≤ 5.6, and keeps falling beyond. Minimax, from the highest power
down; coefficients were rounded one by one, and the others refitted, here and in `EXP2`."""

EXP2 = (0.00015353324, 0.0013398875, 0.009618438, 0.055503324, 0.24022648, 0.6931472)
"""2^r = 1 + r·P(r) to 2.4e-9 for |r| ≤ ½."""

BIAS_OF_HALF = 126
"""With this added, n is the exponent of 2^(n - 1) in an f32."""


def gelu(lanes: Lanes, x: Value) -> Value:
    """x·Φ(x): 1.6 ulp off at most from 0 on, 0.9 ulp of the argument below; with AVX-512 1.2 and 0.6.

    -0.0 stays -0.0. NaN for NaN and -∞, as with erf, where it is 0·∞.
    """
    return _q_by_pieces(lanes, x) if lanes.avx512 else _q_by_exponential(lanes, x)


def _q_by_exponential(lanes: Lanes, x: Value) -> Value:
    """Compute Q as 2 to a polynomial; another polynomial evaluates the fraction of the exponent."""
    # -∞ is not clamped: times 0 it is NaN. A NaN that is clamped is in the last operand, too.
    size = lanes.abs(lanes.at_most_by_bits(x, Q_IS_ZERO))
    bounded = lanes.at_most_by_bits(size, Q_IS_ZERO)
    product, magic = lanes.horner(bounded, EXPONENT), lanes.const(ROUND_TO_INT + BIAS_OF_HALF)
    shifted = lanes.fma(product, bounded, magic)
    rest = lanes.fma(product, bounded, lanes.sub(magic, shifted))
    power = lanes.from_bits(lanes.shift_left(lanes.bits(shifted), 23))
    beyond = lanes.mul(lanes.horner(rest, (*EXP2, 1.0)), power)
    return lanes.fma(lanes.negate(size), beyond, lanes.at_least_minus_zero(x))


def _q_by_pieces(lanes: Lanes, x: Value) -> Value:
    """Evaluate Q as a polynomial around the nearest multiple of `Q_PIECE_WIDTH`, with coefficients from a table."""
    size = size_up_to(x, NOTHING_BEYOND)
    magic = lanes.const(INTEGER_IN_BITS)
    shifted = lanes.fma(size, lanes.const(Q_PIECES_PER_UNIT), magic)
    index, piece = lanes.bits(shifted), lanes.sub(shifted, magic)
    t = lanes.fma(piece, lanes.const(-Q_PIECE_WIDTH), size)
    highest, *tables = zip(*Q_PIECES, strict=True)
    beyond = look_up(highest, index)
    for table in tables:
        beyond = lanes.fma(beyond, t, look_up(table, index))
    return lanes.fma(lanes.negate(size), beyond, positive_part(x))


class Written(NamedTuple):
    """A gelu written with erf: its argument, and its operations from erf on."""

    argument: Value
    operations: tuple[Operation, ...]


def written_with(erf: Operation) -> Written | None:
    """Match the gelu around an erf: x·½·(1 + erf(x·√½)), with its factors in any order; None if there is none."""
    x = _argument(erf.operands[0])
    gate = _only_user(erf, "arith.addf")
    if x is None or gate is None or not any(_is(operand, 1.0) for operand in gate.operands):
        return None
    product = _only_user(gate, "arith.mulf")
    if product is None:
        return None
    factor = _other(product, gate)
    if _is_half_of(factor, x):
        return Written(x, (erf, gate, product))
    whole = _only_user(product, "arith.mulf")
    if whole is None:
        return None
    last = _other(whole, product)
    if (factor == x and _is(last, 0.5)) or (_is(factor, 0.5) and last == x):
        return Written(x, (erf, gate, product, whole))
    return None


def _argument(scaled: Value) -> Value | None:
    """x of x·√½ or x / √2."""
    product = defining_op(scaled)
    if product is None or product.name not in ("arith.mulf", "arith.divf"):
        return None
    left, right = product.operands
    if product.name == "arith.divf":
        return left if _is(right, sqrt(2.0)) else None
    return next((x for x, factor in ((left, right), (right, left)) if _is(factor, sqrt(0.5))), None)


def _is_half_of(value: Value, x: Value) -> bool:
    product = defining_op(value)
    if product is None or product.name != "arith.mulf":
        return False
    left, right = product.operands
    return (left == x and _is(right, 0.5)) or (right == x and _is(left, 0.5))


def _only_user(operation: Operation, name: str) -> Operation | None:
    """The single user of a result, if it has this name and uses the result once; else None."""
    uses = list(operation.results[0].uses)
    if len(uses) != 1 or uses[0].owner.operation.name != name:
        return None
    return uses[0].owner.operation


def _other(operation: Operation, one: Operation) -> Value:
    """The operand that is not the result of `one`."""
    left, right = operation.operands
    return right if left == one.results[0] else left


def _is(value: Value, number: float) -> bool:
    """True if a value is a constant, scalar or splat, that equals `number` up to the last bits of an f32."""
    defining = defining_op(value)
    if defining is not None and defining.name == "vector.broadcast":
        return _is(defining.operands[0], number)
    if defining is None or defining.name != "arith.constant":
        return False
    attribute = defining.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        if not attribute.is_splat:
            return False
        attribute = attribute.get_splat_value()
    return isinstance(attribute, ir.FloatAttr) and isclose(attribute.value, number, rel_tol=2.0**-22)
