"""The project's errors, known to the TVM FFI by name, so that compiled code can raise them."""

from __future__ import annotations

import tvm_ffi

from relax_mlir import error

RAISED_BY_COMPILED_CODE = (
    error.ShapeError,
    error.DTypeError,
    error.DeviceError,
    error.ArgumentError,
    error.PackedFunctionError,
    error.RelaxError,
)


def register_errors() -> None:
    """Make errors of these kinds arrive as their classes; doing it again changes nothing."""
    for cls in RAISED_BY_COMPILED_CODE:
        tvm_ffi.register_error(cls.__name__, cls)
