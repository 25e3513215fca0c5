"""Tuning: candidates are proposed, measured and remembered until the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from relax_mlir.error import ArgumentError, UnknownNameError, expect
from relax_mlir.strategy.knobs import Values
from relax_mlir.tuning.database import Database, Record
from relax_mlir.tuning.measure import LocalWorkers, Measurement, Objective
from relax_mlir.tuning.search import SEARCHES
from relax_mlir.tuning.task import Sizes, Task

BETTER = 1.03
"""A candidate is better if it is so many times as fast: less is noise."""

Progress = Callable[[int, Measurement, float], None]
"""Is told how many candidates were measured, the last one, and the best score so far."""


@dataclass(frozen=True)
class TuningResult:
    """What tuning has found.

    Attributes:
        task: what was tuned; `sizes`: on what.
        best: the best values; those of all first values if nothing better was found.
        score: how many times as fast as without: measured again, with more rounds.
        measured, failed: how many candidates were measured, and how many of them failed.
        confirmed: the last measurement of the best candidate.
    """

    task: Task
    sizes: tuple[Sizes, ...]
    best: Values
    score: float
    measured: int
    failed: int
    confirmed: Measurement

    @property
    def found_better(self) -> bool:
        """Whether there is a candidate that is better than without a schedule by more than noise."""
        return self.score >= BETTER

    def __str__(self) -> str:
        counts = f"{self.measured} candidates, {self.failed} failed"
        if not self.found_better:
            return f"{self.task.name}: nothing better was found ({counts}; the best is {self.score:.2f} times as fast)"
        knobs = ", ".join(f"{name}={value}" for name, value in self.best.items())
        return f"{self.task.name}: {self.score:.2f} times as fast ({counts}): {knobs}"


def tune(
    task: Task,
    sizes: Sequence[Sizes] | None = None,
    *,
    budget: float | None = 60.0,
    trials: int | None = None,
    search: str = "evolutionary",
    objective: Objective = "mean",
    workers: LocalWorkers | None = None,
    database: Database | None = None,
    baseline: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> TuningResult:
    """Look for the best configuration of a schedule.

    Args:
        task: what to tune.
        sizes: values of its symbols that it is judged on; None: `Task.draw_sizes` of 4.
        budget: seconds; trials: candidates. It stops when either is spent, or all configurations were measured.
        search: ``"random"`` or ``"evolutionary"``.
        objective: ``"mean"``: the geometric mean of the ratios over the sizes; ``"worst"``: the worst one.
        workers: what measures; None: one `LocalWorkers`.
        database: keeps what was measured. What it has of the task on the same sizes is not measured again.
        baseline: the text of the module that candidates are compared with; None: the plain computation.
        seed: of the search. progress: is told of each candidate.

    Raises:
        ArgumentError: no budget, no sizes, sizes that lack a symbol. UnknownNameError: no such search.
    """
    expect("tune: 'task'", task, Task, "a Task (create_task or extract_tasks gives one)")
    if search not in SEARCHES:
        raise UnknownNameError("search", search, SEARCHES)
    if objective not in ("mean", "worst"):
        raise ArgumentError(f"tune: 'objective' is {objective!r}, expected 'mean' or 'worst'")
    if budget is None and trials is None:
        raise ArgumentError("tune: give a budget of seconds, or a number of trials")
    judged = tuple(dict(each) for each in (task.draw_sizes(4, seed=seed) if sizes is None else sizes))
    if not judged:
        raise ArgumentError("tune: 'sizes' is empty: there is nothing to judge by")
    for each in judged:
        task.arguments(each)
    deadline = None if budget is None else monotonic() + budget
    found = SEARCHES[search](task.space(), seed)
    kept = Database() if database is None else database
    done = [r.measurement for r in kept.of(task) if list(r.sizes) == list(judged)]
    for measurement in done:
        found.tell(measurement.values, measurement.score(objective))
    best = max(done, key=lambda m: m.score(objective), default=None)
    with workers or LocalWorkers(seed=seed) as measuring:
        while trials is None or len(done) < trials:
            if deadline is not None and monotonic() >= deadline:
                break
            count = measuring.count if trials is None else min(measuring.count, trials - len(done))
            proposed = found.propose(count)
            if not proposed:
                break
            for measurement in measuring.measure(task, judged, proposed, baseline):
                done.append(measurement)
                kept.add(Record(task.key, task.name, str(task.target), judged, measurement))
                score = measurement.score(objective)
                found.tell(measurement.values, score)
                if best is None or score > best.score(objective):
                    best = measurement
                if progress is not None:
                    progress(len(done), measurement, best.score(objective))
        failed = sum(bool(measurement.error) for measurement in done)
        if best is None or best.error:
            first = next((m.error for m in done if m.error), "nothing was measured")
            raise ArgumentError(f"tune: '{task.name}': no candidate could be measured: {first}")
        confirmed = _again(measuring, task, judged, best, baseline)
    return TuningResult(
        task, judged, confirmed.values, confirmed.score(objective), len(done), failed, confirmed
    )


def _again(
    workers: LocalWorkers, task: Task, sizes: Sequence[Sizes], best: Measurement, baseline: str | None
) -> Measurement:
    """Measure the best candidate once more, with more rounds: the best of many is partly lucky."""
    rounds, workers.rounds = workers.rounds, 3 * workers.rounds
    try:
        (again,) = workers.measure(task, sizes, [best.values], baseline)
    finally:
        workers.rounds = rounds
    return again if not again.error else best
