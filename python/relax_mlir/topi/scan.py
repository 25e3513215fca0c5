"""Cumulative sums and products."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects import dtypes
from relax_mlir.te.own_loops import Fresh, LoopOp, element, grid
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import axis_of, computed, product, require
from relax_mlir.topi.manipulate import reshape

CUMULATIVE = "cumulative"
"""The tag of cumulative results."""


def cumsum(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Tensor:
    """The cumulative sum along an axis, or of the flattened tensor.

    `dtype`: elements are converted to it first. `exclusive`: without the element itself.
    """
    return _cumulative("cumsum", data, axis, dtype, exclusive, 0, "+")


def cumprod(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Tensor:
    """The cumulative product; see `cumsum`."""
    return _cumulative("cumprod", data, axis, dtype, exclusive, 1, "*")


def _cumulative(
    name: str,
    data: Tensor,
    axis: int | None,
    dtype: str | None,
    exclusive: bool | None,
    start: int,
    operator: str,
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

    def rows(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        """Scan the last dimension, with a running total for each row."""
        at, i, item, total = [fresh("r") for _ in before], fresh("i"), fresh("item"), fresh("total")
        own = element(outs[0], [*at, i])
        step = [f"    {total}[0] = {total}[0] {operator} {item}", f"    {own} = {total}[0]"]
        outer = f"for {at[0]} in T.parallel({before[0]}):" if at else "for _one in T.parallel(1):"
        return [
            outer,  # a loop annotation, so that the total stays in a register
            f"    {grid(at[1:], before[1:])}",
            f"        {total} = T.alloc_buffer((1,), '{wide}')",
            f"        {total}[0] = T.{wide}({start})",
            f"        for {i} in range({length}):",
            f"            {item} = {_item(element(ins[0], [*at, i]), tensor.dtype, wide)}",
            *(f"        {line}" for line in (step[::-1] if exclusive else step)),
        ]

    def slices(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        """Scan another dimension: combine each slice with the previous one."""
        at, to, i, first = [fresh("r") for _ in before], [fresh("j") for _ in behind], fresh("i"), fresh("k")
        own = element(outs[0], [*at, i, *to])
        last = element(outs[0], [*at, f"{i} - 1", *to])
        item = element(ins[0], [*at, f"{i} - 1" if exclusive else i, *to])
        begin = (
            f"T.{wide}({start})" if exclusive else _item(element(ins[0], [*at, "0", *to]), tensor.dtype, wide)
        )
        return [
            grid(at, before),
            f"    for {first} in range(T.min({length}, 1)):",
            f"        {grid(to, behind)}",
            f"            {element(outs[0], [*at, first, *to])} = {begin}",
            f"    for {i} in range(1, {length}):",
            f"        {grid(to, behind)}",
            f"            {own} = {last} {operator} {_item(item, tensor.dtype, wide)}",
        ]

    op = LoopOp([tensor], [shape], [wide], slices if behind else rows, f"T_{name}", CUMULATIVE)
    found = op.outputs[0]
    return found if wide == kind else computed(shape, lambda *i: found(*i).astype(kind), "T_cast", CUMULATIVE)


def _item(text: str, dtype: str, wide: str) -> str:
    return text if dtype == wide else f"T.cast({text}, '{wide}')"
