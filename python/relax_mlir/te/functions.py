"""The functions of tensor expressions on scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import DTypeError
from relax_mlir.te.expressions import (
    BOOL,
    INDEX,
    LITERAL,
    Call,
    Expr,
    ExprLike,
    IfThenElse,
    Limit,
    Logical,
    Number,
    Select,
    as_expr,
    condition,
    unified,
)


def _unary(name: str, called: str = "", *, test: bool = False) -> Callable[[ExprLike], Expr]:
    def function(x: ExprLike) -> Expr:
        item = as_expr(x)
        if item.kind in (INDEX, LITERAL) or not dtypes.dtype(item.dtype).is_float:
            raise DTypeError(f"te.{name}: the operand has dtype {item.dtype}, expected a float; use astype")
        return Call(called or name, [item], BOOL if test else item.kind)

    function.__name__ = name
    function.__doc__ = f"`{name}` of a float; see the op of the same name."
    return function


acos, acosh, asin, asinh = map(_unary, ("acos", "acosh", "asin", "asinh"))
atan, atanh, ceil, cos, cosh = map(_unary, ("atan", "atanh", "ceil", "cos", "cosh"))
erf, exp, exp2, expm1, floor = map(_unary, ("erf", "exp", "exp2", "expm1", "floor"))
log, log10, log1p, log2 = map(_unary, ("log", "log10", "log1p", "log2"))
round, rsqrt, sigmoid, sin, sinh = map(_unary, ("round", "rsqrt", "sigmoid", "sin", "sinh"))
sqrt, tan, tanh, trunc = map(_unary, ("sqrt", "tan", "tanh", "trunc"))
nearbyint = _unary("nearbyint", "round")


def _test(name: str, answer: bool) -> Callable[[ExprLike], Expr]:
    of_float = _unary(name, test=True)

    def function(x: ExprLike) -> Expr:
        item = as_expr(x)
        is_float = item.kind not in (INDEX, LITERAL) and dtypes.dtype(item.dtype).is_float
        return of_float(item) if is_float else Number(answer)

    function.__name__ = name
    function.__doc__ = f"Whether a float {name[:2]} {name[2:]}, which of integers is {answer}."
    return function


isfinite, isinf, isnan = _test("isfinite", True), _test("isinf", False), _test("isnan", False)


def _bits(name: str, x: ExprLike) -> Expr:
    item = as_expr(x)
    if item.kind in (INDEX, LITERAL) or not dtypes.dtype(item.dtype).is_integer:
        raise DTypeError(f"te.{name}: the operand has dtype {item.dtype}, expected an integer; use astype")
    return Call(name, [item], item.kind)


def popcount(x: ExprLike) -> Expr:
    """The number of bits set in an integer."""
    return _bits("popcount", x)


def clz(x: ExprLike) -> Expr:
    """The number of leading zero bits of an integer; all bits for 0."""
    return _bits("clz", x)


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
    """The larger of two numbers; NaN if one of them is NaN."""
    return _same("max", x, y)


def minimum(x: ExprLike, y: ExprLike) -> Expr:
    """The smaller of two numbers; NaN if one of them is NaN."""
    return _same("min", x, y)


def floordiv(x: ExprLike, y: ExprLike) -> Any:  # noqa: ANN401 - a size, or an expression
    """`x // y`, rounded down; sizes return a size, which may be used in shapes."""
    if isinstance(x, int | symbolic.Expr) and isinstance(y, int | symbolic.Expr):
        return symbolic.floordiv(x, y)
    return as_expr(x) // y


def floormod(x: ExprLike, y: ExprLike) -> Any:  # noqa: ANN401 - a size, or an expression
    """`x % y` with the sign of `y`; sizes return a size, which may be used in shapes."""
    if isinstance(x, int | symbolic.Expr) and isinstance(y, int | symbolic.Expr):
        return symbolic.floormod(x, y)
    return as_expr(x) % y


def truncdiv(x: ExprLike, y: ExprLike) -> Expr:
    """The quotient of integers rounded towards zero."""
    return _same("truncdiv", x, y)


def truncmod(x: ExprLike, y: ExprLike) -> Expr:
    """The remainder of `truncdiv`, with the sign of `x`."""
    return _same("truncmod", x, y)


indexdiv, indexmod = floordiv, floormod


def ceildiv(x: ExprLike, y: ExprLike) -> Any:  # noqa: ANN401 - a size, or an expression
    """`x / y`, rounded up; sizes return a size, which may be used in shapes."""
    if isinstance(x, int | symbolic.Expr) and isinstance(y, int | symbolic.Expr):
        return symbolic.ceildiv(x, y)
    return -((-as_expr(x)) // y)


def div(x: ExprLike, y: ExprLike) -> Expr:
    """The quotient: exact for floats, rounded towards zero for integers."""
    items = [as_expr(x), as_expr(y)]
    kind, items = unified("te.div", items)
    if kind not in (INDEX, LITERAL) and dtypes.dtype(str(kind)).is_float:
        return items[0] / items[1]
    return truncdiv(*items)


def fmod(x: ExprLike, y: ExprLike) -> Expr:
    """The remainder of floats with the sign of `x`, as in C."""
    items = [as_expr(x), as_expr(y)]
    kind, items = unified("te.fmod", items)
    if kind in (INDEX, LITERAL) or not dtypes.dtype(str(kind)).is_float:
        raise DTypeError(f"te.fmod: the operands have dtype {kind}, expected a float; use truncmod of integers")
    return Call("fmod", items, kind)


def add(x: ExprLike, y: ExprLike) -> Expr:
    """``x + y``."""
    return as_expr(x) + y


def subtract(x: ExprLike, y: ExprLike) -> Expr:
    """``x - y``."""
    return as_expr(x) - y


def multiply(x: ExprLike, y: ExprLike) -> Expr:
    """``x * y``."""
    return as_expr(x) * y


def cast(x: ExprLike | str, dtype: str | ExprLike) -> Expr:
    """Convert `x`, as `astype` does; also accepts the argument order of TVM's ``tir.Cast(dtype, x)``."""
    if isinstance(x, str):
        x, dtype = dtype, x
    if not isinstance(dtype, str):
        raise DTypeError(f"te.cast: the dtype is {dtype!r}, expected text such as 'float32'")
    return as_expr(x).astype(dtype)


def min_value(dtype: str) -> Expr:
    """The minimum finite value of a dtype."""
    return Limit("min_value", dtypes.dtype(dtype))


def max_value(dtype: str) -> Expr:
    """The maximum finite value of a dtype."""
    return Limit("max_value", dtypes.dtype(dtype))


def infinity(dtype: str) -> Expr:
    """Infinity of a float dtype."""
    wanted = dtypes.dtype(dtype)
    if not wanted.is_float:
        raise DTypeError(f"te.infinity: {wanted} has no infinity; use te.max_value")
    return Limit("infinity", wanted)


def const(value: float, dtype: str) -> Expr:
    """A constant of a dtype. Raises `DTypeError` for a number that an integer dtype cannot represent."""
    dtypes.require_held("te.const: 'value'", value, dtypes.dtype(dtype))
    return Number(value).astype(dtype)


def if_then_else(test: ExprLike, then: ExprLike, otherwise: ExprLike) -> Expr:
    """`then` if `test` holds, otherwise `otherwise`; the other is not computed, and may access out of bounds."""
    _, items = unified("te.if_then_else", [as_expr(then), as_expr(otherwise)])
    return IfThenElse(condition("te.if_then_else", test), *items)


def select(test: ExprLike, then: ExprLike, otherwise: ExprLike) -> Expr:
    """`then` if `test` holds, otherwise `otherwise`; both are computed."""
    _, items = unified("te.select", [as_expr(then), as_expr(otherwise)])
    return Select(condition("te.select", test), *items)


def all(*tests: ExprLike) -> Expr:
    """True if all conditions hold."""
    return _joined("and", tests)


def any(*tests: ExprLike) -> Expr:
    """True if at least one of the conditions holds."""
    return _joined("or", tests)


def _joined(word: str, tests: tuple[ExprLike, ...]) -> Expr:
    items = [condition(f"te.{'all' if word == 'and' else 'any'}", test) for test in tests]
    joined: Expr | None = None
    for item in items:
        joined = item if joined is None else Logical(word, joined, item)
    return Number(word == "and") if joined is None else joined
