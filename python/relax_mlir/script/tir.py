"""The script names in ``T``: prim funcs and the names used in their bodies.

``from relax_mlir.script import tir as T``. In a script these names are parsed, not called. Python evaluates only
annotations; any other name raises `ArgumentError` when it is evaluated.
"""

from __future__ import annotations

from typing import Any

from relax_mlir.dialects.dtypes import DTYPES
from relax_mlir.error import ArgumentError
from relax_mlir.script.decorators import prim_func

func = prim_func
"""An older name of `prim_func`."""


class Buffer:
    """A buffer in a signature: ``T.Buffer((n, m), "float32")``."""

    def __init__(self, *arguments: object, **named: object) -> None:
        self.arguments = arguments

    def __class_getitem__(cls, item: object) -> type[Buffer]:
        return cls


buffer = Buffer


class handle:
    """A pointer in a signature; ``T.match_buffer`` gives it a shape and a dtype."""


class int64:
    """An integer parameter. A call declares a symbol or is a conversion."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments


class int32(int64):
    """As `int64`; it is passed as a 64-bit integer."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - nothing that can be used
    if name.startswith("__"):
        raise AttributeError(name)
    if name in DTYPES:
        return type(name, (int64,), {"__doc__": "A number of this dtype as a parameter of a prim func."})
    raise ArgumentError(f"T.{name} stands in the body of a function with @T.prim_func, which is read, not run")


__all__ = ["Buffer", "buffer", "func", "handle", "int32", "int64", "prim_func"]
