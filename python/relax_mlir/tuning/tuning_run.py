"""The tuning of one task, batch by batch: the next candidates, the measurements, and the best one so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.error import ArgumentError, expect
from relax_mlir.strategy.knobs import Values
from relax_mlir.tuning.database import Database, Record, TableRecord
from relax_mlir.tuning.find_table import FoundTable, find_table, require_limit
from relax_mlir.tuning.measure import BETTER, Measurement, Objective, Workers
from relax_mlir.tuning.search import key_of_values
from relax_mlir.tuning.searches import make_search
from relax_mlir.tuning.task import Sizes, TableTask, Task

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
