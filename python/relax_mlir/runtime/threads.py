"""The thread pool on which compiled code runs its loops: one per process, shared by all executables.

The pool is compiled with the first module that may use it, unless a loaded library has registered one. Its threads
start with the first call that has work for them. After a fork the child starts its own pool.

An idle thread polls for the next loop for some milliseconds before it sleeps, like OpenMP's: `DEFAULT_BLOCKTIME`,
unless the environment variable RELAX_MLIR_BLOCKTIME gives another number.
"""

from __future__ import annotations

import ctypes
import math
import os
import platform

import tvm_ffi

from relax_mlir.error import ParseError, UnsupportedError
from relax_mlir.fork_safety import Order, after_fork_in_child, process_lock
from relax_mlir.lowering.base.support import TEAM_STATE, offset, registry_name, supports, team_text
from relax_mlir.runtime.process_code import state_address

DEFAULT_BLOCKTIME = 5.0
"""Milliseconds for which an idle thread polls for a job before it sleeps.

Waking up a sleeping CPU is slow on many systems: on virtual machines, a loop of a millisecond is often over before.
"""

LONGEST_BLOCKTIME = 1e9
BLOCKTIME_VARIABLE = "RELAX_MLIR_BLOCKTIME"

_lock = process_lock(Order.PROCESS_CODE)
_team: int | None = None


def require_threads(count: int, where: str) -> None:
    """Raise UnsupportedError if this machine cannot run compiled code on `count` threads."""
    system, machine = platform.system(), platform.machine()
    if count > 1 and not supports(system, machine):
        raise UnsupportedError(
            f"{where}: num_threads is {count}, but compiled code runs on one thread on {system} {machine}; "
            "use Target(num_threads=1)"
        )


def bind(table: int) -> None:
    """Connect a compiled module to the pool; its pointer to `parallel` is at the address `table`."""
    pointer = ctypes.c_void_p.from_address(table)
    pointer.value = ctypes.c_void_p.from_address(_address() + offset("parallel")).value


def is_ready() -> bool:
    """True if the pool's code is compiled."""
    return _team is not None


def prepare() -> None:
    """Compile the pool's code if necessary."""
    _address()


def running_threads() -> int:
    """Return the number of threads of the pool, not counting the callers."""
    return 0 if _team is None else _word("started").value


def _word(field: str) -> ctypes.c_int64:
    return ctypes.c_int64.from_address(_address() + offset(field))


def _address() -> int:
    """Return the address of the pool's state, compiled on first use."""
    global _team
    if _team is None:
        with _lock:
            if _team is None:
                _team = _compile()
    return _team


def _compile() -> int:
    blocktime = _blocktime()
    name = registry_name(platform.machine())
    registered = tvm_ffi.get_global_func(name, allow_missing=True)
    if registered is not None:  # registered by an exported library
        return int(registered().value)
    # LLVM's optimisations take longer than the rest and gain nothing: it is atomic operations and system calls.
    address = state_address(team_text(platform.machine()), TEAM_STATE, opt_level=0)
    ctypes.c_int64.from_address(address + offset("blocktime")).value = round(blocktime * 1e6)
    tvm_ffi.register_global_func(name, lambda: ctypes.c_void_p(address))
    return address


def _forget_threads() -> None:
    """In the child of a fork, reset the pool: its threads are gone, including one that may hold its lock."""
    if _team is None:
        return
    for field in ("started", "sleepers", "open", "lock"):
        _word(field).value = 0


after_fork_in_child(_forget_threads)


def _blocktime() -> float:
    """Return RELAX_MLIR_BLOCKTIME in milliseconds, or the default."""
    text = os.environ.get(BLOCKTIME_VARIABLE)
    if text is None:
        return DEFAULT_BLOCKTIME
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found <= LONGEST_BLOCKTIME:
        raise ParseError(
            f"the environment variable {BLOCKTIME_VARIABLE} is {text!r}, expected a number of milliseconds from 0 to "
            f"{LONGEST_BLOCKTIME:.0f}"
        )
    return found
