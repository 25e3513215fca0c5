"""The functions of tensor expressions on scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import DTypeError
from relax_mlir.te.expressions import (
    INDEX,
    LITERAL,
    Call,
    Expr,
    ExprLike,
    IfThenElse,
    Logical,
    Number,
    Select,
    as_expr,
    condition,
    unified,
)

UNARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "floor", "log"),
    *("round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)


def _unary(name: str) -> Callable[[ExprLike], Expr]:
    def function(x: ExprLike) -> Expr:
        item = as_expr(x)
        if item.kind in (INDEX, LITERAL) or not dtypes.dtype(item.dtype).is_float:
            raise DTypeError(f"te.{name}: the operand has dtype {item.dtype}, expected a float; use astype")
        return Call(name, [item], item.kind)

    function.__name__ = name
    function.__doc__ = f"`{name}` of a float; see the op of the same name."
    return function


acos, acosh, asin, asinh, atan, atanh, ceil, cos, cosh, erf, exp, floor, log = map(_unary, UNARY[:13])
round, rsqrt, sigmoid, sin, sinh, sqrt, tan, tanh, trunc = map(_unary, UNARY[13:])


def _same(name: str, *values: ExprLike) -> Expr:
    kind, items = unified(f"te.{name}", [as_expr(value) for value in values])
    return Call(name, items, kind)


def abs(x: ExprLike) -> Expr:
    """The absolute value."""
    return _same("abs", x)


def atan2(x1: ExprLike, x2: ExprLike) -> Expr:
    """The angle of the point ``(x2, x1)``."""
    return _same("atan2", x1, x2)


def power(x: ExprLike, y: ExprLike) -> Expr:
    """`x` to the power of `y`."""
    return _same("pow", x, y)


def maximum(x: ExprLike, y: ExprLike) -> Expr:
    """The larger of two numbers; NaN if one is. (`te.max` is the reduction.)"""
    return _same("max", x, y)


def minimum(x: ExprLike, y: ExprLike) -> Expr:
    """The smaller of two numbers; NaN if one is. (`te.min` is the reduction.)"""
    return _same("min", x, y)


def floordiv(x: ExprLike, y: ExprLike) -> Any:  # noqa: ANN401 - a size, or an expression
    """`x // y`, rounded down; a size of sizes, so that it may stand in shapes."""
    if isinstance(x, int | symbolic.Expr) and isinstance(y, int | symbolic.Expr):
        return symbolic.floordiv(x, y)
    return as_expr(x) // y


def floormod(x: ExprLike, y: ExprLike) -> Any:  # noqa: ANN401 - a size, or an expression
    """`x % y` with the sign of `y`; a size of sizes, so that it may stand in shapes."""
    if isinstance(x, int | symbolic.Expr) and isinstance(y, int | symbolic.Expr):
        return symbolic.floormod(x, y)
    return as_expr(x) % y


def truncdiv(x: ExprLike, y: ExprLike) -> Expr:
    """The quotient of integers rounded towards zero."""
    return _same("truncdiv", x, y)


def truncmod(x: ExprLike, y: ExprLike) -> Expr:
    """The remainder of `truncdiv`, with the sign of `x`."""
    return _same("truncmod", x, y)


def const(value: float, dtype: str) -> Expr:
    """A constant of a dtype."""
    return Number(value).astype(dtype)


def if_then_else(test: ExprLike, then: ExprLike, otherwise: ExprLike) -> Expr:
    """`then` where `test` holds, else `otherwise`; the other is not computed, so that its accesses need not exist."""
    _, items = unified("te.if_then_else", [as_expr(then), as_expr(otherwise)])
    return IfThenElse(condition("te.if_then_else", test), *items)


def select(test: ExprLike, then: ExprLike, otherwise: ExprLike) -> Expr:
    """`then` where `test` holds, else `otherwise`; both are computed."""
    _, items = unified("te.select", [as_expr(then), as_expr(otherwise)])
    return Select(condition("te.select", test), *items)


def all(*tests: ExprLike) -> Expr:
    """Whether all conditions hold."""
    return _joined("and", tests)


def any(*tests: ExprLike) -> Expr:
    """Whether one of the conditions holds."""
    return _joined("or", tests)


def _joined(word: str, tests: tuple[ExprLike, ...]) -> Expr:
    items = [condition(f"te.{'all' if word == 'and' else 'any'}", test) for test in tests]
    joined: Expr | None = None
    for item in items:
        joined = item if joined is None else Logical(word, joined, item)
    return Number(word == "and") if joined is None else joined
