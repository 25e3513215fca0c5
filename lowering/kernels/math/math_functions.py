"""The math functions that have a vectorisable expansion, by operation name.

`EXPANSIONS` take f32 values, scalar or vector, and return values of the same type; the accuracy over the
whole range is stated at each function and measured in the tests. Any other function is a call of libm.
`DOUBLE_EXPANSIONS` take f64 and require a fused multiply-add. Without one, only `DOUBLE_BY_LIBM` are expanded, whose
upstream lowering is inaccurate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TypeAlias

from relax_mlir.lowering.kernels.core.emit import Value, is_vector
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math import math_erf, math_exp, math_f64, math_log, math_trig
from relax_mlir.lowering.kernels.math.math_exp import BIAS, LOG2_E, ROUGH_P, ROUND_TO_INT
from relax_mlir.mlir import arith, ir, math, scf, vector
from relax_mlir.target import Target

# exp, exp2, tanh and erf for f32 by shorter polynomials, for programs that ask for them (``math.fast``).
#
# Relative errors are at most 1e-5. NaN stays NaN, infinities and signed zeros come out as in libm; results of
# exp and exp2 below 2^-125 are 0. tanh and erf are x·P(x²)/Q(x²), fitted for the relative error by linear
# programs (the differential correction of E. Cheney and H. Loeb). They are raised a little so that they reach
# 1, and clamped there: so 1 - erf and 1 + erf become exactly 0.


TANH_LIMIT = 7.0
TANH_P = (3.99380315e-6, 2.29268172e-3, 1.23216286e-1, 1.00000203)
TANH_Q = (1.43938392e-4, 2.11496931e-2, 4.56541449e-1, 1.0)
ERF_LIMIT = 3.3
ERF_P = (7.44513702e-4, 4.31258231e-2, 1.54766575e-1, 1.12838340)
ERF_Q = (9.25385579e-3, 9.49557498e-2, 4.70502645e-1, 1.0)

LEAST, GREATEST = -126.25, 128.5
"""2^x is 0 and infinite from here on: a power of two is formed at half its size, and 2^-127 by its bits is 0."""


def fast_exp(lanes: Lanes, x: Value) -> Value:
    """e^x, relative error at most 6e-6 (1e-5 promised); 0 below e^-86.6."""
    return _fast_power(lanes, x, LOG2_E)


def fast_exp2(lanes: Lanes, x: Value) -> Value:
    """2^x, relative error at most 4e-6 (1e-5 promised); 0 below 2^-125."""
    return _fast_power(lanes, x, 1.0)


def _fast_power(lanes: Lanes, x: Value, factor: float) -> Value:
    """2^(factor·x)."""
    x, scale = lanes.clamp(x, LEAST / factor, GREATEST / factor), lanes.const(factor)
    magic = lanes.const(ROUND_TO_INT + BIAS - 1)
    shifted = lanes.fma(x, scale, magic)
    fraction = lanes.fma(x, scale, lanes.sub(magic, shifted))
    half = lanes.from_bits(lanes.shift_left(lanes.bits(shifted), 23))
    value = lanes.mul(lanes.horner(fraction, (*ROUGH_P, 1.0)), half)
    return lanes.add(value, value)


def fast_tanh(lanes: Lanes, x: Value) -> Value:
    """tanh x, relative error at most 5e-6 (1e-5 promised)."""
    return _sigmoidal(lanes, x, TANH_LIMIT, TANH_P, TANH_Q)


def fast_erf(lanes: Lanes, x: Value) -> Value:
    """erf x, relative error at most 9e-6 (1e-5 promised)."""
    return _sigmoidal(lanes, x, ERF_LIMIT, ERF_P, ERF_Q)


def _sigmoidal(lanes: Lanes, x: Value, limit: float, numerator: Sequence[float], denominator: Sequence[float]) -> Value:
    """x·P(x²)/Q(x²) for |x| ≤ limit, ±1 beyond."""
    x = lanes.clamp(x, -limit, limit)
    square = lanes.mul(x, x)
    top = lanes.mul(x, lanes.horner(square, numerator))
    return lanes.clamp(lanes.div(top, lanes.horner(square, denominator)), -1.0, 1.0)


# The remainder of a division, as C's ``fmod`` gives it: exact, with the sign of the dividend.


_EXACT = 2.0**24
"""Quotients below are exact in f32, but for their fraction."""


def fmod(lanes: Lanes, x: Value, y: Value) -> Value:
    """x - q·y of f32, where q is x / y without its fraction: exact, and NaN for x infinite or y = 0.

    Where q is exact, so is the difference, by one fused multiply-add: it is a multiple of the last place of y, and
    smaller than y. The quotient is rounded, perhaps up to the next whole number; then the difference is negative, and
    y is added once. Vectors with a larger quotient in some lane are left to libm.
    """
    left, right = lanes.abs(x), lanes.abs(y)
    quotient = lanes.div(left, right)
    is_exact = lanes.compare("olt", quotient, lanes.const(_EXACT))
    all_exact = vector.reduction(_flag(), vector.CombiningKind.AND, is_exact) if is_vector(lanes.type) else is_exact
    branch = scf.IfOp(all_exact, [lanes.type], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        rest = lanes.fma(lanes.negate(math.TruncOp(quotient).result), right, left)
        rest = lanes.select(lanes.compare("olt", rest, lanes.const(0.0)), lanes.add(rest, right), rest)
        rest = lanes.select(lanes.compare("olt", quotient, lanes.const(1.0)), left, rest)  # y may be infinite
        scf.YieldOp([lanes.copysign(rest, x)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([arith.RemFOp(x, y).result])
    return branch.results[0]


def _flag() -> ir.Type:
    return ir.IntegerType.get_signless(1)


Expansion: TypeAlias = Callable[[Lanes, Value], Value]

DOUBLE_EXPANSIONS: dict[str, Expansion] = {
    "math.cosh": math_f64.cosh,
    "math.erf": math_f64.erf,
    "math.exp": math_f64.exp,
    "math.exp2": math_f64.exp2,
    "math.expm1": math_f64.expm1,
    "math.log": math_f64.log,
    "math.log10": math_f64.log10,
    "math.log1p": math_f64.log1p,
    "math.log2": math_f64.log2,
    "math.sinh": math_f64.sinh,
    "math.tanh": math_f64.tanh,
}

DOUBLE_BY_LIBM: dict[str, Expansion] = {
    "math.expm1": math_exp.expm1_by_libm,
    "math.log1p": math_log.log1p_by_libm,
}

PREDICATES: dict[str, Expansion] = {
    "math.isinf": lambda lanes, x: lanes.compare("oeq", lanes.abs(x), lanes.const(inf)),
}
"""Predicates on any float type, for which upstream has no lowering."""

BINARY_EXPANSIONS: dict[str, Callable[[Lanes, Value, Value], Value]] = {
    "arith.remf": fmod,
    "math.atan2": math_trig.atan2,
    "math.powf": math_log.pow,
}
"""The same for functions of two arguments."""

EXPANSIONS: dict[str, Expansion] = {
    "math.acos": math_trig.acos,
    "math.acosh": math_trig.acosh,
    "math.asin": math_trig.asin,
    "math.asinh": math_trig.asinh,
    "math.atan": math_trig.atan,
    "math.atanh": math_trig.atanh,
    "math.cosh": math_trig.cosh,
    "math.sinh": math_trig.sinh,
    "math.cos": math_trig.cos,
    "math.erf": math_erf.erf,
    "math.exp": math_exp.exp,
    "math.exp2": math_exp.exp2,
    "math.expm1": math_exp.expm1,
    "math.log": math_log.log,
    "math.log10": math_log.log10,
    "math.log1p": math_log.log1p,
    "math.log2": math_log.log2,
    "math.sin": math_trig.sin,
    "math.tan": math_trig.tan,
    "math.tanh": math_trig.tanh,
}

FAST_EXPANSIONS: dict[str, Expansion] = {
    "math.erf": fast_erf,
    "math.exp": fast_exp,
    "math.exp2": fast_exp2,
    "math.tanh": fast_tanh,
}
"""Replacements of `EXPANSIONS` if ``math.fast`` is set."""


def double_expansions(target: Target) -> dict[str, Expansion]:
    """The functions of f64 that are expanded for a target."""
    return DOUBLE_EXPANSIONS if target.has_fma else DOUBLE_BY_LIBM


def is_call_for_double(name: str, target: Target) -> bool:
    """True if an operation on f64 becomes a call of libm for each lane."""
    is_expanded = target.has_fma and name in DOUBLE_EXPANSIONS
    return not is_expanded and (name in EXPANSIONS or name in BINARY_EXPANSIONS)
