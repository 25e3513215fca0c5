"""NumPy arrays as MLIR attributes and back.

Small arrays become ``dense`` attributes. Larger ones become resource attributes that share the array's memory:
they are neither copied nor held twice, and printing may elide them.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import weakref
from typing import Any

import numpy as np
from relax_mlir.dialects import dtypes
from relax_mlir.error import UnsupportedError
from relax_mlir.mlir import capi_library, ir

DENSE_LIMIT = 64
"""Arrays with at most this many elements are ``dense`` attributes; larger ones are resources."""

_counter = itertools.count()
_arrays: weakref.WeakValueDictionary[str, np.ndarray[Any, Any]] = weakref.WeakValueDictionary()
_RESOURCE_GETTERS = {
    "float32": ("Float", ctypes.c_float),
    "float64": ("Double", ctypes.c_double),
    "int8": ("Int8", ctypes.c_int8),
    "int16": ("Int16", ctypes.c_int16),
    "int32": ("Int32", ctypes.c_int32),
    "int64": ("Int64", ctypes.c_int64),
    "uint8": ("UInt8", ctypes.c_uint8),
    "uint16": ("UInt16", ctypes.c_uint16),
    "uint32": ("UInt32", ctypes.c_uint32),
    "uint64": ("UInt64", ctypes.c_uint64),
    "bool": ("Bool", ctypes.c_bool),
}


def to_attribute(array: np.ndarray[Any, Any]) -> ir.Attribute:
    """The elements of `array` as an attribute of type ``tensor<shape x dtype>``; needs a current context.

    A C-contiguous array above `DENSE_LIMIT` elements is referenced, not copied: do not change it afterwards.
    """
    if not array.flags.c_contiguous:
        array = array.copy(order="C")
    dtype = dtypes.dtype(array.dtype)
    tensor_type = ir.RankedTensorType.get(array.shape, dtype.element_type())
    if array.size > DENSE_LIMIT:
        name = f"relax_constant_{next(_counter)}"
        raw = array.view(np.uint16) if dtype.name == "bfloat16" else array  # bf16 has no buffer format
        _arrays[name] = raw  # the attribute holds this object
        return ir.DenseResourceElementsAttr.get_from_buffer(raw, name, tensor_type)
    return _dense(array, dtype, tensor_type)


def _dense(array: np.ndarray[Any, Any], dtype: dtypes.DType, tensor_type: ir.Type) -> ir.Attribute:
    element = dtype.element_type()
    if dtype.is_float:
        items = [ir.FloatAttr.get(element, float(x)) for x in array.reshape(-1)]
    else:
        items = [ir.IntegerAttr.get(element, int(x)) for x in array.reshape(-1)]
    if not items:
        return ir.Attribute.parse(f"dense<> : {tensor_type}")
    return ir.DenseElementsAttr.get(items, tensor_type)


def to_numpy(attribute: ir.Attribute) -> np.ndarray[Any, Any]:
    """The elements of a ``dense`` or resource attribute. A resource made by `to_attribute` is not copied."""
    tensor_type = ir.RankedTensorType(attribute.type)
    dtype = dtypes.from_element_type(tensor_type.element_type)
    if isinstance(attribute, ir.DenseElementsAttr):
        return _from_dense(attribute, dtype, tuple(tensor_type.shape))
    name = resource_name(attribute)
    if name in _arrays:
        held = _arrays[name]
        return held if held.dtype == dtype.numpy else held.view(dtype.numpy)
    return _from_resource(attribute, dtype, tuple(tensor_type.shape))


def resource_name(attribute: ir.Attribute) -> str:
    """Name of a resource attribute: ``w`` in ``dense_resource<w> : tensor<4xf32>``."""
    text = str(attribute)
    if not text.startswith("dense_resource<"):
        raise UnsupportedError(f"constant {text[:80]} is neither a dense nor a resource attribute")
    return text.removeprefix("dense_resource<").split(">", 1)[0].strip('"')


def _from_dense(
    attribute: ir.DenseElementsAttr, dtype: dtypes.DType, shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    if attribute.is_splat:
        return np.full(shape, attribute.get_splat_value().value, dtype=dtype.numpy)
    if dtype.name == "bfloat16":  # the buffer protocol has no format for it
        getter = _capi().mlirDenseElementsAttrGetRawData
        getter.restype, getter.argtypes = ctypes.c_void_p, [_MlirAttribute]
        raw = ctypes.string_at(getter(_handle(attribute)), int(np.prod(shape)) * dtype.itemsize)
        return np.frombuffer(raw, dtype=dtype.numpy).reshape(shape)
    return np.array(attribute).astype(dtype.numpy, copy=False).reshape(shape)


@functools.cache
def _capi() -> ctypes.CDLL:
    return ctypes.CDLL(str(capi_library()))


class _MlirAttribute(ctypes.Structure):
    _fields_ = (("ptr", ctypes.c_void_p),)


def _handle(attribute: ir.Attribute) -> _MlirAttribute:
    """The attribute as the C API takes it."""
    unwrap = ctypes.pythonapi.PyCapsule_GetPointer
    unwrap.restype, unwrap.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule_name = ctypes.pythonapi.PyCapsule_GetName
    capsule_name.restype, capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    capsule = attribute._CAPIPtr
    return _MlirAttribute(unwrap(capsule, capsule_name(capsule)))


def _from_resource(
    attribute: ir.Attribute, dtype: dtypes.DType, shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Read a resource that came from text, element by element through the C API."""
    if dtype.name not in _RESOURCE_GETTERS:
        raise UnsupportedError(
            f"a {dtype} resource constant parsed from text cannot be read; write it as dense<...>"
        )
    kind, ctype = _RESOURCE_GETTERS[dtype.name]
    getter = getattr(_capi(), f"mlirDense{kind}ResourceElementsAttrGetValue")
    getter.restype, getter.argtypes = ctype, [_MlirAttribute, ctypes.c_ssize_t]
    handle = _handle(attribute)
    count = int(np.prod(shape))
    flat = np.fromiter((getter(handle, i) for i in range(count)), dtype=dtype.numpy, count=count)
    return flat.reshape(shape)
