"""How far `map_batches` is: a bar on terminals, nothing elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from relax_mlir import terminal


class ProgressBar:
    """Counts batches on stderr; the bar is there from `start` to the end of the ``with`` block.

    Args:
        total: how many batches there are; None: that is not known.
        wanted: None: where stderr is a terminal. Where it is none, what is wanted is one line at the end.
    """

    def __init__(self, total: int | None, wanted: bool | None) -> None:
        console = Console(file=sys.stderr, width=terminal.width())
        self._shown = console.is_terminal if wanted is None else wanted
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=console, transient=console.is_terminal)
        self._task = self._bar.add_task("batches", total=total)

    def __enter__(self) -> ProgressBar:
        return self

    def start(self) -> None:
        """Show it, if it is wanted; the thread that draws it starts here, after processes that are forked."""
        if self._shown:
            self._bar.start()

    def advance(self) -> None:
        """One batch more is done."""
        self._bar.advance(self._task)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._bar.stop()
