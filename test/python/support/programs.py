"""Modules of many functions, and functions of the interface of native code, built and run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from relax_mlir.runtime import to_ffi, to_numpy

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


Body = Callable[..., Any]


def add(bb: rx.BlockBuilder, name: str, infos: list[rx.StructInfo], body: Body, **options: Any) -> None:
    """Add the function `name` of parameters x, y, z, …, whose result `body(*params)` builds."""
    params = [rx.Var("xyzuvw"[i], info) for i, info in enumerate(infos)]
    with bb.function(name, params, **options):
        bb.emit_func_output(body(*params))


def compiled(*infos: rx.StructInfo, prims: str | None = None) -> Callable[[Body], Any]:
    """Compile a function of Relax values to the function `main`."""

    def build(body: Body) -> Any:
        bb = rx.BlockBuilder(None if prims is None else rx.IRModule.parse(prims))
        add(bb, "main", list(infos), body)
        return rx.build(bb.get())["main"]

    return build


def registered(function: Callable[..., Any]) -> str:
    """Register a Python function for packed calls; return its name. Arrays are passed and returned as NumPy arrays."""

    def packed(*args: Any) -> Any:
        return to_ffi(function(*(from_ffi(arg) for arg in args)))

    name = f"boundary.{function.__module__}.{function.__qualname__}"
    tvm_ffi.register_global_func(name, packed, override=True)
    return name


def from_ffi(value: Any) -> Any:
    """Tensors as NumPy arrays, arrays and shapes as tuples."""
    if isinstance(value, tvm_ffi.Tensor):
        return to_numpy(value)
    if isinstance(value, tuple | tvm_ffi.Array | tvm_ffi.Shape):
        return tuple(map(from_ffi, value))
    return value
