"""Functions of the runtime that compiled code calls by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import tvm_ffi

from relax_mlir.runtime.live_errors import keep_errors

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

MODULES = ("data_dependent", "run_dps", "run_op")
"""Modules of this package that register functions on import."""


def registered(name: str) -> Callable[[FunctionT], FunctionT]:
    """Register a function as the FFI's global function `name`."""

    def register(function: FunctionT) -> FunctionT:
        tvm_ffi.register_global_func(name, keep_errors(function), override=True)
        return function

    return register


def register_functions() -> None:
    """Register all functions of the runtime; idempotent."""
    for module in MODULES:
        importlib.import_module(f"relax_mlir.runtime.{module}")
