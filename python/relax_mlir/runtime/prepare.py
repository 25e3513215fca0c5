"""Code that a process needs once is compiled on another thread while the first module is lowered."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from threading import Thread

from relax_mlir.runtime import memory, threads
from relax_mlir.target import usable_cpus


@contextlib.contextmanager
def compiled_meanwhile(num_threads: int) -> Iterator[None]:
    """Compile the pool of memory while the block runs, and the team of threads if there are to be several.

    Only what this process lacks, and only where there is a second CPU. Whoever needs the code waits for it.
    """
    work = [] if memory.is_ready() else [memory.prepare]
    if num_threads > 1 and not threads.is_ready():
        work.append(threads.prepare)
    if not work or usable_cpus() == 1:
        yield
        return

    def compile_all() -> None:
        for prepare in work:
            with contextlib.suppress(Exception):  # who needs the code tries again, and gets the error
                prepare()

    thread = Thread(target=compile_all, name="relax-mlir-prepare")
    thread.start()
    try:
        yield
    finally:
        thread.join()
