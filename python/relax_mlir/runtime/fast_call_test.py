"""Self-test of calls by generated code: call a function that reports its arguments with known arguments."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.arrays import DLPACK_CODES
from relax_mlir.lowering.base.unpack import BOOL, DLTENSOR, FLOAT, INT, NONE, SHAPE, TENSOR
from relax_mlir.lowering.runtime_lib.fast_call_state import (
    ENTRY,
    FFI,
    HANDLE_BIT,
    MAX_ARGUMENTS,
    PROBE_FACTOR,
    REFUSED,
    SLOW,
)
from relax_mlir.runtime.object_layouts import PLAIN_TYPES

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
    functions: list[Any] = [
        object.__new__(type("Probe", (cls,), {"__slots__": (), **methods})) for _ in range(2)
    ]
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
    return (
        _wrong_refusal(function, call)
        or _wrong_result(function, call, give)
        or _wrong_array(function, call, give)
    )


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
    return ", ".join(
        f"{getattr(a, 'dtype', type(a).__name__)}{list(getattr(a, 'shape', ()))}" for a in arguments
    )
