"""Arrays, errors and thread pools at the border to the TVM FFI.

Arrays that the FFI does not convert by itself, and results as NumPy arrays, are not copied. Nothing here needs the
compiler: processes that only run exported libraries use it, too."""

from __future__ import annotations

import builtins
import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir import error
from relax_mlir.error import DTypeError

DLPACK_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
"""DLPack's type codes by NumPy's kinds."""
_FFI_KINDS = "iufbc"
_BFLOAT = 4
_READ_ONLY = 1


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """DLManagedTensorVersioned of dlpack.h."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


# The objects that keep an exported array alive, by the address of its _Managed.
_exported: dict[int, tuple[Any, ...]] = {}


def _forget(address: int) -> None:
    _exported.pop(address, None)


_forget_exported = _Deleter(_forget)


_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.restype = ctypes.py_object
_capsule_new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_CAPSULE_NAME = b"dltensor_versioned"


def _is_bfloat16(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "V" and dtype.type.__name__ == "bfloat16"


def _export(array: np.ndarray[Any, Any]) -> tvm_ffi.Tensor:
    """An FFI tensor over the memory of any NumPy array with a dtype that DLPack knows."""
    dtype, is_bfloat16 = array.dtype, _is_bfloat16(array.dtype)
    if dtype.byteorder == ">" or (not is_bfloat16 and dtype.kind not in DLPACK_CODES):
        raise DTypeError(f"compiled functions take no NumPy arrays of dtype {dtype}")
    if any(step % dtype.itemsize for step in array.strides):
        array = np.ascontiguousarray(array)
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(array.ndim, 1))(*(step // dtype.itemsize for step in array.strides))
    code = _BFLOAT if is_bfloat16 else DLPACK_CODES[dtype.kind]
    tensor = _DLTensor(array.ctypes.data, 1, 0, array.ndim, code, 8 * dtype.itemsize, 1, shape, strides, 0)
    flags = 0 if array.flags.writeable else _READ_ONLY
    managed = _Managed(1, 0, None, _forget_exported, flags, tensor)
    address = ctypes.addressof(managed)
    _exported[address] = (array, shape, strides, managed)
    return tvm_ffi.from_dlpack(_capsule_new(address, _CAPSULE_NAME, None))


def needs_help(value: object) -> bool:
    """True if the FFI cannot convert `value`, or something inside it, by itself.

    It must not be true for anything else: a failed call is repeated with the result of `to_ffi`, and that must not run
    a function twice.
    """
    if isinstance(value, np.ndarray):
        dtype = value.dtype
        return (
            not value.flags.writeable
            or dtype.byteorder == ">"
            or dtype.kind not in _FFI_KINDS
            or any(step % dtype.itemsize for step in value.strides)
        )
    return isinstance(value, tuple | list) and type(value) in (tuple, list) and any(map(needs_help, value))


def to_ffi(value: object) -> object:
    """`value` in a form that the FFI accepts, with NumPy arrays as tensors over their memory.

    Arrays inside tuples and lists are converted, and read-only and bfloat16 arrays, too.

    Raises DTypeError for arrays of a dtype that DLPack does not know.
    """
    if isinstance(value, np.ndarray):
        return _export(value)
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return tuple(to_ffi(item) for item in value)
    if not isinstance(value, tvm_ffi.Tensor) and hasattr(value, "__dlpack__"):
        return tvm_ffi.from_dlpack(value)
    return value


class _Memory:
    """The memory of an FFI tensor for NumPy, which holds this object and thus keeps the tensor alive."""

    def __init__(self, tensor: tvm_ffi.Tensor, typestr: str) -> None:
        self.tensor = tensor
        size = np.dtype(typestr).itemsize
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(tensor.shape),
            "strides": tuple(step * size for step in tensor.strides),
            "typestr": typestr,
            "data": (tensor.data_ptr(), False),
        }


def holds_array(value: object) -> bool:
    """True if an argument is a NumPy array, or a tuple or list that holds one."""
    if isinstance(value, tuple | list):
        return any(map(holds_array, value))
    return isinstance(value, np.ndarray)


def numpy_results(value: Any) -> Any:  # noqa: ANN401 - any result of a function
    """A result with NumPy arrays in place of FFI tensors; arrays of the FFI become tuples."""
    if isinstance(value, tvm_ffi.Tensor):
        return to_numpy(value)
    return tuple(map(numpy_results, value)) if isinstance(value, tvm_ffi.Array) else value


def to_numpy(tensor: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 - anything with DLPack
    """A result as a NumPy array over the same memory; the dtype of bfloat16 is `ml_dtypes.bfloat16`."""
    if isinstance(tensor, np.ndarray):
        return tensor
    if isinstance(tensor, tvm_ffi.Tensor) and str(tensor.dtype) == "bfloat16":
        import ml_dtypes  # imported here: libraries without bfloat16 run without it

        return np.asarray(_Memory(tensor, "<u2")).view(ml_dtypes.bfloat16)
    return np.from_dlpack(tensor)


# Errors that cross the TVM FFI as their own classes: the project's, and Python's built-in ones.
#
# The FFI transfers the name of an error's class and its message. Exceptions of unknown classes arrive as
# `RuntimeError`; `tvm_ffi.register_error` makes more classes known.

# Classes that cannot be constructed from a message alone.
_OTHER_ARGUMENTS = (UnicodeError, error.UnknownNameError, error.PassError)
_GROUP = getattr(builtins, "BaseExceptionGroup", UnicodeError)


def register_errors() -> None:
    """Register the classes by name; repeated calls change nothing."""
    for cls in (*vars(builtins).values(), *vars(error).values()):
        if not (isinstance(cls, type) and issubclass(cls, Exception)):
            continue
        if not issubclass(cls, (*_OTHER_ARGUMENTS, _GROUP)):
            tvm_ffi.register_error(cls.__name__, cls)


POOL_PREFIX = "relax_mlir.team."
"""Prefix of the registered functions that return the thread pools (`lowering.base.support`)."""

LIMIT_OFFSET = 8
"""Byte offset of the thread limit in the state of a pool."""


def thread_pools() -> list[int]:
    """The addresses of the thread pools in the process: one, or several of different versions."""
    names = [name for name in tvm_ffi.registry.list_global_func_names() if name.startswith(POOL_PREFIX)]
    return [tvm_ffi.get_global_func(name)().value for name in names]


def limit_threads(of: Sequence[int], count: int) -> None:
    """Limit calls to `count` threads of these pools; 0: the number that the code is compiled for."""
    for team in of:
        ctypes.c_int64.from_address(team + LIMIT_OFFSET).value = count
