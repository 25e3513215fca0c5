"""Scatter updates by index tensors.

Negative indices count from the end. An index out of range raises `BoundsError` at run time. Updates are applied
in order, so the last one for an element stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te.own_loops import Fresh, LoopOp, element, grid
from relax_mlir.te.source import shape_text
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import axis_of, index_tensor_of, require, require_at_most, require_equal

SCATTER = "scatter"
"""The tag of scatter results."""
UPDATES = {
    "update": "{new}",
    "add": "{old} + {new}",
    "mul": "{old} * {new}",
    "min": "T.min({old}, {new})",
    "max": "T.max({old}, {new})",
}
MEAN = "mean"
"""The reduction that divides each sum by the number of its elements, including the old one."""


def scatter_elements(
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    axis: int = 0,
    reduction: str = "update",
    from_end: bool = True,
) -> Tensor:
    """Scatter `updates` into `data`: the index along the axis is taken from `indices`, the others are those of the
    update.

    `reduction`: "update", or the combination with the old element: "add", "mul", "min", "max", or "mean": that of the
    old element and all updates, rounded down for integers. Without `from_end`, negative indices are also errors at
    run time.
    """
    what = "topi.scatter_elements"
    tensor, index, new = _checked(what, data, indices, updates, reduction, (*UPDATES, MEAN))
    place = axis_of(what, axis, tensor.ndim)
    require_equal(f"{what}: 'updates'", new.shape, index.shape)
    if index.ndim != tensor.ndim:
        raise ShapeError(f"{what}: {tensor} and the indices {index} have different numbers of dimensions")
    require_at_most(what, index.shape, tensor.shape, place)

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        at = [fresh("j") for _ in index.shape]
        lines, found = counted_index(element(ins[1], at), tensor.shape[place], fresh, from_end)
        there = [*at[:place], found, *at[place + 1 :]]
        target = element(outs[0], there)
        counts = _Counts(tensor, fresh) if reduction == MEAN else None
        update = UPDATES["add" if counts else reduction].format(old=target, new=element(ins[2], at))
        return [
            *(counts.begun() if counts else []),
            *copied(ins[0], outs[0], tensor.shape, fresh),
            grid(at, index.shape),
            *(f"    {line}" for line in lines),
            f"    {target} = {update}",
            *([f"    {counts.one_more(there)}"] if counts else []),
            *(counts.divided(outs[0]) if counts else []),
        ]

    return LoopOp(
        [tensor, index, new], [tensor.shape], [tensor.dtype], body, "T_scatter_elements", SCATTER
    ).outputs[0]


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """Scatter `updates` into `data` at the index vectors in the columns of `indices`.

    `indices` have the shape ``(k, …)``: the first dimension has the indices of the first ``k`` dimensions of `data`;
    `updates` have the other dimensions of `indices`, followed by those of `data`. `mode` is a reduction of
    `scatter_elements`.
    """
    what = "topi.scatter_nd"
    tensor, index, new = _checked(what, data, indices, updates, mode, tuple(UPDATES))
    count = index.shape[0] if index.ndim else None
    rest = index.shape[1:]
    return _vectors_put(what, (tensor, index, new), mode, count, rest, lambda number, at: [number, *at])


def scatter_vectors(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """`scatter_nd` with the index vectors in the last dimension of `indices`, as ONNX's ScatterND and Relax's op."""
    what = "topi.scatter_vectors"
    tensor, index, new = _checked(what, data, indices, updates, mode, tuple(UPDATES))
    count = index.shape[-1] if index.ndim else None
    rest = index.shape[:-1]
    return _vectors_put(what, (tensor, index, new), mode, count, rest, lambda number, at: [*at, number])


def _vectors_put(
    what: str,
    tensors: tuple[Tensor, Tensor, Tensor],
    mode: str,
    count: Dim | None,
    rest: Sequence[Dim],
    place_of: Callable[[str, Sequence[str]], Sequence[str]],
) -> Tensor:
    """Scatter at vectors of `count` indices; `place_of` gives the indices of an entry of the vector at `rest`."""
    tensor, index, new = tensors
    if not isinstance(count, int) or count > tensor.ndim:
        raise ShapeError(
            f"{what}: the indices {index} do not name up to {tensor.ndim} dimensions of {tensor} by a dimension of "
            "known size"
        )
    require_equal(f"{what}: 'updates'", new.shape, [*rest, *tensor.shape[count:]])
    width = len(rest)

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        at, within = [fresh("j") for _ in rest], [fresh("j") for _ in tensor.shape[count:]]
        lines: list[str] = []
        places: list[str] = []
        for number in range(count):
            given = element(ins[1], place_of(str(number), at))
            more, found = counted_index(given, tensor.shape[number], fresh)
            lines += more
            places.append(found)
        target, item = element(outs[0], [*places, *within]), element(ins[2], [*at, *within])
        return [
            *copied(ins[0], outs[0], tensor.shape, fresh),
            grid(at, rest),
            *(f"    {line}" for line in lines),
            f"    {grid(within, new.shape[width:])}",
            f"        {target} = {UPDATES[mode].format(old=target, new=item)}",
        ]

    return LoopOp(
        [tensor, index, new], [tensor.shape], [tensor.dtype], body, "T_scatter_nd", SCATTER
    ).outputs[0]


class _Counts:
    """Statements that count the elements of each sum, and divide by the counts."""

    def __init__(self, tensor: Tensor, fresh: Fresh) -> None:
        self.tensor, self.name, self.fresh = tensor, fresh("counts"), fresh

    def begun(self) -> list[str]:
        at = [self.fresh("i") for _ in self.tensor.shape]
        return [
            f'{self.name} = T.alloc_buffer({shape_text(self.tensor)}, "int64")',
            grid(at, self.tensor.shape),
            f"    {element(self.name, at)} = 1",
        ]

    def one_more(self, there: Sequence[str]) -> str:
        return f"{element(self.name, there)} = {element(self.name, there)} + 1"

    def divided(self, target: str) -> list[str]:
        at = [self.fresh("i") for _ in self.tensor.shape]
        is_float = self.tensor.dtype.startswith(("float", "bfloat"))
        number = f'T.cast({element(self.name, at)}, "{self.tensor.dtype}")'
        return [
            grid(at, self.tensor.shape),
            f"    {element(target, at)} = {element(target, at)} {'/' if is_float else '//'} {number}",
        ]


def _checked(
    what: str, data: Tensor, indices: Tensor, updates: Tensor, reduction: str, known: Sequence[str]
) -> tuple[Tensor, Tensor, Tensor]:
    tensor, index = require(f"{what}: 'data'", data), index_tensor_of(f"{what}: 'indices'", indices)
    new = require(f"{what}: 'updates'", updates)
    if new.dtype != tensor.dtype:
        raise DTypeError(f"{what}: the updates have dtype {new.dtype}, and the data {tensor.dtype}")
    if reduction not in known:
        raise ArgumentError(f"{what}: the reduction is {reduction!r}, expected one of {', '.join(known)}")
    if tensor.dtype == "bool" and reduction in ("add", "mul", MEAN):
        raise DTypeError(f"{what}: the reduction {reduction!r} has no meaning for bool")
    return tensor, index, new


def copied(source: str, target: str, shape: Sequence[Dim], fresh: Fresh) -> list[str]:
    """Statements that copy a tensor."""
    at = [fresh("i") for _ in shape]
    return [grid(at, shape), f"    {element(target, at)} = {element(source, at)}"]


def counted_index(given: str, dim: Dim, fresh: Fresh, from_end: bool = True) -> tuple[list[str], str]:
    """Statements that compute an index that may count from the end, and its name."""
    if not from_end:
        found = fresh("q")
        return [f"{found} = T.index({given})"], found
    raw, behind, found = fresh("p"), fresh("r"), fresh("q")
    lines = [f"{raw} = T.index({given})", f"{behind} = {raw} + ({dim})"]
    # An index too far from the end is unchanged, for the message.
    return [*lines, f"{found} = T.Select({raw} < 0 and {behind} >= 0, {behind}, {raw})"], found
