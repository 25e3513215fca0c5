"""Tuning of one task or several: propose, measure and record candidates until the budget is used up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from relax_mlir.error import ArgumentError, expect
from relax_mlir.lowering.strategy.tuned import Values
from relax_mlir.tuning.database import Database, FoundTable, Record, TableRecord, find_table, require_limit
from relax_mlir.tuning.measure import BETTER, LocalWorkers, Measurement, Objective, Workers
from relax_mlir.tuning.search import key_of_values, make_search
from relax_mlir.tuning.task import Sizes, TableTask, Task

# The tuning of one task, batch by batch: the next candidates, the measurements, and the best one so far.

CONFIRMING, MAX_CONFIRMED = 3, 4
"""The factor on rounds when the best candidate is measured again, and the maximum number of these measurements: if
it is no longer the best one then, the next best is measured again.
"""

Progress = Callable[[int, Measurement, float], None]
"""Called with the number of measured candidates, the last one, and the best score so far."""


@dataclass(frozen=True)
class TuningResult:
    """The result of tuning a task.

    Attributes:
        task: the task.
        sizes: the sizes that it was evaluated on.
        best: the best values; all first values if nothing better was found.
        score: the speedup over the baseline, measured again with more rounds unless interrupted.
        measured, failed: the number of measured candidates, and of those that failed.
        confirmed: the last measurement of the best candidate.
        interrupted: true if Ctrl-C ended the tuning.
    """

    task: Task
    sizes: tuple[Sizes, ...]
    best: Values
    score: float
    measured: int
    failed: int
    confirmed: Measurement
    interrupted: bool = False
    by_size: FoundTable | None = None
    """A size table that is faster than the best values by more than noise; it is also in the database."""

    @property
    def found_better(self) -> bool:
        """True if a candidate or a size table is faster than the baseline by more than noise."""
        return max(self.score, 0.0 if self.by_size is None else self.by_size.score) >= BETTER

    def __str__(self) -> str:
        counts = f"{self.measured} candidates, {self.failed} failed"
        counts += ", interrupted" if self.interrupted else ""
        if not self.found_better:
            return f"{self.task.name}: nothing better was found ({counts}; the best is {self.score:.2f} times as fast)"
        if self.by_size is not None:
            return f"{self.task.name}: {self.by_size} ({counts})"
        knobs = ", ".join(f"{name}={value}" for name, value in self.best.items())
        return f"{self.task.name}: {self.score:.2f} times as fast ({counts}): {knobs}"


class TuningRun:
    """The tuning of one task; the arguments are those of `tune`.

    Raises:
        ArgumentError: no sizes, sizes that lack a symbol, an unknown objective, or records of the task in `database`
            that belong to another schedule.
        UnknownNameError: no such search.
        UnsupportedError: a package that the search needs is not installed.
    """

    def __init__(
        self,
        task: Task,
        sizes: Sequence[Sizes] | None = None,
        *,
        search: str = "evolutionary",
        objective: Objective = "mean",
        database: Database | None = None,
        baseline: str | None = None,
        seed: int = 0,
        progress: Progress | None = None,
        buckets: int = 1,
    ) -> None:
        expect("tune: 'task'", task, Task, "a Task (create_task or extract_tasks gives one)")
        self.search = make_search(search, task, seed)
        if objective not in ("mean", "worst"):
            raise ArgumentError(f"tune: 'objective' is {objective!r}, expected 'mean' or 'worst'")
        judged = task.draw_sizes(4, seed=seed) if sizes is None else sizes
        self.sizes = tuple(dict(each) for each in judged)
        if not self.sizes:
            raise ArgumentError("tune: 'sizes' is empty: there is nothing to judge by")
        for each in self.sizes:
            task.arguments(each)
        require_limit(buckets)
        self.task, self.objective, self.baseline, self.buckets = task, objective, baseline, buckets
        self.database = Database() if database is None else database
        self.progress = progress
        self._measured: dict[str, Measurement] = {}
        self._confirmed: set[str] = set()
        space = task.space()
        for record in self.database.of(task):
            if list(record.sizes) == list(self.sizes):
                self._require_of(space, record.measurement.values)
                self._know(record.measurement)

    def step(self, workers: Workers, count: int) -> bool:
        """Measure up to `count` candidates; false if there are no more."""
        proposed = self.search.propose(count)
        for measurement in workers.measure(self.task, self.sizes, proposed, self.baseline):
            self._add(measurement)
        return bool(proposed)

    def result(self, workers: Workers | None) -> TuningResult:
        """The result; `workers` measure the best candidate again. None: Ctrl-C has ended the tuning.

        Raises:
            ArgumentError: no candidate could be measured.
        """
        if workers is not None:
            self._confirm(workers)
        confirmed = self.best
        if confirmed is None or confirmed.error:
            first = next((m.error for m in self.done if m.error), "nothing was measured")
            raise ArgumentError(f"tune: '{self.task.name}': no candidate could be measured: {first}")
        return TuningResult(
            self.task,
            self.sizes,
            confirmed.values,
            confirmed.score(self.objective),
            len(self.done),
            self.failed,
            confirmed,
            interrupted=workers is None,
            by_size=None if workers is None else self._by_size(workers, confirmed),
        )

    def _by_size(self, workers: Workers, single: Measurement) -> FoundTable | None:
        """The best size table; None unless it is faster than the best values by more than noise.

        The branching code is measured, interleaved with the schedule of the best values.
        """
        if self.buckets == 1:
            return None
        found = find_table(self.done, self.sizes, self.objective, self.buckets)
        if not found.is_better:
            return None
        task, beside = TableTask.of(self.task, found.table), self.task.scheduled(single.values)
        measured = self._again(workers, Measurement({}), task, beside)
        found = found.measured(measured, single, self.objective)
        if not found.is_better:
            return None
        self.database.add(TableRecord.of(self.task, self.sizes, found))
        return found

    @property
    def done(self) -> list[Measurement]:
        """The last measurement of each candidate."""
        return list(self._measured.values())

    @property
    def best(self) -> Measurement | None:
        """The best candidate, by its last measurement."""
        return max(self.done, key=lambda m: m.score(self.objective), default=None)

    @property
    def failed(self) -> int:
        """The number of candidates that failed."""
        return sum(bool(measurement.error) for measurement in self.done)

    @property
    def best_score(self) -> float:
        """The speedup of the best candidate; 0 if there is none."""
        return 0.0 if self.best is None else self.best.score(self.objective)

    def _add(self, measurement: Measurement) -> None:
        self._know(measurement)
        self.database.add(Record.of(self.task, self.sizes, measurement))
        if self.progress is not None:
            self.progress(len(self.done), measurement, self.best_score)

    def _know(self, measurement: Measurement) -> None:
        """Record a measurement; the second one of a candidate confirms it."""
        key = key_of_values(measurement.values)
        if key in self._measured:
            self._confirmed.add(key)
        self._measured[key] = measurement
        self.search.tell(measurement.values, measurement.score(self.objective))

    def _confirm(self, workers: Workers) -> None:
        """Measure the best candidate again until the best one is confirmed, since the best of many is partly luck."""
        for _ in range(MAX_CONFIRMED):
            best = self.best
            if best is None or best.error or key_of_values(best.values) in self._confirmed:
                return
            again = self._again(workers, best)
            self._know(again)
            self.database.add(Record.of(self.task, self.sizes, again))

    def _again(
        self, workers: Workers, best: Measurement, task: Task | None = None, beside: str | None = None
    ) -> Measurement:
        """Repeat a measurement with more rounds."""
        rounds, workers.rounds = workers.rounds, CONFIRMING * workers.rounds
        try:
            (again,) = workers.measure(task or self.task, self.sizes, [best.values], beside or self.baseline)
        finally:
            workers.rounds = rounds
        return again

    def _require_of(self, space: dict[str, tuple[object, ...]], values: Values) -> None:
        """Raise `ArgumentError` if the values are not a configuration of the schedule."""
        wrong = next((name for name in [*values, *space] if (name in values) != (name in space)), None)
        wrong = wrong or next((name for name in space if values[name] not in space[name]), None)
        if wrong is not None:
            raise ArgumentError(
                f"tune: {self.database.path or 'the database'} has a measurement of '{self.task.name}' with other "
                f"values of the knob '{wrong}' than the schedule has: it is of another schedule. Use another file"
            )


def tune(
    task: Task,
    sizes: Sequence[Sizes] | None = None,
    *,
    budget: float | None = 60.0,
    trials: int | None = None,
    search: str = "evolutionary",
    objective: Objective = "mean",
    workers: Workers | None = None,
    database: Database | None = None,
    baseline: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    buckets: int = 1,
) -> TuningResult:
    """Search for the best configuration of a schedule.

    Ctrl-C ends the search: the result is based on the measurements so far, and `TuningResult.interrupted` is true.

    Args:
        task: the task.
        sizes: values of its symbols to evaluate it on; None: four from `Task.draw_sizes`.
        budget: seconds.
        trials: number of candidates. The search stops when either is used up, or all configurations are measured.
        search: ``"random"`` or ``"evolutionary"``, ``"model"`` or ``"optuna"`` (extra ``tuning``).
        objective: ``"mean"``: the geometric mean of the ratios over the sizes; ``"worst"``: the worst one.
        workers: `LocalWorkers` or `DaskWorkers`, which measure; None: one of the former.
        database: stores the measurements. Those that it has of the task on the same sizes are not repeated.
        baseline: the text of the module that candidates are compared with. Its function ``main`` is a prim func like
            the task's, or a Relax function with the same inputs and results; None: the computation without a schedule.
        seed: of the search.
        progress: called with each candidate.
        buckets: the maximum number of configurations (up to 4) in a size table. If a table is faster than the best
            configuration by more than noise, it is in the result (`TuningResult.by_size`) and in the database.

    Raises:
        ArgumentError: no budget, no sizes, sizes that lack a symbol, a database of another schedule.
        UnknownNameError: no such search.
        UnsupportedError: a package that the search needs is not installed.
        KeyboardInterrupt: Ctrl-C before anything was measured.
    """
    if budget is None and trials is None:
        raise ArgumentError("tune: give a budget of seconds, or a number of trials")
    expect("tune: 'budget'", budget, int | float | None, "seconds, or None")
    deadline = None if budget is None else monotonic() + budget
    run = TuningRun(
        task,
        sizes,
        search=search,
        objective=objective,
        database=database,
        baseline=baseline,
        seed=seed,
        progress=progress,
        buckets=buckets,
    )
    try:
        with workers or LocalWorkers(seed=seed) as measuring:
            _search(run, measuring, trials, deadline)
            return run.result(measuring)
    except KeyboardInterrupt:
        run.database.save()
        if run.best is None or run.best.error:
            raise
        return run.result(None)


def _search(run: TuningRun, measuring: Workers, trials: int | None, deadline: float | None) -> None:
    """Measure candidates until the trials or the time are used up, or all are measured."""
    while trials is None or len(run.done) < trials:
        if deadline is not None and monotonic() >= deadline:
            return
        count = measuring.count if trials is None else min(measuring.count, trials - len(run.done))
        if not run.step(measuring, count):
            return


# Tune several tasks within a shared budget.

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


def _told(progress: Callable[[TaskStep], None], task: Task, number: int) -> Callable[[int, Measurement, float], None]:
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
