"""Tuning of schedules: knobs, tasks, measurements in child processes, searches, and databases of results.

A schedule calls `get_config` for its configuration and defines knobs in it. `create_task` creates a task from a
schedule, `extract_tasks` creates the tasks of a module's strategies. `tune` searches for the best values on a set of
sizes, and `apply_history_best` applies them to schedules that are created later.
"""

from relax_mlir.lowering.strategy.tuned import (
    Config,
    Knob,
    Shipped,
    SizeRow,
    SizeTable,
    Split,
    configured,
    get_config,
    shipped,
)
from relax_mlir.tuning.dask_workers import DaskWorkers
from relax_mlir.tuning.database import (
    Database,
    FoundTable,
    Record,
    TableRecord,
    apply_history_best,
    find_table,
)
from relax_mlir.tuning.measure import LocalWorkers, Measurement, SizeTime, Workers
from relax_mlir.tuning.search import EvolutionarySearch, ModelSearch, OptunaSearch, RandomSearch, Search
from relax_mlir.tuning.task import Task, create_task, extract_tasks, tiled_schedule
from relax_mlir.tuning.tune import TaskOutcome, TaskStep, TuningResult, TuningRun, tune, tune_tasks

__all__ = [
    "Config", "DaskWorkers", "Database", "EvolutionarySearch", "FoundTable", "Knob", "LocalWorkers",
    "Measurement", "ModelSearch", "OptunaSearch", "RandomSearch", "Record", "Search", "Shipped", "SizeRow",
    "SizeTable", "SizeTime", "Split", "TableRecord", "Task", "TaskOutcome", "TaskStep", "TuningResult",
    "TuningRun", "Workers", "apply_history_best", "configured", "create_task", "extract_tasks", "find_table",
    "get_config", "shipped", "tiled_schedule", "tune", "tune_tasks",
]  # fmt: skip
