"""Semantics of ops for ordering, updates, rearrangement, activations and random words on NumPy arrays, by op name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from difference import Array, Inexact, numpy_dtype
from indexing_semantics import COMBINE
from meanings import FailsError, UnknownMeaningError
from philox import philox
from relax_mlir.dialects.base import OpArgs
from relax_mlir.dialects.dtypes import from_element_type
from relax_mlir.mlir import ir

Dim = Callable[[Any], int]
Values = Sequence[Any]


def _integers(*arrays: Array) -> None:
    """The position of a float among others depends on its rounding."""
    if any(array.dtype == np.float64 for array in arrays):
        raise UnknownMeaningError("places of floats")


def _dtype(args: OpArgs, name: str) -> np.dtype[Any]:
    return numpy_dtype(from_element_type(ir.TypeAttr(args.attrs[name]).value).name)


def _order(x: Array, axis: int, descending: bool) -> Array:
    """The sorted positions; among equal elements, the first one comes first."""
    if descending:
        flipped = x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable")
        return np.flip(flipped, axis)
    return np.argsort(x, axis, kind="stable")


def _sort(args: OpArgs, values: Values, dim: Dim) -> Array:
    axis, found = args.int_attr("axis"), np.sort(values[0], args.int_attr("axis"))
    return np.flip(found, axis) if args.bool_attr("descending") else found


def _argsort(args: OpArgs, values: Values, dim: Dim) -> Array:
    _integers(values[0])
    return _order(values[0], args.int_attr("axis"), args.bool_attr("descending")).astype(
        _dtype(args, "dtype")
    )


def _topk(args: OpArgs, values: Values, dim: Dim) -> Any:
    x, axis, kind = values[0], args.int_attr("axis"), args.str_attr("ret_type")
    if kind != "values":
        _integers(x)
    k = args.int_attr("k")
    count = x.shape[axis] if not 0 < k <= x.shape[axis] else k
    order = np.take(_order(x, axis, args.bool_attr("largest")), range(count), axis)
    found = np.take_along_axis(x, order, axis), order.astype(_dtype(args, "dtype"))
    return found if kind == "both" else found[("values", "indices").index(kind)]


def _bucketize(args: OpArgs, values: Values, dim: Dim) -> Array:
    _integers(*values)
    side = "right" if args.bool_attr("right") else "left"
    kind = np.int32 if args.bool_attr("out_int32") else np.int64
    return np.asarray(np.searchsorted(np.sort(values[1]), values[0], side), kind)


def _one_hot(args: OpArgs, values: Values, dim: Dim) -> Array:
    indices, on, off = values
    axis = args.int_attr("axis") % (indices.ndim + 1)
    places = np.arange(dim(args.attrs["depth"])).reshape([-1] + [1] * (indices.ndim - axis))
    return np.where(np.expand_dims(indices, axis) == places, on, off)


def _index_tensor(args: OpArgs, values: Values, dim: Dim) -> Array:
    x, indices = values
    return np.asarray(x[tuple(index.astype(np.int64) for index in indices)])


def _slice_scatter(args: OpArgs, values: Values, dim: Dim) -> Array:
    found, places = values[0].copy(), [slice(None)] * values[0].ndim
    bounds = [dim(args.attrs[name]) for name in ("start", "end")]
    places[args.int_attr("axis")] = slice(*bounds, args.int_attr("step"))
    if found[tuple(places)].shape != values[1].shape:
        raise FailsError("another shape than the slice")
    found[tuple(places)] = values[1]
    return found


def _scatter_nd(args: OpArgs, values: Values, dim: Dim) -> Array:
    x, indices, updates = values
    found, combine = x.copy(), COMBINE[args.str_attr("reduction")]
    for at in np.ndindex(indices.shape[:-1]):
        place = tuple(int(index) for index in indices[at])
        found[place] = combine(found[place], updates[at])
    return found


def _dynamic_slice(args: OpArgs, values: Values, dim: Dim) -> Array:
    x, *bounds = values
    if (bounds[2] == 0).any():
        raise FailsError("a stride of 0")
    return np.asarray(x[tuple(slice(*map(int, parts)) for parts in zip(*bounds, strict=True))])


def _reverse_sequence(args: OpArgs, values: Values, dim: Dim) -> Array:
    x, lengths = values
    found = np.moveaxis(x, (args.int_attr("batch_axis"), args.int_attr("seq_axis")), (0, 1)).copy()
    for row, length in zip(found, lengths, strict=True):
        count = max(min(int(length), len(row)), 0)
        row[:count] = row[:count][::-1].copy()
    return np.moveaxis(found, (0, 1), (args.int_attr("batch_axis"), args.int_attr("seq_axis")))


def _pad(args: OpArgs, values: Values, dim: Dim) -> Array:
    numbers = [dim(item) for item in ir.ArrayAttr(args.attrs["pad_width"])]
    if any(number < 0 for number in numbers) or args.str_attr("pad_mode") != "constant":
        raise UnknownMeaningError("cut edges, and edges of data")
    widths = list(zip(numbers[::2], numbers[1::2], strict=True))
    padding = np.asarray(args.float_attr("pad_value")).astype(values[0].dtype)
    return np.pad(values[0], widths, constant_values=padding) if widths else values[0]


def _pixel_shuffle(args: OpArgs, values: Values, dim: Dim) -> Array:
    x, r = values[0], args.int_attr("upscale_factor")
    *rest, channels, high, wide = x.shape
    parts = x.reshape(*rest, channels // (r * r), r, r, high, wide)
    n = len(rest)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return parts.transpose(order).reshape(*rest, channels // (r * r), high * r, wide * r)


def _words(args: OpArgs, values: Values, dim: Dim) -> Any:
    (key, low, high), count = (int(word) for word in values[0]), dim(args.attrs["count"])
    counter, blocks = low + (high << 64), -(-count // 4)
    words = [word for number in range(blocks) for word in philox(key, counter + number)]
    after = (counter + blocks) % 2**128
    return np.array(words[:count], np.uint32), np.array([key, after % 2**64, after >> 64], np.uint64)


def _prelu(args: OpArgs, values: Values, dim: Dim) -> Array:
    x, alpha = values
    axis = args.int_attr("axis") % max(x.ndim, 1)
    shape = [-1 if number == axis else 1 for number in range(x.ndim)]
    return np.where(x > 0, x, x * (alpha.reshape(shape) if alpha.size != 1 else alpha.reshape(())))


def _elu(x: Array, alpha: float) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _hardsigmoid(args: OpArgs, values: Values, dim: Dim) -> Inexact:
    part, beta = values[0] * args.float_attr("alpha"), args.float_attr("beta")
    return Inexact(np.clip(part + beta, 0, 1), np.abs(part) + abs(beta))


def _hardswish(args: OpArgs, values: Values, dim: Dim) -> Inexact:
    x = values[0]
    return Inexact(x * np.clip(x + 3, 0, 6) / 6, np.abs(x) * (np.abs(x) + 3) / 6)


def _softplus(args: OpArgs, values: Values, dim: Dim) -> Array:
    x, beta = values[0], args.float_attr("beta")
    return np.where(x * beta > args.float_attr("threshold"), x, np.logaddexp(x * beta, 0) / beta)


MEANINGS = {
    "sort": _sort,
    "argsort": _argsort,
    "topk": _topk,
    "bucketize": _bucketize,
    "one_hot": _one_hot,
    "index_tensor": _index_tensor,
    "slice_scatter": _slice_scatter,
    "scatter_nd": _scatter_nd,
    "dynamic_strided_slice": _dynamic_slice,
    "reverse_sequence": _reverse_sequence,
    "nn_pad": _pad,
    "nn_pixel_shuffle": _pixel_shuffle,
    "nn_batch_flatten": lambda args, values, dim: values[0].reshape(
        len(values[0]), int(np.prod(values[0].shape[1:]))
    ),
    "nn_dropout": lambda args, values, dim: (values[0], np.ones_like(values[0])),
    "meshgrid": lambda args, values, dim: tuple(
        np.meshgrid(*values[0], indexing=args.str_attr("indexing")) if values[0] else ()
    ),
    "random_words": _words,
    "nn_prelu": _prelu,
    "nn_elu": lambda args, values, dim: _elu(values[0], args.float_attr("alpha")),
    "nn_selu": lambda args, values, dim: 1.0507009873554805 * _elu(values[0], 1.6732632423543772),
    "nn_hardsigmoid": _hardsigmoid,
    "nn_hardswish": _hardswish,
    "nn_softplus": _softplus,
}
