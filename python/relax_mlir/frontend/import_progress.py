"""Progress bars for the import and compilation of large models, on terminals only."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from relax_mlir import terminal
from relax_mlir.runtime.compile_steps import listening

if TYPE_CHECKING:
    from rich.progress import Progress

MIN_NODES = 200
"""Models with fewer nodes are imported quickly and get no bar."""


class _ThreadState(threading.local):
    """True while this thread shows a bar or bars are hidden."""

    busy = False


_state = _ThreadState()


@contextmanager
def hidden() -> Iterator[None]:
    """Hide bars of this thread within the context, while other code reports progress."""
    before, _state.busy = _state.busy, True
    try:
        yield
    finally:
        _state.busy = before


@contextmanager
def importing(what: str, nodes: int) -> Iterator[Callable[[], None]]:
    """Show a bar for the import of `nodes` nodes of `what`; call the yielded function after each node."""
    with _bar(nodes) as bar:
        if bar is None:
            yield lambda: None
            return
        task = bar.add_task(f"importing {what}", total=nodes)
        yield lambda: bar.advance(task)


@contextmanager
def compiling(nodes: int) -> Iterator[None]:
    """Show a bar with the current step of `relax_mlir.build`, for a model of `nodes` nodes."""
    with _bar(nodes) as bar:
        if bar is None:
            yield
            return
        task = bar.add_task("compiling", total=None)
        with listening(lambda step: bar.update(task, description=f"compiling: {step}")):
            yield


@contextmanager
def _bar(nodes: int) -> Iterator[Progress | None]:
    """Yield a transient bar; None if no bar should be shown."""
    if _state.busy or nodes < MIN_NODES or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=sys.stderr, width=terminal.width())
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TimeElapsedColumn())
    with hidden(), Progress(*columns, console=console, transient=True) as bar:
        yield bar
