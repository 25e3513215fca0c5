"""Constants of the virtual machine: their kinds, and their equality.

| Kind | In the pool | Built from |
|---|---|---|
| tensor | a read-only, contiguous NumPy array | NumPy arrays and scalars, FFI tensors, torch tensors, what has DLPack |
| shape | `tvm_ffi.Shape` | `tvm_ffi.Shape`, a tuple of integers |
| dtype | `tvm_ffi.dtype` | dtypes of the FFI, of NumPy, of Relax and of torch |
| others | `str`, `int` (64 bits), `float`, `bool`, `None` | the same |

Two constants are equal if they have the same kind and the same bits. All scalar NaNs are equal.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Hashable
from typing import Any, Literal

import numpy as np
import tvm_ffi

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.constants import from_torch, is_torch
from relax_mlir.error import ArgumentError, DTypeError, UnknownNameError
from relax_mlir.ffi import to_numpy

Array = np.ndarray[Any, Any]
Kind = Literal["tensor", "shape", "dtype", "str", "int", "float", "bool", "None"]

_CHUNK = 1 << 20
"""Bytes of arrays compared at a time."""
_SAMPLE = 4096
"""Number of bytes at the beginning and the end of an array that its key is computed from."""


def kind_of(value: object) -> Kind:
    """Return the kind of a constant of the pool. Raises ArgumentError for a value that is not normalised."""
    if isinstance(value, np.ndarray):
        return "tensor"
    if isinstance(value, tvm_ffi.Shape):
        return "shape"
    if isinstance(value, tvm_ffi.dtype):
        return "dtype"
    if value is None:
        return "None"
    names: dict[type, Kind] = {str: "str", int: "int", float: "float", bool: "bool"}
    if type(value) not in names:
        raise ArgumentError(f"a constant pool cannot hold {value!r} ({type(value).__name__})")
    return names[type(value)]


def normalize(value: object, what: str = "constant") -> object:
    """Convert `value` to the form stored in the pool; `what` names it in messages.

    Tensors are copied, except for read-only NumPy arrays, whose memory is shared.

    Raises:
        ArgumentError: a value of another kind, an integer or an entry of a shape that needs more than 64 bits.
        DTypeError: a tensor or a dtype that Relax does not have.
    """
    if isinstance(value, np.ndarray | np.generic):
        return _frozen(np.asarray(value), what)
    if isinstance(value, float | bool) or value is None:
        return float(value) if isinstance(value, float) else value
    if (dtype := _dtype(value, what)) is not None:
        return dtype
    if isinstance(value, str):
        return _text(value, what)
    if isinstance(value, int):
        return _int64(value, what)
    if isinstance(value, tuple):
        return _shape(value, what)
    if is_torch(value) or hasattr(value, "__dlpack__"):
        return _frozen(_foreign(value, what).copy(), what)
    raise ArgumentError(
        f"{what} is {value!r} ({type(value).__name__}), expected a tensor, a tuple of integers (a shape), a dtype, "
        "a string, a number, a bool or None"
    )


def same(a: object, b: object) -> bool:
    """True if two constants of the pool are equal; see the module."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a is b or (a.dtype == b.dtype and a.shape == b.shape and _same_bytes(a, b))
    return key(a) == key(b)


def key(value: object) -> Hashable:
    """Return a key that is equal for equal constants; only tensors with equal keys may differ."""
    kind = kind_of(value)
    if isinstance(value, np.ndarray):
        data = byte_view(value)
        sample = zlib.crc32(data[-_SAMPLE:].tobytes(), zlib.crc32(data[:_SAMPLE].tobytes()))
        return kind, value.dtype.name, value.shape, sample
    if isinstance(value, float):
        return kind, "nan" if math.isnan(value) else struct.pack("<d", value)
    return kind, tuple(value) if isinstance(value, tvm_ffi.Shape) else value


def byte_view(array: Array) -> Array:
    """The bytes of a contiguous array, without copying."""
    return array.reshape(-1).view(np.uint8)


def _same_bytes(a: Array, b: Array) -> bool:
    first, second = byte_view(a), byte_view(b)
    starts = range(0, first.size, _CHUNK)
    return all(np.array_equal(first[at : at + _CHUNK], second[at : at + _CHUNK]) for at in starts)


class ConstantPool:
    """Constants in the order in which they were added, without duplicates."""

    def __init__(self) -> None:
        self.values: list[object] = []
        self._places: dict[Hashable, list[int]] = {}

    def add(self, value: object, what: str = "constant") -> int:
        """Return the index of `value`, which need not be normalised; see `normalize` for its errors."""
        constant = normalize(value, what)
        places = self._places.setdefault(key(constant), [])
        for index in places:
            if same(self.values[index], constant):
                return index
        places.append(len(self.values))
        self.values.append(constant)
        return places[-1]


def _frozen(array: Array, what: str) -> Array:
    try:
        dtype = dtypes.dtype(array.dtype)
    except UnknownNameError as error:
        raise DTypeError(f"{what} is a tensor whose dtype Relax does not have: {error}") from None
    if array.flags.writeable or not array.flags.c_contiguous or array.dtype != dtype.numpy:
        array = np.array(array, dtype=dtype.numpy, order="C", copy=True)
    if array.flags.writeable or type(array) is not np.ndarray:
        array = array.view(np.ndarray)
        array.flags.writeable = False
    return array


def _foreign(value: object, what: str) -> Array:
    """Convert a tensor of another library to an array."""
    try:
        if is_torch(value):
            return from_torch(value)
        return to_numpy(value if isinstance(value, tvm_ffi.Tensor) else tvm_ffi.from_dlpack(value))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).split("\n", 1)[0]
        raise ArgumentError(f"{what} is a {type(value).__name__} that NumPy cannot read: {reason}") from None


def _dtype(value: object, what: str) -> tvm_ffi.dtype | None:
    """Convert `value` to an FFI dtype; return None if it is not a dtype."""
    is_class = isinstance(value, type) and issubclass(value, np.generic)
    kind = type(value)
    if isinstance(value, dtypes.DType | tvm_ffi.dtype):
        name = str(value)
    elif isinstance(value, np.dtype) or is_class:
        name = np.dtype(value).name  # type: ignore[call-overload]  # a NumPy dtype, or a class of scalars
    elif kind.__module__ == "torch" and kind.__name__ == "dtype":
        name = str(value).removeprefix("torch.")
    else:
        return None
    try:
        return tvm_ffi.dtype(dtypes.dtype(name).name)
    except UnknownNameError as error:
        raise DTypeError(f"{what} is a dtype that Relax does not have: {error}") from None


def _shape(value: tuple[object, ...], what: str) -> tvm_ffi.Shape:
    for place, item in enumerate(value):
        if isinstance(item, bool) or not isinstance(item, int | np.integer):
            raise ArgumentError(f"{what}: entry {place} of the shape is {item!r}, expected an integer")
        _int64(int(item), f"{what}: entry {place} of the shape")
    return tvm_ffi.Shape(tuple(int(item) for item in value))  # type: ignore[call-overload]  # checked above


def _text(value: str, what: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{what} is {value!r}, which is no valid text: {error.reason}") from None
    return str(value)


def _int64(value: int, what: str) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        raise ArgumentError(f"{what} is {value}, which needs more than 64 bits")
    return int(value)
