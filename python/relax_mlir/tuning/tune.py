"""Tuning: propose, measure and record candidates until the budget is used up."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from relax_mlir.error import (
    ArgumentError,
    expect,
)
from relax_mlir.tuning.database import Database
from relax_mlir.tuning.measure import LocalWorkers, Objective, Workers
from relax_mlir.tuning.task import Sizes, Task
from relax_mlir.tuning.tuning_run import Progress, TuningResult, TuningRun


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
            while trials is None or len(run.done) < trials:
                if deadline is not None and monotonic() >= deadline:
                    break
                count = measuring.count if trials is None else min(measuring.count, trials - len(run.done))
                if not run.step(measuring, count):
                    break
            return run.result(measuring)
    except KeyboardInterrupt:
        run.database.save()
        if run.best is None or run.best.error:
            raise
        return run.result(None)
