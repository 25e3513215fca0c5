"""NumPy arrays as MLIR attributes and back, and PyTorch tensors as NumPy arrays.

Small arrays become ``dense`` attributes. Larger ones become resource attributes that share the array's memory: they are
not copied, and printing may elide them. PyTorch need not be installed.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import sys
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from relax_mlir import capi
from relax_mlir.dialects import dtypes
from relax_mlir.error import UnsupportedError
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import unquoted

DENSE_LIMIT = 64
"""Maximum number of elements of ``dense`` attributes; larger arrays are resources."""

PIECE = 1 << 18
"""Elements of a piece of `byte_pieces`."""

ALIGNMENT_BYTES = 4
_RESOURCE = re.compile(r'dense_resource<(?:("(?:[^"\\]|\\.)*")|([^>"]*))>')
"""The start of a resource attribute: its name, in quotes unless it is an identifier."""
_BLOB = re.compile(r'"0x([0-9A-Fa-f]*)"\s*\}\s*\}\s*#-\}\s*\Z')
"""The only resource of a module, at the end of its text."""
_counter = itertools.count()
_arrays: weakref.WeakKeyDictionary[ir.Context, weakref.WeakValueDictionary[str, np.ndarray[Any, Any]]]
_arrays = weakref.WeakKeyDictionary()
"""The arrays of resources made by `to_attribute`, by context and name: the bindings cannot read resources."""


def to_attribute(array: np.ndarray[Any, Any], name: str | None = None) -> ir.Attribute:
    """The elements of `array` as an attribute of type ``tensor<shape x dtype>``; needs a current context.

    A broadcast scalar (all strides are 0) is a ``dense`` splat of any size. Any other large array is a resource called
    `name`, with a number appended where that name is taken.
    A C-contiguous array above `DENSE_LIMIT` elements is referenced, not copied: do not change it afterwards.
    """
    dtype = dtypes.dtype(array.dtype)
    tensor_type = ir.RankedTensorType.get(array.shape, dtype.element_type())
    if array.size > 1 and not any(array.strides):
        (element,) = _element_attributes(array.reshape(-1)[:1], dtype)
        splat: ir.Attribute = ir.DenseElementsAttr.get_splat(tensor_type, element)
        return splat
    if not array.flags.c_contiguous:
        array = array.copy(order="C")
    if array.size > DENSE_LIMIT:
        name = _resource_key(name) if name else f"relax_constant_{next(_counter)}"
        raw = array.view(np.uint16) if dtype.name == "bfloat16" else array  # the buffer protocol has no bf16
        attribute = ir.DenseResourceElementsAttr.get_from_buffer(raw, name, tensor_type)
        known = _arrays.setdefault(attribute.context, weakref.WeakValueDictionary())
        known[resource_name(attribute)] = raw  # the attribute holds this object
        return attribute
    return _dense(array, dtype, tensor_type)


def holds_arrays(context: ir.Context) -> bool:
    """True if `to_attribute` has created resources in `context`, which keeps their arrays alive as long as it lives."""
    return context in _arrays


def _resource_key(name: str) -> str:
    """`name` as an identifier that MLIR prints without quotes."""
    word = re.sub(r"[^\w.]", "_", name, flags=re.ASCII)
    return word if word[0].isalpha() else f"_{word}"


def _dense(array: np.ndarray[Any, Any], dtype: dtypes.DType, tensor_type: ir.Type) -> ir.Attribute:
    if array.size == 0:
        empty: ir.Attribute = ir.Attribute.parse(f"dense<> : {tensor_type}")
        return empty
    return ir.DenseElementsAttr.get(_element_attributes(array.reshape(-1), dtype), tensor_type)


def _element_attributes(elements: np.ndarray[Any, Any], dtype: dtypes.DType) -> list[ir.Attribute]:
    element = dtype.element_type()
    if dtype.is_float:
        return [ir.FloatAttr.get(element, float(x)) for x in elements]
    if dtype.name == "uint64":  # the bindings take signed integers
        return [ir.Attribute.parse(f"{int(x)} : {element}") for x in elements]
    return [ir.IntegerAttr.get(element, int(x)) for x in elements]


def to_numpy(attribute: ir.Attribute) -> np.ndarray[Any, Any]:
    """The elements of a ``dense`` or resource attribute. A resource made by `to_attribute` is not copied."""
    tensor_type = ir.RankedTensorType(attribute.type)
    dtype = dtypes.from_element_type(tensor_type.element_type)
    if isinstance(attribute, ir.DenseElementsAttr):
        return dense_elements(attribute, dtype, tuple(tensor_type.shape))
    known = _arrays.get(attribute.context)
    array = None if known is None else known.get(resource_name(attribute))
    if array is not None:
        return array if array.dtype == dtype.numpy else array.view(dtype.numpy)
    return _from_resource(attribute, dtype, tuple(tensor_type.shape))


def broadcast_splat(attribute: ir.Attribute) -> np.ndarray[Any, Any] | None:
    """The elements of a ``dense`` splat as a read-only broadcast scalar, in memory of one element; None for others."""
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    tensor_type = ir.RankedTensorType(attribute.type)
    dtype = dtypes.from_element_type(tensor_type.element_type)
    scalar = np.asarray(attribute.get_splat_value().value, dtype=dtype.numpy)
    return np.broadcast_to(scalar, tuple(tensor_type.shape))


def byte_pieces(attribute: ir.Attribute) -> Iterator[bytes]:
    """The bytes of the elements in row-major order, in pieces of `PIECE` elements but for the last."""
    splat = broadcast_splat(attribute)
    if splat is not None:
        size = splat.size
        whole = splat.reshape(-1)[: min(size, PIECE)].tobytes()
        for _ in range(size // PIECE):
            yield whole
        yield whole[: size % PIECE * splat.itemsize]
        return
    flat = to_numpy(attribute).reshape(-1)
    for start in range(0, flat.size, PIECE):
        yield flat[start : start + PIECE].tobytes()


def require(attributes: Iterable[ir.Attribute]) -> None:
    """Raise `UnsupportedError`, naming all that are missing, unless the elements of all attributes are available.

    They are missing if a module was read from text that was printed without them.
    """
    missing = []
    for attribute in attributes:
        if not isinstance(attribute, ir.DenseElementsAttr) and not _is_known(attribute):
            try:
                to_numpy(attribute)
            except _MissingError:
                missing.append(f"'{resource_name(attribute)}'")
    if missing:
        raise UnsupportedError(
            f"the text of the module has no data for its weights {', '.join(missing)}: it was printed without them; "
            "keep modules with IRModule.save, or print them with asm(elide_above=None)"
        )


def _is_known(attribute: ir.Attribute) -> bool:
    return resource_name(attribute) in _arrays.get(attribute.context, {})


class _MissingError(UnsupportedError):
    """A resource without data."""


def is_resource(attribute: ir.Attribute) -> bool:
    """True if the elements of `attribute` are a resource: ``dense_resource<…>``."""
    if isinstance(attribute, ir.DenseResourceElementsAttr):
        return True
    return type(attribute) is ir.Attribute and str(attribute).startswith("dense_resource<")


def resource_name(attribute: ir.Attribute) -> str:
    """Name of a resource attribute: ``w`` in ``dense_resource<w> : tensor<4xf32>``."""
    text = str(attribute)
    found = _RESOURCE.match(text)
    if found is None:
        raise UnsupportedError(f"constant {text[:80]} is neither a dense nor a resource attribute")
    return found[2] if found[1] is None else unquoted(found[1])


def dense_elements(
    attribute: ir.DenseElementsAttr, dtype: dtypes.DType, shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    if attribute.is_splat:
        return np.full(shape, attribute.get_splat_value().value, dtype=dtype.numpy)
    if dtype.name == "bfloat16":  # the buffer protocol has no format for it
        address = capi.quick_library().mlirDenseElementsAttrGetRawData(capi.pointer(attribute))
        raw = ctypes.string_at(address, int(np.prod(shape)) * dtype.itemsize)
        return np.frombuffer(raw, dtype=dtype.numpy).reshape(shape)
    return np.array(attribute).astype(dtype.numpy, copy=False).reshape(shape)


def _from_resource(attribute: ir.Attribute, dtype: dtypes.DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Read a resource of parsed text by printing it: the bindings give no access to its bytes.

    A blob is printed as hexadecimal digits: four bytes of alignment, then the elements.
    """
    with attribute.context, ir.Location.unknown():
        holder = ir.Module.create()
        holder.operation.attributes["relax.value"] = attribute
        text = str(holder)
    found = _BLOB.search(text)
    if found is None:
        raise _MissingError(f"constant {attribute}: the module has no resource of that name")
    data = bytes.fromhex(found.group(1))[ALIGNMENT_BYTES:]
    expected = int(np.prod(shape)) * dtype.itemsize
    if len(data) != expected:
        raise UnsupportedError(f"constant {attribute}: its resource has {len(data)} bytes, not {expected}")
    return np.frombuffer(data, dtype=dtype.numpy).reshape(shape)


def is_torch(item: Any) -> bool:  # noqa: ANN401 - any Python object
    """True if `item` is a PyTorch tensor."""
    return type(item).__module__.partition(".")[0] == "torch" and hasattr(item, "detach")


def from_torch(item: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 - a tensor of PyTorch
    """A PyTorch tensor as an array."""
    host = item.detach().cpu().contiguous().resolve_conj().resolve_neg()
    if str(host.dtype) != "torch.bfloat16":
        return np.asarray(host.numpy())
    bits = host.view(sys.modules["torch"].int16).numpy()
    return np.asarray(bits.view(dtypes.dtype("bfloat16").numpy))
