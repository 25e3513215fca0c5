"""Memory layouts of CPython, NumPy and TVM FFI objects that generated code relies on, and their verification.

`lowering.runtime_lib.fast_call` uses the offsets of `Array` and `Dtype`. `layouts` checks versions, then objects with
known contents; `fast_call_test` also tests the code itself.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.lowering.base.unpack import OBJECT_BYTES

FIRST_PYTHON, LAST_PYTHON = (3, 10), (3, 13)
PLAIN_TYPES = "?bBhHiIlLqQefd"
METHOD_WITH_ARRAY = 0x0080
"""METH_FASTCALL."""
_TP_NEW = 65
"""Py_tp_new."""
_ARRAY_NEW, _ARRAY_SET_BASE = 93, 282
"""Indices of PyArray_New and PyArray_SetBaseObject in the table of NumPy's C API."""


class Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_size_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Array(ctypes.Structure):
    """PyArrayObject of a 64-bit system."""

    _fields_ = (
        ("references", ctypes.c_size_t),
        ("type", ctypes.c_size_t),
        ("data", ctypes.c_size_t),
        ("ndim", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("base", ctypes.c_size_t),
        ("dtype", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class Dtype(ctypes.Structure):
    """The head of PyArray_Descr."""

    _fields_ = (
        ("references", ctypes.c_size_t),
        ("type", ctypes.c_size_t),
        ("scalar", ctypes.c_size_t),
        ("kind", ctypes.c_char),
        ("letter", ctypes.c_char),
        ("byte_order", ctypes.c_char),
        ("old_flags", ctypes.c_char),
        ("number", ctypes.c_int),
    )


@dataclass(frozen=True)
class Layouts:
    """Offsets in this process."""

    tensor_handle: int
    """Offset in an FFI tensor of the address of its FFI object."""
    tensor_view: int
    """Offset in an FFI tensor of the address of its DLTensor."""
    entry: int
    """Offset in a native function of the slot with the entry point."""
    ffi: int
    """Offset in a native function of the slot with the FFI function."""


class UnknownLayoutError(Exception):
    """The memory layout of an object differs from what the generated code expects; the message names the object."""


def layouts(cls: type, entry: str, ffi: str, type_numbers: int) -> Layouts:
    """Return the layouts; native functions are instances of `cls` with the slots `entry` and `ffi`.

    Raises UnknownLayoutError.
    """
    require_known_interpreter()
    require_known_numpy(type_numbers)
    return Layouts(*tensor_offsets(), slot_offset(cls, entry), slot_offset(cls, ffi))


def address(*names: str) -> int:
    """Return the address of the first function of CPython's C API that exists under one of `names`."""
    for name in names:
        function = getattr(ctypes.pythonapi, name, None)
        if function is not None:
            value = ctypes.cast(function, ctypes.c_void_p).value
            assert value is not None
            return value
    raise UnknownLayoutError(f"CPython does not export {' or '.join(names)}")


def require_known_interpreter() -> None:
    """Require CPython with the GIL, not a debug build, on a 64-bit little-endian system."""
    version = ".".join(map(str, sys.version_info[:2]))
    if sys.implementation.name != "cpython":
        raise UnknownLayoutError(f"the interpreter is {sys.implementation.name}, not CPython")
    if not FIRST_PYTHON <= sys.version_info[:2] <= LAST_PYTHON:
        raise UnknownLayoutError(f"CPython {version} is not known")
    if sys.maxsize != 2**63 - 1 or sys.byteorder != "little":
        raise UnknownLayoutError("the system is not a 64-bit little-endian one")
    if sysconfig.get_config_var("Py_GIL_DISABLED") or hasattr(sys, "gettotalrefcount"):
        raise UnknownLayoutError(f"CPython {version} is a free-threaded or debug build")


def require_known_numpy(type_numbers: int) -> None:
    """Require arrays with the layout of `Array`, and dtype numbers below `type_numbers`."""
    for dtype in map(np.dtype, PLAIN_TYPES):
        array = np.zeros((3, 5, 2), dtype)[1:, ::2]
        array.flags.writeable = False
        seen, head = Array.from_address(id(array)), Dtype.from_address(id(array.dtype))
        flags = array.flags
        if not (
            (seen.type, seen.data, seen.ndim) == (id(np.ndarray), array.ctypes.data, 3)
            and tuple(seen.shape[:3]) == array.shape
            and tuple(seen.strides[:3]) == array.strides
            and seen.dtype == id(array.dtype)
            and seen.flags & 0x501 == flags.c_contiguous | flags.aligned << 8 | flags.writeable << 10
            and head.number == dtype.num < type_numbers
            and head.byte_order.decode() == dtype.byteorder
        ):
            raise UnknownLayoutError(f"arrays of NumPy {np.__version__} ({dtype}) have another layout")
    big = np.dtype(">f4")
    if Dtype.from_address(id(big)).byte_order != b">":
        raise UnknownLayoutError(f"dtypes of NumPy {np.__version__} have another layout")


def slot_offset(cls: type, name: str) -> int:
    """Return the offset of a slot in the instances of a class."""
    instance: object = object.__new__(cls)
    mark = object()
    setattr(instance, name, mark)
    return _place(instance, cls.__basicsize__, id(mark), f"slot '{name}' of {cls.__name__}")


def tensor_offsets() -> tuple[int, int]:
    """Return the offsets in FFI tensors of the address of the FFI object and of its DLTensor."""
    tensor = tvm_ffi.from_dlpack(np.zeros(1, np.float32))
    size, handle = tvm_ffi.Tensor.__basicsize__, tensor.__chandle__()
    of = f"of tensors of the TVM FFI {tvm_ffi.__version__}"
    return _place(tensor, size, handle, f"handle {of}"), _place(
        tensor, size, handle + OBJECT_BYTES, f"view {of}"
    )


def constructor(cls: type) -> int:
    """Return the address of a class's constructor (tp_new)."""
    get = ctypes.pythonapi.PyType_GetSlot
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_int)
    found: int | None = get(cls, _TP_NEW)
    if not found:
        raise UnknownLayoutError(f"{cls.__name__} has no constructor")
    return found


def array_functions() -> tuple[int, int]:
    """Return the addresses of PyArray_New and PyArray_SetBaseObject of NumPy's C API."""
    core: Any = vars(np)["core" if np.__version__.startswith("1.") else "_core"]
    table = ctypes.pythonapi.PyCapsule_GetPointer
    table.restype, table.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    address = table(core._multiarray_umath._ARRAY_API, None)
    words = (ctypes.c_size_t * (_ARRAY_SET_BASE + 1)).from_address(address)
    return words[_ARRAY_NEW], words[_ARRAY_SET_BASE]


def _place(instance: object, size: int, word: int, what: str) -> int:
    words = (ctypes.c_size_t * (size // 8)).from_address(id(instance))
    places = [8 * i for i, found in enumerate(words) if found == word]
    if len(places) != 1:
        raise UnknownLayoutError(f"the {what} is not where it is looked for ({len(places)} places found)")
    return places[0]
