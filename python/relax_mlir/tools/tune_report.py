"""Reports of ``relax-tune``: a progress bar, tables of tasks and results, a plot of the best so far."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from math import prod
from pathlib import Path
from time import monotonic
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from relax_mlir import terminal
from relax_mlir.dialects.types import shape_text
from relax_mlir.error import ArgumentError, UnsupportedError
from relax_mlir.strategy.size_table import values_text, ways_text
from relax_mlir.tuning import Task, TaskOutcome, TaskStep

PLOTS = (".svg", ".png")
LABEL = 24
"""Number of characters of a task's name shown next to the progress bar."""


class ProgressBar:
    """A bar on terminals with the spent part of the budget and the best result so far of the current task.

    `total`: seconds, or candidates.
    """

    def __init__(self, total: float, is_time: bool) -> None:
        self.is_time, self.measured = is_time, 0
        console = Console(file=sys.stderr, width=terminal.width())
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[told]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._total = total
        self._task = self._bar.add_task("starting", total=total, told="")

    def __enter__(self) -> ProgressBar:
        self._begun = monotonic()
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def step(self, step: TaskStep) -> None:
        """Record that a candidate was measured."""
        self.measured += 1
        done = monotonic() - self._begun if self.is_time else self.measured
        self._bar.update(
            self._task,
            description=step.task.name[:LABEL],
            completed=min(done, self._total),
            told=f"{step.measured} tried, {step.best:.2f} x",
        )


def show_tasks(tasks: Sequence[Task]) -> None:
    """Print a table of tasks: their tensors, knobs, and number of configurations."""
    table = terminal.report_table("", ["task", "tensors", "knobs"], ["configurations"])
    for task in tasks:
        space = task.space()
        size = prod(map(len, space.values()))
        table.add_row(task.name, _tensors(task), ", ".join(space), f"{size:,}")
    terminal.print_table(table)


def _tensors(task: Task) -> str:
    inputs, outputs = (
        ", ".join(f"{shape_text(t.shape)} {t.dtype}" for t in tensors)
        for tensors in (task.inputs, task.outputs)
    )
    return f"{inputs} -> {outputs}"


def show_outcomes(outcomes: Sequence[TaskOutcome]) -> None:
    """Print a table of results."""
    table = terminal.report_table("", ["task", "best values"], ["times as fast", "tried", "failed"])
    for outcome in outcomes:
        table.add_row(outcome.task.name, *_cells(outcome))
    terminal.print_table(table)


def _cells(outcome: TaskOutcome) -> tuple[str, str, str, str]:
    result = outcome.result
    failed = str(sum(score <= 0 for score in outcome.scores))
    if result is None:
        return "none could be measured", "-", str(len(outcome.scores)), failed
    found, score = values_text(result.best), result.score
    if result.by_size is not None:
        found, score = "\n".join(ways_text(result.by_size.table.ways())), result.by_size.score
    found = found if result.found_better else "nothing better was found"
    return found, f"{score:.2f}", str(result.measured), failed


def require_plot(path: Path) -> None:
    """Raise ArgumentError for an unknown image format, UnsupportedError if matplotlib is not installed."""
    if path.suffix not in PLOTS:
        raise ArgumentError(f"--plot: {str(path)!r} does not end with {' or '.join(PLOTS)}")
    try:
        import matplotlib  # noqa: F401 - fails early if missing
    except ImportError:
        raise UnsupportedError("--plot needs matplotlib: pip install 'relax-mlir[plot]'") from None


def plot(outcomes: Sequence[TaskOutcome], path: Path) -> None:
    """Plot the best result so far of each task over its candidates."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for number, outcome in enumerate(outcomes):
        if not outcome.scores:
            continue
        best = list(itertools.accumulate(outcome.scores, max))
        tried = range(1, len(best) + 1)
        (line,) = axes.step(tried, best, where="post", label=f"{outcome.task.name[:LABEL]} {best[-1]:.2f} ×")
        axes.plot(tried, outcome.scores, ".", color=line.get_color(), alpha=0.35, markersize=4)
        axes.plot(tried[-1], best[-1], "os^Dvp*h"[number % 8], color=line.get_color())
    axes.axhline(1.0, color="gray", linewidth=1, linestyle="--")
    axes.set(xlabel="candidates", ylabel="times as fast as without a schedule", title="The best so far")
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(visible=True, alpha=0.25)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small")
    figure.savefig(path, bbox_inches="tight")
    pyplot.close(figure)
    print(f"plot: {path}", file=sys.stderr)
