"""The teams of threads of a process, as the FFI's registry knows them: how many threads a call may use.

Needs the TVM FFI alone: processes that only run libraries use it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import tvm_ffi

PREFIX = "relax_mlir.team."
"""What the names of the functions begin with that give the teams (`lowering.runtime_lib.thread_pool`)."""

LIMIT_OFFSET = 8
"""Where the limit of a team lies in its state, in bytes."""


def teams() -> list[int]:
    """The addresses of the teams of threads that the process has: one, or several of different versions."""
    names = [name for name in tvm_ffi.registry.list_global_func_names() if name.startswith(PREFIX)]
    return [tvm_ffi.get_global_func(name)().value for name in names]


def limit_threads(of: Sequence[int], count: int) -> None:
    """Let calls run on `count` threads of these teams at most; 0: on as many as the code is compiled for."""
    for team in of:
        ctypes.c_int64.from_address(team + LIMIT_OFFSET).value = count
