"""Elementwise functions of one tensor."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.dialects import dtypes
from relax_mlir.te import functions
from relax_mlir.te.expressions import BOOL, Expr, ExprLike, as_expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, require
from relax_mlir.topi.tag import ELEMWISE

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
