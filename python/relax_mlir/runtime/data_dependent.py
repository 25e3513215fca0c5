"""Functions whose result shapes are known only at run time: `unique`, `nonzero`, calls in destination-passing style."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.call_forms import RUN_DPS
from relax_mlir.error import PackedFunctionError, ShapeError
from relax_mlir.ffi import to_ffi, to_numpy
from relax_mlir.lowering.legalize.runtime_calls import NONZERO, UNIQUE
from relax_mlir.runtime.packed_functions import registered

# Destination-passing calls whose result shapes, including the rank, are known only at run time.


@registered(RUN_DPS)
def call_dps_packed(name: str, dtype: str, count: int, *given: object) -> object:
    """Allocate `count` results of the shapes at the start of `given`, and call the function `name` to fill them.

    It gets the arguments after the shapes, then the results. Raises `PackedFunctionError` if it is not registered,
    `ShapeError` for a negative dimension.
    """
    function = tvm_ffi.get_global_func(name, allow_missing=True)
    if function is None:
        raise PackedFunctionError(f"call_tir: no packed function is registered as '{name}'")
    results = [_empty(name, shape, dtype) for shape in given[:count]]
    function(*given[count:], *results)
    return results[0] if count == 1 else tuple(results)


def _empty(name: str, shape: object, dtype: str) -> tvm_ffi.Tensor:
    assert isinstance(shape, Sequence)
    sizes = tuple(int(size) for size in shape)
    if any(size < 0 for size in sizes):
        raise ShapeError(f"call_tir of '{name}': the shape of the result is {sizes}, with a negative dimension")
    return to_ffi(np.empty(sizes, dtypes.dtype(dtype).numpy))


# `unique` and `nonzero` in NumPy: the sizes of their results depend on the elements.


Array = np.ndarray[Any, Any]


@registered(UNIQUE)
def unique(
    x: object, sorted: bool, index: bool, inverse: bool, counts: bool, place: str, axis: int | None = None
) -> object:
    """See `UniqueOp`; `place` is the location of the op. Raises `ShapeError` if the axis is out of range."""
    array = to_numpy(x)
    if axis is not None and not -array.ndim <= axis < array.ndim:
        raise ShapeError(f"unique: axis {axis} is out of range for a tensor of rank {array.ndim} (at {place})")
    found = distinct(array, sorted, axis)
    first = found[0]
    values = np.take(array.reshape(-1) if axis is None else array, first, axis=axis or 0)
    wanted = [part for part, flag in zip(found, (index, inverse, counts), strict=True) if flag]
    results = [to_ffi(np.ascontiguousarray(part)) for part in (values, *wanted)]
    return tuple(results) if wanted else results[0]


def distinct(array: Array, sorted: bool, axis: int | None) -> tuple[Array, Array, Array]:
    """Return first positions, inverse and counts of the distinct elements, or slices along `axis`, as int64."""
    codes = _ranks(array)
    if axis is None:
        rows = codes.reshape(-1, 1)
    else:
        rows = np.moveaxis(codes, axis, 0)
        rows = rows.reshape(rows.shape[0], int(np.prod(rows.shape[1:])))
    if rows.shape[1] == 0:  # slices without elements are equal
        rows = np.zeros((rows.shape[0], 1), np.int64)
    if rows.shape[1] == 1:
        rows = rows[:, 0]
        _, first, inverse, counts = np.unique(rows, True, True, True)
    else:
        _, first, inverse, counts = np.unique(rows, True, True, True, axis=0)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        first, inverse, counts = first[order], place[inverse], counts[order]
    return first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


def _ranks(array: Array) -> Array:
    """Return an integer rank per element; NaNs are equal to each other and greater than everything else."""
    if array.dtype == dtypes.dtype("bfloat16").numpy:
        array = array.astype(np.float32)
    _, ranks = np.unique(array.reshape(-1), return_inverse=True)
    found: Array = ranks.reshape(array.shape)
    return found


@registered(NONZERO)
def nonzero(x: object) -> object:
    """See `NonzeroOp`."""
    array = to_numpy(x)
    if array.ndim == 0:
        return to_ffi(np.zeros((0, int(bool(array != 0))), np.int64))
    return to_ffi(np.stack(np.nonzero(array != 0)).astype(np.int64))
