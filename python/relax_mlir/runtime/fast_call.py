"""Native functions as CPython C functions, whose calls cost little more than their work.

The generated code (`lowering.runtime_lib.fast_call`) reads Python objects directly from memory. Before the first
compiled function of a process is called, `object_layouts` checks the memory layouts that the code relies on, and
`wrong_calls` calls a function that reports what it has received. `torch_layouts` and `wrong_torch_calls` do the
same at the first torch tensor. If a check fails, or `SWITCH` is 0, compiled functions are called through their Python
method and the FFI, with the same results and some microseconds more. `fast_calls` returns the path in use, and the
reason.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.ffi import DLPACK_CODES, numpy_results
from relax_mlir.lowering.base.unpack import BOOL, DLTENSOR, FLOAT, INT, NONE, SHAPE, TENSOR
from relax_mlir.lowering.runtime_lib.fast_call import fast_call_text
from relax_mlir.lowering.runtime_lib.fast_call_state import (
    DTYPES,
    ENTRY,
    FFI,
    FIELDS,
    HANDLE_BIT,
    KINDS,
    MAX_ARGUMENTS,
    PROBE_FACTOR,
    REFUSED,
    SLOW,
    STATE,
)
from relax_mlir.runtime import object_layouts
from relax_mlir.runtime.object_layouts import PLAIN_TYPES, Layouts, Method, UnknownLayoutError
from relax_mlir.runtime.process_code import state_address

# Self-test of calls by generated code: call a function that reports its arguments with known arguments.


WITH_CARE, WITHOUT_CARE = object(), object()
"""Markers that test calls return, together with the arguments.

`WITH_CARE` marks a call of the method for any arguments, `WITHOUT_CARE` a call of the FFI function.
"""
_CPU = 1


def wrong_calls(cls: type, call: Callable[..., Any], probe: int, give: int) -> str | None:
    """Return an error of calls by `call`, the descriptor of the generated code for `cls`; None if there is none.

    `probe` is the entry point of a function that folds its arguments into one number, `give` that of a function that
    returns its argument.
    """

    methods = {SLOW: lambda _, *args: (WITH_CARE, args), REFUSED: lambda _, *args: args}
    functions: list[Any] = [object.__new__(type("Probe", (cls,), {"__slots__": (), **methods})) for _ in range(2)]
    for function, bits in zip(functions, (0, HANDLE_BIT), strict=True):
        setattr(function, ENTRY, probe + bits)
        setattr(function, FFI, lambda *args: (WITHOUT_CARE, args))
    function, by_handle = functions
    for arguments in _direct():
        counted = [
            item for item in arguments if not isinstance(item, int | None)
        ]  # excluded: None and ints have other references
        before = list(map(sys.getrefcount, counted))
        for called, as_objects in ((function, False), (by_handle, _has_values(arguments))):
            found, expected = call(called, *arguments), _seen(arguments, as_objects)
            if found != expected:
                return f"a call with {_text(arguments)} has seen {found}, not {expected}"
        if list(map(sys.getrefcount, counted)) != before:
            return f"a call with {_text(arguments)} changes how often they are referred to"
    for mark, calls in ((WITH_CARE, _with_care()), (WITHOUT_CARE, _without_care())):
        for arguments in calls:
            found = call(function, *arguments)
            same = isinstance(found, tuple) and len(found) == 2 and found[0] is mark
            if not same or len(found[1]) != len(arguments) or any(map(_differ, found[1], arguments)):
                return f"a call with {_text(arguments)} does not go through the FFI as it should"
    return _wrong_refusal(function, call) or _wrong_result(function, call, give) or _wrong_array(function, call, give)


def _wrong_result(function: Any, call: Callable[..., Any], give: int) -> str | None:  # noqa: ANN401 - an instance of a class
    """Return an error in a tensor that a call returns."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = tvm_ffi.from_dlpack(array)
    counts = ctypes.c_uint32.from_address(tensor.__chandle__())
    setattr(function, ENTRY, give)
    before = counts.value
    found = call(function, tensor)
    same = type(found) is tvm_ffi.Tensor and found.__chandle__() == tensor.__chandle__()
    if not same or counts.value != before + 1:
        return f"a call gives {type(found).__name__} instead of the tensor that the function gives"
    if found.shape != (2, 3) or not np.array_equal(np.from_dlpack(found), array):
        return "a tensor that a call gives has other elements"
    del found
    return None if counts.value == before else "a tensor that a call gives is not given up"


def _wrong_array(function: Any, call: Callable[..., Any], give: int) -> str | None:  # noqa: ANN401 - an instance of a class
    """Return an error in a NumPy array that a call returns for a NumPy argument next to a tensor."""
    setattr(function, ENTRY, give)
    for dtype in map(np.dtype, PLAIN_TYPES):
        for array in (np.ones((2, 3), dtype), np.ones((), dtype), np.ones((2, 0), dtype)):
            tensor = tvm_ffi.from_dlpack(array)
            counts = ctypes.c_uint32.from_address(tensor.__chandle__())
            before, given = counts.value, np.zeros(1)
            held = sys.getrefcount(given)
            found = call(function, tensor, given)
            if type(found) is not np.ndarray or type(found.base) is not tvm_ffi.Tensor:
                return f"a call gives {type(found).__name__} instead of an array"
            if (found.dtype, found.shape) != (array.dtype, array.shape) or not np.array_equal(found, array):
                return f"an array that a call gives is {found!r} instead of {array!r}"
            if counts.value != before + 1 or (array.size and found.ctypes.data != array.ctypes.data):
                return "an array that a call gives does not share the memory of its tensor"
            del found
            if counts.value != before or sys.getrefcount(given) != held:
                return "an array that a call gives is not given up"
    return None


def _wrong_refusal(function: Any, call: Callable[..., Any]) -> str | None:  # noqa: ANN401 - an instance of a class
    """Return an error in the handling of an exception from the FFI function."""
    error, text = ValueError("refused"), "text"

    def refuse(*_: object) -> None:
        raise error

    setattr(function, FFI, refuse)
    found = call(function, text)
    if not isinstance(found, tuple) or len(found) != 2 or found[0] is not error or found[1] is not text:
        return f"what the FFI raises is not given to '{REFUSED}'"
    if error.__traceback__ is None:
        return "what the FFI raises has no traceback"
    error.__traceback__ = None
    return None


def _direct() -> list[Sequence[Any]]:
    """Arguments that the generated code handles itself."""
    arrays = [np.zeros((3, 2), dtype) for dtype in PLAIN_TYPES]
    tensor = tvm_ffi.from_dlpack(np.zeros((4, 1, 5), np.int16))
    scalar, empty = np.zeros((), np.float64), np.zeros((0, 7), np.float32)
    many = [arrays[i % len(arrays)] for i in range(MAX_ARGUMENTS)]
    shape = tvm_ffi.Shape((2, 0, 2**62))
    values: list[Any] = [
        3,
        -(2**63),
        2**63 - 1,
        0,
        1.5,
        float("-inf"),
        -0.0,
        True,
        False,
        None,
        shape,
        tvm_ffi.Shape(()),
    ]
    calls: list[Sequence[Any]] = [
        *((array,) for array in arrays),
        (),
        (tensor,),
        (scalar, tensor, empty),
        many,
    ]
    return [*calls, *((value,) for value in values), (tensor, *values, empty)]


def _with_care() -> list[Sequence[Any]]:
    """Arguments that may contain torch tensors."""
    plain, other = np.zeros(3), object()
    deep = ((((((1,),),),),),)
    calls: list[Sequence[Any]] = [(other,), (plain, other), (3, plain, other), ([1, (other,)],), (deep,)]
    return [*calls, [plain] * (MAX_ARGUMENTS + 1)]


def _without_care() -> list[Sequence[Any]]:
    """Other arguments that the generated code must leave to the FFI."""
    plain = np.zeros((4, 6), np.float32)
    frozen = plain.copy()
    frozen.flags.writeable = False
    shifted = np.zeros(9, np.uint8)[1:].view(np.float32)
    others: tuple[object, ...] = (
        plain.T,
        plain[:, ::2],
        frozen,
        shifted,
        plain.astype(">f4"),
        plain.astype(complex),
        2**63,
        -(2**63) - 1,
        "text",
        b"bytes",
        tvm_ffi.Array([1]),
        (2, [3.5, (plain, "text")]),
        (),
        [],
    )
    return [*((other,) for other in others), (plain, 1.5, "text"), (plain, plain.T, (4, 6))]


def _has_values(arguments: Sequence[Any]) -> bool:
    """True if an argument is neither an array nor a tensor; functions of handles then get views as objects."""
    return any(not isinstance(argument, np.ndarray | tvm_ffi.Tensor) for argument in arguments)


def _seen(arguments: Sequence[Any], as_objects: bool = False) -> int | None:
    """Return the probe's expected result; None for no arguments."""
    if not arguments:
        return None
    total = 0
    for argument in arguments:
        for word in _words(argument, as_objects):
            total = (total * PROBE_FACTOR + word) % 2**64
    return total - 2**64 if total >= 2**63 else total


def _words(argument: Any, as_objects: bool) -> list[int]:  # noqa: ANN401 - an argument
    if isinstance(argument, tvm_ffi.Shape):
        return [SHAPE, len(argument), *argument]
    if argument is None:
        return [NONE, 0]
    if isinstance(argument, bool | int | float):
        kind = {bool: BOOL, int: INT, float: FLOAT}[type(argument)]
        return [kind, int(np.array([argument], np.float64 if kind == FLOAT else np.int64).view(np.int64)[0])]
    if isinstance(argument, np.ndarray):
        dtype, data, kind = argument.dtype, argument.ctypes.data, TENSOR if as_objects else DLTENSOR
    else:
        view = np.from_dlpack(argument)
        dtype, data, kind = view.dtype, view.ctypes.data, TENSOR
    code = DLPACK_CODES[dtype.kind] | dtype.itemsize * 8 << 8 | 1 << 16
    shape = list(argument.shape)
    return [kind, data, _CPU, len(shape), code, *shape]


def _differ(one: object, other: object) -> bool:
    return one is not other


def _text(arguments: Sequence[Any]) -> str:
    return ", ".join(f"{getattr(a, 'dtype', type(a).__name__)}{list(getattr(a, 'shape', ()))}" for a in arguments)


# Self-test of calls by generated code with torch tensors.


_WITH_CARE, _WITHOUT = "with care", "without"


def wrong_torch_calls(cls: type, call: Callable[..., Any], probe: int, give: int) -> str | None:
    """Return an error of calls by `call` with torch tensors, as in `wrong_calls`, or None."""
    import torch

    methods = {"__slots__": (), SLOW: lambda *_: _WITH_CARE}
    functions: list[Any] = [object.__new__(type("Probe", (cls,), methods)) for _ in range(2)]
    for function, bits in zip(functions, (0, HANDLE_BIT), strict=True):
        setattr(function, ENTRY, probe + bits)
        setattr(function, FFI, lambda *_: _WITHOUT)
    direct, by_handle = functions
    for name, tensor in _plain().items():
        found = call(direct, tensor), call(by_handle, tensor), call(direct, (tensor, 3))
        if not all(isinstance(seen, int) for seen in found[:2]) or found[2] != _WITHOUT:
            return f"a tensor of torch ({name}) is taken for one that needs care"
    tensor = _plain()["rank 2"]
    if call(direct, tensor) != call(direct, np.from_dlpack(tensor)):
        return "a tensor of torch is seen otherwise than the array that shares its memory"
    references = sys.getrefcount(tensor)
    if call(by_handle, tensor) != call(direct, tvm_ffi.from_dlpack(tensor)):
        return "a tensor of torch becomes another object than that of the FFI"
    if sys.getrefcount(tensor) != references:
        return "a call changes how often a tensor of torch is referred to"
    for name, tensor in _tracked().items():
        with torch.no_grad():
            unrecorded = call(direct, tensor)
        with torch.inference_mode(False), torch.enable_grad():
            recorded = call(direct, tensor)
        if not isinstance(unrecorded, int) or recorded != _WITH_CARE:
            return f"it is not seen whether torch records what becomes of a tensor ({name})"
    for name, tensor in _others().items():
        for arguments in ((tensor,), (3, (tensor,)), (_plain()["rank 2"], [tensor])):
            if call(direct, *arguments) != _WITH_CARE:
                return f"a tensor of torch ({name}) is taken for a plain one"
    setattr(by_handle, ENTRY, give + HANDLE_BIT)
    for name, tensor in _plain().items():
        found = call(by_handle, tensor)
        if type(found) is not type(tensor.data) or found.data_ptr() != tensor.data_ptr():
            return f"a call gives {type(found).__name__} for a tensor of torch ({name})"
        if (found.shape, found.dtype, found.stride()) != (tensor.shape, tensor.dtype, tensor.stride()):
            return f"a tensor of torch ({name}) that a call gives is another"
        references = sys.getrefcount(tensor)
        del found
        if sys.getrefcount(tensor) != references - 1:
            return f"a tensor of torch ({name}) that a call gives is not given up"
    return None


def _plain() -> dict[str, Any]:
    """Tensors whose memory holds their elements."""
    import torch

    with torch.inference_mode(False):
        base = torch.zeros(4, 6, device="cpu")
        tensors = {
            "rank 2": base,
            "rank 0": torch.zeros((), dtype=torch.int64, device="cpu"),
            "of no elements": torch.zeros(3, 0, device="cpu"),
            "bfloat16": torch.zeros(3, dtype=torch.bfloat16, device="cpu"),
            "complex": torch.zeros(3, dtype=torch.complex64, device="cpu"),
            "the end of another": base[3:],
            "with steps": base.t()[::2],
            "expanded": base[0].expand(5, 6),
        }
    with torch.inference_mode():
        tensors["of inference"] = torch.zeros(3, device="cpu")
    return tensors


def _tracked() -> dict[str, Any]:
    """Tensors that require a gradient."""
    import torch

    with torch.inference_mode(False), torch.enable_grad():
        leaf = torch.zeros(3, device="cpu", requires_grad=True)
        return {
            "leaf": leaf,
            "computed": 2 * leaf,
            "view": leaf[1:],
            "parameter": torch.nn.Parameter(leaf.detach()),
        }


def _others() -> dict[str, Any]:
    """Tensors whose memory differs from their elements (conjugate or negative bit), or that lack dense CPU memory."""
    import torch

    with torch.inference_mode(False):
        numbers = torch.zeros(6, dtype=torch.complex64, device="cpu").conj()
        short, ends = torch.zeros(6, device="cpu"), torch.zeros(4, 6, device="cpu")
        steps = torch.zeros(4, 6, device="cpu").t()
        empty = torch.zeros(3, device="cpu")
        empty.untyped_storage().resize_(0)
        short.untyped_storage().resize_(23)
        ends, whole = ends[3:], ends
        whole.untyped_storage().resize_(95)
        steps.untyped_storage().resize_(95)
        return {
            "with the conjugate bit": numbers,
            "with the negative bit": numbers.imag,
            "of a storage made smaller": short,
            "the end of a storage made smaller": ends,
            "with steps, of a storage made smaller": steps,
            "of a storage made empty": empty,
            "on meta": torch.zeros(3, device="meta"),
            "sparse": torch.zeros(3, device="cpu").to_sparse(),
        }


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
        wrong = wrong_calls(cls, call, state.probe, state.give)
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
        except object_layouts.NotNowError:
            return None
    return _torch[0] if _torch else FastCalls(False, "calls go through the FFI")


def _with_torch(cls: type, state: _State) -> FastCalls:
    import torch

    try:
        found = object_layouts.torch_layouts()
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
    # The text says what to inline; LLVM's optimisations take twice as long and gain nothing more.
    state = _State.from_address(state_address(fast_call_text(), STATE, opt_level=0))
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
