"""Tune several tasks within a shared budget."""

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
"""The share of the budget that is divided equally; the rest goes where it helps most."""

SLICES = 4
"""The number of slices per task, on average, into which the rest is divided."""


@dataclass(frozen=True)
class TaskStep:
    """A measured candidate: its task, the number of candidates measured for the task, and the best score so far."""

    task: Task
    number: int
    measured: int
    best: float
    last: Measurement


@dataclass(frozen=True)
class TaskOutcome:
    """The tuning result of a task.

    Attributes:
        task: the task.
        result: None if no candidate could be measured; `error` is the reason.
        scores: of all candidates, in the order in which they were measured.
    """

    task: Task
    result: TuningResult | None
    error: str
    scores: tuple[float, ...]

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the tuning."""
        return self.result is not None and self.result.interrupted


@dataclass(eq=False)
class _Share:
    """A task with the budget that it has used, and its gains."""

    run: TuningRun
    spent: float = 0.0
    saved: float = 0.0
    """Seconds by which the last slice of budget reduced the total time of one call per size."""
    finished: bool = False

    def seconds(self) -> tuple[float, float]:
        """Total time of one call per size: without a schedule, and with the best candidate if that is faster."""
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
        """Equal shares first; then slices of the rest to the tasks with the largest gains, or with the smallest use."""
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
        """Measure candidates of a task until a deadline, one batch at a minimum; None: until it is finished."""
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

    Half of the budget is divided equally. The rest goes, slice by slice, to the task whose last slice saved the most
    time per call or, if none saved any, to the task that has used the smallest budget. Tasks whose candidates are all
    measured leave their budget to the others. Ctrl-C ends the tuning, as in `tune`.

    Args:
        tasks: the tasks.
        sizes: values of the symbols of all tasks, from which each takes its own; None: each draws four.
        budget: seconds for all of them.
        trials: candidates for each.
        progress: called with each candidate.

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
    """The sizes of a task's own symbols, without duplicates; all `sizes` if one is missing, which the task reports."""
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
