"""The tuning of one task, batch by batch: what to measure next, what was measured, the best so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.error import ArgumentError, expect
from relax_mlir.strategy.knobs import Values
from relax_mlir.tuning.database import Database, Record, TableRecord
from relax_mlir.tuning.find_table import FoundTable, find_table, require_limit
from relax_mlir.tuning.measure import BETTER, Measurement, Objective, Workers
from relax_mlir.tuning.searches import make_search
from relax_mlir.tuning.task import Sizes, TableTask, Task

CONFIRMING = 3
"""The best candidate is measured once more, with so many times as many rounds."""

Progress = Callable[[int, Measurement, float], None]
"""Is told how many candidates were measured, the last one, and the best score so far."""


@dataclass(frozen=True)
class TuningResult:
    """What tuning has found.

    Attributes:
        task: what was tuned; `sizes`: on what.
        best: the best values; those of all first values if nothing better was found.
        score: how many times as fast as without: measured again, with more rounds, unless it was interrupted.
        measured, failed: how many candidates were measured, and how many of them failed.
        confirmed: the last measurement of the best candidate.
        interrupted: whether Ctrl-C ended it.
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
    """A table of sizes that is better than the best values, by more than noise; in the database, too."""

    @property
    def found_better(self) -> bool:
        """Whether a candidate, or a table of sizes, is better than without a schedule by more than noise."""
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
        ArgumentError: no sizes, sizes that lack a symbol, another objective; records of the task in `database` that
            are of another schedule. UnknownNameError: no such search. UnsupportedError: it is not installed.
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
        self.done = [r.measurement for r in self.database.of(task) if list(r.sizes) == list(self.sizes)]
        space = task.space()
        for measurement in self.done:
            self._require_of(space, measurement.values)
            self.search.tell(measurement.values, measurement.score(objective))
        self.best = max(self.done, key=lambda m: m.score(objective), default=None)

    def step(self, workers: Workers, count: int) -> bool:
        """Measure up to `count` candidates; false if there are no more."""
        proposed = self.search.propose(count)
        for measurement in workers.measure(self.task, self.sizes, proposed, self.baseline):
            self._add(measurement)
        return bool(proposed)

    def result(self, workers: Workers | None) -> TuningResult:
        """What was found; `workers` measure the best candidate once more. None: Ctrl-C has ended it.

        Raises:
            ArgumentError: no candidate could be measured.
        """
        best = self.best
        if best is None or best.error:
            first = next((m.error for m in self.done if m.error), "nothing was measured")
            raise ArgumentError(f"tune: '{self.task.name}': no candidate could be measured: {first}")
        confirmed = best if workers is None else self._again(workers, best)
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
        """The best table of sizes; None if it is no better than the best values by more than noise.

        It is measured as what it becomes, in turns with the schedule of the best values.
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
    def failed(self) -> int:
        """How many candidates failed."""
        return sum(bool(measurement.error) for measurement in self.done)

    @property
    def best_score(self) -> float:
        """How many times as fast the best candidate is; 0 if there is none."""
        return 0.0 if self.best is None else self.best.score(self.objective)

    def _add(self, measurement: Measurement) -> None:
        self.done.append(measurement)
        self.database.add(Record.of(self.task, self.sizes, measurement))
        score = measurement.score(self.objective)
        self.search.tell(measurement.values, score)
        if self.best is None or score > self.best_score:
            self.best = measurement
        if self.progress is not None:
            self.progress(len(self.done), measurement, self.best_score)

    def _again(
        self, workers: Workers, best: Measurement, task: Task | None = None, beside: str | None = None
    ) -> Measurement:
        """The best of many is partly lucky: measure it with more rounds."""
        rounds, workers.rounds = workers.rounds, CONFIRMING * workers.rounds
        try:
            (again,) = workers.measure(task or self.task, self.sizes, [best.values], beside or self.baseline)
        finally:
            workers.rounds = rounds
        return again if not again.error else best

    def _require_of(self, space: dict[str, tuple[object, ...]], values: Values) -> None:
        """Raise `ArgumentError` for values that are no configuration of the schedule."""
        wrong = next((name for name in [*values, *space] if (name in values) != (name in space)), None)
        wrong = wrong or next((name for name in space if values[name] not in space[name]), None)
        if wrong is not None:
            raise ArgumentError(
                f"tune: {self.database.path or 'the database'} has a measurement of '{self.task.name}' with other "
                f"values of the knob '{wrong}' than the schedule has: it is of another schedule. Use another file"
            )
