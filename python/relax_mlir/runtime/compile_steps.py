"""What a compilation is doing now, for those who show it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str], None]


class _ThreadState(threading.local):
    """The listeners of this thread, outermost first."""

    def __init__(self) -> None:
        self.listeners: list[Listener] = []


_state = _ThreadState()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within, `listener` gets the name of each step of a compilation of this thread when it begins."""
    _state.listeners.append(listener)
    try:
        yield
    finally:
        _state.listeners.pop()


def begin(step: str) -> None:
    """Say that a step begins."""
    for listener in _state.listeners:
        listener(step)
