"""Memory layouts of Python, NumPy, FFI and torch objects that generated code relies on, and their verification."""

from __future__ import annotations

import ctypes
import struct
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm_ffi

from relax_mlir.lowering.base.unpack import OBJECT_BYTES

if TYPE_CHECKING:
    import torch


# Memory layouts of CPython, NumPy and TVM FFI objects that generated code relies on, and their verification.
#
# `lowering.runtime_lib.fast_call` uses the offsets of `Array` and `Dtype`. `layouts` checks versions, then objects with
# known contents; `fast_call` also tests the code itself.


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
    return _place(tensor, size, handle, f"handle {of}"), _place(tensor, size, handle + OBJECT_BYTES, f"view {of}")


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


# Memory layouts of torch tensors that generated code relies on, determined in this process.
#
# They are not part of any interface of torch. Each offset is found by searching the memory of tensors with known
# properties; it is used only if the value is at exactly one offset in all of them. `fast_call` also tests
# the code itself.


_IMPL_WORDS, _STORAGE_WORDS, _FACTS_WORDS = 32, 12, 24
_LEAVES = 8
"""The number of tensors in which a field is searched for."""
_DLPACK_MAJOR = 1


class _ExchangeAPI(ctypes.Structure):
    """DLPackExchangeAPI of dlpack.h."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("older", ctypes.c_size_t),
        ("allocator", ctypes.c_size_t),
        ("to_managed", ctypes.c_size_t),
        ("from_managed", ctypes.c_size_t),
        ("to_dltensor", ctypes.c_size_t),
        ("stream", ctypes.c_size_t),
    )


@dataclass(frozen=True)
class TorchLayouts:
    """Fields of the generated code's state, under the same names."""

    torch_to_dltensor: int
    torch_from_managed: int
    allocator: int
    impl_offset: int
    keys_offset: int
    storage_offset: int
    start_offset: int
    bytes_offset: int
    plain_keys: int
    inference_keys: int
    gradient_offset: int
    required_offset: int
    node_offset: int


class NotNowError(Exception):
    """A mode of torch is active in which it does not create plain tensors."""


def torch_layouts() -> TorchLayouts:
    """Return the layouts of this version of torch. Raises UnknownLayoutError or NotNowError."""
    import torch

    with torch.inference_mode(False):
        samples = [
            torch.zeros(777, dtype=torch.int8, device="cpu"),
            torch.zeros(3, 5, dtype=torch.float64, device="cpu", requires_grad=True),
            torch.from_numpy(np.zeros(11, np.int16)),
        ]
    with torch.inference_mode():
        samples.append(torch.zeros(13, device="cpu"))
    if any(type(sample) is not torch.Tensor for sample in samples):
        raise NotNowError
    keys = [_keys(sample) for sample in samples]
    if keys[0] != keys[1] or keys[0] != keys[2]:
        raise UnknownLayoutError("plain tensors of torch have different sets of dispatch keys")
    storages: list[Any] = [sample.untyped_storage() for sample in samples]
    impls = [sample._cdata for sample in samples]
    api = _exchange_api(torch.Tensor)
    size = torch.Tensor.__basicsize__ // 8
    return TorchLayouts(
        torch_to_dltensor=api.to_dltensor,
        torch_from_managed=api.from_managed,
        allocator=api.allocator,
        impl_offset=_offset(list(map(id, samples)), size, impls, "implementation of a tensor"),
        keys_offset=_offset(impls, _IMPL_WORDS, keys, "dispatch keys"),
        storage_offset=_offset(impls, _IMPL_WORDS, [each._cdata for each in storages], "storage"),
        start_offset=_offset(
            [each._cdata for each in storages],
            _STORAGE_WORDS,
            [each.data_ptr() for each in storages],
            "address of a storage",
        ),
        bytes_offset=_offset(
            [each._cdata for each in storages],
            _STORAGE_WORDS,
            [each.nbytes() for each in storages],
            "size of a storage",
        ),
        plain_keys=keys[0],
        inference_keys=keys[3],
        **_gradient_offsets(),
    )


def _gradient_offsets() -> dict[str, int]:
    """Return the offset in a tensor of its autograd metadata, and those of ``requires_grad`` and ``grad_fn`` there.

    Each is the field that changes with the property, in all of several tensors: memory after the objects is read, too,
    and may change at the same time.
    """
    import torch

    with torch.inference_mode(False), torch.enable_grad():
        leaves = [torch.zeros(3, device="cpu") for _ in range(_LEAVES)]
        before = [_read(leaf._cdata, _IMPL_WORDS) for leaf in leaves]
        for leaf in leaves:
            leaf.requires_grad_(True)
        after = [_read(leaf._cdata, _IMPL_WORDS) for leaf in leaves]
        block = 8 * _changed(before, after, lambda a, b: a == 0 != b, "facts")
        addresses = [words[block // 8] for words in after]
        with_flag = list(map(_bytes, addresses))
        for leaf in leaves:
            leaf.requires_grad_(False)
        flag = _changed(with_flag, list(map(_bytes, addresses)), lambda a, b: (a, b) == (1, 0), "flag")
        computed = [torch.zeros(3, device="cpu", requires_grad=True) * 2 for _ in range(_LEAVES)]
        addresses = [_read(tensor._cdata, _IMPL_WORDS)[block // 8] for tensor in computed]
        with_node = [_read(address, _FACTS_WORDS) for address in addresses]
        for tensor in computed:
            tensor.detach_()
        without = [_read(address, _FACTS_WORDS) for address in addresses]
        node = 8 * _changed(with_node, without, lambda a, b: a != 0 == b, "node")
    return {"gradient_offset": block, "required_offset": flag, "node_offset": node}


def _bytes(address: int) -> bytes:
    return struct.pack(f"<{_FACTS_WORDS}Q", *_read(address, _FACTS_WORDS))


def _changed(
    before: Sequence[Sequence[int]],
    after: Sequence[Sequence[int]],
    is_change: Callable[[int, int], bool],
    what: str,
) -> int:
    """Return the only index at which each object has changed as described by `is_change`."""
    places = set(range(len(before[0])))
    for old, new in zip(before, after, strict=True):
        places &= {i for i, (a, b) in enumerate(zip(old, new, strict=True)) if is_change(a, b)}
    if len(places) != 1:
        raise UnknownLayoutError(
            f"the {what} for gradients is not where it is looked for in torch ({len(places)} places found)"
        )
    return places.pop()


def _keys(tensor: torch.Tensor) -> int:
    import torch

    return int(torch._C._dispatch_keys(tensor).raw_repr())


def _exchange_api(tensor_type: Any) -> _ExchangeAPI:  # noqa: ANN401 - a class with an attribute of DLPack
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    address = get(tensor_type.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    api = _ExchangeAPI.from_address(address)
    if api.major != _DLPACK_MAJOR:
        raise UnknownLayoutError(f"torch has version {api.major} of DLPack")
    if not (api.to_dltensor and api.from_managed):
        raise UnknownLayoutError("torch has no functions for views and tensors by DLPack")
    return api


def _offset(objects: Sequence[int], size: int, words: Sequence[int], what: str) -> int:
    """Return the only offset at which each object has its word, within the first `size` words."""
    places = set(range(0, 8 * size, 8))
    for address, word in zip(objects, words, strict=True):
        found = _read(address, size)
        places &= {8 * i for i, each in enumerate(found) if each == word}
    if len(places) != 1:
        raise UnknownLayoutError(f"the {what} is not where it is looked for in torch ({len(places)} places found)")
    return places.pop()


def _read(address: int, size: int) -> tuple[int, ...]:
    """Read words of memory through a file, so that reading past mapped memory is safe."""
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        data = memory.read(8 * size)
    return struct.unpack(f"<{len(data) // 8}Q", data[: len(data) // 8 * 8])
