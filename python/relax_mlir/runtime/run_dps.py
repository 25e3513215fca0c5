"""Destination-passing calls whose result shapes, including the rank, are known only at run time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tvm_ffi

from relax_mlir.arrays import to_ffi
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.shape_first import RUN_DPS
from relax_mlir.error import PackedFunctionError, ShapeError
from relax_mlir.runtime.registration import registered


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
        raise ShapeError(
            f"call_tir of '{name}': the shape of the result is {sizes}, with a negative dimension"
        )
    return to_ffi(np.empty(sizes, dtypes.dtype(dtype).numpy))
