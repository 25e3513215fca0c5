"""Calls of FFI functions by the C interface: with values that Python never gives, such as bare DLTensors."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import tvm_ffi
from tvm_ffi.libinfo import find_libtvm_ffi

INT, DLTENSOR = 1, 7


class RawError(Exception):
    """The error that a function has set: its kind and its message."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


_library = ctypes.CDLL(find_libtvm_ffi())
_library.TVMFFIFunctionCall.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)
_library.TVMFFIErrorMoveFromRaised.argtypes = (ctypes.c_void_p,)
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


@contextmanager
def dltensor(
    array: np.ndarray, shape: Sequence[int] | None = None, null: bool = False, has_strides: bool = True
) -> Iterator[tuple[int, int]]:
    """A bare DLTensor over the memory of `array`, as an argument; with another shape, or a null pointer, on request."""
    sizes = array.shape if shape is None else tuple(shape)
    dims = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
    steps = (ctypes.c_int64 * max(len(sizes), 1))(*(step // array.itemsize for step in array.strides))
    tensor = _DLTensor(
        0 if null else array.ctypes.data,
        1,
        0,
        len(sizes),
        _CODES[array.dtype.kind],
        8 * array.itemsize,
        1,
        ctypes.addressof(dims),
        ctypes.addressof(steps) if has_strides else 0,
        0,
    )
    yield DLTENSOR, ctypes.addressof(tensor)
    del dims, steps, array


def raw_call(function: tvm_ffi.Function, *args: tuple[int, int]) -> tuple[int, int]:
    """Call with values as (kind, payload); gives such a pair. Raises RawError."""
    words = (ctypes.c_int64 * (2 * max(len(args), 1)))(*(word for arg in args for word in arg))
    result = (ctypes.c_int64 * 2)()
    if _library.TVMFFIFunctionCall(function.__chandle__(), words, len(args), result) == 0:
        return int(result[0]), int(result[1])
    handle = ctypes.c_void_p()
    _library.TVMFFIErrorMoveFromRaised(ctypes.byref(handle))
    assert handle.value
    cell = (ctypes.c_size_t * 4).from_address(handle.value + 24)
    kind, message = (ctypes.string_at(cell[i], cell[i + 1]).decode() for i in (0, 2))
    raise RawError(kind, message)
