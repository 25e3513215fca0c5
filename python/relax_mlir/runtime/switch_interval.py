"""Threads that compile get the GIL soon: between two calls of LLVM they need it for microseconds only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

SECONDS = 0.0003
"""Python's own is 0.005: for so long a thread would wait, ten times for each part, while another lowers the rest."""

_ROUNDED = 0.5e-6
"""The interpreter cuts seconds off to microseconds."""

_lock = Lock()
_users = 0
_before = 0.0


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """Let the interpreter switch between threads more often while the block runs, in whatever thread."""
    global _users, _before
    with _lock:
        if _users == 0:
            _before = sys.getswitchinterval()
            _set(min(SECONDS, _before))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _set(_before)


def _set(seconds: float) -> None:
    sys.setswitchinterval(seconds + _ROUNDED)
