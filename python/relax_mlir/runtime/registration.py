"""Functions of the runtime that compiled code calls by name."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import tvm_ffi

from relax_mlir.runtime.live_errors import keep_errors

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

HOMES = {
    "relax_mlir.run.unique": "relax_mlir.runtime.data_dependent",
    "relax_mlir.run.nonzero": "relax_mlir.runtime.data_dependent",
    "relax_mlir.run.call_dps_packed": "relax_mlir.runtime.run_dps",
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
            tvm_ffi.register_global_func(
                name, keep_errors(functools.partial(_first_call, name)), override=True
            )


def _first_call(name: str, *arguments: object) -> Any:  # noqa: ANN401 - what the function returns
    if name not in _functions:
        importlib.import_module(HOMES[name])
    return _functions[name](*arguments)
