"""Pad tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr, ExprLike, as_expr
from relax_mlir.te.own_loops import Fresh, LoopOp, element, grid
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, dims_of, require, size
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


def _moved(
    what: str, data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None, place: Place
) -> Tensor:
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

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        data, tables = ins[0], dict(zip(padded, ins[1:], strict=True))
        at, there = [fresh("i") for _ in shape], [fresh("p") for _ in shape]
        row = [there[axis] if axis in places else at[axis] for axis in range(last)]
        lines = [grid(at[:last], shape[:last])]
        lines += [
            f"    {there[axis]} = T.index({tables[axis]}[{at[axis]}])" for axis in padded if axis != last
        ]
        first, length, whole = before[last], tensor.shape[last], shape[last]
        i = at[last]
        for begin, end in ((0, first), (first + length, whole)) if last in places else ():
            lines += [
                f"    for {i} in range({begin}, {end}):",
                f"        {there[last]} = T.index({tables[last]}[{i}])",
                f"        {element(outs[0], [*at[:last], i])} = {element(data, [*row, there[last]])}",
            ]
        return [
            *lines,
            f"    for {i} in range({length}):",
            f"        {element(outs[0], [*at[:last], f'{i} + ({first})'])} = {element(data, [*row, i])}",
        ]

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
        raise ShapeError(
            f"{what}: {len(before)} and {len(after)} amounts for {tensor}; expected one per dimension"
        )
    return before, after


def _padded(tensor: Tensor, before: Sequence[Dim], after: Sequence[Dim]) -> list[Dim]:
    return [dim + first + last for dim, first, last in zip(tensor.shape, before, after, strict=True)]
