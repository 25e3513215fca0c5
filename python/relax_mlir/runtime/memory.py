"""Memory of compiled code: results, workspaces and copies for calls are blocks of one pool per process.

A free block is cached for the next call that needs its size. The limit of cached bytes is `DEFAULT_LIMIT` (or a quarter
of the machine's memory) unless the environment variable RELAX_MLIR_MEMORY_LIMIT sets another number. Repeated calls of
a function therefore need no memory from the system.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from dataclasses import dataclass

from relax_mlir.error import ArgumentError
from relax_mlir.fork_safety import Order, after_fork_in_child, process_lock
from relax_mlir.lowering.base.support import CLASSES, FIELDS, OPT_LEVEL, POOL_STATE, pool_text
from relax_mlir.runtime.process_code import state_address

DEFAULT_LIMIT = 1 << 30
LIMIT_VARIABLE = "RELAX_MLIR_MEMORY_LIMIT"

_lock = process_lock(Order.PROCESS_CODE)


class _State(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p if i < 3 else ctypes.c_int64) for i, name in enumerate(FIELDS))


_pool: _State | None = None


@dataclass(frozen=True)
class MemoryStats:
    """Statistics of the memory pool of compiled code in this process.

    `used`: blocks in use by results, workspaces and calls; `kept`: cached blocks; `peak_bytes`: the maximum in use;
    `taken`: blocks handed out, of which `allocated` came from the system; `freed`: blocks returned to the system. Bytes
    count whole blocks, which are less than 25 % larger than requested.
    """

    used_bytes: int
    used_blocks: int
    kept_bytes: int
    kept_blocks: int
    peak_bytes: int
    taken: int
    allocated: int
    freed: int
    limit: int


def memory_stats() -> MemoryStats:
    """Return the statistics of the pool."""
    state = _state()
    return MemoryStats(**{name: getattr(state, name) for name in MemoryStats.__dataclass_fields__})


def release_memory() -> int:
    """Return all cached memory to the system; returns its size in bytes. Memory in use is unaffected."""
    release = ctypes.CFUNCTYPE(ctypes.c_int64)(_state().release)
    return int(release())


def set_memory_limit(limit: int) -> int:
    """Cache at most `limit` free bytes (0: none); return the previous limit.

    If more is cached, all cached memory is freed at once. Raises ArgumentError for anything but a number of bytes.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < 1 << 62:
        raise ArgumentError(f"set_memory_limit: 'limit' is {limit!r}, expected a number of bytes from 0")
    state = _state()
    old, state.limit = int(state.limit), limit
    if state.kept_bytes > limit:
        release_memory()
    return old


def poison_memory(on: bool = True) -> None:
    """For debugging: fill every block with NaN (integers: -1) when it is allocated and when it is freed."""
    _state().poison = int(on)


def bind(table: int) -> None:
    """Connect a compiled module to the pool; its two pointers {take, give} are at the address `table`."""
    state = _state()
    pointers = (ctypes.c_void_p * 2).from_address(table)
    pointers[0], pointers[1] = state.take, state.give


def is_ready() -> bool:
    """True if the pool is compiled."""
    return _pool is not None


def prepare() -> None:
    """Compile the pool if necessary."""
    _state()


def _state() -> _State:
    """Return the pool of this process, compiled on first use."""
    global _pool
    if _pool is None:
        with _lock:
            if _pool is None:
                _pool = _compile()
    return _pool


def _compile() -> _State:
    limit = _initial_limit()
    state = _State.from_address(state_address(pool_text(), POOL_STATE, OPT_LEVEL))
    state.limit = limit
    state.advice = getattr(mmap, "MADV_HUGEPAGE", 0)
    return state


def _forget_threads() -> None:
    """In the child of a fork, reset a locked pool: its owner is gone and may have been changing the free lists."""
    if _pool is None or not _pool.lock:
        return
    heads = (ctypes.c_void_p * CLASSES).from_address(ctypes.addressof(_pool) + ctypes.sizeof(_State))
    heads[:] = [None] * CLASSES
    _pool.kept_bytes = _pool.kept_blocks = _pool.lock = 0


after_fork_in_child(_forget_threads)


def _initial_limit() -> int:
    text = os.environ.get(LIMIT_VARIABLE)
    if text is None:
        return min(DEFAULT_LIMIT, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4)
    if not text.isdecimal() or int(text) >= 1 << 62:
        raise ArgumentError(
            f"the environment variable {LIMIT_VARIABLE} is {text!r}, expected a number of bytes"
        )
    return int(text)
