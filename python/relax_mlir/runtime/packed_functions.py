"""Python functions that compiled code calls by name: registration, exceptions that pass through, printing."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import tvm_ffi
from tvm_ffi import core

from relax_mlir.ffi import to_numpy

# Pass exceptions of Python packed functions unchanged through native code to the caller.
#
# The FFI carries only the class name and message of an exception. It creates a new exception from them: of a class
# registered under this name, else a `RuntimeError`. `keep_errors` remembers the original exception by the error object
# that the FFI carries. Calls of native functions (`native_function`) look it up and raise it with its class,
# attributes, cause and traceback.


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


# Functions of the runtime that compiled code calls by name.


FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

HOMES = {
    "relax_mlir.run.unique": "relax_mlir.runtime.data_dependent",
    "relax_mlir.run.nonzero": "relax_mlir.runtime.data_dependent",
    "relax_mlir.run.call_dps_packed": "relax_mlir.runtime.data_dependent",
    "relax_mlir.run.op": "relax_mlir.runtime.run_op",
    "relax_mlir.run.shape_to_tensor": "relax_mlir.runtime.run_op",
    "relax_mlir.run.tensor_to_shape": "relax_mlir.runtime.run_op",
}
"""The functions, and the modules that register them on import; a module is imported at the first call."""

_functions: dict[str, Callable[..., Any]] = {}
"""The functions whose modules are imported."""


def registered(name: str) -> Callable[[FunctionT], FunctionT]:
    """Register a function as the FFI's global function `name`."""

    def register(function: FunctionT) -> FunctionT:
        _functions[name] = function
        tvm_ffi.register_global_func(name, keep_errors(function), override=True)
        return function

    return register


def register_functions() -> None:
    """Register all functions of the runtime; idempotent."""
    for name in HOMES:
        if name not in _functions:
            tvm_ffi.register_global_func(name, keep_errors(functools.partial(_first_call, name)), override=True)


def _first_call(name: str, *arguments: object) -> Any:  # noqa: ANN401 - what the function returns
    if name not in _functions:
        importlib.import_module(HOMES[name])
    return _functions[name](*arguments)


# The function that `relax.print` calls: print values to Python's standard output.


def _shown(value: Any) -> Any:  # noqa: ANN401 - whatever the FFI passes
    """Convert a value for printing: tensors to NumPy arrays, shapes to tuples of integers."""
    if isinstance(value, tvm_ffi.Tensor):
        return to_numpy(value)
    if isinstance(value, tvm_ffi.Shape):
        return tuple(value)
    if isinstance(value, tvm_ffi.Array):
        return tuple(map(_shown, value))
    return value


def print_values(format: str, *values: object) -> None:
    """Print `values`, joined by spaces or inserted into `format`."""
    shown = [_shown(value) for value in values]
    print(str(format).format(*shown) if format else " ".join(map(str, shown)), flush=True)


tvm_ffi.register_global_func("relax_mlir.run.print", print_values, override=True)
