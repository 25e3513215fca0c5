"""Reductions along axes, and cumulative sums and products."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import Expr, ExprLike, IterVar, as_expr
from relax_mlir.te.tensors import LoopOp, Tensor, compute
from relax_mlir.topi.common import (
    axes_of,
    axis_of,
    computed,
    flattened,
    product,
    require,
    require_float,
    size,
)
from relax_mlir.topi.elementwise import truth
from relax_mlir.topi.manipulate import reshape
from relax_mlir.topi.tag import COMM_REDUCE, COMM_REDUCE_IDX

Axis = int | Sequence[int] | None
Reducer = Callable[..., Any]


class _Places:
    """The index mapping of a reduction."""

    def __init__(self, what: str, data: Tensor, axis: Axis, keepdims: bool) -> None:
        self.data, self.keepdims = require(f"{what}: 'data'", data), keepdims
        self.reduced = axes_of(what, axis, data.ndim)
        kept = [number for number in range(data.ndim) if number not in self.reduced]
        self.shape = (
            [1 if number in self.reduced else dim for number, dim in enumerate(data.shape)]
            if keepdims
            else [data.shape[number] for number in kept]
        )
        self.axes = [reductions.reduce_axis((0, data.shape[number]), f"k{number}") for number in self.reduced]

    def element(self, indices: Sequence[Expr]) -> Expr:
        """The element of the input at indices of the result and the reduction axes."""
        own = iter([i for n, i in enumerate(indices) if n not in self.reduced] if self.keepdims else indices)
        inner = iter(self.axes)
        return self.data(*(next(inner) if n in self.reduced else next(own) for n in range(self.data.ndim)))

    @property
    def place(self) -> ExprLike:
        """The row-major linear index of an element among those that are reduced."""
        found: ExprLike = flattened(self.axes, [axis.dom.extent for axis in self.axes])
        return found


def _reduced(
    name: str, data: Tensor, axis: Axis, keepdims: bool, reducer: Reducer, of: Callable[[Expr], Expr]
) -> Tensor:
    places = _Places(f"topi.{name}", data, axis, keepdims)
    if not places.axes:
        return computed(places.shape, lambda *i: of(places.element(i)), f"T_{name}", COMM_REDUCE)
    return computed(places.shape, lambda *i: reducer(of(places.element(i)), places.axes), f"T_{name}", COMM_REDUCE)


def sum(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The sum along axes, or of all elements; 0 for no elements."""
    return _reduced("sum", data, axis, keepdims, reductions.sum, lambda x: x)


def prod(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The product along axes; 1 for no elements."""
    return _reduced("prod", data, axis, keepdims, reductions.prod, lambda x: x)


def max(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The maximum along axes; NaN if an element is NaN; the dtype's minimum, or -inf of floats, for no elements."""
    return _reduced("max", data, axis, keepdims, reductions.max, lambda x: x)


def min(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The minimum along axes; NaN if an element is NaN; the dtype's maximum, or inf of floats, for no elements."""
    return _reduced("min", data, axis, keepdims, reductions.min, lambda x: x)


def all(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """True if all elements along axes are true, that is, not zero; True for no elements."""
    return _reduced("all", data, axis, keepdims, reductions.min, truth)


def any(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """True if an element along axes is true, that is, not zero; False for no elements."""
    return _reduced("any", data, axis, keepdims, reductions.max, truth)


def mean(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean of floats along axes; NaN for no elements."""
    require_float("topi.mean", require("topi.mean: 'data'", data))
    total = sum(data, axis, keepdims)
    count = product([data.shape[number] for number in axes_of("topi.mean", axis, data.ndim)])
    return computed(total.shape, lambda *i: total(*i) / as_expr(size(count)).astype(data.dtype), "T_mean", COMM_REDUCE)


def argmax(data: Tensor, axis: int | None = None, keepdims: bool = False, select_last_index: bool = False) -> Tensor:
    """The index (int32) of the maximum along an axis, or in the flattened tensor; the first one of equal elements.

    A NaN counts as larger than any number. `select_last_index`: the last one of equal elements. -1 for no elements.
    """
    return _arg("argmax", data, axis, keepdims, select_last_index, lambda a, b: a > b)


def argmin(data: Tensor, axis: int | None = None, keepdims: bool = False, select_last_index: bool = False) -> Tensor:
    """The index (int32) of the minimum; see `argmax`. A NaN counts as smaller than any number."""
    return _arg("argmin", data, axis, keepdims, select_last_index, lambda a, b: a < b)


def _arg(
    name: str,
    data: Tensor,
    axis: int | None,
    keepdims: bool,
    last: bool,
    better: Callable[[Expr, Expr], Expr],
) -> Tensor:
    what = f"topi.{name}"
    rank = require(f"{what}: 'data'", data).ndim
    places = _Places(what, data, None if axis is None else axis_of(what, axis, rank), keepdims)
    if not places.axes:
        return computed(places.shape, lambda *i: functions.const(0, "int32"), f"T_{name}", COMM_REDUCE_IDX)

    def combine(x: Sequence[Expr], y: Sequence[Expr]) -> tuple[Expr, Expr]:
        (i, a), (j, b) = x, y
        earlier = i > j if last else i < j
        a_nan, b_nan = functions.isnan(a), functions.isnan(b)
        wins = functions.any(
            functions.all(a_nan, functions.any(~b_nan, earlier)),
            functions.all(~b_nan, functions.any(better(a, b), functions.all(a == b, earlier))),
        )
        first = functions.any(j < 0, functions.all(i >= 0, wins))
        return functions.select(first, i, j), functions.select(first, a, b)

    def start(index_dtype: str, dtype: str) -> tuple[Expr, Expr]:
        return functions.const(-1, index_dtype), functions.const(0, dtype)

    reducer = reductions.comm_reducer(combine, start, name)

    def value(*i: IterVar) -> object:
        return reducer((as_expr(places.place).astype("int32"), places.element(i)), axis=places.axes)

    index, _ = compute(places.shape, value, f"T_{name}", COMM_REDUCE_IDX)
    assert isinstance(index, Tensor)
    return index


CUMULATIVE = "cumulative"
"""The tag of cumulative results."""


def cumsum(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Tensor:
    """The cumulative sum along an axis, or of the flattened tensor.

    `dtype`: elements are converted to it first. `exclusive`: without the element itself.
    """
    return _cumulative("cumsum", data, axis, dtype, exclusive, 0, operator.add)


def cumprod(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Tensor:
    """The cumulative product; see `cumsum`."""
    return _cumulative("cumprod", data, axis, dtype, exclusive, 1, operator.mul)


def _cumulative(
    name: str,
    data: Tensor,
    axis: int | None,
    dtype: str | None,
    exclusive: bool | None,
    start: int,
    combine: Callable[[Scalar, Scalar], Scalar],
) -> Tensor:
    """A cumulative result; 16-bit floats are combined in float32."""
    tensor = require(f"topi.{name}: 'data'", data)
    if axis is None:
        tensor, axis = reshape(tensor, (product(tensor.shape),)), 0
    place = axis_of(f"topi.{name}", axis, tensor.ndim)
    kind = tensor.dtype if dtype is None else dtypes.dtype(dtype).name
    wide = "float32" if kind in ("float16", "bfloat16") else kind
    shape, length = tensor.shape, tensor.shape[place]
    before, behind = shape[:place], shape[place + 1 :]

    def rows(b: LoopBuilder, x: Buffer, out: Buffer) -> None:
        """Scan the last dimension, with a running total for each row."""
        with contextlib.ExitStack() as loops:
            # A loop annotation, so that the total stays in a register.
            first = loops.enter_context(b.loop(before[0] if before else 1, kind="parallel"))
            at = (first, *loops.enter_context(b.grid(before[1:]))) if before else ()
            total = b.alloc((1,), wide, "total")
            total[0] = start
            with b.loop(length) as i:
                item = x[at, i].astype(wide)
                if exclusive:
                    out[at, i] = total[0]
                total[0] = combine(total[0], item)
                if not exclusive:
                    out[at, i] = total[0]

    def slices(b: LoopBuilder, x: Buffer, out: Buffer) -> None:
        """Scan another dimension: combine each slice with the previous one."""
        with b.grid(before) as at:
            with b.loop(b.min(length, 1)) as i, b.grid(behind) as to:
                out[at, i, to] = start if exclusive else x[at, 0, to].astype(wide)
            with b.loop(1, length) as i, b.grid(behind) as to:
                item = x[at, i - 1 if exclusive else i, to].astype(wide)
                out[at, i, to] = combine(out[at, i - 1, to], item)

    op = LoopOp([tensor], [shape], [wide], slices if behind else rows, f"T_{name}", CUMULATIVE)
    found = op.outputs[0]
    return found if wide == kind else computed(shape, lambda *i: found(*i).astype(kind), "T_cast", CUMULATIVE)
