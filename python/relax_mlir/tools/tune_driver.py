"""The work of ``relax-tune``: read tasks, tune them, report the results."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from relax_mlir.error import ArgumentError
from relax_mlir.target import Target
from relax_mlir.tools import colour
from relax_mlir.tools.output_file import require_folder
from relax_mlir.tools.supervise import note
from relax_mlir.tools.tune_command import TOOL
from relax_mlir.tools.tune_inputs import read_seconds, read_sizes, read_tasks, require_sizes
from relax_mlir.tools.tune_report import ProgressBar, plot, require_plot, show_outcomes, show_tasks
from relax_mlir.tools.tuned_option import load_strategies
from relax_mlir.tuning import DaskWorkers, Database, LocalWorkers, Workers, tune_tasks

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
        print(colour.note_line(TOOL, f"{options.out}: {others}", sys.stderr), file=sys.stderr)
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
            print(colour.error_line(TOOL, outcome.error, sys.stderr), file=sys.stderr)
    if any(outcome.interrupted for outcome in outcomes):
        return INTERRUPTED
    return 1 if any(outcome.error for outcome in outcomes) else 0
