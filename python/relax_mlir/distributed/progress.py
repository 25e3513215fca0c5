"""The progress of `map_batches`: a bar on terminals."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from relax_mlir import terminal


class ProgressBar:
    """Counts batches on stderr; the bar is shown from `start` to the end of the ``with`` block.

    Args:
        total: the number of batches; None: unknown.
        wanted: true: show the progress; None: if stderr is a terminal. If stderr is no terminal, the
            progress is one line at the end.
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
        """Show the bar if it is wanted. This starts its drawing thread, after the worker processes have been forked."""
        if self._shown:
            self._bar.start()

    def advance(self) -> None:
        """Count one more finished batch."""
        self._bar.advance(self._task)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._bar.stop()
