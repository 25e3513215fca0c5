"""Reports of ``relax-compile``: a progress bar on terminals, and phases and sizes on request."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from relax_mlir import terminal
from relax_mlir.frontend.common import hidden
from relax_mlir.runtime.build_setup import listening
from relax_mlir.tools.supervise import note


class Report:
    """Phases and their durations: as a progress bar on terminals while entered, and as a table at the end.

    `steps` are the names of all steps, if they are known: without them, the bar shows no fraction.
    """

    def __init__(self, verbose: bool, steps: Sequence[str] = ()) -> None:
        self.verbose, self.steps = verbose, list(steps)
        self.console = Console(file=sys.stderr, width=terminal.width())
        self.rows: list[tuple[str, float]] = []
        self._heard: list[tuple[str, float]] = []
        self._open = ExitStack()
        self._bar = Progress(
            TextColumn("{task.description:<18}"),
            BarColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task("", total=len(self.steps) or None)

    def __enter__(self) -> Report:
        self._open.enter_context(self._bar)
        self._open.enter_context(hidden())
        self._open.enter_context(listening(self._hear))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Run a phase of this name in the context."""
        note(f"it was {name}")
        self._begin(name)
        self._heard.clear()
        started = perf_counter()
        yield
        ended = perf_counter()
        self.rows.append((name, ended - started))
        ends = [start for _, start in self._heard[1:]]
        self.rows += [
            (f"  {step}", end - start)
            for (step, start), end in zip(self._heard, [*ends, ended], strict=False)
        ]

    def _hear(self, step: str) -> None:
        """Record that a step of the compiler begins."""
        self._heard.append((step, perf_counter()))
        self._begin(step)

    def _begin(self, step: str) -> None:
        done = self.steps.index(step) if step in self.steps else None
        self._bar.update(self._task, description=step, completed=done, refresh=True)

    def show(self, *paths: Path) -> None:
        """Print the table of phases, and the sizes of files."""
        if not self.verbose:
            return
        table = terminal.report_table("", ["phase"], ["ms"])
        for name, seconds in self.rows:
            table.add_row(name, f"{1e3 * seconds:.1f}")
        terminal.print_table(table, self.console)
        for path in paths:
            self.console.print(f"{path}: {path.stat().st_size:,} bytes", highlight=False, soft_wrap=True)
