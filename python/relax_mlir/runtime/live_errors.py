"""Exceptions of packed functions written in Python, which arrive where a native function was called, as they are.

The FFI carries the name of an exception's class and its message, and makes a new exception of them: of a class that it
knows by this name, else a `RuntimeError`. `keep_errors` remembers the exception under the error object that the FFI
carries; calls of native functions (`native_function`) ask for it, and raise it with its class, attributes, cause and
traceback.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvm_ffi import core

CARRIED = "__tvm_ffi_error__"
"""The attribute by which the FFI knows the error object of an exception."""
MAX_REMEMBERED = 32
"""Exceptions that nobody asks for, since somebody else has handled them, are forgotten beyond these."""

_live: dict[int, BaseException] = {}


def keep_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose exceptions arrive as they are where a native function is called that calls it.

    >>> tvm_ffi.register_global_func("mine", keep_errors(f))

    `VirtualMachine` does so for the `functions` that it is given.
    """

    @functools.wraps(function)
    def call(*args: Any) -> Any:  # noqa: ANN401 - whatever the function takes and returns
        try:
            return function(*args)
        except BaseException as error:
            _remember(error)
            raise

    return call


def live_error(error: BaseException) -> BaseException:
    """The exception that `error`, which the FFI has raised, was made for; `error` itself if none is known."""
    carried = getattr(error, CARRIED, None)
    return error if carried is None else _live.pop(carried.__chandle__(), error)


def _remember(error: BaseException) -> None:
    carried = getattr(error, CARRIED, None)
    if carried is None:
        kind = core.ERROR_TYPE_TO_NAME.get(type(error), "RuntimeError")
        carried = core.Error(kind, str(error), "")
        try:
            setattr(error, CARRIED, carried)
        except AttributeError:
            return  # its class allows no attributes: the FFI makes an error of its message
    _live[carried.__chandle__()] = error
    while len(_live) > MAX_REMEMBERED:
        _live.pop(next(iter(_live)), None)
