"""The thread pools of a process, found in the FFI's registry, and their limits of threads per call.

Needs only the TVM FFI: processes that only run libraries use it, too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import tvm_ffi

PREFIX = "relax_mlir.team."
"""Prefix of the registered functions that return the thread pools (`lowering.base.support`)."""

LIMIT_OFFSET = 8
"""Byte offset of the thread limit in the state of a pool."""


def teams() -> list[int]:
    """The addresses of the thread pools in the process: one, or several of different versions."""
    names = [name for name in tvm_ffi.registry.list_global_func_names() if name.startswith(PREFIX)]
    return [tvm_ffi.get_global_func(name)().value for name in names]


def limit_threads(of: Sequence[int], count: int) -> None:
    """Limit calls to `count` threads of these pools; 0: the number that the code is compiled for."""
    for team in of:
        ctypes.c_int64.from_address(team + LIMIT_OFFSET).value = count
