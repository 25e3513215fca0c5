"""Shorten the GIL switch interval, since compiling threads need the GIL only briefly between LLVM calls."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.fork_safety import Order, after_fork_in_child, process_lock

SECONDS = 0.0003
"""Python's default is 0.005: a thread would wait that long, ten times per unit, while another one lowers the rest."""

_ROUNDED = 0.5e-6
"""The interpreter truncates the interval to microseconds."""

_lock = process_lock(Order.SWITCH_INTERVAL)
_users: Counter[int] = Counter()
"""The number of active blocks of each thread."""
_before = 0.0


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """Shorten the switch interval of all threads while the block runs."""
    global _before
    user = threading.get_ident()
    with _lock:
        if not _users:
            _before = sys.getswitchinterval()
            _set(min(SECONDS, _before))
        _users[user] += 1
    try:
        yield
    finally:
        with _lock:
            _users[user] -= 1
            if not _users[user]:
                _leave(user)


def _leave(user: int) -> None:
    del _users[user]
    if not _users:
        _set(_before)


def _forget_threads() -> None:
    """In the child of a fork, drop the blocks of the other threads."""
    for user in [user for user in _users if user != threading.get_ident()]:
        _leave(user)


after_fork_in_child(_forget_threads)


def _set(seconds: float) -> None:
    sys.setswitchinterval(seconds + _ROUNDED)
