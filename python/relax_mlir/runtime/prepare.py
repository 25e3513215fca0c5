"""Warm-up: one-time work of a process, done on another thread while the first module is lowered."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.runtime import memory, part_lowering, threads


def warm_up(num_threads: int) -> list[Callable[[], None]]:
    """Return tasks for what this process still lacks: pipelines for units, the memory pool, the thread pool.

    The thread pool is included only for `num_threads` above 1. Code that needs a result waits for it, or computes it.
    """
    work = [] if part_lowering.is_ready() else [part_lowering.prepare]
    if not memory.is_ready():
        work.append(memory.prepare)
    if num_threads > 1 and not threads.is_ready():
        work.append(threads.prepare)
    return work
