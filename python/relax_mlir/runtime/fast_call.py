"""Native functions as CPython C functions, whose calls cost little more than their work.

The generated code (`lowering.runtime_lib.fast_call`) reads Python objects directly from memory. Before the first
compiled function of a process is called, `object_layouts` checks the memory layouts that the code relies on, and
`fast_call_test` calls a function that reports what it has received. `torch_layouts` and `fast_call_torch_test` do the
same at the first torch tensor. If a check fails, or `SWITCH` is 0, compiled functions are called through their Python
method and the FFI, with the same results and some microseconds more. `fast_calls` returns the path in use, and the
reason.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.arrays import DLPACK_CODES, numpy_results
from relax_mlir.lowering.runtime_lib.fast_call import fast_call_text
from relax_mlir.lowering.runtime_lib.fast_call_state import (
    DTYPES,
    ENTRY,
    FFI,
    FIELDS,
    KINDS,
    REFUSED,
    SLOW,
    STATE,
)
from relax_mlir.runtime import fast_call_test, object_layouts, torch_layouts
from relax_mlir.runtime.fast_call_torch_test import wrong_torch_calls
from relax_mlir.runtime.object_layouts import Layouts, Method, UnknownLayoutError
from relax_mlir.runtime.process_code import state_address

SWITCH = "RELAX_MLIR_FAST_CALLS"
"""Environment variable; 0 routes all calls through the FFI."""


class _State(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_size_t) for name in FIELDS),
        ("dtypes", ctypes.c_size_t * DTYPES),
        ("kinds", ctypes.c_size_t * KINDS),
    )


@dataclass(frozen=True)
class FastCalls:
    """True if calls of compiled functions go directly to the native code; otherwise the reason why they use the FFI."""

    active: bool
    reason: str = ""

    def __str__(self) -> str:
        return "direct" if self.active else f"through the FFI: {self.reason}"


_HOLD_NO_TORCH_TENSORS = (
    *(int, float, bool, str, bytes, type(None)),
    *(np.ndarray, tvm_ffi.Tensor, tvm_ffi.Shape, tvm_ffi.Array),
)

# Objects that CPython and the generated code refer to; they must not move.
_kept: list[object] = []
_installed: list[tuple[type, _State]] = []
_torch: list[FastCalls] = []


def fast_calls() -> FastCalls:
    """Return how compiled functions are called in this process."""
    from relax_mlir.runtime.native_function import NativeFunction

    return install(NativeFunction)


@functools.cache
def install(cls: type) -> FastCalls:
    """Install the generated code as ``__call__`` of a class whose instances have the slots `ENTRY` and `FFI`.

    The class is unchanged if the code does not support this interpreter, NumPy or FFI.
    """
    if os.environ.get(SWITCH) == "0":
        return FastCalls(False, f"{SWITCH} is 0")
    try:
        found = object_layouts.layouts(cls, ENTRY, FFI, DTYPES)
        state = _filled_state(found)
    except UnknownLayoutError as error:
        return FastCalls(False, str(error))
    call = _descriptor(cls, state)
    try:
        wrong = fast_call_test.wrong_calls(cls, call, state.probe, state.give)
    except Exception as error:  # a call that misreads memory may raise anything
        wrong = f"it raises {type(error).__name__}: {error}"
    if wrong is not None:
        return FastCalls(False, f"the self-test failed: {wrong}")
    type.__setattr__(cls, "__call__", call)
    _installed.append((cls, state))
    return FastCalls(True)


@functools.cache
def install_subclass(cls: type) -> None:
    """Give a subclass its own ``__call__``; an inherited one costs some nanoseconds more."""
    for base, state in _installed:
        if cls is not base and issubclass(cls, base):
            type.__setattr__(cls, "__call__", _descriptor(cls, state))


def set_machine_entry(address: int) -> None:
    """Set the entry point of VM functions for the generated code; see `MACHINE_BIT`."""
    for _, state in _installed:
        state.machine_entry = address


def install_torch() -> FastCalls | None:
    """Enable direct calls with torch tensors, once torch is imported; return the outcome.

    Return None while a mode of torch is active in which it creates no plain tensors; a later call tries again.
    """
    if not _torch and _installed:
        cls, state = _installed[0]
        try:
            _torch.append(_with_torch(cls, state))
        except torch_layouts.NotNowError:
            return None
    return _torch[0] if _torch else FastCalls(False, "calls go through the FFI")


def _with_torch(cls: type, state: _State) -> FastCalls:
    import torch

    try:
        found = torch_layouts.torch_layouts()
    except UnknownLayoutError as error:
        return FastCalls(False, str(error))
    except AttributeError as error:  # a torch version without these attributes
        return FastCalls(False, f"torch {torch.__version__}: {error}")
    for name, word in asdict(found).items():
        setattr(state, name, word)
    state.clear_error, state.is_recording = object_layouts.address("PyErr_Clear"), id(torch.is_grad_enabled)
    state.parameter_type, state.torch_type = id(torch.nn.Parameter), id(torch.Tensor)
    try:
        wrong = wrong_torch_calls(cls, cls.__call__, state.probe, state.give)
    except Exception as error:  # a call that misreads memory may raise anything
        wrong = f"it raises {type(error).__name__}: {error}"
    if wrong is None:
        return FastCalls(True)
    state.parameter_type = state.torch_type = 0
    return FastCalls(False, f"the self-test failed: {wrong}")


def _filled_state(found: Layouts) -> _State:
    """Return the state of the generated code, filled with addresses of this process."""
    state = _State.from_address(state_address(fast_call_text(), STATE))
    state.array_type, state.tensor_type = id(np.ndarray), id(tvm_ffi.Tensor)
    state.tensor_handle, state.entry_offset, state.none = found.tensor_handle, found.entry, id(None)
    finish = tvm_ffi.Function.__from_extern_c__(state.finish_code)
    slow, refused = sys.intern(SLOW), sys.intern(REFUSED)
    _kept.extend((state, finish, slow, refused))
    state.finish, state.slow_name, state.refused_name = id(finish), id(slow), id(refused)
    state.ffi_offset = found.ffi
    no_arguments: tuple[object, ...] = ()
    _kept.append(no_arguments)
    state.tensor_view, state.tensor_new = found.tensor_view, object_layouts.constructor(tvm_ffi.Tensor)
    state.no_arguments = id(no_arguments)
    state.tuple_type, state.list_type = id(tuple), id(list)
    state.kinds[:] = [id(kind) for kind in _HOLD_NO_TORCH_TENSORS]
    address = object_layouts.address
    state.save_thread, state.restore_thread = address("PyEval_SaveThread"), address("PyEval_RestoreThread")
    # CPython 3.10 has the former only as an inline function. Both take a null pointer for no keywords.
    state.vectorcall = address("PyObject_Vectorcall", "PyObject_VectorcallDict")
    state.call_method = address("PyObject_VectorcallMethod")
    state.from_pointer, state.as_pointer = address("PyLong_FromVoidPtr"), address("PyLong_AsVoidPtr")
    state.increment, state.decrement = address("Py_IncRef"), address("Py_DecRef")
    state.fetch_error, state.normalize_error = address("PyErr_Fetch"), address("PyErr_NormalizeException")
    state.set_traceback, state.no_memory = address("PyException_SetTraceback"), address("PyErr_NoMemory")
    state.is_initialized = address("Py_IsInitialized")
    state.ensure_gil, state.release_gil = address("PyGILState_Ensure"), address("PyGILState_Release")
    state.array_new, state.array_set_base = object_layouts.array_functions()
    state.numpy_results, state.sequence_type = id(numpy_results), id(tvm_ffi.Array)
    state.int_type, state.float_type, state.bool_type = id(int), id(float), id(bool)
    state.shape_type, state.true = id(tvm_ffi.Shape), id(True)
    state.int_value, state.float_value = address("PyLong_AsLongLongAndOverflow"), address("PyFloat_AsDouble")
    for dtype in map(np.dtype, object_layouts.PLAIN_TYPES):
        state.dtypes[dtype.num] = DLPACK_CODES[dtype.kind] | dtype.itemsize * 8 << 8 | 1 << 16
    return state


def _descriptor(cls: type, state: _State) -> Callable[..., Any]:
    """Return the generated code as a method descriptor of `cls`."""
    doc = f"__call__($self, /, *args)\n--\n\n{cls.__call__.__doc__ or ''}"
    method = Method(b"__call__", state.call, object_layouts.METHOD_WITH_ARRAY, doc.encode())
    _kept.append(method)
    describe = ctypes.pythonapi.PyDescr_NewMethod
    describe.restype, describe.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.POINTER(Method))
    descriptor: Callable[..., Any] = describe(cls, ctypes.byref(method))
    return descriptor
