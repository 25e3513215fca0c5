"""Comparisons, logic and element selection."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall, Operand, constant
from relax_mlir.frontend.torch.registry import rule
from relax_mlir.frontend.torch.torch_types import Argument

Binary = Callable[[Value, Value], Value]

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


for _name, _function in _COMPARISONS.items():
    rule(f"{_name}.Tensor", f"{_name}.Scalar")(_comparison(_function))
for _name, _function in _LOGIC.items():
    rule(f"{_name}.default")(_logic(_function))
for _name, _pair in _BITS.items():
    rule(f"{_name}.Tensor", f"{_name}.Scalar", f"{_name}.Scalar_Tensor")(_bits(_pair))


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


@rule("bitwise_left_shift", "__lshift__")
def left_shift(call: OpCall, x: Operand, other: Operand) -> Value:
    return R.left_shift(call.tensor(x, wraps=True), call.tensor(other, wraps=True))


@rule("bitwise_right_shift", "__rshift__")
def right_shift(call: OpCall, x: Operand, other: Operand) -> Value:
    return R.right_shift(call.tensor(x, wraps=True), call.tensor(other, wraps=True))


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
    combine = R.maximum if "clamp_min" in str(call.node.target) else R.minimum
    return combine(call.tensor(x), call.tensor(bound))


@rule("isnan.default", "isinf.default", "isfinite.default")
def classify(call: OpCall, x: Value) -> Value:
    name = str(call.node.target).split(".")[1]
    if x.dtype is None or not str(x.dtype).startswith(("float", "bfloat")):
        return R.full(call.shape, R.const(name == "isfinite", "bool"), "bool")
    return {"isnan": R.isnan, "isinf": R.isinf, "isfinite": R.isfinite}[name](x)


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
