"""Reductions, cumulative sums, sorting and searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir import op as R
from relax_mlir import symbolic, topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.common import top_k
from relax_mlir.frontend.torch.registry import OpCall, Operand, constant, rule
from relax_mlir.frontend.torch.torch_types import Argument

# Reductions.


def axes_of(call: OpCall, axes: Argument) -> list[int] | None:
    """Return the reduced axes as non-negative integers; None: all."""
    rank = len(call.argument(0).shape)
    if axes is None or (isinstance(axes, list | tuple) and not axes):
        return None
    listed = axes if isinstance(axes, list | tuple) else [axes]
    return [axis % rank for axis in listed] if rank else None


def _reduced(function: Callable[..., Value], value: Value, axes: list[int] | None, keepdim: bool) -> Value:
    return function(value, axes, keepdim) if value.ndim else value


_REDUCTIONS: dict[str, Callable[..., Value]] = {"sum": R.sum, "mean": R.mean, "prod": R.prod}


@rule("sum.default", "sum.dim_IntList", "mean.default", "mean.dim", "prod.default", "prod.dim_int")
def reduction(call: OpCall, x: Value, axes: Argument = None, keepdim: bool = False) -> Value:
    return _reduced(_REDUCTIONS[call.name], call.tensor(x), axes_of(call, axes), keepdim)


@rule("amax.default", "max.default", "amin.default", "min.default")
def extreme(call: OpCall, x: Value, axes: Argument = None, keepdim: bool = False) -> Value:
    function = R.max if call.name in ("amax", "max") else R.min
    return _extreme(x, axes_of(call, axes), keepdim, function)


def _extreme(x: Value, axes: list[int] | None, keepdim: bool, function: Callable[..., Value]) -> Value:
    if x.dtype == "bool":
        return R.astype(_reduced(function, R.astype(x, "uint8"), axes, keepdim), "bool")
    return _reduced(function, x, axes, keepdim)


@rule("max.dim", "min.dim")
def extreme_with_index(call: OpCall, x: Value, axis: int, keepdim: bool = False) -> list[Value]:
    largest = call.name == "max"
    if not call.argument(0).ndim:
        return [x, R.const(0, "int64")]
    axes = axes_of(call, axis)
    assert axes is not None
    plain = R.astype(x, "uint8") if x.dtype == "bool" else x
    values = _extreme(x, axes, keepdim, R.max if largest else R.min)
    places = (R.argmax if largest else R.argmin)(plain, axes[0], keepdim)
    return [values, _as_int64(places)]


def _as_int64(places: Value) -> Value:
    return places if places.dtype == "int64" else R.astype(places, "int64")


@rule("argmax.default", "argmin.default")
def argmax(call: OpCall, x: Value, axis: int | None = None, keepdim: bool = False) -> Value:
    function = R.argmax if call.name == "argmax" else R.argmin
    if not call.argument(0).ndim:
        return R.const(0, "int64")
    axes = axes_of(call, axis)
    return _as_int64(function(x, None if axes is None else axes[0], keepdim))


@rule("any.default", "any.dim", "any.dims", "all.default", "all.dim", "all.dims")
def any_all(call: OpCall, x: Value, axes: Argument = None, keepdim: bool = False) -> Value:
    function = topi.any if call.name == "any" else topi.all
    flags = x if x.dtype == "bool" else R.astype(x, "bool")
    if x.ndim:
        flags = call.te(function, flags, axes_of(call, axes), keepdim)
    return flags if call.dtype == "bool" else R.astype(flags, call.dtype)


@rule("logsumexp.default")
def logsumexp(call: OpCall, x: Value, axes: Sequence[int], keepdim: bool = False) -> Value:
    value = call.tensor(x)
    return call.te(topi.logsumexp, value, axes_of(call, axes), keepdim) if value.ndim else value


@rule("var.correction", "std.correction", "var.dim", "std.dim", "var.default", "std.default")
def variance(
    call: OpCall,
    x: Value,
    axes: Argument = None,
    *rest: Argument,
    correction: Operand | None = None,
    keepdim: bool = False,
) -> Value:
    axes, correction, keepdim = _options(call, axes, rest, correction, keepdim)
    found = _variance(call, x, axes_of(call, axes), correction, keepdim)
    return R.sqrt(found) if call.name == "std" else found


def _options(
    call: OpCall, axes: Argument, rest: Sequence[Argument], correction: Operand | None, keepdim: bool
) -> tuple[Argument, Operand, bool]:
    """Return axes, correction and `keepdim` for any of the op's three overloads."""
    if call.overload == "default":
        return None, int(axes is None or axes), False
    if call.overload == "dim":
        unbiased, kept = (list(rest) + [True, False][len(rest) :])[:2]
        return axes, int(unbiased), kept
    return axes, 1 if correction is None else correction, keepdim


@rule(
    *("var_mean.correction", "std_mean.correction", "var_mean.dim", "std_mean.dim", "var_mean.default"),
    "std_mean.default",
)
def variance_and_mean(
    call: OpCall,
    x: Value,
    axes: Argument = None,
    *rest: Argument,
    correction: Operand | None = None,
    keepdim: bool = False,
) -> list[Value]:
    axes, correction, keepdim = _options(call, axes, rest, correction, keepdim)
    over = axes_of(call, axes)
    found = _variance(call, x, over, correction, keepdim)
    if call.name == "std_mean":
        found = R.sqrt(found)
    return [found, R.mean(x, over, keepdim)]


def _variance(call: OpCall, x: Value, axes: list[int] | None, correction: Operand, keepdim: bool) -> Value:
    shape = call.importer.shape(call.argument(0).shape)
    over = range(len(shape)) if axes is None else axes
    value = x if x.ndim else R.reshape(x, [1])
    found = R.variance(value, axes, keepdim) if x.ndim else R.reshape(R.variance(value, None), [])
    if correction == 0:
        return found
    count = call.tensor(symbolic.product([shape[axis] for axis in over]))
    divisor = R.maximum(R.subtract(count, call.tensor(correction)), constant(0, call.dtype))
    return R.divide(R.multiply(found, count), divisor)


@rule("norm.ScalarOpt_dim", "norm.Scalar")
def norm(call: OpCall, x: Value, order: float | None = None, axes: Argument = None, keepdim: bool = False) -> Value:
    from relax_mlir.frontend.torch.rules.nn import vector_norm

    return vector_norm(call, x, 2 if order is None else order, axes, keepdim)


@rule("count_nonzero.dim_IntList", "count_nonzero.default")
def count_nonzero(call: OpCall, x: Value, axes: Argument = None) -> Value:
    flags = R.astype(x if x.dtype == "bool" else R.astype(x, "bool"), "int64")
    return _reduced(R.sum, flags, axes_of(call, axes), False)


# Cumulative sums and products.


@rule("cumsum.default", "cumprod.default")
def cumulative(call: OpCall, x: Value, axis: int, **rest: Argument) -> Value:
    value = call.tensor(x)
    function = R.cumsum if call.name == "cumsum" else R.cumprod
    return function(value, call.axis(axis, call.rank)) if call.rank else value


# Sorting, and searches in sorted sequences.


@rule("sort.default", "sort.stable")
def sort(call: OpCall, x: Value, *args: Argument, **rest: Argument) -> list[Value]:
    axis, descending = _sort_options(call, args)
    if not call.rank:
        return [x, R.const(0, "int64")]
    axis = call.axis(axis, call.rank)
    places = R.argsort(x, axis, descending, "int64")
    return [R.sort(x, axis, descending), places]


def _sort_options(call: OpCall, args: Sequence[Argument]) -> tuple[int, bool]:
    """Return `dim` and `descending`, which follow the keyword ``stable`` in the schema of that overload."""
    if call.overload != "stable":
        axis, descending = (list(args) + [-1, False][len(args) :])[:2]
        return axis, descending
    given = {p.name: p.default_value for p in call.node.target._schema.arguments}
    given |= dict(zip((p.name for p in call.node.target._schema.arguments), call.node.args, strict=False))
    given |= call.node.kwargs
    return given["dim"], given["descending"]


@rule("argsort.default", "argsort.stable")
def argsort(call: OpCall, x: Value, *args: Argument, **rest: Argument) -> Value:
    axis, descending = _sort_options(call, args)
    return R.argsort(x, call.axis(axis, call.rank), descending, "int64") if call.rank else R.const(0, "int64")


@rule("topk.default")
def topk(
    call: OpCall, x: Value, k: Argument, axis: int = -1, largest: bool = True, ordered: bool = True
) -> list[Value]:
    if not call.rank:
        return [x, R.const(0, "int64")]
    return list(top_k(x, symbolic.to_dim(k), call.axis(axis, call.rank), largest))


@rule("median.default", "median.dim")
def median(call: OpCall, x: Value, axis: int | None = None, keepdim: bool = False) -> Value | list[Value]:
    """Return the median; the lower one of two middle elements."""
    if axis is None:
        return R.median(x)
    if not call.importer.shape(call.argument(0).shape):
        return [x, R.const(0, "int64")]
    both = R.median(x, call.axis(axis, len(call.argument(0).shape)), keepdim)
    return [R.tuple_get_item(both, 0), R.tuple_get_item(both, 1)]


@rule("bucketize.Tensor")
def bucketize(call: OpCall, x: Value, boundaries: Value, *, out_int32: bool = False, right: bool = False) -> Value:
    return call.te(topi.bucketize, x, boundaries, right, call.dtype)


@rule("searchsorted.Tensor")
def searchsorted(
    call: OpCall,
    sequence: Value,
    values: Value,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: Argument = None,
    sorter: Argument = None,
) -> Value:
    if sorter is not None:
        raise call.unsupported("searchsorted with a sorter")
    at_right = right or side == "right"
    return call.te(topi.searchsorted, sequence, values, at_right, call.dtype)


@rule("histc.default")
def histc(call: OpCall, x: Value, bins: int = 100, low: float = 0, high: float = 0) -> Value:
    """Count the elements in each of `bins` intervals of ``low..high``; the last one includes its upper bound."""
    if low >= high:
        raise call.unsupported("histc whose range is that of the data; give min and max")
    dtype = "float64"
    flat = R.astype(R.flatten(x), dtype)
    least, most, last = (R.const(float(v), dtype) for v in (low, high, bins - 1))
    place = R.floor(R.divide(R.multiply(R.subtract(flat, least), R.const(float(bins), dtype)), R.subtract(most, least)))
    inside = R.logical_and(R.greater_equal(flat, least), R.less_equal(flat, most))
    wanted = R.arange(0.0, float(bins), 1.0, dtype)
    there = R.equal(R.expand_dims(R.minimum(place, last), 1), wanted)
    return R.sum(R.astype(R.logical_and(there, R.expand_dims(inside, 1)), call.dtype), [0])
