"""Progress of a compilation, for listeners that display it."""

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
    """Call `listener` with the name of each compilation step of this thread, when the step begins."""
    _state.listeners.append(listener)
    try:
        yield
    finally:
        _state.listeners.pop()


def begin(step: str) -> None:
    """Report that a step begins."""
    for listener in _state.listeners:
        listener(step)
