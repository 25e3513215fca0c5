"""Tuning of several tasks that share a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from relax_mlir.error import ArgumentError, expect
from relax_mlir.tuning.database import Database
from relax_mlir.tuning.measure import LocalWorkers, Measurement, Objective, Workers
from relax_mlir.tuning.task import Sizes, Task
from relax_mlir.tuning.tuning_run import TuningResult, TuningRun

EQUAL = 0.5
"""This share of the budget is shared out equally; what is left goes where it helps most."""

SLICES = 4
"""What is left for each task, on average, is given in so many pieces."""


@dataclass(frozen=True)
class TaskStep:
    """A candidate that was measured: of which task, how many that task has, and its best score so far."""

    task: Task
    number: int
    measured: int
    best: float
    last: Measurement


@dataclass(frozen=True)
class TaskOutcome:
    """What was found for a task.

    Attributes:
        task: the task.
        result: None if no candidate could be measured; `error` says why.
        scores: of all candidates, in the order in which they were measured.
    """

    task: Task
    result: TuningResult | None
    error: str
    scores: tuple[float, ...]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C has ended it."""
        return self.result is not None and self.result.interrupted


@dataclass(eq=False)
class _Share:
    """A task with what it was given, and what that has brought."""

    run: TuningRun
    spent: float = 0.0
    saved: float = 0.0
    """Seconds that the last piece of budget has saved of calls of all sizes."""
    finished: bool = False

    def seconds(self) -> tuple[float, float]:
        """How long calls of all sizes take: without a schedule, and with the best candidate if that is faster."""
        best = self.run.best
        if best is None or best.error:
            return 0.0, 0.0
        plain = sum(time.seconds * time.ratio for time in best.times)
        return plain, plain / max(1.0, self.run.best_score)


@dataclass
class _Session:
    workers: Workers
    shares: list[_Share]
    trials: int | None

    def run_all(self, budget: float | None) -> None:
        """Equal shares first, then pieces of what is left: to those that gained most, or were given least."""
        begun = monotonic()
        for number, share in enumerate(self.shares, 1):
            self._spend(share, None if budget is None else begun + EQUAL * budget * number / len(self.shares))
        if budget is None:
            return
        piece = (1 - EQUAL) * budget / (SLICES * len(self.shares))
        while left := [share for share in self.shares if not share.finished]:
            if monotonic() >= begun + budget:
                return
            chosen = max(left, key=lambda share: (share.saved, -share.spent))
            self._spend(chosen, min(begun + budget, monotonic() + piece))

    def _spend(self, share: _Share, until: float | None) -> None:
        """Measure candidates of a task until a moment, one batch at least; None: until it is finished."""
        begun, (_, before) = monotonic(), share.seconds()
        while True:
            count = self.workers.count
            if self.trials is not None:
                count = min(count, self.trials - len(share.run.done))
            if count < 1 or not share.run.step(self.workers, count):
                share.finished = True
                break
            if until is not None and monotonic() >= until:
                break
        share.spent += monotonic() - begun
        plain, now = share.seconds()
        share.saved = max(0.0, (before or plain) - now)


def tune_tasks(
    tasks: Sequence[Task],
    sizes: Sequence[Sizes] | None = None,
    *,
    budget: float | None = 60.0,
    trials: int | None = None,
    search: str = "evolutionary",
    objective: Objective = "mean",
    workers: Workers | None = None,
    database: Database | None = None,
    seed: int = 0,
    buckets: int = 1,
    progress: Callable[[TaskStep], None] | None = None,
) -> list[TaskOutcome]:
    """Tune several tasks.

    Half of the budget is shared out equally. The rest goes, piece by piece, to the task whose last piece has saved most
    time of a call, or, where none has saved any, to the one that was given least. Tasks all of whose candidates were
    measured leave theirs to the others. Ctrl-C ends it, as it does `tune`.

    Args:
        tasks: what to tune.
        sizes: values of the symbols of all tasks, each takes those of its own; None: each draws four.
        budget: seconds for all of them; trials: candidates for each.
        progress: is told of each candidate.

    The other arguments, and the errors, are those of `tune`.
    """
    expect("tune_tasks: 'tasks'", tasks, list | tuple, "a list of Tasks")
    if not tasks:
        raise ArgumentError("tune_tasks: 'tasks' is empty: there is nothing to tune")
    if budget is None and trials is None:
        raise ArgumentError("tune: give a budget of seconds, or a number of trials")
    kept = Database() if database is None else database
    runs = []
    for number, task in enumerate(tasks):
        runs.append(
            TuningRun(
                task,
                None if sizes is None else _own(task, sizes),
                search=search,
                objective=objective,
                database=kept,
                seed=seed,
                buckets=buckets,
                progress=None if progress is None else _told(progress, task, number),
            )
        )
    interrupted = False
    outcomes: list[TaskOutcome] = []
    try:
        with workers or LocalWorkers(seed=seed) as measuring:
            _Session(measuring, [_Share(run) for run in runs], trials).run_all(budget)
            for run in runs:
                outcomes.append(_outcome(run, measuring))
    except KeyboardInterrupt:
        kept.save()
        interrupted = True
    return [*outcomes, *(_outcome(run, None) for run in runs[len(outcomes) :])] if interrupted else outcomes


def _told(
    progress: Callable[[TaskStep], None], task: Task, number: int
) -> Callable[[int, Measurement, float], None]:
    return lambda measured, last, best: progress(TaskStep(task, number, measured, best, last))


def _own(task: Task, sizes: Sequence[Sizes]) -> list[dict[str, int]]:
    """The sizes of the symbols of a task, each once; all of them, where one is missing: the task says so."""
    found: list[dict[str, int]] = []
    for each in sizes:
        own = {symbol: each[symbol] for symbol in task.symbols if symbol in each}
        own = own if len(own) == len(task.symbols) else dict(each)
        if own not in found:
            found.append(own)
    return found


def _outcome(run: TuningRun, workers: Workers | None) -> TaskOutcome:
    scores = tuple(measurement.score(run.objective) for measurement in run.done)
    try:
        return TaskOutcome(run.task, run.result(workers), "", scores)
    except ArgumentError as error:
        return TaskOutcome(run.task, None, str(error), scores)
