"""The function that `relax.print` calls: print values to Python's standard output."""

from __future__ import annotations

from typing import Any

import tvm_ffi

from relax_mlir.arrays import to_numpy


def _shown(value: Any) -> Any:  # noqa: ANN401 - whatever the FFI passes
    """Convert a value for printing: tensors to NumPy arrays, shapes to tuples of integers."""
    if isinstance(value, tvm_ffi.Tensor):
        return to_numpy(value)
    if isinstance(value, tvm_ffi.Shape):
        return tuple(value)
    if isinstance(value, tvm_ffi.Array):
        return tuple(map(_shown, value))
    return value


def print_values(format: str, *values: object) -> None:
    """Print `values`, joined by spaces or inserted into `format`."""
    shown = [_shown(value) for value in values]
    print(str(format).format(*shown) if format else " ".join(map(str, shown)), flush=True)


tvm_ffi.register_global_func("relax_mlir.run.print", print_values, override=True)
