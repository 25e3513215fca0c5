"""The functions of tensor expressions on scalars."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import DTypeError
from relax_mlir.te.expressions import INDEX, LITERAL, Expr, ExprLike, as_expr, common_kind, condition, literal

UNARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "floor", "log"),
    *("round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)


def _unary(name: str) -> Callable[[ExprLike], Expr]:
    def function(x: ExprLike) -> Expr:
        item = as_expr(x)
        if item.kind in (INDEX, LITERAL) or not dtypes.dtype(item.dtype).is_float:
            raise DTypeError(f"te.{name}: the operand has dtype {item.dtype}, expected a float; use astype")
        return Expr(item.kind, [item], lambda _, args: f"T.{name}({args[0]})")

    function.__name__ = name
    function.__doc__ = f"`{name}` of a float; see the op of the same name."
    return function


acos, acosh, asin, asinh, atan, atanh, ceil, cos, cosh, erf, exp, floor, log = map(_unary, UNARY[:13])
round, rsqrt, sigmoid, sin, sinh, sqrt, tan, tanh, trunc = map(_unary, UNARY[13:])


def _same(name: str, *values: ExprLike) -> Expr:
    items = [as_expr(value) for value in values]
    kind = common_kind(f"te.{name}", items)
    return Expr(kind, items, lambda _, args: f"T.{name}({', '.join(args)})")


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
    return literal(value).astype(dtype)


def if_then_else(test: ExprLike, then: ExprLike, otherwise: ExprLike) -> Expr:
    """`then` where `test` holds, else `otherwise`; the other is not computed, so that its accesses need not exist."""
    items = [condition("te.if_then_else", test), as_expr(then), as_expr(otherwise)]
    kind = common_kind("te.if_then_else", items[1:])
    return Expr(kind, items, lambda _, args: f"T.if_then_else({', '.join(args)})")


def select(test: ExprLike, then: ExprLike, otherwise: ExprLike) -> Expr:
    """`then` where `test` holds, else `otherwise`; both are computed."""
    items = [condition("te.select", test), as_expr(then), as_expr(otherwise)]
    kind = common_kind("te.select", items[1:])
    return Expr(kind, items, lambda _, args: f"T.Select({', '.join(args)})")


def all(*tests: ExprLike) -> Expr:
    """Whether all conditions hold."""
    return _joined("and", tests)


def any(*tests: ExprLike) -> Expr:
    """Whether one of the conditions holds."""
    return _joined("or", tests)


def _joined(word: str, tests: tuple[ExprLike, ...]) -> Expr:
    items = [condition(f"te.{'all' if word == 'and' else 'any'}", test) for test in tests]
    bool_ = dtypes.dtype("bool")

    def join(left: Expr, right: Expr) -> Expr:
        return Expr(bool_, [left, right], lambda _, args: f"({args[0]} {word} {args[1]})")

    return functools.reduce(join, items) if items else literal(word == "and")
