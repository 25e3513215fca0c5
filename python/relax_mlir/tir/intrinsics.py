"""The scalar functions of the T language, with their rules and dtypes."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.dtypes import DType
from relax_mlir.mlir import arith, math
from relax_mlir.scalars import binary_rules, bitwise_rules, comparison_rules, unary_rules
from relax_mlir.scalars.arithmetic import Scalar, ScalarRule, compare, const, widened, widened_test


@dataclass(frozen=True)
class Intrinsic:
    """A function of scalars of one dtype: its rule, its arity, the dtype kinds that it takes, and its result."""

    rule: ScalarRule
    arity: int
    kinds: tuple[str, ...] = ("float",)
    test: bool = False
    """True if the result is bool instead of the operand dtype."""


NUMBERS = ("float", "int", "uint")
INTEGERS = ("int", "uint")
ANY = (*NUMBERS, "bool")


def _trunc_divide(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    """Truncating division; 0 for a division by zero."""
    zero = const(dtype, 0)
    divisor = binary_rules.safe_divisor(dtype, a, b)
    quotient = arith.divui(a, divisor) if dtype.kind == "uint" else arith.divsi(a, divisor)
    return arith.select(compare(dtype, "eq", b, zero), zero, quotient)


def _trunc_mod(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    divisor = binary_rules.safe_divisor(dtype, a, b)
    return arith.remui(a, divisor) if dtype.kind == "uint" else arith.remsi(a, divisor)


def _ceil_divide(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    negated = arith.subi(const(dtype, 0), a)
    return arith.subi(const(dtype, 0), binary_rules.BINARY_RULES["floor_divide"](dtype, negated, b))


def _rounding(name: str) -> ScalarRule:
    function = unary_rules.ROUNDING[name]
    return widened(lambda dtype, x: function(x))


BINARY: dict[str, Intrinsic] = {
    "add": Intrinsic(binary_rules.BINARY_RULES["add"], 2, NUMBERS),
    "subtract": Intrinsic(binary_rules.BINARY_RULES["subtract"], 2, NUMBERS),
    "multiply": Intrinsic(binary_rules.BINARY_RULES["multiply"], 2, NUMBERS),
    "truediv": Intrinsic(binary_rules.BINARY_RULES["divide"], 2),
    "floordiv": Intrinsic(binary_rules.BINARY_RULES["floor_divide"], 2, NUMBERS),
    "floormod": Intrinsic(binary_rules.BINARY_RULES["floor_mod"], 2, NUMBERS),
    "truncdiv": Intrinsic(_trunc_divide, 2, INTEGERS),
    "truncmod": Intrinsic(_trunc_mod, 2, INTEGERS),
    "ceildiv": Intrinsic(_ceil_divide, 2, ("int",)),
    "pow": Intrinsic(binary_rules.BINARY_RULES["power"], 2, NUMBERS),
    "max": Intrinsic(binary_rules.BINARY_RULES["maximum"], 2, ANY),
    "min": Intrinsic(binary_rules.BINARY_RULES["minimum"], 2, ANY),
    "fmod": Intrinsic(widened(lambda dtype, a, b: arith.remf(a, b)), 2),
    "atan2": Intrinsic(binary_rules.BINARY_RULES["atan2"], 2),
    "bitwise_and": Intrinsic(bitwise_rules.BITWISE_RULES["bitwise_and"], 2, (*INTEGERS, "bool")),
    "bitwise_or": Intrinsic(bitwise_rules.BITWISE_RULES["bitwise_or"], 2, (*INTEGERS, "bool")),
    "bitwise_xor": Intrinsic(bitwise_rules.BITWISE_RULES["bitwise_xor"], 2, (*INTEGERS, "bool")),
    "shift_left": Intrinsic(bitwise_rules.BITWISE_RULES["left_shift"], 2, INTEGERS),
    "shift_right": Intrinsic(bitwise_rules.BITWISE_RULES["right_shift"], 2, INTEGERS),
    **{
        name: Intrinsic(comparison_rules.COMPARISON_RULES[name], 2, ANY, test=True)
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
}

_FLOAT_UNARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "log", "rsqrt"),
    *("sigmoid", "sin", "sinh", "sqrt", "tan", "tanh"),
)

UNARY: dict[str, Intrinsic] = {
    **{name: Intrinsic(unary_rules.UNARY_RULES[name], 1) for name in _FLOAT_UNARY},
    **{name: Intrinsic(_rounding(name), 1) for name in unary_rules.ROUNDING},
    **{
        name: Intrinsic(widened(lambda dtype, x, function=function: function(x)), 1)
        for name, function in (
            ("exp2", math.exp2),
            ("expm1", math.expm1),
            ("log2", math.log2),
            ("log10", math.log10),
            ("log1p", math.log1p),
        )
    },
    "abs": Intrinsic(unary_rules.UNARY_RULES["abs"], 1, NUMBERS),
    "negative": Intrinsic(unary_rules.UNARY_RULES["negative"], 1, NUMBERS),
    "bitwise_not": Intrinsic(unary_rules.UNARY_RULES["bitwise_not"], 1, (*INTEGERS, "bool")),
    "popcount": Intrinsic(lambda dtype, x: math.ctpop(x), 1, INTEGERS),
    "clz": Intrinsic(lambda dtype, x: math.ctlz(x), 1, INTEGERS),
    "logical_not": Intrinsic(unary_rules.UNARY_RULES["logical_not"], 1, ("bool",)),
    **{
        name: Intrinsic(widened_test(unary_rules.FLOAT_TESTS[name][0]), 1, test=True)
        for name in unary_rules.FLOAT_TESTS
    },
}

INTRINSICS: dict[str, Intrinsic] = {
    **BINARY,
    **UNARY,
    "fma": Intrinsic(binary_rules.BINARY_RULES["ewise_fma"], 3, NUMBERS),
}

ALIASES = {
    "power": "pow",
    "fabs": "abs",
    "nearbyint": "round",
    "div": "truncdiv",
    "Div": "truncdiv",
    "floor_div": "floordiv",
    "floor_mod": "floormod",
    "left_shift": "shift_left",
    "right_shift": "shift_right",
    "Not": "logical_not",
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Max": "max",
    "Min": "min",
}
