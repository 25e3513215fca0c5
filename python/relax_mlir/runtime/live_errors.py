"""Pass exceptions of Python packed functions unchanged through native code to the caller.

The FFI carries only the class name and message of an exception. It creates a new exception from them: of a class
registered under this name, else a `RuntimeError`. `keep_errors` remembers the original exception by the error object
that the FFI carries. Calls of native functions (`native_function`) look it up and raise it with its class, attributes,
cause and traceback.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvm_ffi import core

CARRIED = "__tvm_ffi_error__"
"""The attribute in which the FFI stores the error object of an exception."""
MAX_REMEMBERED = 32
"""The maximum number of remembered exceptions; older ones, which were handled without a lookup, are dropped."""

_live: dict[int, BaseException] = {}


def keep_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function` such that callers of native code that calls it get its exceptions unchanged.

    >>> tvm_ffi.register_global_func("mine", keep_errors(f))

    `VirtualMachine` does this for its `functions`.
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
    """Return the original exception of `error`, which the FFI has raised; `error` itself if there is none."""
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
            return  # its class has no attributes: the FFI creates a new error
    _live[carried.__chandle__()] = error
    while len(_live) > MAX_REMEMBERED:
        _live.pop(next(iter(_live)), None)
