"""Pad tensors; and windows over the last dimensions: sizes, steps and padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import Expr, ExprLike, IterVar, as_expr
from relax_mlir.te.tensors import LoopOp, Tensor
from relax_mlir.topi.common import computed, dims_of, one_or_listed, require, size
from relax_mlir.topi.tag import INJECTIVE

Place = Callable[[Expr, Dim], ExprLike]
"""A function from an index, which may be out of range, to the index of the source element."""


def pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    pad_value: Any = 0.0,  # noqa: ANN401 - a number or an expression
) -> Tensor:
    """Pad each dimension with `pad_value`; `pad_after` is by default `pad_before`.

    Negative integers crop.
    """
    what = "topi.nn.pad"
    tensor = require(f"{what}: 'data'", data)
    before, after = _amounts(what, tensor, pad_before, pad_after)
    dtypes.require_held(f"{what}: 'pad_value'", pad_value, dtypes.dtype(tensor.dtype))
    fill = functions.cast(as_expr(pad_value), tensor.dtype)

    def value(*i: Expr) -> Expr:
        tests: list[Expr] = []
        at: list[Expr] = []
        for index, dim, first, last in zip(i, tensor.shape, before, after, strict=True):
            if first != 0:
                tests.append(index >= size(first))
            if last != 0:
                tests.append(index < size(first + dim))
            at.append(index if first == 0 else index - size(first))
        return functions.if_then_else(functions.all(*tests), tensor(*at), fill) if tests else tensor(*at)

    return computed(_padded(tensor, before, after), value, "T_pad", INJECTIVE)


def mirror_pad(
    data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None, mode: str = "SYMMETRIC"
) -> Tensor:
    """Pad with the elements mirrored at the edges: "SYMMETRIC" repeats the edge, "REFLECT" does not.

    Padding larger than the tensor is mirrored repeatedly. If there is no element to mirror, as in a dimension of size
    0, the call is an error.
    """
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise ArgumentError(f"topi.nn.mirror_pad: 'mode' is {mode!r}, expected 'SYMMETRIC' or 'REFLECT'")
    place = _symmetric if mode == "SYMMETRIC" else _reflected
    return _moved("topi.nn.mirror_pad", data, pad_before, pad_after, place)


def edge_pad(data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None) -> Tensor:
    """Pad with the elements at the edges."""
    return _moved(
        "topi.nn.edge_pad",
        data,
        pad_before,
        pad_after,
        lambda index, dim: functions.maximum(functions.minimum(index, size(dim - 1)), 0),
    )


def wrap_pad(data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None) -> Tensor:
    """Pad with the tensor repeated."""
    return _moved("topi.nn.wrap_pad", data, pad_before, pad_after, lambda index, dim: index % size(dim))


def _symmetric(index: Expr, dim: Dim) -> Expr:
    place = index % size(2 * dim)
    return functions.minimum(place, size(2 * dim - 1) - place)


def _reflected(index: Expr, dim: Dim) -> Expr:
    """Mirror an index without repeating the edge; the period of a single element is 1."""
    period = functions.maximum(as_expr(size(2 * dim - 2)), 1)
    place = index % period
    return functions.minimum(place, period - place) if dim != 1 else place


def _moved(what: str, data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None, place: Place) -> Tensor:
    tensor = require(f"{what}: 'data'", data)
    before, after = _amounts(what, tensor, pad_before, pad_after)

    shape = _padded(tensor, before, after)
    if not any((*before, *after)) or not all(map(_is_size, (*before, *after))):

        def value(*i: Expr) -> Expr:
            return tensor(
                *(
                    index if first == 0 and last == 0 else place(index - size(first), dim)
                    for index, dim, first, last in zip(i, tensor.shape, before, after, strict=True)
                )
            )

        return computed(shape, value, "T_pad", INJECTIVE)
    return _by_rows(tensor, shape, before, place)


def _by_rows(tensor: Tensor, shape: Sequence[Dim], before: Sequence[Dim], place: Place) -> Tensor:
    """Compute source indices once for each dimension, and copy the unpadded part of each row."""
    padded = [axis for axis, dim in enumerate(shape) if before[axis] != 0 or dim != tensor.shape[axis]]
    places = {
        axis: computed(
            [shape[axis]],
            lambda i, axis=axis: as_expr(place(i - size(before[axis]), tensor.shape[axis])).astype("int64"),
            "T_pad_places",
            INJECTIVE,
        )
        for axis in padded
    }
    last = len(shape) - 1

    def body(b: LoopBuilder, x: Buffer, *buffers: Buffer) -> None:
        *indices, out = buffers
        tables = dict(zip(padded, indices, strict=True))
        first, length, whole = before[last], tensor.shape[last], shape[last]
        with b.grid(shape[:last]) as at:
            row = [tables[axis][i].index() if axis in tables else i for axis, i in enumerate(at)]
            for begin, end in ((0, first), (first + length, whole)) if last in tables else ():
                with b.loop(begin, end) as i:
                    out[at, i] = x[row, tables[last][i].index()]
            with b.loop(length) as i:
                out[at, i + b.size(first)] = x[row, i]

    return LoopOp([tensor, *places.values()], [shape], [tensor.dtype], body, "T_pad", INJECTIVE).outputs[0]


def _is_size(amount: Dim) -> bool:
    """True if the amount is provably not negative."""
    least = symbolic.bounds(amount)[0]
    return least is not None and least >= 0


def _amounts(
    what: str, tensor: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None
) -> tuple[list[Dim], list[Dim]]:
    before = dims_of(f"{what}: 'pad_before'", pad_before)
    after = before if pad_after is None else dims_of(f"{what}: 'pad_after'", pad_after)
    if len(before) != tensor.ndim or len(after) != tensor.ndim:
        raise ShapeError(f"{what}: {len(before)} and {len(after)} amounts for {tensor}; expected one per dimension")
    return before, after


def _padded(tensor: Tensor, before: Sequence[Dim], after: Sequence[Dim]) -> list[Dim]:
    return [dim + first + last for dim, first, last in zip(tensor.shape, before, after, strict=True)]


@dataclass(frozen=True)
class Window:
    """Windows along one dimension: `size` elements, `dilation` apart, every `stride` elements, with padding."""

    size: Dim
    stride: int
    dilation: int
    before: Dim
    after: Dim

    def count(self, length: Dim, *, ceil_mode: bool = False) -> Dim:
        """The number of windows in a dimension; 0 if there is no room for one.

        `ceil_mode`: also count a partial window, if it begins in the dimension or in the padding before it.
        """
        room = length + self.before + self.after - self.dilation * (self.size - 1) - 1
        whole = symbolic.floordiv(room, self.stride) + 1
        if ceil_mode:
            begins = symbolic.ceildiv(length + self.before, self.stride)
            whole = symbolic.minimum(symbolic.ceildiv(room, self.stride) + 1, begins)
        return symbolic.maximum(whole, 0)


def windows_of(
    what: str,
    sizes: Sequence[Dim],
    strides: int | Sequence[int],
    padding: int | Sequence[int] | str,
    dilation: int | Sequence[int] = 1,
    lengths: Sequence[Dim] = (),
) -> list[Window]:
    """The windows along each dimension.

    Args:
        what: the operator, for messages.
        sizes: the number of elements of a window along each dimension.
        strides, dilation: one for all, or one for each.
        padding: one for all, one for each, or all before and then all after; "VALID": none; "SAME": such that
            there are ``ceil(length / stride)`` windows, for known sizes.
        lengths: the dimensions, for "SAME".
    """
    rank = len(sizes)
    steps = _each(f"{what}: the strides", strides, rank, 1)
    apart = _each(f"{what}: the dilation", dilation, rank, 1)
    if isinstance(padding, str) and not lengths:
        raise ArgumentError(f"{what}: 'padding' is {padding!r}, expected integers")
    if isinstance(padding, str):
        pads = [_same(what, padding, *of) for of in zip(lengths, sizes, steps, apart, strict=True)]
        return [Window(*of, *pad) for of, pad in zip(zip(sizes, steps, apart, strict=True), pads, strict=True)]
    given = one_or_listed(f"{what}: 'padding'", padding)
    if len(given) not in (1, rank, 2 * rank) or any(isinstance(p, bool) or not isinstance(p, int) for p in given):
        raise ArgumentError(f"{what}: 'padding' is {padding!r}, expected 1, {rank} or {2 * rank} integers")
    before = given * rank if len(given) == 1 else given[:rank]
    after = given[rank:] if len(given) == 2 * rank else before
    return [Window(*of) for of in zip(sizes, steps, apart, before, after, strict=True)]


def scaled(index: Expr, factor: int) -> Expr:
    """An index times a step."""
    return index if factor == 1 else index * factor


def taps_of(windows: Sequence[Window]) -> list[IterVar]:
    """The reduction axes of a window."""
    return [reductions.reduce_axis((0, w.size), f"r{n}") for n, w in enumerate(windows)]


def places_of(at: Sequence[Expr], taps: Sequence[Expr], windows: Sequence[Window]) -> list[Expr]:
    """The indices in the padded data of an element of the window at `at`."""
    return [scaled(i, w.stride) + scaled(tap, w.dilation) for i, tap, w in zip(at, taps, windows, strict=True)]


def _each(what: str, value: int | Sequence[int], rank: int, least: int) -> list[int]:
    given = one_or_listed(what, value)
    found = given * rank if len(given) == 1 else given
    if len(found) != rank or any(isinstance(v, bool) or not isinstance(v, int) or v < least for v in found):
        raise ArgumentError(f"{what} are {value!r}, expected {rank} integers from {least} on")
    return found


def _same(what: str, mode: str, length: Dim, size: Dim, stride: int, dilation: int) -> tuple[int, int]:
    if mode == "VALID":
        return 0, 0
    if mode != "SAME":
        raise ArgumentError(f"{what}: 'padding' is {mode!r}, expected integers, 'VALID' or 'SAME'")
    if not isinstance(size, int) or (stride != 1 and not isinstance(length, int)):
        raise ShapeError(f"{what}: 'padding' is 'SAME', but a size is known only when it is called: {length}, {size}")
    span = dilation * (size - 1)
    amount = span
    if isinstance(length, int):
        amount = max((-(-length // stride) - 1) * stride + span + 1 - length, 0)
    return amount // 2, amount - amount // 2
