"""Sorting, and searches in sorted sequences."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir import symbolic, topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.top_k import top_k
from relax_mlir.frontend.torch.op_call import OpCall
from relax_mlir.frontend.torch.registry import rule
from relax_mlir.frontend.torch.torch_types import Argument


@rule("sort.default", "sort.stable")
def sort(call: OpCall, x: Value, *args: Argument, **rest: Argument) -> list[Value]:
    if str(call.node.target).endswith("stable"):
        axis, descending = _options(call)
    else:
        axis, descending = (list(args) + [-1, False][len(args) :])[:2]
    if not call.rank:
        return [x, R.const(0, "int64")]
    axis = call.axis(axis, call.rank)
    places = R.argsort(x, axis, descending, "int64")
    return [R.sort(x, axis, descending), places]


def _options(call: OpCall) -> tuple[int, bool]:
    """Return `dim` and `descending`, which follow the keyword `stable` in the schema."""
    given = {p.name: p.default_value for p in call.node.target._schema.arguments}
    given |= dict(zip((p.name for p in call.node.target._schema.arguments), call.node.args, strict=False))
    given |= call.node.kwargs
    return given["dim"], given["descending"]


@rule("argsort.default", "argsort.stable")
def argsort(call: OpCall, x: Value, *args: Argument, **rest: Argument) -> Value:
    if str(call.node.target).endswith("stable"):
        axis, descending = _options(call)
    else:
        axis, descending = (list(args) + [-1, False][len(args) :])[:2]
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
def bucketize(
    call: OpCall, x: Value, boundaries: Value, *, out_int32: bool = False, right: bool = False
) -> Value:
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
    place = R.floor(
        R.divide(R.multiply(R.subtract(flat, least), R.const(float(bins), dtype)), R.subtract(most, least))
    )
    inside = R.logical_and(R.greater_equal(flat, least), R.less_equal(flat, most))
    wanted = R.arange(0.0, float(bins), 1.0, dtype)
    there = R.equal(R.expand_dims(R.minimum(place, last), 1), wanted)
    return R.sum(R.astype(R.logical_and(there, R.expand_dims(inside, 1)), call.dtype), [0])
