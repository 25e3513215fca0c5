"""Whether calls leave memory behind."""

from __future__ import annotations

import gc
from collections.abc import Callable

import psutil


def growth(call: Callable[[int], object], calls: int) -> int:
    """By how many bytes the process grows over `calls` calls, after as many as settle its memory.

    It has settled once garbage was collected, which happens when 50,000 objects wait for it (`conftest.py`).
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
