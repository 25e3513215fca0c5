"""Pooling: the maximum or the mean of each window; adaptive pooling, and gradients of pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar, Term, limit
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import Expr, IterVar, as_expr
from relax_mlir.te.tensors import LoopOp, Tensor, compute
from relax_mlir.topi import reduce
from relax_mlir.topi.common import computed, dims_of, listed, require, require_equal, require_float, size
from relax_mlir.topi.elementwise import cast
from relax_mlir.topi.manipulate import in_layout, require_layout
from relax_mlir.topi.nn.padding import Window, pad, places_of, scaled, taps_of, windows_of

Amount = int | Sequence[int]


def pool1d(
    data: Tensor,
    kernel: Amount,
    stride: Amount,
    dilation: Amount,
    padding: Amount,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> Tensor:
    """Pooling along the last dimension; see `pool`."""
    windows = (kernel, stride, dilation, padding, pool_type, ceil_mode, count_include_pad)
    return _laid_out("pool1d", 1, layout, "NCW", data, *windows)


def pool2d(
    data: Tensor,
    kernel: Amount,
    stride: Amount,
    dilation: Amount,
    padding: Amount,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Pooling along the last two dimensions; see `pool`."""
    windows = (kernel, stride, dilation, padding, pool_type, ceil_mode, count_include_pad)
    return _laid_out("pool2d", 2, layout, "NCHW", data, *windows)


def pool3d(
    data: Tensor,
    kernel: Amount,
    stride: Amount,
    dilation: Amount,
    padding: Amount,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Pooling along the last three dimensions; see `pool`."""
    windows = (kernel, stride, dilation, padding, pool_type, ceil_mode, count_include_pad)
    return _laid_out("pool3d", 3, layout, "NCDHW", data, *windows)


def _laid_out(name: str, rank: int, layout: str, wanted: str, data: Tensor, *rest: object) -> Tensor:
    return in_layout(
        f"topi.nn.{name}",
        data,
        layout,
        wanted,
        lambda x: pool(x, rank, *rest, name=name),  # type: ignore[arg-type]  # as the three above have them
    )


def pool(
    data: Tensor,
    rank: int,
    kernel: Amount,
    stride: Amount,
    dilation: Amount,
    padding: Amount,
    pool_type: str,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    name: str = "pool",
) -> Tensor:
    """The maximum ("max") or the mean ("avg") of windows along the last `rank` dimensions.

    Args:
        data: the tensor.
        rank: the number of dimensions with windows.
        kernel, stride, dilation: the size of a window, the step between windows, and between the elements of one.
        padding: one number, one per dimension, or all before and then all after; padding is the minimum for "max".
        pool_type: "max" or "avg".
        ceil_mode: include partial windows that begin in the tensor or in the padding before it.
        count_include_pad: means count the padding, but not what is beyond it.
    """
    what = f"topi.nn.{name}"
    tensor = require(f"{what}: 'data'", data)
    if pool_type not in ("max", "avg"):
        raise ArgumentError(f"{what}: 'pool_type' is {pool_type!r}, expected 'max' or 'avg'")
    windows, counts = _windows(what, tensor, rank, kernel, stride, dilation, padding, ceil_mode)
    lengths = tensor.shape[tensor.ndim - rank :]
    if pool_type == "avg":
        require_float(what, tensor)
    pooled = pool_windows(tensor, windows, counts, pool_type, name, ceil_mode=ceil_mode)
    if pool_type == "max":
        return pooled
    return mean_of_windows(pooled, windows, lengths, name, ceil_mode=ceil_mode, include=count_include_pad)


def _windows(
    what: str,
    tensor: Tensor,
    rank: int,
    kernel: Amount,
    stride: Amount,
    dilation: Amount,
    padding: Amount,
    ceil_mode: bool,
) -> tuple[list[Window], list[Dim]]:
    """The windows along the last `rank` dimensions, and how many there are."""
    if not isinstance(rank, int) or not 0 < rank <= tensor.ndim:
        raise ArgumentError(f"{what}: 'rank' is {rank!r}, expected up to {tensor.ndim}, the dimensions of {tensor}")
    sizes = [kernel] * rank if isinstance(kernel, int) else listed(f"{what}: 'kernel'", kernel)
    if len(sizes) != rank or any(not isinstance(s, int) or s < 1 for s in sizes):
        raise ArgumentError(f"{what}: 'kernel' is {kernel!r}, expected {rank} integers from 1 on")
    lengths = tensor.shape[tensor.ndim - rank :]
    windows = windows_of(what, sizes, stride, padding, dilation)
    counts = [w.count(length, ceil_mode=ceil_mode) for w, length in zip(windows, lengths, strict=True)]
    return windows, counts


def max_pool_with_indices(
    data: Tensor,
    rank: int,
    kernel: Amount,
    stride: Amount,
    dilation: Amount,
    padding: Amount,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The maximum of each window along the last `rank` dimensions, and its flat index (int64) in these dimensions.

    It is the first one of equal elements, and the last one of NaNs, as in PyTorch. The arguments are those of `pool`.
    """
    what = "topi.nn.max_pool_with_indices"
    tensor = require(f"{what}: 'data'", data)
    windows, counts = _windows(what, tensor, rank, kernel, stride, dilation, padding, ceil_mode)

    def flat(_: Sequence[Expr], position: Sequence[Expr]) -> Expr:
        found, *rest = position
        for length, index in zip(tensor.shape[tensor.ndim - rank + 1 :], rest, strict=True):
            found = found * size(length) + index
        return found

    return max_and_place(tensor, windows, counts, flat)


def max_and_place(
    tensor: Tensor,
    windows: Sequence[Window],
    counts: Sequence[Dim],
    place: Callable[[Sequence[Expr], Sequence[Expr]], Expr],
) -> tuple[Tensor, Tensor]:
    """The maximum of each window along the last dimensions, and the place (int64) of its element.

    `place` maps the indices of an element, those in front of the windows and those in them, to a number from 0 on.
    Of equal elements the smallest place counts, of NaNs the largest; the place in an empty window is -1.
    """
    first = tensor.ndim - len(windows)
    lengths = tensor.shape[first:]
    taps = taps_of(windows)
    lowest = reductions.identity("max", tensor.dtype)

    def combine(x: Sequence[Expr], y: Sequence[Expr]) -> tuple[Expr, Expr]:
        (a, i), (b, j) = x, y
        a_nan, b_nan = functions.isnan(a), functions.isnan(b)
        wins = functions.any(
            functions.all(a_nan, functions.any(~b_nan, i > j)),
            functions.all(~b_nan, functions.any(a > b, functions.all(a == b, i < j))),
        )
        left = functions.any(j < 0, functions.all(i >= 0, wins))
        return functions.select(left, a, b), functions.select(left, i, j)

    def start(dtype: str, place_dtype: str) -> tuple[Expr, Expr]:
        return reductions.identity("max", dtype), functions.const(-1, place_dtype)

    reducer = reductions.comm_reducer(combine, start, "maximum")

    def value(*i: IterVar) -> object:
        padded = zip(places_of(i[first:], taps, windows), windows, strict=True)
        position = [index - size(w.before) for index, w in padded]
        inside = functions.all(
            *(
                test
                for index, length in zip(position, lengths, strict=True)
                for test in (index >= 0, index < size(length))
            )
        )
        element = functions.if_then_else(inside, tensor(*i[:first], *position), lowest)
        number = functions.cast(place(i[:first], position), "int64")
        return reducer((element, functions.select(inside, number, functions.const(-1, "int64"))), axis=taps)

    found, places = compute([*tensor.shape[:first], *counts], value, "T_max_pool", "max_pool_with_indices")
    assert isinstance(found, Tensor) and isinstance(places, Tensor)
    return found, places


def pool_windows(
    tensor: Tensor,
    windows: Sequence[Window],
    counts: Sequence[Dim],
    pool_type: str,
    name: str = "pool",
    *,
    ceil_mode: bool = False,
) -> Tensor:
    """The maximum ("max") or the sum ("avg") of windows along the last dimensions; `counts` are the numbers of windows.

    The padding is the minimum of the dtype for "max", and zero for "avg". With `ceil_mode` windows may extend beyond
    the padding by up to a step.
    """
    first = tensor.ndim - len(windows)
    start = reductions.identity("max" if pool_type == "max" else "sum", tensor.dtype)
    before = [0] * first + [w.before for w in windows]
    after = [0] * first + [w.after + (w.stride - 1 if ceil_mode else 0) for w in windows]
    padded = pad(tensor, before, after, start) if any((*before, *after)) else tensor
    taps = taps_of(windows)

    def value(*i: Expr) -> object:
        places = places_of(i[first:], taps, windows)
        return (reductions.max if pool_type == "max" else reductions.sum)(padded(*i[:first], *places), taps)

    shape = [*tensor.shape[:first], *counts]
    return computed(shape, value, f"T_{name}_{pool_type}", f"{name}_{pool_type}")


def mean_of_windows(
    sums: Tensor,
    windows: Sequence[Window],
    lengths: Sequence[Dim],
    name: str = "pool",
    *,
    ceil_mode: bool = False,
    include: bool = True,
    dtype: str | None = None,
) -> Tensor:
    """Divide sums of windows by the number of their elements; `dtype`: convert the result.

    The mean of an empty window is 0. `include`: count the padding, but not what is beyond it. `lengths`: of the
    dimensions with windows.
    """
    first = sums.ndim - len(windows)
    wanted = sums.dtype if dtype is None else dtype
    exact = "float32" if sums.dtype in ("float16", "bfloat16") else sums.dtype
    whole = not ceil_mode and (include or not any(w.before or w.after for w in windows))
    numbers = [
        w.size if whole else _elements(w, length, count, exact, include=include)
        for w, length, count in zip(windows, lengths, sums.shape[first:], strict=True)
    ]

    def mean(*i: Expr) -> Expr:
        number: Expr = functions.const(1, exact)
        for each, index in zip(numbers, i[first:], strict=True):
            one = each(index) if isinstance(each, Tensor) else functions.cast(as_expr(size(each)), exact)
            number = number * one
        divisor = functions.cast(functions.maximum(number, functions.const(1, exact)), sums.dtype)
        return functions.cast(sums(*i) / divisor, wanted)

    return computed(sums.shape, mean, f"T_{name}_mean", f"{name}_avg")


def _elements(window: Window, length: Dim, count: Dim, dtype: str, *, include: bool) -> Tensor:
    """The number of elements in each window along a dimension, with or without the padding."""
    tap = reductions.reduce_axis((0, window.size), "r")
    low, high = (-window.before, length + window.after) if include else (0, length)

    def value(i: Expr) -> object:
        place = scaled(i, window.stride) + scaled(tap, window.dilation) - window.before
        inside = functions.all(place >= low, place < size(high))
        return reductions.sum(functions.select(inside, functions.const(1, dtype), functions.const(0, dtype)), tap)

    return computed([count], value, "T_window", "comm_reduce")


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """The maximum ("max") or the mean ("avg") of every channel, with dimensions of size 1."""
    what = "topi.nn.global_pool"
    if not isinstance(layout, str) or len(layout) not in (3, 4, 5):
        raise ArgumentError(f"{what}: the layout is {layout!r}, expected NCW, NCHW or NCDHW in an order")
    require_layout(what, layout, ("NCW", "NCHW", "NCDHW")[len(layout) - 3])
    tensor = require("topi.nn.global_pool: 'data'", data)
    if pool_type not in ("max", "avg") or tensor.ndim != len(layout):
        raise ArgumentError(f"topi.nn.global_pool: {pool_type!r} of {tensor} in the layout {layout}")
    combine = reduce.max if pool_type == "max" else reduce.mean
    return combine(tensor, tuple(n for n, letter in enumerate(layout) if letter not in "NC"), keepdims=True)


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:  # noqa: ANN401 - sizes
    """The maximum ("max") or the mean ("avg") of each of ``(height, width)`` windows of every channel.

    Window ``i`` of ``n`` in a dimension of length ``l`` is from ``i * l // n`` to ``ceildiv((i + 1) * l, n)``,
    exclusive. An empty window has the mean NaN, and the minimum of the dtype as maximum.

    Args:
        data: the tensor; floats for means.
        output_size: sizes, integers or symbols; one number for all.
        pool_type: "max" or "avg"; means of 16-bit floats are computed in float32.
        layout: the letters ``NCHW`` in any order.
    """
    return _pooled("adaptive_pool", 2, data, output_size, pool_type, layout, "NCHW")


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:  # noqa: ANN401 - sizes
    """Adaptive pooling along one dimension; see `adaptive_pool`."""
    return _pooled("adaptive_pool1d", 1, data, output_size, pool_type, layout, "NCW")


def adaptive_pool3d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW") -> Tensor:  # noqa: ANN401 - sizes
    """Adaptive pooling along three dimensions; see `adaptive_pool`."""
    return _pooled("adaptive_pool3d", 3, data, output_size, pool_type, layout, "NCDHW")


def _pooled(
    name: str,
    rank: int,
    data: Tensor,
    output_size: Any,  # noqa: ANN401 - sizes
    pool_type: str,
    layout: str,
    letters: str,
) -> Tensor:
    what = f"topi.nn.{name}"
    tensor = require(f"{what}: 'data'", data)
    if not isinstance(layout, str) or sorted(layout) != sorted(letters):
        raise ArgumentError(f"{what}: the layout is {layout!r}, expected the letters of {letters}")
    if pool_type not in ("max", "avg"):
        raise ArgumentError(f"{what}: 'pool_type' is {pool_type!r}, expected 'max' or 'avg'")
    counts = dims_of(f"{what}: 'output_size'", output_size)
    counts = counts * rank if len(counts) == 1 else counts
    if tensor.ndim != rank + 2 or len(counts) != rank:
        raise ShapeError(f"{what}: {len(counts)} sizes for {tensor}, expected {rank} for {rank + 2} dimensions")
    if pool_type == "avg":
        require_float(what, tensor)
    axes = [layout.index(letter) for letter in letters[2:]]
    is_wide = pool_type == "avg" and tensor.dtype in ("float16", "bfloat16")
    found = cast(tensor, "float32") if is_wide else tensor
    for axis, count in zip(axes, counts, strict=True):
        found = _along(found, axis, count, pool_type)
    return cast(found, tensor.dtype) if is_wide else found


def _along(tensor: Tensor, axis: int, count: Dim, pool_type: str) -> Tensor:
    """Pool one dimension; several dimensions are pooled one after the other."""
    length = tensor.shape[axis]
    shape = [*tensor.shape[:axis], count, *tensor.shape[axis + 1 :]]
    if length == count:
        return computed(shape, lambda *i: tensor(*i), "T_adaptive_pool", f"adaptive_pool_{pool_type}")
    is_mean = pool_type == "avg"
    outer, inner = tensor.shape[:axis], tensor.shape[axis + 1 :]

    def body(b: LoopBuilder, x: Buffer, out: Buffer) -> None:
        """Combine rows with rows, so that the innermost loop is contiguous."""
        whole, windows = b.size(length), b.size(count)
        initial = b.const(0, tensor.dtype) if is_mean else lowest(b, out)
        with b.grid([*outer, count]) as (*before, window):
            begin = window * whole // windows
            end = b.min(((window + 1) * whole + windows - 1) // windows, whole)
            with b.grid(inner) as after:
                out[before, window, after] = initial
            with b.loop(begin, end) as i, b.grid(inner) as after:
                old, item = out[before, window, after], x[before, i, after]
                out[before, window, after] = old + item if is_mean else b.max(old, item)
            if is_mean:
                with b.grid(inner) as after:
                    number = (end - begin).astype(tensor.dtype)
                    out[before, window, after] = out[before, window, after] / number

    name = f"adaptive_pool_{pool_type}"
    return LoopOp([tensor], [shape], [tensor.dtype], body, f"T_{name}", name).outputs[0]


def lowest(b: LoopBuilder, buffer: Buffer) -> Scalar:
    """The lowest value of the dtype of a buffer: minus infinity for floats."""
    return b.const(-math.inf, buffer.dtype.name) if buffer.dtype.is_float else limit("min_value", buffer.dtype)


GRADIENT = "pool_grad"
"""The tag of gradients of pooling."""


def pool_grad(
    grads: Tensor,
    data: Tensor,
    kernel: Amount,
    stride: Amount,
    padding: Amount,
    pool_type: str,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCHW",
    dilation: Amount = 1,
    counts: Sequence[Dim] | None = None,
) -> Tensor:
    """The gradient of `pool2d` with respect to `data`, given the gradient of its result.

    The gradient of a maximum goes to the first maximum of the window, that of a mean equally to all of its elements.
    The arguments are those of `pool2d`; the layout is NCHW. `counts`: the numbers of windows, if the caller knows them.
    """
    what = "topi.nn.pool_grad"
    given, tensor = require(f"{what}: 'grads'", grads), require(f"{what}: 'data'", data)
    _check_pool_grad(what, given, tensor, pool_type, layout)
    sizes = [kernel] * 2 if isinstance(kernel, int) else listed(f"{what}: 'kernel'", kernel)
    if len(sizes) != 2 or not all(isinstance(n, int) and n > 0 for n in sizes):
        raise ArgumentError(f"{what}: 'kernel' is {kernel!r}, expected one or two integers from 1 on")
    windows = windows_of(what, sizes, stride, padding, dilation)
    lengths = tensor.shape[2:]
    if counts is None:
        counts = [w.count(length, ceil_mode=ceil_mode) for w, length in zip(windows, lengths, strict=True)]
    require_equal(f"{what}: 'grads'", given.shape, [*tensor.shape[:2], *counts])
    return _pool_grad(given, tensor, windows, pool_type, count_include_pad)


def _check_pool_grad(what: str, given: Tensor, tensor: Tensor, pool_type: str, layout: str) -> None:
    require_float(what, tensor)
    if given.dtype != tensor.dtype:
        raise DTypeError(f"{what}: 'grads' has dtype {given.dtype}, and 'data' {tensor.dtype}")
    if pool_type not in ("max", "avg") or layout != "NCHW":
        raise ArgumentError(f"{what}: {pool_type!r} of {layout!r}, expected 'max' or 'avg' of 'NCHW'")
    if tensor.ndim != 4:
        raise ShapeError(f"{what}: {tensor} is not of 4 dimensions")


def _pool_grad(
    given: Tensor, tensor: Tensor, windows: Sequence[Window], pool_type: str, count_include_pad: bool
) -> Tensor:
    def windows_at(b: LoopBuilder, at: Sequence[Scalar]) -> list[_Taps]:
        return [_Taps(b, i, window, length) for i, window, length in zip(at, windows, tensor.shape[2:], strict=True)]

    def means(b: LoopBuilder, grad: Buffer, x: Buffer, out: Buffer) -> None:
        with b.grid(given.shape) as (n, c, *at):
            rows, columns = windows_at(b, at)
            with b.loop(*rows.inside) as v, b.loop(*columns.inside) as u:
                target = (n, c, rows.index(v), columns.index(u))
                count = (rows.count(count_include_pad) * columns.count(count_include_pad)).astype(tensor.dtype)
                out[target] = out[target] + grad[n, c, at] / count

    def maxima(b: LoopBuilder, grad: Buffer, x: Buffer, out: Buffer) -> None:
        best, place = b.alloc((1,), tensor.dtype, "best"), b.alloc((2,), "int64", "place")
        with b.grid(given.shape) as (n, c, *at):
            rows, columns = windows_at(b, at)
            place[0] = -1
            best[0] = -math.inf
            with b.loop(*rows.inside) as v, b.loop(*columns.inside) as u:
                y, z = rows.index(v), columns.index(u)
                item = x[n, c, y, z]
                is_first_nan = b.call("isnan", item) & ~b.call("isnan", best[0])
                with b.when((place[0] < 0) | (item > best[0]) | is_first_nan):
                    best[0] = item
                    place[0] = y.astype("int64")
                    place[1] = z.astype("int64")
            with b.when(place[0] >= 0):
                chosen = (n, c, place[0].index(), place[1].index())
                out[chosen] = out[chosen] + grad[n, c, at]

    def body(b: LoopBuilder, grad: Buffer, x: Buffer, out: Buffer) -> None:
        with b.grid(tensor.shape) as at:
            out[at] = 0
        (means if pool_type == "avg" else maxima)(b, grad, x, out)

    return LoopOp([given, tensor], [tensor.shape], [tensor.dtype], body, "T_pool_grad", GRADIENT).outputs[0]


class _Taps:
    """The elements of a window along a dimension that are inside the tensor."""

    def __init__(self, b: LoopBuilder, at: Scalar, window: Window, length: Dim) -> None:
        self.b, self.window, self.length = b, window, length
        self.first = at * window.stride - b.size(window.before)
        self.inside = b.max(self._up_to(0), 0), b.min(self._up_to(b.size(length)), window.size)
        """The range of their numbers."""

    def _up_to(self, place: Term) -> Scalar:
        """The number of elements of the window before an index."""
        room, dilation = place - self.first, self.window.dilation
        return room if dilation == 1 else (room + (dilation - 1)) // dilation

    def count(self, include_padding: bool) -> Scalar:
        """The number of elements, of which the mean is."""
        if not include_padding:
            return self.inside[1] - self.inside[0]
        return self.b.min(self._up_to(self.b.size(self.length + self.window.after)), self.window.size)

    def index(self, number: Scalar) -> Scalar:
        """The index of an element of the window in the tensor."""
        return self.first + number * self.window.dilation
