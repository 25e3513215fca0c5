"""The objects that every library has beside its own code: the pool of memory, the team of threads, what starts it."""

from __future__ import annotations

import platform
from dataclasses import replace

from relax_mlir.lowering.abi.emit_lifecycle import CONSTANTS_ADDRESS, MEMORY_ADDRESS, THREADS_ADDRESS
from relax_mlir.lowering.llvm.function_cpu import FunctionCpu
from relax_mlir.lowering.runtime_lib import pool, thread_pool
from relax_mlir.lowering.runtime_lib.library import START, WEIGHTS, library_text
from relax_mlir.runtime import memory, threads
from relax_mlir.runtime.process_code import object_of, part_of

_LINKED = (
    CONSTANTS_ADDRESS,
    MEMORY_ADDRESS,
    THREADS_ADDRESS,
    pool.STATE,
    thread_pool.STATE,
    WEIGHTS,
    "pthread_atfork",
)
"""What the code that starts a library finds when it is linked."""


def start_objects(places: tuple[int, ...], cpu: FunctionCpu | None) -> list[bytes]:
    """Object files; `places`: where the constants lie in the weights, in bytes; `cpu`: None, the host."""
    text = library_text(
        places,
        limit_variable=memory.LIMIT_VARIABLE,
        default_limit=memory.DEFAULT_LIMIT,
        blocktime_variable=threads.BLOCKTIME_VARIABLE,
        default_blocktime=threads.DEFAULT_BLOCKTIME,
        longest_blocktime=threads.LONGEST_BLOCKTIME,
    )
    start = replace(part_of(text, (START,)), external=_LINKED)
    team = part_of(thread_pool.team_text(platform.machine()), (thread_pool.STATE,))
    return [
        object_of(part_of(pool.pool_text(), (pool.STATE,)), pool.OPT_LEVEL, cpu),
        object_of(team, cpu=cpu),
        object_of(start, cpu=cpu),
    ]
