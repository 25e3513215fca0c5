"""What a process needs once: it is made on another thread while the first module is lowered."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.runtime import memory, part_lowering, threads


def warm_up(num_threads: int) -> list[Callable[[], None]]:
    """What makes all that this process has not yet: passes for parts, the pool of memory, the team of threads.

    The team only for `num_threads` above 1. Whoever needs something of it waits for it, or makes it.
    """
    work = [] if part_lowering.is_ready() else [part_lowering.prepare]
    if not memory.is_ready():
        work.append(memory.prepare)
    if num_threads > 1 and not threads.is_ready():
        work.append(threads.prepare)
    return work
