"""The threads of a process: code that runs the iterations of a loop on several of them.

All compiled modules of a process share one team of threads. The team is a module of its own (`team_text`, level V),
whose code and state stay for good; `runtime/threads.py` compiles it and tells modules where it is.

`parallel(function, context, count, threads)` calls ``function(context, begin, end)`` for parts of 0 to count. The
caller publishes the job and takes parts like everybody else; a thread that wakes up in time joins, and the caller
waits for those only that have joined. So nobody waits for a thread that the system does not run. There is one job at
a time: who finds another one under way (a call from another thread, or from inside of a job) does all its parts
itself. Threads look for the next job for a while (`blocktime`), and sleep then (futex).

`limit` is for whoever starts several processes on a machine: where it is not 0, a job runs on at most so many threads,
whatever the code was compiled for.
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
"""Into how many parts per thread a job with many iterations is cut: threads do not all run equally fast."""

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
"""Where the words of the state lie, in bytes; what several threads write has a cache line of its own."""

MAX_PLACED = 7
"""Up to this many threads are told where to run: not on the CPU of the caller, where some systems leave a thread that
it wakes. More threads are spread by the system."""

SHORT_BLOCKTIME = 50_000
"""Nanoseconds for which threads look for a job where the affinity of the caller has fewer CPUs than there are threads:
one that waits keeps another one from its work."""

LOOKS = 64
"""How often a thread looks for a job between two looks at the clock."""

PATIENCE = 2000
"""How often a caller looks whether the last part is done before it leaves its CPU to others."""

MASK_BYTES = 128
"""Of a set of CPUs, as the C library has it."""

_STATE_WORDS = _OFFSETS["ids"] // 8 + MAX_THREADS


def offset(field: str) -> int:
    """Where a word of the state lies."""
    return _OFFSETS[field]


_MACHINES = {
    "x86_64": (202, 'llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()'),
    "aarch64": (98, 'llvm.call_intrinsic "llvm.aarch64.hint"(%some) : (i32) -> ()'),
}
"""Per machine (Linux): the number of the system call futex, and the instruction that a waiting thread executes."""


def supports(system: str, machine: str) -> bool:
    """Whether there are threads for a system and a machine, as `platform` names them."""
    return system == "Linux" and machine in _MACHINES


def registry_name(machine: str) -> str:
    """The name of the FFI's function ``() -> opaque pointer`` that gives the state of the team of the process.

    It names the very code: libraries of another version, whose state has other words, have a team of their own.
    """
    return f"{PREFIX}{hashlib.sha256(team_text(machine).encode()).hexdigest()[:16]}"


def team_text(machine: str) -> str:
    """The module of the team, as MLIR text of level V."""
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
