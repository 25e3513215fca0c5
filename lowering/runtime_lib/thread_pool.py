"""The thread pool of a process: code that runs the iterations of a loop on several threads.

All compiled modules of a process share one thread pool. It is a separate module (`team_text`, level V) that is never
unloaded; `runtime/threads.py` compiles it and passes its address to modules.

`parallel(function, context, count, threads)` calls ``function(context, begin, end)`` for parts of 0 to count. The
caller publishes the job and takes parts like every other thread. A thread that wakes up in time joins, and the caller
waits only for threads that have joined, never for one that the system does not schedule. There is one job at a time:
a caller that finds another job in progress (from another thread, or from inside of a job) runs all its parts itself.
Threads poll for the next job for a while (`blocktime`), then sleep (futex).

`limit` is for several processes on one machine: if it is not 0, it bounds the threads of a job, whatever number the
code was compiled for.
"""

from __future__ import annotations

import hashlib

from relax_mlir.lowering.runtime_lib.clock import clock_text
from relax_mlir.lowering.runtime_lib.mlir_templates import fill_template
from relax_mlir.target import MAX_THREADS
from relax_mlir.thread_teams import LIMIT_OFFSET, PREFIX

STATE = "__relax_team_state"

THREADS_TABLE = "__relax_threads"
"""The global of a compiled module that points to `parallel`."""

PARTS_PER_THREAD = 4
"""Number of parts per thread of a job with many iterations, because threads do not all run equally fast."""

_OFFSETS = {
    "parallel": 0,
    "limit": LIMIT_OFFSET,
    "jobs": 64,
    "sleepers": 128,
    "open": 192,
    "next": 256,
    "done": 320,
    "function": 384,
    "context": 392,
    "count": 400,
    "part": 408,
    "lock": 448,
    "started": 512,
    "avoided": 520,
    "blocktime": 528,
    "patience": 536,
    "ids": 576,
}
"""Byte offsets of the fields of the state; fields that several threads write have separate cache lines."""

MAX_PLACED = 7
"""Up to this many threads get an affinity that excludes the caller's CPU, where some systems leave woken threads.

The system distributes larger numbers of threads.
"""

SHORT_BLOCKTIME = 50_000
"""Nanoseconds of polling if the caller's affinity has fewer CPUs than there are threads, which then compete."""

LOOKS = 64
"""Number of polls for a job between two reads of the clock."""

PATIENCE = 2000
"""Number of polls of a caller for the last part before it yields its CPU."""

MASK_BYTES = 128
"""Bytes of a CPU set in the C library."""

_STATE_WORDS = _OFFSETS["ids"] // 8 + MAX_THREADS


def offset(field: str) -> int:
    """The byte offset of a field of the state."""
    return _OFFSETS[field]


_MACHINES = {
    "x86_64": (202, 'llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()'),
    "aarch64": (98, 'llvm.call_intrinsic "llvm.aarch64.hint"(%some) : (i32) -> ()'),
}
"""Per machine (Linux): the number of the futex system call, and the instruction of a polling thread."""


def supports(system: str, machine: str) -> bool:
    """True if the thread pool supports a system and a machine, as named by `platform`."""
    return system == "Linux" and machine in _MACHINES


def registry_name(machine: str) -> str:
    """The name of the FFI function ``() -> opaque pointer`` that returns the thread pool state of the process.

    It contains a hash of the code: libraries of another version, whose state has another layout, use a separate pool.
    """
    return f"{PREFIX}{hashlib.sha256(team_text(machine).encode()).hexdigest()[:16]}"


def team_text(machine: str) -> str:
    """The module of the thread pool, as MLIR text of level V."""
    futex, pause = _MACHINES[machine]
    return fill_template(
        "thread_pool",
        _OFFSETS,
        STATE=STATE,
        LOOKS=LOOKS,
        MASK_BYTES=MASK_BYTES,
        MAX_PLACED=MAX_PLACED,
        PARTS_PER_THREAD=PARTS_PER_THREAD,
        PATIENCE=PATIENCE,
        SHORT_BLOCKTIME=SHORT_BLOCKTIME,
        clock=clock_text("llvm.func internal @now", "llvm.return"),
        futex=futex,
        mask_bits=8 * MASK_BYTES,
        mask_words=MASK_BYTES // 8,
        pause=pause,
        state_type=f"!llvm.array<{_STATE_WORDS} x i64>",
    )
