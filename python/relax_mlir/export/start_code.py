"""The objects that every library has beside its own code: the pool of memory, the team of threads, what starts it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace

from relax_mlir.export.cpu_words import needed_words
from relax_mlir.lowering.abi.emit_ffi_wrappers import ENTRY_PREFIX
from relax_mlir.lowering.abi.emit_lifecycle import CONSTANTS_ADDRESS, MEMORY_ADDRESS, THREADS_ADDRESS
from relax_mlir.lowering.llvm.function_cpu import FunctionCpu
from relax_mlir.lowering.runtime_lib import pool, thread_pool
from relax_mlir.lowering.runtime_lib.library import CODE_PREFIX, CPU_WORDS, START, WEIGHTS, library_text
from relax_mlir.runtime import memory, threads
from relax_mlir.runtime.process_code import object_of, part_of
from relax_mlir.target import Target, host_flags

_LINKED = (
    CPU_WORDS,
    CONSTANTS_ADDRESS,
    MEMORY_ADDRESS,
    THREADS_ADDRESS,
    pool.STATE,
    thread_pool.STATE,
    WEIGHTS,
    "pthread_atfork",
)
"""What the code that starts a library finds when it is linked."""


def start_text(functions: Sequence[str], places: Sequence[int], target: Target) -> str:
    """The module that starts a library, as MLIR text; the arguments are those of `start_objects`."""
    return library_text(
        functions,
        places,
        needed=needed_words(target, host_flags()),
        missing=f"this CPU lacks what the library is compiled for: {target}",
        limit_variable=memory.LIMIT_VARIABLE,
        default_limit=memory.DEFAULT_LIMIT,
        blocktime_variable=threads.BLOCKTIME_VARIABLE,
        default_blocktime=threads.DEFAULT_BLOCKTIME,
        longest_blocktime=threads.LONGEST_BLOCKTIME,
    )


def start_objects(functions: Sequence[str], places: Sequence[int], target: Target) -> list[bytes]:
    """Object files.

    Args:
        functions: names of the entry points.
        places: where the constants lie in the weights, in bytes.
        target: the machine that the functions are compiled for.
    """
    # Whatever asks the CPU, and says that it lacks something, must run on any.
    plain = FunctionCpu.of(Target("cpu -mcpu=x86-64")) if target.architecture == "x86_64" else None
    exported = (START, *(f"{ENTRY_PREFIX}{name}" for name in functions))
    linked = (*_LINKED, *(f"{CODE_PREFIX}{name}" for name in functions))
    start = replace(part_of(start_text(functions, places, target), exported), external=linked)
    team = part_of(thread_pool.team_text(platform.machine()), (thread_pool.STATE,))
    return [
        object_of(part_of(pool.pool_text(), (pool.STATE,)), pool.OPT_LEVEL, plain),
        object_of(team, cpu=plain),
        object_of(start, cpu=plain),
    ]
