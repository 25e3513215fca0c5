"""Element-wise functions: unary, binary, comparisons, logic, selection, casts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.effects import literal_format
from relax_mlir.dialects.value import Value
from relax_mlir.error import DTypeError
from relax_mlir.frontend.torch.registry import OpCall, Operand, constant, integer_info, rule
from relax_mlir.frontend.torch.torch_types import Argument

# Unary element-wise functions.


_UNARY: dict[str, Callable[[Value], Value]] = {
    "abs": R.abs,
    "acos": R.acos,
    "acosh": R.acosh,
    "asin": R.asin,
    "asinh": R.asinh,
    "atan": R.atan,
    "atanh": R.atanh,
    "cos": R.cos,
    "cosh": R.cosh,
    "erf": R.erf,
    "exp": R.exp,
    "log": R.log,
    "neg": R.negative,
    "prims::abs": R.abs,
    "prims::neg": R.negative,
    "rsqrt": R.rsqrt,
    "sigmoid": R.sigmoid,
    "sin": R.sin,
    "sinh": R.sinh,
    "sqrt": R.sqrt,
    "square": R.square,
    "tan": R.tan,
    "tanh": R.tanh,
}
"""Ops that are computed in the dtype of the result."""

_ROUNDING: dict[str, Callable[[Value], Value]] = {
    "ceil": R.ceil,
    "floor": R.floor,
    "round": R.round,
    "trunc": R.trunc,
}
"""Ops that return integers unchanged."""

_TENSOR_EXPRESSIONS = {"log2": topi.log2, "log10": topi.log10, "log1p": topi.log1p}


def _unary(function: Callable[[Value], Value]) -> Callable[..., Value]:
    def compute(call: OpCall, x: Operand) -> Value:
        return function(call.tensor(x))

    return compute


def _rounding(function: Callable[[Value], Value]) -> Callable[..., Value]:
    def compute(call: OpCall, x: Operand) -> Value:
        value = call.tensor(x)
        return function(value) if call.is_float else value

    return compute


for _name, _function in _UNARY.items():
    rule(f"{_name}.default")(_unary(_function))
for _name, _function in _ROUNDING.items():
    rule(f"{_name}.default")(_rounding(_function))


@rule("log2.default", "log10.default", "log1p.default")
def logarithm(call: OpCall, x: Operand) -> Value:
    return call.te(_TENSOR_EXPRESSIONS[call.name], call.tensor(x))


@rule("round.decimals")
def round_decimals(call: OpCall, x: Operand, *, decimals: int = 0) -> Value:
    value = call.tensor(x)
    if not call.is_float:
        return value
    factor = constant(10.0 ** abs(decimals), call.dtype)
    if decimals < 0:
        return R.multiply(R.round(R.divide(value, factor)), factor)
    return R.divide(R.round(R.multiply(value, factor)), factor)


@rule("sign.default", "sgn.default")
def sign(call: OpCall, x: Operand) -> Value:
    value = call.tensor(x)
    if call.dtype == "bool":
        return value
    found = R.sign(value)
    return R.where(R.isnan(value), constant(0, call.dtype), found) if call.is_float else found


@rule("reciprocal.default")
def reciprocal(call: OpCall, x: Operand) -> Value:
    return R.divide(constant(1, call.dtype), call.tensor(x))


@rule("exp2.default")
def exp2(call: OpCall, x: Operand) -> Value:
    return R.power(constant(2, call.dtype), call.tensor(x))


@rule("expm1.default")
def expm1(call: OpCall, x: Operand) -> Value:
    """Return ``exp(x) - 1``; near 0 as ``2 * sinh(x/2) * exp(x/2)``, which avoids cancellation."""
    value = call.tensor(x)
    half = R.multiply(value, constant(0.5, call.dtype))
    near = R.multiply(R.multiply(constant(2, call.dtype), R.sinh(half)), R.exp(half))
    far = R.subtract(R.exp(value), constant(1, call.dtype))
    found = R.where(R.less(R.abs(value), constant(1, call.dtype)), near, far)
    return R.where(R.equal(value, constant(0, call.dtype)), value, found)


@rule("frac.default")
def frac(call: OpCall, x: Operand) -> Value:
    value = call.tensor(x)
    return R.subtract(value, R.trunc(value))


@rule("deg2rad.default", "rad2deg.default")
def angle(call: OpCall, x: Operand) -> Value:
    factor = np.pi / 180 if call.name == "deg2rad" else 180 / np.pi
    return R.multiply(call.tensor(x), constant(factor, call.dtype))


@rule("signbit.default")
def signbit(call: OpCall, x: Value) -> Value:
    return _has_sign(x)


@rule("copysign.Tensor", "copysign.Scalar")
def copysign(call: OpCall, x: Operand, sign_of: Operand) -> Value:
    size = R.abs(call.tensor(x))
    return R.where(_has_sign(call.tensor(sign_of)), R.negative(size), size)


def _has_sign(x: Value) -> Value:
    """Return a mask of negative elements, including -0.0."""
    dtype = str(x.dtype)
    zero = constant(0, dtype)
    if not dtype.startswith(("float", "bfloat")):
        return R.less(x, zero)
    return R.logical_or(R.less(x, zero), R.less(R.divide(constant(1, dtype), x), zero))


# Binary arithmetic with torch's dtype promotion.


Binary = Callable[[Value, Value], Value]


def computed(call: OpCall, function: Callable[..., Value], *operands: Operand) -> Value:
    """Apply `function` to operands of the result's dtype.

    Python floats next to 16-bit floats are not rounded to 16 bits: the op is computed in float32 and rounded once, as
    in torch.
    """
    dtype = call.dtype
    if dtype in ("float16", "bfloat16") and any(isinstance(o, float) and not o.is_integer() for o in operands):
        return R.astype(function(*(call.tensor(o, "float32") for o in operands)), dtype)
    return function(*(call.tensor(operand, wraps=True) for operand in operands))


def _with_alpha(function: Binary, alpha: Operand) -> Callable[..., Value]:
    """Return ``function(x, alpha * y)``; `alpha` is a third operand unless it is 1."""
    return function if alpha == 1 else lambda x, y, factor: function(x, R.multiply(y, factor))


@rule("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "rsub.Tensor", "rsub.Scalar")
def add(call: OpCall, x: Operand, other: Operand, scalar_alpha: Operand = 1, *, alpha: Operand = 1) -> Value:
    """Return ``x + alpha * other``, ``x - alpha * other`` or, for ``rsub``, ``other - alpha * x``."""
    factor = alpha if alpha != 1 else scalar_alpha
    more = () if factor == 1 else (factor if call.is_float else call.tensor(factor),)
    first, second = (other, x) if call.name == "rsub" else (x, other)
    function = R.add if call.name == "add" else R.subtract
    return computed(call, _with_alpha(function, factor), first, second, *more)


@rule("mul")
def mul(call: OpCall, x: Operand, other: Operand) -> Value:
    return computed(call, R.logical_and if call.dtype == "bool" else R.multiply, x, other)


@rule("div.Tensor", "div.Scalar", "true_divide.Tensor")
def div(call: OpCall, x: Operand, other: Operand) -> Value:
    return computed(call, R.divide, x, other)


@rule("div.Tensor_mode", "div.Scalar_mode")
def div_mode(call: OpCall, x: Operand, other: Operand, *, rounding_mode: str | None) -> Value:
    left, right = call.tensor(x, wraps=True), _divisor(call, other)
    if rounding_mode is None:
        return R.divide(left, right)
    if rounding_mode == "floor":
        return R.floor_divide(left, right)
    return R.trunc(R.divide(left, right)) if call.is_float else _truncated(left, right)


def _divisor(call: OpCall, other: Operand) -> Value:
    """Return the divisor of integers. A number that is zero in their dtype is an error, as in eager torch."""
    info = integer_info(call.dtype)
    if info is not None and isinstance(other, int) and other % (info.max - info.min + 1) == 0:
        raise DTypeError(f"a division by {other}, which is 0 as {call.dtype}; eager PyTorch raises ZeroDivisionError")
    return call.tensor(other, wraps=True)


def _truncated(left: Value, right: Value) -> Value:
    """Return the quotient of integers, rounded towards zero."""
    quotient = R.floor_divide(left, right)
    remainder = R.subtract(left, R.multiply(quotient, right))
    zero = R.const(0, str(left.dtype))
    down = R.logical_and(R.not_equal(remainder, zero), R.less(quotient, zero))
    return R.add(quotient, R.astype(down, str(left.dtype)))


@rule("floor_divide", "remainder")
def floor_divide(call: OpCall, x: Operand, other: Operand) -> Value:
    function = R.floor_divide if call.name == "floor_divide" else R.floor_mod
    return function(call.tensor(x, wraps=True), _divisor(call, other))


@rule("fmod")
def fmod(call: OpCall, x: Operand, other: Operand) -> Value:
    """Return the remainder with the sign of `x`."""
    left, right = call.tensor(x, wraps=True), _divisor(call, other)
    if not call.is_float:
        return call.te(topi.trunc_mod, left, right)
    found = R.floor_mod(R.abs(left), R.abs(right))
    return R.where(R.less(left, constant(0, call.dtype)), R.negative(found), found)


_BINARY: dict[str, Binary] = {
    "atan2": R.atan2,
    "logaddexp": R.log_add_exp,
    "max.other": R.maximum,
    "maximum": R.maximum,
    "min.other": R.minimum,
    "minimum": R.minimum,
}
"""Ops of two operands of the result's dtype."""
_SHIFTS: dict[str, Binary] = {
    "__lshift__": R.left_shift,
    "__rshift__": R.right_shift,
    "bitwise_left_shift": R.left_shift,
    "bitwise_right_shift": R.right_shift,
}


def _binary(function: Binary, wraps: bool) -> Callable[..., Value]:
    def compute(call: OpCall, x: Operand, other: Operand) -> Value:
        return function(call.tensor(x, wraps=wraps), call.tensor(other, wraps=wraps))

    return compute


for _name, _operation in _BINARY.items():
    rule(_name)(_binary(_operation, wraps=False))
for _name, _operation in _SHIFTS.items():
    rule(_name)(_binary(_operation, wraps=True))


@rule("fmax.default", "fmin.default", "prims::fmax.default", "prims::fmin.default")
def fmax(call: OpCall, x: Operand, other: Operand) -> Value:
    """Return the maximum or minimum of two elements, NaN only if both are."""
    left, right = call.tensor(x), call.tensor(other)
    found = (R.maximum if call.name == "fmax" else R.minimum)(left, right)
    if not call.is_float:
        return found
    return R.where(R.isnan(left), right, R.where(R.isnan(right), left, found))


@rule("hypot.default", "prims::hypot.default")
def hypot(call: OpCall, x: Operand, other: Operand) -> Value:
    """Return ``sqrt(x*x + y*y)`` without intermediate overflow."""
    left, right = R.abs(call.tensor(x)), R.abs(call.tensor(other))
    long, short = R.maximum(left, right), R.minimum(left, right)
    one, zero, infinite = (constant(number, call.dtype) for number in (1, 0, float("inf")))
    ratio = R.divide(short, R.where(R.equal(long, zero), one, long))
    found = R.multiply(long, R.sqrt(R.add(one, R.square(ratio))))
    at_infinity = R.logical_or(R.equal(left, infinite), R.equal(right, infinite))
    return R.where(at_infinity, infinite, found)


@rule("pow")
def power(call: OpCall, x: Operand, exponent: Operand) -> Value:
    if isinstance(exponent, int | float) and not isinstance(exponent, bool):
        base = call.tensor(x)
        if exponent == 2:
            return R.square(base)
        if exponent == 1:
            return base
        if exponent == 0.5 and call.is_float:
            return R.sqrt(base)  # NaN for -inf, as in torch
    if not call.is_float and isinstance(exponent, int) and exponent < 0:
        raise DTypeError(f"integers to the power {exponent}; eager PyTorch refuses negative powers of integers")
    return computed(call, R.power, x, exponent if call.is_float else call.tensor(exponent))


@rule("lerp.Scalar", "lerp.Tensor")
def lerp(call: OpCall, x: Operand, end: Operand, weight: Operand) -> Value:
    if not call.is_float:
        raise call.unsupported("lerp of integers")
    start, stop, share = (call.tensor(item) for item in (x, end, weight))
    one, half = (constant(number, call.dtype) for number in (1, 0.5))
    span = R.subtract(stop, start)
    near = R.add(start, R.multiply(share, span))
    far = R.subtract(stop, R.multiply(span, R.subtract(one, share)))
    return R.where(R.less(R.abs(share), half), near, far)


@rule("addcmul", "addcdiv")
def addcmul(call: OpCall, x: Operand, first: Operand, second: Operand, *, value: Operand = 1) -> Value:
    combine = R.multiply if call.name == "addcmul" else R.divide
    product = combine(call.tensor(first), call.tensor(second))
    scaled = product if value == 1 else R.multiply(product, call.tensor(value))
    return R.add(call.tensor(x), scaled)


# Comparisons, logic and element selection.


_COMPARISONS: dict[str, Binary] = {
    "eq": R.equal,
    "ne": R.not_equal,
    "lt": R.less,
    "le": R.less_equal,
    "gt": R.greater,
    "ge": R.greater_equal,
}
_LOGIC: dict[str, Binary] = {
    "logical_and": R.logical_and,
    "logical_or": R.logical_or,
    "logical_xor": R.logical_xor,
}
_BITS: dict[str, tuple[Binary, Binary]] = {
    "bitwise_and": (R.logical_and, R.bitwise_and),
    "bitwise_or": (R.logical_or, R.bitwise_or),
    "bitwise_xor": (R.logical_xor, R.bitwise_xor),
    "__and__": (R.logical_and, R.bitwise_and),
    "__or__": (R.logical_or, R.bitwise_or),
    "__xor__": (R.logical_xor, R.bitwise_xor),
}


def _comparison(function: Binary) -> Callable[..., Value]:
    def compare(call: OpCall, x: Operand, other: Operand) -> Value:
        dtype = call.promoted(0, 1)
        left, right = call.tensor(x, dtype, wraps=True), call.tensor(other, dtype, wraps=True)
        if dtype == "bool":
            left, right = R.astype(left, "uint8"), R.astype(right, "uint8")
        return function(left, right)

    return compare


def _logic(function: Binary) -> Callable[..., Value]:
    def combine(call: OpCall, x: Operand, other: Operand) -> Value:
        dtype = call.promoted(0, 1)
        left, right = call.tensor(x, dtype), call.tensor(other, dtype)
        return function(call.tensor(left, "bool"), call.tensor(right, "bool"))

    return combine


def _bits(functions: tuple[Binary, Binary]) -> Callable[..., Value]:
    def combine(call: OpCall, x: Operand, other: Operand) -> Value:
        function = functions[0] if call.dtype == "bool" else functions[1]
        return function(call.tensor(x, wraps=True), call.tensor(other, wraps=True))

    return combine


for _op, _operation in _COMPARISONS.items():
    rule(f"{_op}.Tensor", f"{_op}.Scalar")(_comparison(_operation))
for _op, _operation in _LOGIC.items():
    rule(f"{_op}.default")(_logic(_operation))
for _op, _pair in _BITS.items():
    rule(f"{_op}.Tensor", f"{_op}.Scalar", f"{_op}.Scalar_Tensor")(_bits(_pair))


@rule("isin.Tensor_Scalar", "isin.Scalar_Tensor")
def isin(call: OpCall, elements: Operand, others: Operand, *, invert: bool = False) -> Value:
    dtype = call.promoted(0, 1)
    left, right = call.tensor(elements, dtype, wraps=True), call.tensor(others, dtype, wraps=True)
    found = R.equal(left, right)
    if call.rank == 0 and isinstance(others, Value):
        found = R.any(found)
    return R.logical_not(found) if invert else found


@rule("logical_not.default")
def logical_not(call: OpCall, x: Operand) -> Value:
    return R.logical_not(call.tensor(x, "bool"))


@rule("bitwise_not.default")
def bitwise_not(call: OpCall, x: Operand) -> Value:
    value = call.tensor(x)
    return R.logical_not(value) if call.dtype == "bool" else R.bitwise_not(value)


@rule("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar", "prims::where.default")
def where(call: OpCall, condition: Value, x: Operand, other: Operand) -> Value:
    return R.where(call.tensor(condition, "bool"), call.tensor(x), call.tensor(other))


@rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(call: OpCall, x: Value, mask: Value, value: Operand) -> Value:
    number = call.fitting(value, call.dtype) if isinstance(value, Value) else value
    return R.where(mask, call.tensor(number), x)


@rule("clamp", "clip")
def clamp(call: OpCall, x: Operand, low: Argument = None, high: Argument = None) -> Value:
    value = call.tensor(x)
    if low is not None:
        value = R.maximum(value, call.tensor(low))
    return value if high is None else R.minimum(value, call.tensor(high))


@rule("clamp_min", "clamp_max")
def clamp_one(call: OpCall, x: Operand, bound: Operand) -> Value:
    combine = R.maximum if call.name == "clamp_min" else R.minimum
    return combine(call.tensor(x), call.tensor(bound))


@rule("isnan.default", "isinf.default", "isfinite.default")
def classify(call: OpCall, x: Value) -> Value:
    if x.dtype is None or not str(x.dtype).startswith(("float", "bfloat")):
        return R.full(call.shape, R.const(call.name == "isfinite", "bool"), "bool")
    return {"isnan": R.isnan, "isinf": R.isinf, "isfinite": R.isfinite}[call.name](x)


@rule("isclose.default")
def isclose(
    call: OpCall, x: Value, other: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Value:
    if not str(x.dtype).startswith(("float", "bfloat")):
        x, other = R.astype(x, "float64"), R.astype(other, "float64")
    dtype = str(x.dtype)
    allowed = R.add(constant(atol, dtype), R.multiply(constant(rtol, dtype), R.abs(other)))
    near = R.logical_and(R.isfinite(x), R.less_equal(R.abs(R.subtract(x, other)), allowed))
    found = R.logical_or(R.equal(x, other), R.logical_and(near, R.isfinite(other)))
    if equal_nan:
        found = R.logical_or(found, R.logical_and(R.isnan(x), R.isnan(other)))
    return found


# Dtype conversions, copies and other ops that return their operand.


@rule(
    *("_to_copy.default", "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as.default"),
    "prims::convert_element_type.default",
)
def convert(call: OpCall, x: Operand, *rest: object) -> Value:
    return call.tensor(x)


@rule(
    *("clone.default", "alias.default", "contiguous.default", "detach.default", "detach_.default"),
    *("lift_fresh_copy.default", "lift_fresh.default", "view_copy.dtype", "resolve_conj.default"),
    *("resolve_neg.default", "prims::view_of.default"),
)
def same(call: OpCall, x: Value, *rest: object) -> Value:
    if x.dtype != call.dtype:
        raise call.unsupported(f"the bits of {x.dtype} seen as {call.dtype}")
    return x


@rule("copy.default")
def copy(call: OpCall, x: Value, source: Operand, *rest: object) -> Value:
    return R.broadcast_to(call.tensor(source), call.shape)


@rule("_local_scalar_dense.default", "item.default")
def local_scalar(call: OpCall, x: Value) -> None:
    """``x.item()``: an integer becomes a symbol; for a float or bool, its symbol denotes a tensor of rank 0."""
    number = call.node.meta["val"]
    if type(number).__name__ not in ("SymInt", "SymFloat", "SymBool"):
        return
    expression = number.node.expr
    scalars = call.importer.scalars
    flat = R.reshape(x, ())
    if type(number).__name__ == "SymInt":
        scalars.bind(flat, str(expression))
    else:
        scalars.known[str(expression)] = flat


@rule("_assert_scalar.default")
def assert_scalar(call: OpCall, condition: object, message: str = "") -> None:
    if condition is True:
        return
    if isinstance(condition, Value):
        R.assert_op(condition, format=literal_format(str(message)))
        return
    raise call.unsupported(f"a condition that never holds: {message}")
