"""CPUs of a machine, one measurement at a time on each, whatever process wants to measure."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

POLL = 0.02
"""Seconds between two looks for a CPU that is free."""


@contextmanager
def reserved_cpu() -> Iterator[int]:
    """A CPU that this process may use, and that no other one has reserved; waits until there is one.

    Reservations are locks of files, which the system takes back from processes that end, however they end.
    """
    folder = Path(tempfile.gettempdir()) / f"relax-mlir-cpus-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    while True:
        for cpu in sorted(os.sched_getaffinity(0)):
            with open(folder / f"{cpu}.lock", "w") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield cpu
                return
        sleep(POLL)
