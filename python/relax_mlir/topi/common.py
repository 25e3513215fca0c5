"""Helpers for the operators: checked arguments, axes, indices."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import INDEX, Call, Expr, ExprLike, Size
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.tensors import ComputeOp, Tensor, compute


def require(what: str, value: object) -> Tensor:
    """Return `value`, which must be a tensor."""
    expect(what, value, Tensor, "a te.Tensor")
    assert isinstance(value, Tensor)
    return value


def listed(what: str, value: object) -> list[Any]:
    """The items of `value`, which must be a list or tuple."""
    expect(what, value, list | tuple, "a list or tuple")
    assert isinstance(value, list | tuple)
    return list(value)


def one_or_listed(what: str, value: object) -> list[Any]:
    """The items of `value`, which must be an integer or a list or tuple."""
    return [value] if isinstance(value, int) else listed(what, value)


def require_float(what: str, tensor: Tensor) -> None:
    """Raise `DTypeError` unless the tensor holds floats."""
    if not tensor.dtype.startswith(("float", "bfloat")):
        raise DTypeError(f"{what}: the tensor {tensor} does not hold floats; cast it first")


def index_tensor_of(what: str, value: object) -> Tensor:
    """Return `value`, which must be a tensor of integers."""
    tensor = require(what, value)
    if not tensor.dtype.startswith(("int", "uint")):
        raise DTypeError(f"{what} is {tensor}, which does not hold integers")
    return tensor


def counted(index: Expr, dim: Dim, from_end: bool = True) -> Expr:
    """An index that counts from the end if it is negative; it is unchanged if it is too far from the end.

    Without `from_end`, the index is unchanged.
    """
    wide = index.astype("int64")
    if not from_end:
        return wide
    moved = wide + size(dim)
    # Nested selects instead of a conjunction, whose second operand reads memory and would become a branch.
    return functions.select(wide < 0, functions.select(moved >= 0, moved, wide), wide)


def computed(shape: Sequence[Dim], value: Callable[..., Any], name: str, tag: str) -> Tensor:
    """One computed tensor. Sums and products of 16-bit floats are computed in float32 and rounded once."""
    found = compute(tuple(shape), value, name, tag)
    assert isinstance(found, Tensor)
    if found.dtype not in ("float16", "bfloat16") or not isinstance(found.op, ComputeOp):
        return found
    (body,) = found.op.body
    if not isinstance(body, Reduction) or body.combiner.name not in ("sum", "prod"):
        return found

    @functools.wraps(value)
    def wide(*i: Expr) -> object:
        again = value(*i)
        combined = reductions.sum if again.combiner.name == "sum" else reductions.prod
        return combined(again.source[0].astype("float32"), list(again.axis))

    total = compute(tuple(shape), wide, f"{name}_wide", tag)
    narrow = compute(tuple(shape), lambda *i: total(*i).astype(found.dtype), name, tag)
    assert isinstance(narrow, Tensor)
    return narrow


def axis_of(what: str, axis: object, rank: int) -> int:
    """An axis, normalized to a non-negative integer.

    Raises:
        ArgumentError: not an integer.
        ShapeError: the axis is out of range.
    """
    expect(f"{what}: 'axis'", axis, int, "an integer")
    assert isinstance(axis, int)
    if not -rank <= axis < rank:
        raise ShapeError(f"{what}: axis {axis} of a tensor of {rank} dimensions")
    return axis % rank


def axes_of(what: str, axes: object, rank: int) -> list[int]:
    """Several axes, or all of them (None), normalized and sorted."""
    if axes is None:
        return list(range(rank))
    given = list(axes) if isinstance(axes, list | tuple) else [axes]
    found = [axis_of(what, axis, rank) for axis in given]
    if len(set(found)) != len(found):
        raise ShapeError(f"{what}: an axis of {given} is named twice")
    return sorted(found)


def dims_of(what: str, values: object) -> list[Dim]:
    """Sizes given by a user."""
    given = list(values) if isinstance(values, list | tuple) else [values]
    return [dim_of(what, value) for value in given]


def dim_of(what: str, value: object) -> Dim:
    """A size or an index: an integer, a symbol, or an expression of symbols."""
    if isinstance(value, bool) or not isinstance(value, int | str | symbolic.Expr):
        raise ArgumentError(f"{what}: {value!r} ({type(value).__name__}) is no integer and no size")
    return symbolic.to_dim(value)


def size(dim: Dim) -> ExprLike:
    """A size as an operand of an expression."""
    return dim if isinstance(dim, int) else Size(dim)


def held(index: Expr, dim: Dim) -> Expr:
    """Clamp an index to the dimension, or to 0 if it is empty; see `guarded`."""
    place = index if index.kind == INDEX else Call("index", [index], INDEX)
    return functions.maximum(functions.minimum(place, size(dim - 1)), 0)


def guarded(item: Expr, places: Sequence[tuple[Expr, Dim]]) -> Expr:
    """An element, or 0 if a dimension is empty: `places` are its `held` indices with the sizes of their dimensions.

    This proves that an access at a data-dependent index is in bounds, so that it can be vectorised.
    """
    tests = [place < size(dim) for place, dim in places if not symbolic.prove_less_equal(1, dim)]
    if not tests:
        return item
    return functions.if_then_else(functools.reduce(operator.and_, tests), item, functions.cast(0, item.dtype))


def flattened(indices: Sequence[ExprLike], shape: Sequence[Dim]) -> Any:  # noqa: ANN401 - an expression, or 0
    """The row-major linear index of the element at `indices`."""
    place: Any = 0
    for number, (index, dim) in enumerate(zip(indices, shape, strict=True)):
        place = index if number == 0 else place * size(dim) + index
    return place


def unflattened(place: Any, shape: Sequence[Dim]) -> list[Any]:  # noqa: ANN401 - expressions or numbers
    """The indices of the element at a row-major linear index."""
    found: list[Any] = []
    rest = place
    for number, dim in reversed(list(enumerate(shape))):
        if dim == 1:
            found.append(0)
        elif number == 0 or all(other == 1 for other in shape[:number]):
            found.append(rest)
        else:
            found.append(rest % size(dim))
            rest = rest // size(dim)
    return found[::-1]


def product(dims: Sequence[Dim]) -> Dim:
    """The number of elements."""
    return symbolic.product(list(dims))


def replaced(indices: Sequence[Expr], axis: int, value: ExprLike) -> list[ExprLike]:
    """The indices with `value` at `axis`."""
    return [*indices[:axis], value, *indices[axis + 1 :]]


def require_equal(what: str, first: Sequence[Dim], second: Sequence[Dim]) -> None:
    """Raise `ShapeError` unless two shapes are provably equal."""
    if len(first) != len(second) or not all(map(symbolic.prove_equal, first, second)):
        shown = " and ".join(f"({', '.join(map(str, shape))})" for shape in (first, second))
        raise ShapeError(f"{what}: the shapes {shown} are not known to be equal")


def require_at_most(what: str, found: Sequence[Dim], most: Sequence[Dim], axis: int) -> None:
    """Raise `ShapeError` if a dimension of indices, except for `axis`, provably exceeds that of the tensor."""
    for number, (has, wanted) in enumerate(zip(most, found, strict=True)):
        if number != axis and symbolic.prove_less_equal(has + 1, wanted):
            raise ShapeError(f"{what}: dimension {number} of the indices is {wanted}, more than {has}")
