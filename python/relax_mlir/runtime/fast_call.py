"""Compiled functions as C functions of CPython: a call costs little more than its work (`lowering.abi.fast_call`).

Where the layout of objects is not the one that the code knows (other interpreters, debug and free-threaded builds,
another NumPy), compiled functions are called by their Python method, which does the same.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import sysconfig

import numpy as np
import tvm_ffi

from relax_mlir.lowering.runtime_lib.fast_call import DTYPES, ENTRY, FIELDS, SLOW, STATE, fast_call_text
from relax_mlir.runtime.arrays import DLPACK_CODES
from relax_mlir.runtime.process_code import state_address

_METHOD_WITH_ARRAY = 0x0080
_PLAIN_TYPES = "?bBhHiIlLqQefd"


class _State(ctypes.Structure):
    _fields_ = (*((name, ctypes.c_size_t) for name in FIELDS), ("dtypes", ctypes.c_size_t * DTYPES))


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_size_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Array(ctypes.Structure):
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


class _Dtype(ctypes.Structure):
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


# What CPython and the generated code refer to; it must stay where it is.
_kept: list[object] = []


@functools.cache
def install(cls: type) -> bool:
    """Make the generated code the method ``__call__`` of a class whose instances have `ENTRY` and `SLOW`.

    False if this interpreter, or NumPy, is not one that the code knows.
    """
    offset, entry_offset = _tensor_handle_offset(), _slot_offset(cls, ENTRY)
    if not _is_known_interpreter() or not _is_known_numpy() or offset is None or entry_offset is None:
        return False
    state = _State.from_address(state_address(fast_call_text(), STATE))
    state.array_type, state.tensor_type = id(np.ndarray), id(tvm_ffi.Tensor)
    state.tensor_handle, state.none = offset, id(None)
    finish = tvm_ffi.Function.__from_extern_c__(state.finish_code)
    slow = sys.intern(SLOW)
    _kept.extend((state, finish, slow))
    state.finish, state.slow_name, state.entry_offset = id(finish), id(slow), entry_offset
    state.save_thread = _address("PyEval_SaveThread")
    state.restore_thread = _address("PyEval_RestoreThread")
    state.get_attribute, state.vectorcall = _address("PyObject_GetAttr"), _address("PyObject_Vectorcall")
    state.from_pointer, state.as_pointer = _address("PyLong_FromVoidPtr"), _address("PyLong_AsVoidPtr")
    state.increment, state.decrement = _address("Py_IncRef"), _address("Py_DecRef")
    for dtype in map(np.dtype, _PLAIN_TYPES):
        state.dtypes[dtype.num] = DLPACK_CODES[dtype.kind] | dtype.itemsize * 8 << 8 | 1 << 16
    doc = f"__call__($self, /, *args)\n--\n\n{cls.__call__.__doc__ or ''}"
    method = _Method(b"__call__", state.call, _METHOD_WITH_ARRAY, doc.encode())
    _kept.append(method)
    describe = ctypes.pythonapi.PyDescr_NewMethod
    describe.restype, describe.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.POINTER(_Method))
    type.__setattr__(cls, "__call__", describe(cls, ctypes.byref(method)))
    return True


def _address(name: str) -> int:
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


def _is_known_interpreter() -> bool:
    return (
        sys.implementation.name == "cpython"
        and sys.maxsize == 2**63 - 1
        and sys.byteorder == "little"
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and not hasattr(sys, "gettotalrefcount")
    )


def _is_known_numpy() -> bool:
    """Whether arrays lie in memory as `_Array` says."""
    for dtype in map(np.dtype, _PLAIN_TYPES):
        array = np.zeros((3, 5, 2), dtype)[1:, ::2]
        array.flags.writeable = False
        seen, head = _Array.from_address(id(array)), _Dtype.from_address(id(array.dtype))
        flags = array.flags
        if not (
            (seen.type, seen.data, seen.ndim) == (id(np.ndarray), array.ctypes.data, 3)
            and tuple(seen.shape[:3]) == array.shape
            and tuple(seen.strides[:3]) == array.strides
            and seen.dtype == id(array.dtype)
            and seen.flags & 0x501 == flags.c_contiguous | flags.aligned << 8 | flags.writeable << 10
            and head.number == dtype.num < DTYPES
            and head.byte_order.decode() == dtype.byteorder
        ):
            return False
    big = np.dtype(">f4")
    return bool(_Dtype.from_address(id(big)).byte_order == b">")


def _slot_offset(cls: type, name: str) -> int | None:
    """Where the instances of a class hold the object that is in one of their slots."""
    instance: object = object.__new__(cls)
    mark = object()
    setattr(instance, name, mark)
    words = (ctypes.c_size_t * (cls.__basicsize__ // 8)).from_address(id(instance))
    places = [8 * i for i, word in enumerate(words) if word == id(mark)]
    return places[0] if len(places) == 1 else None


def _tensor_handle_offset() -> int | None:
    """Where FFI tensors hold the address of the object that they stand for."""
    tensor = tvm_ffi.from_dlpack(np.zeros(1, np.float32))
    words = (ctypes.c_size_t * (tvm_ffi.Tensor.__basicsize__ // 8)).from_address(id(tensor))
    places = [8 * i for i, word in enumerate(words) if word == tensor.__chandle__()]
    return places[0] if len(places) == 1 else None
