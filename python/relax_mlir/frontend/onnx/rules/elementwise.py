"""Element-wise arithmetic, comparisons, logic and mathematical functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir import op as R
from relax_mlir import te, topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.onnx.dtypes import FLOATS, NARROW, bit_cast, dtype_name, narrowed, widened
from relax_mlir.frontend.onnx.items import TensorItem
from relax_mlir.frontend.onnx.registry import Node, Rule, aligned, broadcast_shape, normal_axis, rule

_UNARY: dict[str, Callable[[Value], Value]] = {
    "Abs": R.abs,
    "Neg": R.negative,
    "Ceil": R.ceil,
    "Floor": R.floor,
    "Round": R.round,
    "Sqrt": R.sqrt,
    "Exp": R.exp,
    "Log": R.log,
    "Sin": R.sin,
    "Cos": R.cos,
    "Tan": R.tan,
    "Asin": R.asin,
    "Acos": R.acos,
    "Atan": R.atan,
    "Sinh": R.sinh,
    "Cosh": R.cosh,
    "Tanh": R.tanh,
    "Asinh": R.asinh,
    "Acosh": R.acosh,
    "Atanh": R.atanh,
    "Sigmoid": R.sigmoid,
    "Sign": R.sign,
    "Erf": R.erf,
    "IsNaN": R.isnan,
    "Not": R.logical_not,
    "BitwiseNot": R.bitwise_not,
}
_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "Add": R.add,
    "Sub": R.subtract,
    "Mul": R.multiply,
    "And": R.logical_and,
    "Or": R.logical_or,
    "Xor": R.logical_xor,
    "Equal": R.equal,
    "Greater": R.greater,
    "GreaterOrEqual": R.greater_equal,
    "Less": R.less,
    "LessOrEqual": R.less_equal,
    "BitwiseAnd": R.bitwise_and,
    "BitwiseOr": R.bitwise_or,
    "BitwiseXor": R.bitwise_xor,
}
_VARIADIC: dict[str, Callable[[Value, Value], Value]] = {"Max": R.maximum, "Min": R.minimum, "Sum": R.add}


def _unary(function: Callable[[Value], Value]) -> Rule:
    return lambda node: function(node.tensor(0))


def _binary(function: Callable[[Value, Value], Value]) -> Rule:
    return lambda node: function(*operands(node))


def _variadic(function: Callable[[Value, Value], Value]) -> Rule:
    def apply(node: Node) -> Value:
        first, *rest = aligned(node.tensors)
        for value in rest:
            first = function(first, value)
        return first

    return apply


for _name, _function in _UNARY.items():
    rule(_name)(_unary(_function))
for _name, _operation in _BINARY.items():
    rule(_name)(_binary(_operation))
for _name, _operation in _VARIADIC.items():
    rule(_name)(_variadic(_operation))


def operands(node: Node) -> tuple[Value, Value]:
    """Return both operands of a binary op, broadcast by its opset's rules: before 7, `axis` positions the second."""
    first, second = node.tensor(0), node.tensor(1)
    if node.opset < 7 and node.attr("axis") is not None:
        rank = node.rank(0)
        axis = normal_axis(node.attr("axis"), rank)
        trailing = rank - axis - node.rank(1)
        if trailing > 0:
            second = R.expand_dims(second, list(range(node.rank(1), node.rank(1) + trailing)))
    one, other = aligned([first, second])
    return one, other


@rule("Div")
def _divide(node: Node) -> Value:
    first, second = operands(node)
    if node.dtype() in FLOATS:
        return R.divide(first, second)
    if node.dtype().startswith("uint"):
        return R.floor_divide(first, second)
    result: Value = node.te(topi.trunc_divide, first, second)
    return result


@rule("Mod")
def _mod(node: Node) -> Value:
    first, second = operands(node)
    if not node.attr("fmod", 0):
        return R.floor_mod(first, second)
    if node.dtype() not in FLOATS:
        result: Value = node.te(topi.trunc_mod, first, second)
        return result
    shape = broadcast_shape(first.tensor_info.known_shape or (), second.tensor_info.known_shape or ())
    result = node.te(_remainder, R.broadcast_to(first, shape), R.broadcast_to(second, shape))
    return result


def _remainder(x: Any, y: Any) -> Any:  # noqa: ANN401 - tensors of te
    """Return the remainder of a division that rounds towards zero, with the sign of `x`."""
    return te.compute(x.shape, lambda *i: te.fmod(x(*i), y(*i)), name="fmod")


@rule("Pow")
def _power(node: Node) -> Value:
    dtype, exponent = node.dtype(0), node.dtype(1)
    known = node.known(1)
    if dtype in FLOATS and known is not None and known.size == 1 and known.ndim <= node.rank(0) and known == 2:
        return R.multiply(node.tensor(0), node.tensor(0))
    first, second = operands(node)
    if dtype == exponent and dtype in FLOATS:
        return R.power(first, second)
    wide = "float64" if dtype not in FLOATS or exponent == "float64" else dtype
    if dtype in FLOATS:
        return R.astype(R.power(R.astype(first, wide), R.astype(second, wide)), dtype)
    if exponent in FLOATS:
        return R.astype(R.power(R.astype(first, "float64"), R.astype(second, "float64")), dtype)
    return R.power(first, R.astype(second, dtype))


@rule("Mean")
def _mean(node: Node) -> Value:
    values = aligned(node.tensors)
    total = values[0]
    for value in values[1:]:
        total = R.add(total, value)
    return R.divide(total, node.const(len(values)))


@rule("Reciprocal")
def _reciprocal(node: Node) -> Value:
    return R.divide(node.const(1), node.tensor(0))


@rule("BitShift")
def _shift(node: Node) -> Value:
    first, second = operands(node)
    bits = int(node.dtype().removeprefix("uint").removeprefix("int"))
    to_left = node.required("direction") == "LEFT"
    shifted = (R.left_shift if to_left else R.right_shift)(first, R.minimum(second, node.const(bits - 1)))
    if not to_left and node.dtype().startswith("int"):
        return shifted  # a shift by the full width leaves only sign bits
    return R.where(R.less(second, node.const(bits)), shifted, node.const(0))


@rule("IsInf")
def _is_inf(node: Node) -> Value:
    x = node.tensor(0)
    negative, positive = node.attr("detect_negative", 1), node.attr("detect_positive", 1)
    if negative and positive:
        return R.isinf(x)
    sign = R.less if negative else R.greater
    found = R.logical_and(R.isinf(x), sign(x, node.const(0)))
    return found if negative or positive else R.logical_and(found, R.logical_not(found))


@rule("Identity")
def _identity(node: Node) -> object:
    return node.item(0)


@rule("Cast")
def _cast(node: Node) -> object:
    return converted(node, node.tensor(0), node.dtype(), dtype_name(node.required("to"), "the result"))


@rule("CastLike")
def _cast_like(node: Node) -> object:
    return converted(node, node.tensor(0), node.dtype(), node.dtype(1))


def converted(node: Node, x: Value, dtype: str, wanted: str) -> object:
    """Convert `x` of `dtype` to `wanted`; both may be narrow."""
    if dtype in NARROW:
        x, dtype = widened(x, dtype, "float32" if wanted in NARROW else wanted), "float32"
    if wanted not in NARROW:
        return R.astype(x, wanted)
    rounding = node.attr("round_mode", "up")
    return TensorItem(wanted, narrowed(node.bb, x, dtype, wanted, bool(node.attr("saturate", 1)), rounding))


@rule("BitCast")
def _bit_cast(node: Node) -> Value:
    wanted = dtype_name(node.required("to"), "the result")
    if "bool" in (wanted, node.dtype()):
        return R.astype(node.tensor(0), wanted)
    if wanted == node.dtype():
        return node.tensor(0)
    result: Value = node.te(bit_cast, node.tensor(0), wanted)
    return result


@rule("Where")
def _where(node: Node) -> Value:
    condition, one, other = aligned(node.tensors)
    return R.where(condition, one, other)


@rule("Clip", until=10)
def _clip_numbers(node: Node) -> Value:
    return R.clip(node.tensor(0), node.attr("min"), node.attr("max"))


@rule("Clip", since=11)
def _clip(node: Node) -> object:
    x = node.tensor(0)
    x = R.maximum(x, node.tensor(1)) if node.has(1) else x
    return R.minimum(x, node.tensor(2)) if node.has(2) else x
