"""The self-test of calls by generated code: a function that says what it was given is called with known arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.lowering.abi.unpack import DLTENSOR, TENSOR
from relax_mlir.lowering.runtime_lib.fast_call_state import ENTRY, MAX_ARGUMENTS, PLAIN, PROBE_FACTOR, SLOW
from relax_mlir.runtime.arrays import DLPACK_CODES
from relax_mlir.runtime.object_layouts import PLAIN_TYPES

WITH_CARE, WITHOUT_CARE = object(), object()
"""What calls give in the test that go to the method for any arguments, and to that for arguments without torch tensors
that need care; together with these arguments."""
_CPU = 1


def wrong_calls(cls: type, call: Callable[..., Any], probe: int) -> str | None:
    """What is wrong with calls by `call`, the descriptor of the generated code for `cls`; None if nothing is.

    `probe` is the address of the entry point of the function that folds what it is given into one number.
    """

    methods = {SLOW: lambda _, *args: (WITH_CARE, args), PLAIN: lambda _, *args: (WITHOUT_CARE, args)}
    function: Any = object.__new__(type("Probe", (cls,), {"__slots__": (), **methods}))
    setattr(function, ENTRY, probe)
    for arguments in _direct():
        before = list(map(sys.getrefcount, arguments))
        found, expected = call(function, *arguments), _seen(arguments)
        if found != expected:
            return f"a call with {_text(arguments)} has seen {found}, not {expected}"
        if list(map(sys.getrefcount, arguments)) != before:
            return f"a call with {_text(arguments)} changes how often they are referred to"
    for mark, calls in ((WITH_CARE, _with_care()), (WITHOUT_CARE, _without_care())):
        for arguments in calls:
            found = call(function, *arguments)
            same = isinstance(found, tuple) and len(found) == 2 and found[0] is mark
            if not same or len(found[1]) != len(arguments) or any(map(_differ, found[1], arguments)):
                return f"a call with {_text(arguments)} does not go through the FFI as it should"
    return None


def _direct() -> list[Sequence[Any]]:
    """Arguments that the generated code takes."""
    arrays = [np.zeros((3, 2), dtype) for dtype in PLAIN_TYPES]
    tensor = tvm_ffi.from_dlpack(np.zeros((4, 1, 5), np.int16))
    scalar, empty = np.zeros((), np.float64), np.zeros((0, 7), np.float32)
    many = [arrays[i % len(arrays)] for i in range(MAX_ARGUMENTS)]
    return [*((array,) for array in arrays), (), (tensor,), (scalar, tensor, empty), many]


def _with_care() -> list[Sequence[Any]]:
    """Arguments of which it cannot say that they hold no torch tensor."""
    plain, other = np.zeros(3), object()
    deep = ((((((1,),),),),),)
    calls: list[Sequence[Any]] = [(other,), (plain, other), (3, plain, other), ([1, (other,)],), (deep,)]
    return [*calls, [plain] * (MAX_ARGUMENTS + 1)]


def _without_care() -> list[Sequence[Any]]:
    """Other arguments that it must leave to the FFI."""
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
        3,
        "text",
        None,
        True,
        b"bytes",
        tvm_ffi.Shape((2, 3)),
        tvm_ffi.Array([1]),
        (2, [3.5, (plain, "text")]),
        (),
        [],
    )
    return [*((other,) for other in others), (plain, 1.5), (plain, plain.T, (4, 6))]


def _seen(arguments: Sequence[Any]) -> int | None:
    """What the probe gives: None of nothing."""
    if not arguments:
        return None
    total = 0
    for argument in arguments:
        for word in _words(argument):
            total = (total * PROBE_FACTOR + word) % 2**64
    return total - 2**64 if total >= 2**63 else total


def _words(argument: Any) -> list[int]:  # noqa: ANN401 - an array or a tensor
    if isinstance(argument, np.ndarray):
        dtype, data, kind = argument.dtype, argument.ctypes.data, DLTENSOR
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
