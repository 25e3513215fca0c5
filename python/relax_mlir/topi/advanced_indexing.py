"""Indexing with several index tensors, like NumPy's ``x[i, j]`` and ``x[i, j] = v``.

Negative indices count from the end. An index out of range raises `BoundsError` at run time.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.error import DTypeError, ShapeError, expect
from relax_mlir.symbolic import Dim
from relax_mlir.te.broadcasting import broadcast_shape, element
from relax_mlir.te.expressions import Expr, ExprLike
from relax_mlir.te.own_loops import Fresh, LoopOp, grid
from relax_mlir.te.own_loops import element as text_of
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, counted, index_tensor_of, require
from relax_mlir.topi.part_loops import parts_taken
from relax_mlir.topi.scatter import SCATTER, copied, counted_index
from relax_mlir.topi.tag import INJECTIVE


def adv_index(data: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """Select elements, or slices, by index tensors, which are broadcast against each other.

    The shape of the result is their common shape, followed by the dimensions of `data` that are not indexed.
    """
    return _taken("topi.adv_index", data, indices)


def index_tensor(data: Tensor, indices: Sequence[Tensor], from_end: bool = True) -> Tensor:
    """`adv_index` under the name of Relax's op. Without `from_end`, negative indices are also errors at run time."""
    return _taken("topi.index_tensor", data, indices, from_end)


def _taken(what: str, data: Tensor, indices: Sequence[Tensor], from_end: bool = True) -> Tensor:
    tensor, places, common = _checked(what, data, indices)
    width, count = len(common), len(places)
    within = tensor.shape[count:]
    if within:
        return parts_taken(
            tensor,
            places,
            common,
            within,
            lambda names, at, fresh: _found(names, places, tensor, common, at, fresh, from_end),
            "T_adv_index",
        )

    def value(*i: Expr) -> Expr:
        found: list[ExprLike] = [
            counted(element(place, common, i[:width]), dim, from_end)
            for place, dim in zip(places, tensor.shape, strict=False)
        ]
        return tensor(*found, *i[width:])

    return computed([*common, *tensor.shape[count:]], value, "T_adv_index", INJECTIVE)


def index_put(
    data: Tensor,
    indices: Sequence[Tensor],
    values: Tensor,
    accumulate: bool = False,
    from_end: bool = True,
) -> Tensor:
    """`data` with `values`, broadcast, written at index tensors: ``data[i, j] = values``.

    Values are written in order, so the last one for an element stays; with `accumulate` all are added.
    Without `from_end`, negative indices are also errors at run time.
    """
    what = "topi.index_put"
    tensor, places, common = _checked(what, data, indices)
    new = require(f"{what}: 'values'", values)
    if new.dtype != tensor.dtype:
        raise DTypeError(f"{what}: the values have dtype {new.dtype}, and the data {tensor.dtype}")
    if accumulate and tensor.dtype == "bool":
        raise DTypeError(f"{what}: 'accumulate' has no meaning for bool")
    whole = [*common, *tensor.shape[len(places) :]]
    fits = new.ndim <= len(whole) and tuple(broadcast_shape(what, [new.shape, whole])) == tuple(whole)
    if not fits:
        raise ShapeError(f"{what}: the values {new} do not broadcast to ({', '.join(map(str, whole))})")

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        at, inner = [fresh("j") for _ in common], [fresh("j") for _ in whole[len(common) :]]
        lines, found = _found(ins[1:-1], places, tensor, common, at, fresh, from_end)
        target = text_of(outs[0], [*found, *inner])
        item = _broadcast_text(ins[-1], new, whole, [*at, *inner])
        return [
            *copied(ins[0], outs[0], tensor.shape, fresh),
            grid(at, common),
            *(f"    {line}" for line in lines),
            f"    {grid(inner, whole[len(common) :])}",
            f"        {target} = {f'{target} + {item}' if accumulate else item}",
        ]

    return LoopOp(
        [tensor, *places, new], [tensor.shape], [tensor.dtype], body, "T_index_put", SCATTER
    ).outputs[0]


def _found(
    names: Sequence[str],
    places: Sequence[Tensor],
    tensor: Tensor,
    common: Sequence[Dim],
    at: Sequence[str],
    fresh: Fresh,
    from_end: bool,
) -> tuple[list[str], list[str]]:
    """Statements that compute the indices at a position of the common shape, and the names of the indices."""
    lines: list[str] = []
    found: list[str] = []
    for name, place, dim in zip(names, places, tensor.shape, strict=False):
        more, index = counted_index(_broadcast_text(name, place, common, at), dim, fresh, from_end)
        lines += more
        found.append(index)
    return lines, found


def _broadcast_text(name: str, tensor: Tensor, shape: Sequence[Dim], at: Sequence[str]) -> str:
    """The text of a tensor's element, broadcast to `shape`, at the given indices."""
    own, wide = at[len(at) - tensor.ndim :], shape[len(shape) - tensor.ndim :]
    return text_of(
        name,
        [
            "0" if size == 1 and other != 1 else i
            for size, other, i in zip(tensor.shape, wide, own, strict=True)
        ],
    )


def _checked(
    what: str, data: Tensor, indices: Sequence[Tensor]
) -> tuple[Tensor, list[Tensor], tuple[Dim, ...]]:
    """The checked tensor and indices, and the common shape of the indices."""
    tensor = require(f"{what}: 'data'", data)
    expect(f"{what}: 'indices'", indices, list | tuple, "a list of tensors")
    places = [index_tensor_of(f"{what}: an entry of 'indices'", item) for item in indices]
    if not 0 < len(places) <= tensor.ndim:
        raise ShapeError(f"{what}: {len(places)} indices for {tensor}, expected 1 to {tensor.ndim}")
    return tensor, places, broadcast_shape(what, [place.shape for place in places])
