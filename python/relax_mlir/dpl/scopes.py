"""The stack of open `PatternContext`s: new patterns register with the innermost one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from relax_mlir.error import ArgumentError

if TYPE_CHECKING:
    from relax_mlir.dpl.pattern_context import PatternContext
    from relax_mlir.dpl.patterns import DFPattern


class _Stack(threading.local):
    def __init__(self) -> None:
        self.open: list[PatternContext] = []


_stack = _Stack()


def enter(context: PatternContext) -> None:
    """Push a context."""
    _stack.open.append(context)


def leave(context: PatternContext) -> None:
    """Pop the innermost context, which must be `context`."""
    assert _stack.open[-1] is context, "contexts are nested"
    _stack.open.pop()


def current() -> PatternContext | None:
    """The innermost open context, or None."""
    return _stack.open[-1] if _stack.open else None


def require(what: str) -> PatternContext:
    """The innermost open context; raises `ArgumentError` if there is none."""
    found = current()
    if found is None:
        raise ArgumentError(
            f"{what}: no PatternContext is open; write it inside `with PatternContext() as ctx:`"
        )
    return found


def note(pattern: DFPattern) -> None:
    """Register a new pattern with the innermost open context, if any."""
    if _stack.open:
        _stack.open[-1].note(pattern)
