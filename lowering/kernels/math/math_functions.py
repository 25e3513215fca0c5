"""The math functions that have a vectorisable expansion, by operation name.

`EXPANSIONS` take f32 values, scalar or vector, and return values of the same type; the accuracy over the
whole range is stated at each function and measured in the tests. Any other function is a call of libm.
`DOUBLE_EXPANSIONS` take f64 and require a fused multiply-add. Without one, only `DOUBLE_BY_LIBM` are expanded, whose
upstream lowering is inaccurate.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TypeAlias

from relax_mlir.lowering.kernels.core.emit import Value
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.math import (
    math_erf,
    math_erf_double,
    math_exp,
    math_exp_double,
    math_fast,
    math_hyperbolic,
    math_hyperbolic_double,
    math_inverse,
    math_log,
    math_log_double,
    math_pow,
    math_remainder,
    math_trig,
)
from relax_mlir.target import Target

Expansion: TypeAlias = Callable[[Lanes, Value], Value]

DOUBLE_EXPANSIONS: dict[str, Expansion] = {
    "math.cosh": math_hyperbolic_double.cosh,
    "math.erf": math_erf_double.erf,
    "math.exp": math_exp_double.exp,
    "math.exp2": math_exp_double.exp2,
    "math.expm1": math_exp_double.expm1,
    "math.log": math_log_double.log,
    "math.log10": math_log_double.log10,
    "math.log1p": math_log_double.log1p,
    "math.log2": math_log_double.log2,
    "math.sinh": math_hyperbolic_double.sinh,
    "math.tanh": math_hyperbolic_double.tanh,
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
    "arith.remf": math_remainder.fmod,
    "math.atan2": math_inverse.atan2,
    "math.powf": math_pow.pow,
}
"""The same for functions of two arguments."""

EXPANSIONS: dict[str, Expansion] = {
    "math.acos": math_inverse.acos,
    "math.acosh": math_hyperbolic.acosh,
    "math.asin": math_inverse.asin,
    "math.asinh": math_hyperbolic.asinh,
    "math.atan": math_inverse.atan,
    "math.atanh": math_hyperbolic.atanh,
    "math.cosh": math_hyperbolic.cosh,
    "math.sinh": math_hyperbolic.sinh,
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
    "math.tanh": math_hyperbolic.tanh,
}

FAST_EXPANSIONS: dict[str, Expansion] = {
    "math.erf": math_fast.erf,
    "math.exp": math_fast.exp,
    "math.exp2": math_fast.exp2,
    "math.tanh": math_fast.tanh,
}
"""Replacements of `EXPANSIONS` if ``math.fast`` is set."""


def double_expansions(target: Target) -> dict[str, Expansion]:
    """The functions of f64 that are expanded for a target."""
    return DOUBLE_EXPANSIONS if target.has_fma else DOUBLE_BY_LIBM


def is_call_for_double(name: str, target: Target) -> bool:
    """True if an operation on f64 becomes a call of libm for each lane."""
    is_expanded = target.has_fma and name in DOUBLE_EXPANSIONS
    return not is_expanded and (name in EXPANSIONS or name in BINARY_EXPANSIONS)
