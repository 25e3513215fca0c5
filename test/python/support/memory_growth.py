"""Measurement of memory leaks of calls."""

from __future__ import annotations

import gc
from collections.abc import Callable

import psutil


def growth(call: Callable[[int], object], calls: int) -> int:
    """The growth of the process in bytes over `calls` calls, after enough calls for its memory use to settle.

    It settles after a garbage collection, which runs after 50,000 allocations (`conftest.py`).
    """
    process = psutil.Process()
    for i in range(calls // 2):
        call(i)
    gc.collect()
    before: int = process.memory_info().rss
    for i in range(calls):
        call(i)
    gc.collect()
    return int(process.memory_info().rss - before)
