"""Building one module of many functions, so that a test file compiles once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi

Build = Callable[..., Any]


class Program:
    """Functions collected by decorators; `compile` builds them all as one module."""

    def __init__(self, prims: str | None = None) -> None:
        self.bb = rx.BlockBuilder(None if prims is None else rx.IRModule.parse(prims))

    def function(self, *infos: rx.StructInfo, private: bool = False) -> Callable[[Build], Build]:
        """The decorated function builds the body from (bb, *params) and returns the output."""

        def add(body: Build) -> Build:
            names = "xyzuvw"
            params = [rx.Var(names[i], info) for i, info in enumerate(infos)]
            with self.bb.function(body.__name__, params, private=private):
                self.bb.emit_func_output(body(self.bb, *params))
            return body

        return add

    def compile(self) -> Any:
        return rx.build(self.bb.get())


def numpy(value: Any) -> Any:
    """Results as NumPy arrays, tuples as tuples; integers unchanged."""
    if isinstance(value, int):
        return value
    if isinstance(value, tuple | tvm_ffi.Array):
        return tuple(numpy(item) for item in value)
    return np.from_dlpack(value)


def register(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        tvm_ffi.register_global_func(name, function, override=True)
        return function

    return add
