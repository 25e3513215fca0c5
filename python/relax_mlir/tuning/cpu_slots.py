"""Reserve CPUs of a machine for measurements, one measurement per CPU across all processes."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

POLL = 0.02
"""Seconds between two attempts to find a free CPU."""


@contextmanager
def reserved_cpu() -> Iterator[int]:
    """Reserve a CPU that no other process has reserved; wait until one is free.

    Reservations are file locks, which the system releases when the process ends, in whatever way.
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
