"""Elements and slices of tensors: ``x[i]``, ``x[1:3, ::2]``, ``x[..., None]``, as NumPy's basic indexing does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from relax_mlir.dialects.manipulate import strided_slice
from relax_mlir.dialects.number_attributes import dimension, integer, known_dimension
from relax_mlir.dialects.slicing import TO_THE_END, TO_THE_START
from relax_mlir.dialects.structure import match_shape
from relax_mlir.dialects.types import Prim
from relax_mlir.dialects.value import Value
from relax_mlir.dialects.views import expand_dims, squeeze
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim

END, START = max(TO_THE_END), min(TO_THE_START)


@dataclass
class _Plan:
    """The plan of an index: slices per axis, axes removed by single elements, and new axes."""

    axes: list[int] = field(default_factory=list)
    begin: list[Dim] = field(default_factory=list)
    end: list[Dim] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    single: list[int] = field(default_factory=list)
    fresh: list[int] = field(default_factory=list)

    def take(self, axis: int, begin: Dim, end: Dim, stride: int = 1) -> None:
        self.axes.append(axis)
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)


def elements(x: Value, parts: Sequence[object]) -> Value:
    """The elements of tensor `x` at an index of integers, symbolic expressions, slices, ``...`` and None.

    An index out of range is an error, at the latest at run time.

    Raises:
        ShapeError: `x` has an unknown rank, or more indices than dimensions.
        ArgumentError: a part is not an index.
    """
    info = x.tensor_info
    if info.shape is None:
        raise ShapeError(f"the value is {info}; indexing needs its rank: match_shape it first")
    plan = _plan(parts, len(info.shape))
    for axis, begin in zip(plan.axes, plan.begin, strict=True):
        size = info.shape[axis]
        inside = not isinstance(begin, int) or not isinstance(size, int) or -size <= begin < size
        if axis in plan.single and not inside:
            raise ShapeError(f"index {begin} is out of range for dimension {axis} of {info}")
    if plan.axes:
        x = strided_slice(x, plan.axes, plan.begin, plan.end, plan.strides)
    if plan.single:
        x = squeeze(_one_each(x, plan.single), plan.single)
    return expand_dims(x, plan.fresh) if plan.fresh else x


def _plan(parts: Sequence[object], rank: int) -> _Plan:
    plan, axis, position = _Plan(), 0, 0
    taken = sum(part is not None and part is not ... for part in parts)
    if taken > rank:
        raise ShapeError(f"{taken} indices for a tensor of rank {rank}")
    if sum(part is ... for part in parts) > 1:
        raise ArgumentError("an index has one `...`")
    for part in parts:
        if part is None:
            plan.fresh.append(position)
            position += 1
        elif part is ...:
            axis += rank - taken
            position += rank - taken
        elif isinstance(part, slice):
            _slice(part, plan, axis)
            axis, position = axis + 1, position + 1
        else:
            where = _position(part)
            plan.take(axis, where, END if where == -1 else where + 1)
            plan.single.append(axis)
            axis += 1
    return plan


def _slice(part: slice, plan: _Plan, axis: int) -> None:
    step = 1 if part.step is None else integer(part.step, "the step of a slice")
    if step == 0:
        raise ArgumentError("the step of a slice is an int other than 0")
    if part.start is None and part.stop is None and step == 1:
        return
    begin: Dim = (0 if step > 0 else END) if part.start is None else _position(part.start)
    end: Dim = (END if step > 0 else START) if part.stop is None else _position(part.stop)
    plan.take(axis, begin, end, step)


def _position(part: object) -> Dim:
    if isinstance(part, Value) and not isinstance(part.struct_info, Prim):
        raise ArgumentError(
            f"an index is an integer, this is {part.struct_info}; op.take takes the elements that a tensor of "
            "indices says"
        )
    if isinstance(part, Value) and known_dimension(part) is None:
        raise ArgumentError(
            'an index is known at run time only: after match_shape(i, ("k",)) the symbol k stands for it, as in x["k"]'
        )
    if isinstance(part, list | tuple | dict) or (isinstance(part, np.ndarray) and part.ndim):
        raise ArgumentError(
            f"{part!r} is no index: an integer, a symbol, a slice, `...` or None; op.take takes several elements"
        )
    return dimension(part, "an index")


def _one_each(x: Value, axes: list[int]) -> Value:
    """`x` with size 1 along `axes`; sizes that are not proved are checked at run time."""
    shape = x.shape
    if all(shape[axis] == 1 for axis in axes):
        return x
    return match_shape(x, [1 if axis in axes else dim for axis, dim in enumerate(shape)])
