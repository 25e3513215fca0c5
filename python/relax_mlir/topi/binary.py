"""Functions of two elements, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.te import functions
from relax_mlir.te.broadcasting import broadcast_shape, element
from relax_mlir.te.expressions import INDEX, LITERAL, Expr, ExprLike, Logical, as_expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, dims_of, require
from relax_mlir.topi.elementwise import truth
from relax_mlir.topi.tag import BROADCAST, ELEMWISE

Operand: TypeAlias = "Tensor | ExprLike"
Rule = Callable[[Expr, Expr], ExprLike]


def _is_float(item: Expr) -> bool:
    return item.kind not in (INDEX, LITERAL) and item.dtype.startswith(("float", "bfloat"))


def _broadcast(name: str, doc: str, rule: Rule) -> Callable[[Operand, Operand], Any]:
    def function(lhs: Operand, rhs: Operand) -> Any:  # noqa: ANN401 - a tensor; an expression if both are numbers
        tensors = [item for item in (lhs, rhs) if isinstance(item, Tensor)]
        if not tensors:
            return rule(as_expr(lhs), as_expr(rhs))
        shape = broadcast_shape(f"topi.{name}", [tensor.shape for tensor in tensors])

        def value(*i: Expr) -> ExprLike:
            a, b = (element(x, shape, i) if isinstance(x, Tensor) else as_expr(x) for x in (lhs, rhs))
            return rule(a, b)

        same = all(tensor.shape == shape for tensor in tensors)
        return computed(shape, value, f"T_{name}", ELEMWISE if same else BROADCAST)

    function.__name__ = name
    function.__doc__ = f"{doc}, with broadcasting."
    return function


def _floor_divide(a: Expr, b: Expr) -> ExprLike:
    return a // b


def _logical(operator: str) -> Rule:
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
floor_divide = _broadcast("floor_divide", "``lhs // rhs``, rounded down", _floor_divide)
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
    return computed(dims, lambda *i: element(tensor, dims, i), "T_broadcast_to", BROADCAST)


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
        t, a, b = (element(v, shape, i) if isinstance(v, Tensor) else as_expr(v) for v in operands)
        return functions.select(truth(t), a, b)

    return computed(shape, value, "T_where", BROADCAST)
