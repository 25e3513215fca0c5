"""The work of ``relax-tune``: read tasks, tune them, report the results."""

from __future__ import annotations

import itertools
import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from math import prod
from pathlib import Path
from time import monotonic
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from relax_mlir import terminal
from relax_mlir.dialects.types import shape_text
from relax_mlir.error import ArgumentError, ParseError, UnknownNameError, UnsupportedError
from relax_mlir.frontend.load import is_python, python_globals, read_module
from relax_mlir.lowering.strategy.tuned import values_text, ways_text
from relax_mlir.target import Target
from relax_mlir.tools.command_line import load_strategies, require_folder
from relax_mlir.tools.supervise import note
from relax_mlir.tools.tune_command import TOOL
from relax_mlir.tuning import (
    DaskWorkers,
    Database,
    LocalWorkers,
    Task,
    TaskOutcome,
    TaskStep,
    Workers,
    extract_tasks,
    tune_tasks,
)

# The inputs of ``relax-tune``: the tasks in a file, a time budget, sizes.

_TIME = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")


def read_seconds(option: str, text: str) -> float:
    """The seconds of a text like ``90s``, ``10m``, ``1h30m`` or ``90``; raises ParseError."""
    found = _TIME.fullmatch(text.strip())
    parts = found.groups() if found else (None, None, None)
    seconds = sum(float(part or 0) * unit for part, unit in zip(parts, (3600, 60, 1), strict=True))
    if not seconds > 0:
        raise ParseError(f"{option}: {text!r} is no time above 0: expected one like 90s, 10m or 1h30m")
    return seconds


def read_sizes(texts: Sequence[str]) -> list[dict[str, int]]:
    """The sizes of texts like ``n=1,m=7``, one set per text; raises ParseError."""
    return [_sizes(text) for text in texts]


def _sizes(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in filter(None, text.split(",")):
        name, _, value = (part.strip() for part in item.partition("="))
        if not name.isidentifier() or not value.isdecimal():
            raise ParseError(f"--sizes: {item.strip()!r}, expected symbols with sizes, as n=1,m=7")
        if name in found:
            raise ParseError(f"--sizes: {text!r} gives {name!r} twice: repeat the option for other sizes")
        found[name] = int(value)
    if not found:
        raise ParseError(f"--sizes: {text!r}, expected symbols with sizes, as n=1,m=7")
    return found


def require_sizes(tasks: Sequence[Task], sizes: Sequence[dict[str, int]]) -> None:
    """Check sizes against the symbols of tasks.

    Raises:
        UnknownNameError: a symbol that no task has. ArgumentError: a set without some symbol of a task, or a size
            outside of the symbol's bounds.
    """
    known = {symbol for task in tasks for symbol in task.symbols}
    for each in sizes:
        shown = "--sizes " + ",".join(f"{name}={size}" for name, size in each.items())
        for name in each:
            if name not in known:
                raise UnknownNameError("symbol", name, known, f"in {shown}")
        for task in tasks:
            for symbol in task.symbols:
                if symbol not in each:
                    raise ArgumentError(f"{shown}: task '{task.name}' has a symbol '{symbol}' too: give its size")
                low, high = task.bounds.get(symbol, (0, None))
                if each[symbol] < low or (high is not None and each[symbol] > high):
                    last = "" if high is None else f" to {high}"
                    raise ArgumentError(
                        f"{shown}: '{symbol}' of task '{task.name}' is outside of its bounds, from {low}{last}"
                    )


def read_tasks(text: str, target: Target, *, trusted: bool = False) -> list[Task]:
    """The tasks of a file: those of its module and, if it is Python, those that it defines.

    Args:
        text: a path, as for `read_module`; ``file.py:Name`` selects one module or one task of the file.
        trusted: as for `relax_mlir.load`.

    Raises:
        ParseError, UnknownNameError: as `read_module`. ArgumentError: the file has no task.
    """
    tasks = _of_python(text, target) if is_python(text) else extract_tasks(read_module(text, trusted=trusted), target)
    if not tasks:
        raise ArgumentError(
            f"{text}: there is nothing to tune. A task is a schedule with knobs (get_config().define_split, "
            "define_knob) that a strategy gives for a call of the module: --strategies FILE.py runs a file that "
            "registers some. Or it is what tuning.create_task gives, as a global of a Python file"
        )
    return tasks


def _of_python(text: str, target: Target) -> list[Task]:
    path, _, name = text.partition(".py:") if ".py:" in text else (text.removesuffix(".py"), "", "")
    variables = python_globals(f"{path}.py")
    found = {key: value for key, value in variables.items() if isinstance(value, Task)}
    if name in found:
        return [found[name]]
    if found and not name:
        return list({id(task): task for task in found.values()}.values())
    return extract_tasks(read_module(text, variables), target)


# Reports of ``relax-tune``: a progress bar, tables of tasks and results, a plot of the best so far.

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
        ", ".join(f"{shape_text(t.shape)} {t.dtype}" for t in tensors) for tensors in (task.inputs, task.outputs)
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


DEFAULT_BUDGET = "10m"
INTERRUPTED = 130


def tune_file(options: Namespace) -> int:
    """Run the command; 1 if a task could not be measured, 130 after Ctrl-C, else 0.

    Raises RelaxError: an error in the command line, a file, or the module.
    """
    limited = options.budget is not None or options.trials is None
    given = DEFAULT_BUDGET if options.budget is None else options.budget
    budget = read_seconds("--budget", given) if limited else None
    timeout = read_seconds("--timeout", options.timeout)
    for name, least in (("trials", 1), ("workers", 1), ("seed", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise ArgumentError(f"--{name}: {value}, expected a number from {least}")
    sizes = read_sizes(options.sizes)
    target = Target.parse(options.target)
    if options.out is None and not options.list:
        raise ArgumentError("give a file for what is measured: --out tuned.json")
    for path in filter(None, (options.out, options.plot)):
        require_folder(Path(path))
    if options.plot is not None:
        require_plot(Path(options.plot))
    load_strategies(options.strategies)
    note("the tasks were looked for")
    tasks = read_tasks(options.input, target, trusted=options.trusted)
    require_sizes(tasks, sizes)
    if options.list:
        show_tasks(tasks)
        return 0
    workers: Workers = LocalWorkers(options.workers, timeout, seed=options.seed)
    if options.dask is not None:
        workers = DaskWorkers(options.dask, timeout, seed=options.seed)
    database = Database(options.out)
    if others := database.other_targets(target):
        print(terminal.note_line(TOOL, f"{options.out}: {others}", sys.stderr), file=sys.stderr)
    note("schedules were measured")
    total = budget if budget is not None else float(options.trials * len(tasks))
    with ProgressBar(total, is_time=budget is not None) as bar:
        outcomes = tune_tasks(
            tasks,
            sizes or None,
            budget=budget,
            trials=options.trials,
            search=options.search,
            objective=options.objective,
            workers=workers,
            database=database,
            seed=options.seed,
            buckets=options.buckets,
            progress=bar.step,
        )
    show_outcomes(outcomes)
    if options.plot is not None and any(outcome.scores for outcome in outcomes):
        plot(outcomes, Path(options.plot))
    for outcome in outcomes:
        if outcome.error:
            print(terminal.error_line(TOOL, outcome.error, sys.stderr), file=sys.stderr)
    if any(outcome.interrupted for outcome in outcomes):
        return INTERRUPTED
    return 1 if any(outcome.error for outcome in outcomes) else 0
