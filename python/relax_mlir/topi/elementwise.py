"""Elementwise functions of one tensor, and of two with broadcasting; quantization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.te import functions
from relax_mlir.te.expressions import BOOL, INDEX, LITERAL, Expr, ExprLike, Logical, as_expr
from relax_mlir.te.tensors import Tensor, broadcast_element, broadcast_shape
from relax_mlir.topi.common import axis_of, computed, dims_of, require, require_float
from relax_mlir.topi.tag import BROADCAST, ELEMWISE

Rule = Callable[[Expr], ExprLike]


def _mapped(name: str, rule: Rule) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        tensor = require(f"topi.{name}: 'x'", x)
        return computed(tensor.shape, lambda *i: rule(tensor(*i)), f"T_{name}", ELEMWISE)

    function.__name__ = name
    function.__doc__ = f"`{name}` of every element, as `te.{name}`."
    return function


acos, acosh = _mapped("acos", functions.acos), _mapped("acosh", functions.acosh)
asin, asinh = _mapped("asin", functions.asin), _mapped("asinh", functions.asinh)
atan, atanh = _mapped("atan", functions.atan), _mapped("atanh", functions.atanh)
ceil, floor = _mapped("ceil", functions.ceil), _mapped("floor", functions.floor)
cos, cosh = _mapped("cos", functions.cos), _mapped("cosh", functions.cosh)
erf, exp = _mapped("erf", functions.erf), _mapped("exp", functions.exp)
log, log2 = _mapped("log", functions.log), _mapped("log2", functions.log2)
log10, log1p = _mapped("log10", functions.log10), _mapped("log1p", functions.log1p)
round, trunc = _mapped("round", functions.round), _mapped("trunc", functions.trunc)
sigmoid, tanh = _mapped("sigmoid", functions.sigmoid), _mapped("tanh", functions.tanh)
sin, sinh = _mapped("sin", functions.sin), _mapped("sinh", functions.sinh)
sqrt, rsqrt = _mapped("sqrt", functions.sqrt), _mapped("rsqrt", functions.rsqrt)
tan, abs = _mapped("tan", functions.tan), _mapped("abs", functions.abs)
isnan, isinf = _mapped("isnan", functions.isnan), _mapped("isinf", functions.isinf)
isfinite = _mapped("isfinite", functions.isfinite)
negative, identity = _mapped("negative", lambda x: -x), _mapped("identity", lambda x: x)


def sign(x: Tensor) -> Tensor:
    """-1, 0 or 1 by the sign of every element; NaN for NaN."""
    tensor = require("topi.sign: 'x'", x)

    def value(*i: Expr) -> Expr:
        item = tensor(*i)
        below = 0 if tensor.dtype.startswith("uint") else functions.select(item < 0, -1, item)
        return functions.select(
            item > 0, functions.const(1, tensor.dtype), functions.select(item == 0, item * 0, below)
        )

    return computed(tensor.shape, value, "T_sign", ELEMWISE)


def logical_not(x: Tensor) -> Tensor:
    """True where an element is zero or False."""
    tensor = require("topi.logical_not: 'x'", x)
    return computed(tensor.shape, lambda *i: ~truth(tensor(*i)), "T_logical_not", ELEMWISE)


def bitwise_not(x: Tensor) -> Tensor:
    """Invert every bit of an integer, or a bool."""
    tensor = require("topi.bitwise_not: 'x'", x)
    return computed(tensor.shape, lambda *i: ~tensor(*i), "T_bitwise_not", ELEMWISE)


def cast(x: Tensor, dtype: str) -> Tensor:
    """Convert every element, as `astype` does."""
    tensor, wanted = require("topi.cast: 'x'", x), dtypes.dtype(dtype).name
    return computed(tensor.shape, lambda *i: tensor(*i).astype(wanted), "T_cast", ELEMWISE)


def clip(x: Tensor, a_min: float, a_max: float) -> Tensor:
    """Clamp every element to the range from `a_min` to `a_max`; NaN stays NaN."""
    tensor = require("topi.clip: 'x'", x)
    for name, number in (("a_min", a_min), ("a_max", a_max)):
        dtypes.require_held(f"topi.clip: '{name}'", number, dtypes.dtype(tensor.dtype))
    return computed(
        tensor.shape,
        lambda *i: functions.minimum(functions.maximum(tensor(*i), a_min), a_max),
        "T_clip",
        ELEMWISE,
    )


def truth(item: Expr) -> Expr:
    """True if an element is not zero."""
    return item if item.kind == BOOL else as_expr(item) != 0


Operand: TypeAlias = "Tensor | ExprLike"
BinaryRule = Callable[[Expr, Expr], ExprLike]


def _is_float(item: Expr) -> bool:
    return item.kind not in (INDEX, LITERAL) and item.dtype.startswith(("float", "bfloat"))


def _broadcast(name: str, doc: str, rule: BinaryRule) -> Callable[[Operand, Operand], Any]:
    def function(lhs: Operand, rhs: Operand) -> Any:  # noqa: ANN401 - a tensor; an expression if both are numbers
        tensors = [item for item in (lhs, rhs) if isinstance(item, Tensor)]
        if not tensors:
            return rule(as_expr(lhs), as_expr(rhs))
        shape = broadcast_shape(f"topi.{name}", [tensor.shape for tensor in tensors])

        def value(*i: Expr) -> ExprLike:
            a, b = (broadcast_element(x, shape, i) if isinstance(x, Tensor) else as_expr(x) for x in (lhs, rhs))
            return rule(a, b)

        same = all(tensor.shape == shape for tensor in tensors)
        return computed(shape, value, f"T_{name}", ELEMWISE if same else BROADCAST)

    function.__name__ = name
    function.__doc__ = f"{doc}, with broadcasting."
    return function


def _logical(operator: str) -> BinaryRule:
    return lambda a, b: Logical(operator, truth(a), truth(b))


def _log_add_exp(a: Expr, b: Expr) -> ExprLike:
    """``max + log1p(exp(-|a - b|))``; for equal operands, possibly infinite, ``a + log 2``."""
    more = functions.log1p(functions.exp(-functions.abs(a - b)))
    return functions.select(a == b, a + 0.6931471805599453, functions.maximum(a, b) + more)


def _mod(a: Expr, b: Expr) -> ExprLike:
    return functions.fmod(a, b) if _is_float(a) or _is_float(b) else functions.truncmod(a, b)


add = _broadcast("add", "``lhs + rhs``", lambda a, b: a + b)
subtract = _broadcast("subtract", "``lhs - rhs``", lambda a, b: a - b)
multiply = _broadcast("multiply", "``lhs * rhs``", lambda a, b: a * b)
divide = _broadcast("divide", "The quotient, of integers rounded towards zero", functions.div)
floor_divide = _broadcast("floor_divide", "``lhs // rhs``, rounded down", lambda a, b: a // b)
trunc_divide = _broadcast("trunc_divide", "The quotient of integers rounded towards zero", functions.truncdiv)
mod = _broadcast("mod", "The remainder with the sign of `lhs`, as C's", _mod)
floor_mod = _broadcast("floor_mod", "``lhs % rhs``, with the sign of `rhs`", lambda a, b: a % b)
trunc_mod = _broadcast("trunc_mod", "The remainder of `trunc_divide`", functions.truncmod)
maximum = _broadcast("maximum", "The larger one, or NaN if one is", functions.maximum)
minimum = _broadcast("minimum", "The smaller one, or NaN if one is", functions.minimum)
power = _broadcast("power", "`lhs` to the power of `rhs`", functions.power)
atan2 = _broadcast("atan2", "The angle of the point ``(rhs, lhs)``", functions.atan2)
log_add_exp = _broadcast("log_add_exp", "``log(exp(lhs) + exp(rhs))``", _log_add_exp)
left_shift = _broadcast("left_shift", "``lhs << rhs``", lambda a, b: a << b)
right_shift = _broadcast("right_shift", "``lhs >> rhs``", lambda a, b: a >> b)
bitwise_and = _broadcast("bitwise_and", "``lhs & rhs``", lambda a, b: a & b)
bitwise_or = _broadcast("bitwise_or", "``lhs | rhs``", lambda a, b: a | b)
bitwise_xor = _broadcast("bitwise_xor", "``lhs ^ rhs``", lambda a, b: a ^ b)
logical_and = _broadcast("logical_and", "Whether both are true, that is, not zero", _logical("and"))
logical_or = _broadcast("logical_or", "Whether one is true, that is, not zero", _logical("or"))
logical_xor = _broadcast("logical_xor", "Whether just one is true", lambda a, b: truth(a) != truth(b))
equal = _broadcast("equal", "``lhs == rhs``", lambda a, b: a == b)
not_equal = _broadcast("not_equal", "``lhs != rhs``", lambda a, b: a != b)
less = _broadcast("less", "``lhs < rhs``", lambda a, b: a < b)
less_equal = _broadcast("less_equal", "``lhs <= rhs``", lambda a, b: a <= b)
greater = _broadcast("greater", "``lhs > rhs``", lambda a, b: a > b)
greater_equal = _broadcast("greater_equal", "``lhs >= rhs``", lambda a, b: a >= b)


def broadcast_to(data: Tensor, shape: Sequence[Any]) -> Tensor:
    """`data` repeated along new dimensions, and along dimensions of size 1.

    Raises:
        ShapeError: a size is neither 1 nor provably equal to that of `shape`.
    """
    tensor, dims = require("topi.broadcast_to: 'data'", data), dims_of("topi.broadcast_to: 'shape'", shape)
    own = dims[len(dims) - tensor.ndim :] if tensor.ndim <= len(dims) else []
    if len(own) != tensor.ndim or not all(
        has == 1 or symbolic.prove_equal(has, wanted) for has, wanted in zip(tensor.shape, own, strict=True)
    ):
        shown = ", ".join(map(str, dims))
        raise ShapeError(f"topi.broadcast_to: the tensor {tensor} does not broadcast to ({shown})")
    return computed(dims, lambda *i: broadcast_element(tensor, dims, i), "T_broadcast_to", BROADCAST)


def where(condition: Tensor, x: Operand, y: Operand) -> Tensor:
    """Elements of `x` where `condition` is true, else of `y`, with broadcasting."""
    test = require("topi.where: 'condition'", condition)
    operands = (test, x, y)
    tensors = [item for item in operands if isinstance(item, Tensor)]
    shape = broadcast_shape("topi.where", [tensor.shape for tensor in tensors])
    kinds = {item.dtype for item in (x, y) if isinstance(item, Tensor)}
    if len(kinds) > 1:
        raise DTypeError(f"topi.where: 'x' and 'y' have dtypes {' and '.join(sorted(kinds))}; cast one")
    if not kinds and not any(isinstance(item, Expr) for item in (x, y)):
        raise ArgumentError("topi.where: 'x' and 'y' are numbers, of no dtype; give te.const(x, dtype)")

    def value(*i: Expr) -> Expr:
        t, a, b = (broadcast_element(v, shape, i) if isinstance(v, Tensor) else as_expr(v) for v in operands)
        return functions.select(truth(t), a, b)

    return computed(shape, value, "T_where", BROADCAST)


Element = Callable[[Sequence[Expr]], Expr]
"""The value at indices."""
QUANTIZED = ("int8", "uint8", "int16", "uint16", "int32")


def quantize(data: Tensor, scale: Tensor, zero_point: Tensor, axis: int = -1, out_dtype: str = "int8") -> Tensor:
    """``round(data / scale) + zero_point``, clamped to the range of `out_dtype`; ties round to even.

    Args:
        data: floats.
        scale: floats: one for all, or one for each index along `axis`.
        zero_point: integers or floats: one for all, or one for each index along `axis`.
        axis: the axis of the scales.
        out_dtype: int8, uint8, int16, uint16 or int32.

    NaN becomes the zero point.
    """
    what = "topi.quantize"
    tensor = require(f"{what}: 'data'", data)
    require_float(what, tensor)
    wanted = _quantized(what, out_dtype)
    require(f"{what}: 'scale'", scale)
    kind = "float64" if "float64" in (tensor.dtype, scale.dtype) or wanted == "int32" else "float32"
    factor, zero, tag = _parameters(what, tensor, scale, zero_point, axis, kind)

    def value(*i: Expr) -> Expr:
        scaled = functions.nearbyint(tensor(*i).astype(kind) / factor(i))
        number = functions.select(functions.isnan(scaled), functions.const(0, kind), scaled)
        return (number + zero(i)).astype(wanted)  # conversions saturate

    return computed(tensor.shape, value, "T_quantize", tag)


def dequantize(data: Tensor, scale: Tensor, zero_point: Tensor, axis: int = -1, out_dtype: str = "float32") -> Tensor:
    """``(data - zero_point) * scale``; see `quantize`."""
    what = "topi.dequantize"
    tensor, wanted = require(f"{what}: 'data'", data), dtypes.dtype(out_dtype)
    _quantized(what, tensor.dtype)
    if not wanted.is_float:
        raise DTypeError(f"{what}: 'out_dtype' is {wanted}, expected a float")
    kind = "float64" if wanted.name == "float64" or tensor.dtype == "int32" else "float32"
    factor, zero, tag = _parameters(what, tensor, scale, zero_point, axis, kind)
    return computed(
        tensor.shape,
        lambda *i: ((tensor(*i).astype(kind) - zero(i)) * factor(i)).astype(wanted.name),
        "T_dequantize",
        tag,
    )


def _quantized(what: str, dtype: str) -> str:
    if dtype not in QUANTIZED:
        raise DTypeError(f"{what}: quantized numbers have dtype {dtype}, expected one of {', '.join(QUANTIZED)}")
    return dtype


def _parameters(
    what: str, data: Tensor, scale: Tensor, zero_point: Tensor, axis: int, kind: str
) -> tuple[Element, Element, str]:
    """The scale and the zero point at indices, and the tag."""
    found: list[Element] = []
    place = axis_of(what, axis, data.ndim) if data.ndim else 0
    for name, given in (("scale", scale), ("zero_point", zero_point)):
        tensor = require(f"{what}: '{name}'", given)
        if name == "scale":
            require_float(f"{what}: '{name}'", tensor)
        if tensor.ndim > 1:
            raise ArgumentError(f"{what}: '{name}' is {tensor}, expected one number, or one for each place of the axis")
        if tensor.ndim == 1 and tensor.shape[0] != 1:
            whole = data.shape[place] if data.ndim else 1
            if not symbolic.prove_equal(tensor.shape[0], whole):
                raise ShapeError(f"{what}: '{name}' is {tensor}, not known to have the {whole} places of axis {place}")
        found.append(_element(tensor, place, kind))
    return found[0], found[1], BROADCAST if data.ndim else ELEMWISE


def _element(tensor: Tensor, place: int, kind: str) -> Element:
    if tensor.ndim == 0:
        return lambda i: tensor().astype(kind)
    if tensor.shape[0] == 1:
        return lambda i: tensor(0).astype(kind)
    return lambda i: tensor(i[place]).astype(kind)
