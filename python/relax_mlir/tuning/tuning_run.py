"""The tuning of one task, batch by batch: what to measure next, what was measured, the best so far."""

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
"""The best candidate is measured once more, with so many times as many rounds; if it is the best no more, the next one
is, up to so many."""

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
        """What was found; `workers` measure the best candidate once more. None: Ctrl-C has ended it.

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
    def done(self) -> list[Measurement]:
        """The last measurement of each candidate."""
        return list(self._measured.values())

    @property
    def best(self) -> Measurement | None:
        """The best candidate, by its last measurement."""
        return max(self.done, key=lambda m: m.score(self.objective), default=None)

    @property
    def failed(self) -> int:
        """How many candidates failed."""
        return sum(bool(measurement.error) for measurement in self.done)

    @property
    def best_score(self) -> float:
        """How many times as fast the best candidate is; 0 if there is none."""
        return 0.0 if self.best is None else self.best.score(self.objective)

    def _add(self, measurement: Measurement) -> None:
        self._know(measurement)
        self.database.add(Record.of(self.task, self.sizes, measurement))
        if self.progress is not None:
            self.progress(len(self.done), measurement, self.best_score)

    def _know(self, measurement: Measurement) -> None:
        """Take a measurement; the second one of a candidate confirms it."""
        key = key_of_values(measurement.values)
        if key in self._measured:
            self._confirmed.add(key)
        self._measured[key] = measurement
        self.search.tell(measurement.values, measurement.score(self.objective))

    def _confirm(self, workers: Workers) -> None:
        """Measure the best candidate once more, until the best one is confirmed: the best of many is partly lucky."""
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
        """A measurement with more rounds."""
        rounds, workers.rounds = workers.rounds, CONFIRMING * workers.rounds
        try:
            (again,) = workers.measure(task or self.task, self.sizes, [best.values], beside or self.baseline)
        finally:
            workers.rounds = rounds
        return again

    def _require_of(self, space: dict[str, tuple[object, ...]], values: Values) -> None:
        """Raise `ArgumentError` for values that are no configuration of the schedule."""
        wrong = next((name for name in [*values, *space] if (name in values) != (name in space)), None)
        wrong = wrong or next((name for name in space if values[name] not in space[name]), None)
        if wrong is not None:
            raise ArgumentError(
                f"tune: {self.database.path or 'the database'} has a measurement of '{self.task.name}' with other "
                f"values of the knob '{wrong}' than the schedule has: it is of another schedule. Use another file"
            )
