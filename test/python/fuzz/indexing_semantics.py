"""Semantics of ops for indexing, layouts and contractions on NumPy arrays, by op name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from difference import Array, Inexact
from relax_mlir.dialects.base import OpArgs
from relax_mlir.mlir import ir

Dim = Callable[[Any], int]
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def _einsum(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
    subscripts, tensors = args.str_attr("subscripts"), values[0]
    value = np.einsum(subscripts, *tensors)
    if tensors[0].dtype != np.float64:
        return np.asarray(value).astype(tensors[0].dtype)
    return Inexact(value, np.einsum(subscripts, *map(np.abs, tensors)))


def _gather_nd(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    x, indices = values
    batch, rest = args.int_attr("batch_dims"), indices.shape[:-1]
    found = [x[at[:batch]][tuple(indices[at])] for at in np.ndindex(rest)]
    return np.array(found, x.dtype).reshape(*rest, *x.shape[batch + indices.shape[-1] :])


def _scatter_elements(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    x, indices, updates = values
    axis, combine, found = args.int_attr("axis"), COMBINE[args.str_attr("reduction")], x.copy()
    for at in np.ndindex(indices.shape):
        place = list(at)
        place[axis] = int(indices[at])
        found[tuple(place)] = combine(found[tuple(place)], updates[at])
    return found


def _index_put(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    x, indices, new = values
    found = x.copy()
    if args.bool_attr("accumulate"):
        np.add.at(found, tuple(indices), new)
    else:
        found[tuple(indices)] = new
    return found


def _layout_transform(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    """The shape is that of the largest positions of elements, which is correct if the last ones are not padding."""
    (x,) = values
    text = args.str_attr("index_map")
    index_map = eval(text, {})
    places = {at: index_map(*at) for at in itertools.product(*map(range, x.shape))}
    shape = [1 + max(column) for column in zip(*places.values(), strict=True)]
    padding = args.attrs["pad_value"]
    found = np.full(shape, 0 if isinstance(padding, ir.UnitAttr) else padding.value, x.dtype)
    for at, place in places.items():
        found[place] = x[at]
    return found


def _multinomial(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    prob, sample, rows = values
    sums = np.cumsum(prob, 1)[rows[:, 0]]
    return np.asarray(np.minimum((sums <= sample).sum(1, keepdims=True), prob.shape[1] - 1), np.int64)


MEANINGS = {
    "einsum": _einsum,
    "gather_nd": _gather_nd,
    "scatter_elements": _scatter_elements,
    "index_put": _index_put,
    "layout_transform": _layout_transform,
    "multinomial_from_uniform": _multinomial,
}
