"""Medians, variances and histogram bins."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.error import ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi import reduce
from relax_mlir.topi.common import axes_of, axis_of, computed, dims_of, product, require, require_float, size
from relax_mlir.topi.elementwise import add, exp, log, multiply, sqrt, subtract
from relax_mlir.topi.manipulate import reshape
from relax_mlir.topi.sort import SORT, argsort, searchsorted
from relax_mlir.topi.tag import COMM_REDUCE, ELEMWISE

Axis = int | Sequence[int] | None


def median(data: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor | list[Tensor]:
    """The lower median along an axis with its index (int64), as in torch; without an axis, the median of all elements.

    The first NaN if there is one. The median of no elements raises `BoundsError` at run time.
    """
    what = "topi.median"
    tensor = require(f"{what}: 'data'", data)
    if axis is None:
        flat = reshape(tensor, (product(tensor.shape),))
        values, _ = _middle(flat, 0, keepdims=False)
        shape = [1] * tensor.ndim if keepdims else []
        return computed(shape, lambda *i: values(), "T_median", SORT)
    return list(_middle(tensor, axis_of(what, axis, tensor.ndim), keepdims))


def _middle(tensor: Tensor, place: int, keepdims: bool) -> tuple[Tensor, Tensor]:
    order = argsort(tensor, place, True, "int64")
    length = as_expr(size(tensor.shape[place]))
    numbers = None
    if tensor.dtype.startswith(("float", "bfloat")):
        whole = computed(
            tensor.shape,
            lambda *i: functions.select(functions.isnan(tensor(*i)), functions.const(0, "int64"), 1),
            "T_numbers",
            ELEMWISE,
        )
        numbers = reduce.sum(whole, place)
    kept = [1] if keepdims else []
    shape = [*tensor.shape[:place], *kept, *tensor.shape[place + 1 :]]

    def index(*i: Expr) -> Expr:
        rest = [*i[:place], *i[place + len(kept) :]]
        middle: Expr = (length - 1) // 2
        if numbers is not None:
            counted = numbers(*rest)
            middle = functions.select(counted < length, counted, middle)
        return order(*rest[:place], middle, *rest[place:])

    found = computed(shape, index, "T_median_index", SORT)

    def value(*i: Expr) -> Expr:
        rest = [*i[:place], *i[place + len(kept) :]]
        return tensor(*rest[:place], found(*i), *rest[place:])

    return computed(shape, value, "T_median", SORT), found


def bucketize(input_tensor: Tensor, boundaries: Tensor, right: bool = False, dtype: str = "int64") -> Tensor:
    """The index of the interval between sorted boundaries that contains each element.

    A boundary belongs to the interval before it, or, with `right`, to the one after it.
    """
    return searchsorted(boundaries, input_tensor, right, dtype)


def variance(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean squared deviation from the mean."""
    tensor = require("topi.variance: 'data'", data)
    require_float("topi.variance", tensor)
    distance = subtract(tensor, reduce.mean(tensor, axis, keepdims=True))
    return reduce.mean(multiply(distance, distance), axis, keepdims)


def std(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The square root of the variance."""
    return sqrt(variance(data, axis, keepdims))


def logsumexp(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """``log(sum(exp(data)))``, without overflow; -inf for no elements."""
    tensor = require("topi.logsumexp: 'data'", data)
    require_float("topi.logsumexp", tensor)
    most = reduce.max(tensor, axis, keepdims=True)

    def held(*i: Expr) -> Expr:
        item = most(*i)
        return functions.select(functions.isinf(item), functions.const(0, tensor.dtype), item)

    shift = computed(most.shape, held, "T_held", ELEMWISE)
    total = log(reduce.sum(exp(subtract(tensor, shift)), axis, keepdims=True))
    found: Tensor = add(total, shift)
    if keepdims:
        return found
    reduced = axes_of("topi.logsumexp", axis, tensor.ndim)
    kept = [dim for number, dim in enumerate(tensor.shape) if number not in reduced]

    def value(*i: Expr) -> Expr:
        rest = iter(i)
        return found(*(0 if number in reduced else next(rest) for number in range(tensor.ndim)))

    return computed(kept, value, "T_logsumexp", COMM_REDUCE)


def collapse_sum(data: Tensor, target_shape: Sequence[Dim]) -> Tensor:
    """Sum a tensor to a shape that broadcasts to its shape: over new dimensions, and over dimensions of size 1."""
    what = "topi.collapse_sum"
    tensor, wanted = require(f"{what}: 'data'", data), dims_of(f"{what}: 'target_shape'", target_shape)
    more = tensor.ndim - len(wanted)
    own = tensor.shape[max(more, 0) :]
    if more < 0 or not all(
        new == 1 or symbolic.prove_equal(new, old) for new, old in zip(wanted, own, strict=True)
    ):
        raise ShapeError(
            f"{what}: ({', '.join(map(str, wanted))}) is not known to broadcast to the shape of {tensor}"
        )
    summed = [
        *range(more),
        *(more + n for n, (new, old) in enumerate(zip(wanted, own, strict=True)) if new != old),
    ]
    if not summed:
        return computed(tensor.shape, lambda *i: tensor(*i), "T_collapse_sum", COMM_REDUCE)
    found = reduce.sum(tensor, summed, keepdims=True)
    return computed(wanted, lambda *i: found(*[0] * more, *i), "T_collapse_sum", COMM_REDUCE)
