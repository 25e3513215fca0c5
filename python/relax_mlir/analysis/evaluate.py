"""Evaluation of pure ops on NumPy arrays, as a table with one entry per op.

Constant folding uses it, so every entry computes what compiled code computes: integers wrap around, float16 and
bfloat16 are computed in float32 and rounded once. Functions such as ``exp``, and sums, are evaluated in float64 and
rounded; compiled code may differ from that in the last place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import OpArgs
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.elementwise import clip_bound, dtype_of
from relax_mlir.dialects.reduce import reduced_axes

Array = np.ndarray[Any, Any]
Evaluator = Callable[[OpArgs, Sequence[Array]], "Array | None"]
"""``evaluator(args, operands)``: the result in any dtype, or None to leave the op to compiled code."""


def evaluate(args: OpArgs, operands: Sequence[Array], dtype: DType) -> Array | None:
    """The result of the op `args` on `operands`, in `dtype`; None if the op, or this case of it, is not supported."""
    evaluator = EVALUATORS.get(args.op)
    if evaluator is None:
        return None
    with np.errstate(all="ignore"):
        result = evaluator(args, operands)
        return None if result is None else np.asarray(result).astype(dtype.numpy)


def _is_float(array: Array) -> bool:
    return dtypes.dtype(array.dtype).is_float


def _widened(array: Array) -> Array:
    """Convert float16 and bfloat16 to float32; return other arrays unchanged."""
    return array.astype(np.float32) if _is_float(array) and array.itemsize == 2 else array


def _doubled(array: Array) -> Array:
    """Convert floats to float64; return other arrays unchanged."""
    return array.astype(np.float64) if _is_float(array) else array


def _exact(function: Callable[..., Array]) -> Evaluator:
    """A function that NumPy rounds once in the dtype of its operands."""
    return lambda args, xs: function(*map(_widened, xs))


def _rounded(function: Callable[..., Array]) -> Evaluator:
    """A function of floats whose last place depends on the algorithm: computed in float64."""

    def evaluator(args: OpArgs, xs: Sequence[Array]) -> Array:
        result = function(*map(_doubled, xs))
        return result if xs[0].dtype == np.float64 else result.astype(np.float32)

    return evaluator


def _rounding(function: Callable[[Array], Array]) -> Evaluator:
    """Rounding to an integer value; integers are returned unchanged."""
    return lambda args, xs: function(_widened(xs[0])) if _is_float(xs[0]) else xs[0]


def _test(function: Callable[[Array], Array], otherwise: bool) -> Evaluator:
    """A test on floats, with its constant result for other dtypes."""

    def evaluator(args: OpArgs, xs: Sequence[Array]) -> Array:
        return function(_widened(xs[0])) if _is_float(xs[0]) else np.full(xs[0].shape, otherwise)

    return evaluator


def _power(args: OpArgs, xs: Sequence[Array]) -> Array | None:
    base, exponent = xs
    if _is_float(base):
        return _rounded(np.power)(args, xs)
    if (exponent < 0).any():
        return None  # not supported by NumPy
    return np.power(base, exponent)


def _astype(args: OpArgs, xs: Sequence[Array]) -> Array | None:
    source, target = xs[0], dtype_of(args, "dtype")
    if not _is_float(source):
        return source.astype(np.float32) if target.is_float and target.bits < 32 else source
    if target.is_integer:
        return _saturated(source.astype(np.float64), target)
    if source.dtype == np.float64 and target.name == "bfloat16":
        return None  # ml_dtypes rounds twice
    return _widened(source) != 0 if target.kind == "bool" else source


def _saturated(values: Array, target: DType) -> Array:
    """Floats as integers: truncated, clamped to the range, 0 for NaN."""
    limits = np.iinfo(target.numpy)
    cut = np.trunc(values)
    below, above = cut < float(limits.min), cut >= float(limits.max) + (target.bits < 64)
    inside = ~(below | above | np.isnan(cut))
    result = np.where(inside, cut, 0).astype(target.numpy)
    result[below], result[above] = limits.min, limits.max
    return result


def _clip(args: OpArgs, xs: Sequence[Array]) -> Array:
    low, high = clip_bound(args, "min"), clip_bound(args, "max")
    x = _widened(xs[0])
    if low is not None:
        x = np.maximum(x, np.asarray(low).astype(x.dtype))
    return x if high is None else np.minimum(x, np.asarray(high).astype(x.dtype))


def _fma(args: OpArgs, xs: Sequence[Array]) -> Array | None:
    if xs[0].dtype == np.float64:
        return None  # NumPy has no fused multiply-add
    x1, x2, x3 = map(_doubled, xs)
    return x1 * x2 + x3


def _reduction(function: Callable[..., Array], *, empty: bool, position: bool = False) -> Evaluator:
    """A reduction along the op's axes; `empty`: it has a result for zero elements."""

    def evaluator(args: OpArgs, xs: Sequence[Array]) -> Array | None:
        x = xs[0]
        axes = tuple(reduced_axes(args, x.ndim))
        if not empty and 0 in x.shape:
            return None
        keepdims = args.bool_attr("keepdims")
        if position:
            axis = None if args.is_unit("axis") else axes[0]
            return function(_widened(x), axis=axis, keepdims=keepdims)
        return function(_doubled(x), axis=axes, keepdims=keepdims)

    return evaluator


def _of_dtype(function: Callable[..., Array]) -> Callable[..., Array]:
    """A sum or product in the dtype of the operand, where NumPy would use a wider one."""
    return lambda x, **axes: function(x, dtype=x.dtype, **axes)


def _quiet(function: Callable[..., Array]) -> Callable[..., Array]:
    """A mean or variance that gives NaN for zero elements, without NumPy's warning."""

    def evaluator(x: Array, **axes: Any) -> Array:  # noqa: ANN401 - NumPy's axis and keepdims
        if x.size:
            return function(x, **axes)
        return np.full(np.sum(x, **axes).shape, np.nan)

    return evaluator


EVALUATORS: dict[str, Evaluator] = {
    "abs": _exact(np.abs),
    "acos": _rounded(np.arccos),
    "acosh": _rounded(np.arccosh),
    "add": _exact(np.add),
    "argmax": _reduction(np.argmax, empty=False, position=True),
    "argmin": _reduction(np.argmin, empty=False, position=True),
    "asin": _rounded(np.arcsin),
    "asinh": _rounded(np.arcsinh),
    "astype": _astype,
    "atan": _rounded(np.arctan),
    "atan2": _rounded(np.arctan2),
    "atanh": _rounded(np.arctanh),
    "bitwise_and": _exact(np.bitwise_and),
    "bitwise_not": _exact(np.invert),
    "bitwise_or": _exact(np.bitwise_or),
    "bitwise_xor": _exact(np.bitwise_xor),
    "ceil": _rounding(np.ceil),
    "clip": _clip,
    "cos": _rounded(np.cos),
    "cosh": _rounded(np.cosh),
    "divide": _exact(np.divide),
    "equal": _exact(np.equal),
    "ewise_fma": _fma,
    "exp": _rounded(np.exp),
    "floor": _rounding(np.floor),
    "floor_divide": _exact(np.floor_divide),
    "floor_mod": _exact(np.mod),
    "greater": _exact(np.greater),
    "greater_equal": _exact(np.greater_equal),
    "isfinite": _test(np.isfinite, True),
    "isinf": _test(np.isinf, False),
    "isnan": _test(np.isnan, False),
    "left_shift": _exact(np.left_shift),
    "less": _exact(np.less),
    "less_equal": _exact(np.less_equal),
    "log": _rounded(np.log),
    "log_add_exp": _rounded(np.logaddexp),
    "logical_and": _exact(np.logical_and),
    "logical_not": _exact(np.logical_not),
    "logical_or": _exact(np.logical_or),
    "logical_xor": _exact(np.logical_xor),
    "max": _reduction(np.max, empty=False),
    "maximum": _exact(np.maximum),
    "mean": _reduction(_quiet(np.mean), empty=True),
    "min": _reduction(np.min, empty=False),
    "minimum": _exact(np.minimum),
    "mod": _exact(np.mod),
    "multiply": _exact(np.multiply),
    "negative": _exact(np.negative),
    "not_equal": _exact(np.not_equal),
    "power": _power,
    "prod": _reduction(_of_dtype(np.prod), empty=True),
    "right_shift": _exact(np.right_shift),
    "round": _rounding(np.rint),
    "rsqrt": _rounded(lambda x: 1 / np.sqrt(x)),
    "sigmoid": _rounded(lambda x: 1 / (1 + np.exp(-x))),
    "sign": _exact(np.sign),
    "sin": _rounded(np.sin),
    "sinh": _rounded(np.sinh),
    "sqrt": _rounded(np.sqrt),
    "square": _exact(np.square),
    "std": _reduction(_quiet(np.std), empty=True),
    "subtract": _exact(np.subtract),
    "sum": _reduction(_of_dtype(np.sum), empty=True),
    "tan": _rounded(np.tan),
    "tanh": _rounded(np.tanh),
    "tril": lambda args, xs: np.tril(xs[0], args.int_attr("k")),
    "triu": lambda args, xs: np.triu(xs[0], args.int_attr("k")),
    "trunc": _rounding(np.trunc),
    "variance": _reduction(_quiet(np.var), empty=True),
    "where": lambda args, xs: np.where(*xs),
}
"""Op name (without ``relax.``) → evaluator. Ops that create tensors are omitted: a constant is larger than the op."""
